"""The configuration of a run as a TOML file, with which ``tailwise run --config`` repeats it, from any folder."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from typing import Any

from tailwise.inputs.label_names import is_text
from tailwise.metrics.frequency import DEFAULT_EDGES
from tailwise.models.model import write_option
from tailwise.runs.run_data import USUAL_COLUMNS
from tailwise.selection import select

NO_BUDGET = "none"


def describe_config(
    data: Any, configuration: Mapping[str, Any], model: tuple[dict[str, Any], str | None] | None, seed: int
) -> str | None:
    """Return the file as text: the model, and all options that differ from the defaults.

    `model` holds the options and the encoder of the model. The result is None if options cannot describe the run: with
    data or names in memory, or with ensemble members, an encoder or calibrator bins passed as objects.
    """
    if model is None or not isinstance(data, (str, os.PathLike)) or not is_text(os.fspath(data)):
        return None
    calibration = configuration["calibration"]
    if isinstance(configuration["label_names"], list):
        return None
    if calibration is not None and tuple(calibration["bins"]) != DEFAULT_EDGES:
        return None
    try:
        options = {**_list_options(configuration, seed), **_list_model(configuration, *model)}
        # Absolute, so that the file serves in every folder.
        options = {name: os.path.abspath(value) if _is_path(name, value) else value for name, value in options.items()}
        options = {"data": os.path.abspath(data), **options}
        lines = [f"{name} = {_as_toml(value)}" for name, value in options.items()]
    except TypeError:  # for a value that is neither text nor a number nor a list of these
        return None
    return "\n".join(["# Repeat this run with: tailwise run --config run.toml -o OUT", *lines, ""])


def _is_path(option: str, value: Any) -> bool:
    """Whether an option is a path; an encoder may be given by name or as a folder."""
    return option == "label-names" or (option == "embeddings" and os.path.exists(value))


def _list_options(configuration: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return options of ``tailwise run`` with their values."""
    k, beam, calibration = configuration["k"], configuration["beam"], configuration["calibration"]
    options = {"utility": configuration["utility"], "k": NO_BUDGET if k is None else k, "seed": seed}
    options |= {"top": configuration["top"], "propensity": list(configuration["propensity"])}
    options |= {} if beam is None else {"beam": beam}
    usual = {"text_column": USUAL_COLUMNS.text, "label_column": USUAL_COLUMNS.labels}
    usual |= {"label_names": None, "language": None}
    options |= {name: configuration[name] for name, value in usual.items() if configuration[name] != value}
    options |= _list_changed(configuration["selection"], select)
    if calibration is not None:
        options |= {"calibration": calibration["method"], "by": calibration["by"], "folds": calibration["folds"]}
    return {name.replace("_", "-"): value for name, value in options.items()}


def _list_model(configuration: Mapping[str, Any], options: dict[str, Any], encoder: str | None) -> dict[str, Any]:
    """Return the options that describe the model, even if it is the default one."""
    stated: dict[str, Any] = {"model": configuration["model"]["name"]}
    if options:
        stated["model-option"] = [write_option(name, value) for name, value in options.items()]
    return stated if encoder is None else {**stated, "embeddings": encoder}


def _list_changed(values: Mapping[str, Any], function: Any) -> dict[str, Any]:
    """Return the values that differ from the defaults of a function and that an option can express."""
    defaults = {each.name: each.default for each in inspect.signature(function).parameters.values()}
    given = {name: value for name, value in values.items() if value is not None}
    return {
        name: value
        for name, value in given.items()
        if not isinstance(value, type(defaults[name])) or value != defaults[name]
    }


def _as_toml(value: Any) -> str:
    """Write a value; JSON text, numbers and lists are valid TOML, except for characters that TOML does not allow."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
