"""Checks of the parameters of text models, and their values by default."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from tailwise.errors import InputError
from tailwise.inputs.checks import check_size, is_integer
from tailwise.models.features import check_n_jobs, check_random

if TYPE_CHECKING:
    from tailwise.models.text_model import TextModel

# Without and with an encoder.
DEFAULTS = {"dropout": (0.2, 0.5), "epochs": (10, 20), "batch_size": (512, 16), "learning_rate": (2e-3, 1e-4)}
NEW_ENCODER = {"layers": 5, "size": 128, "heads": 2, "vocabulary": 8000}
SIZES = ("max_length", "size", "bottleneck", "cluster_from", "shortlist", "patience")


def setting(model: TextModel, name: str) -> Any:
    """Return a parameter, or its value by default."""
    given = getattr(model, name)
    return DEFAULTS[name][model.encoder is not None] if given is None else given


def check_text_parameters(model: TextModel) -> None:
    """Refuse invalid parameters."""
    for name in SIZES:
        check_size(name, getattr(model, name), 1)
    check_size("cluster_size", model.cluster_size, 2)
    check_size("negatives", model.negatives, 0)
    for name in ("epochs", "batch_size"):
        check_size(name, setting(model, name), 1)
    _check_number("dropout", setting(model, "dropout"), below=1.0)
    _check_number("validation", model.validation, below=0.9)
    _check_number("learning_rate", setting(model, "learning_rate"), below=1.0, above=True)
    _check_averaging(model.averaging)
    _check_encoder(model.encoder)
    check_n_jobs(model.n_jobs)
    check_random(model.random_state)


def _check_number(name: str, value: Any, *, below: float, above: bool = False) -> None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not (0 <= value < below) or (above and value == 0):
        msg = f"{name} must be a number {'above' if above else 'of at least'} 0 and below {below:g}. Got {value!r}."
        raise InputError(msg)


def _check_averaging(averaging: Any) -> None:
    if averaging is None:
        return
    is_pair = isinstance(averaging, (tuple, list)) and len(averaging) == 2 and all(map(is_integer, averaging))
    if not is_pair or averaging[0] < 0 or averaging[1] < 1:
        msg = f"averaging must be an epoch and a number of batches, such as (10, 200), or None. Got {averaging!r}."
        raise InputError(msg)


def _check_encoder(encoder: Any) -> None:
    if encoder is None or isinstance(encoder, (str, os.PathLike)):
        return
    if not isinstance(encoder, dict) or not set(encoder) <= set(NEW_ENCODER):
        names = ", ".join(NEW_ENCODER)
        msg = f"encoder must be a folder, a name, or a dict with any of {names}. Got {encoder!r:.80}."
        raise InputError(msg)
    sizes = {**NEW_ENCODER, **encoder}
    for name, value in sizes.items():
        check_size(f"{name} of encoder", value, 4 if name == "layers" else 1)
    if sizes["size"] % sizes["heads"]:
        msg = f"size of encoder must be a multiple of heads. Got {sizes['size']} and {sizes['heads']}."
        raise InputError(msg)
