"""Weights per label from a text file: one number per line, or a label and its weight."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.disk import opened_text
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_label_weights"]


def load_label_weights(path: str | os.PathLike[str]) -> NDArray | dict[Any, float]:
    """Read weights: an array if each line is a number, otherwise a mapping from label to weight.

    A line of a mapping is a label's name or number, a tab, and its weight. Empty lines are skipped.
    """
    with opened_text(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        msg = f"{path} must be text in UTF-8. It has invalid UTF-8 at byte {error.start}. Save it as UTF-8."
        raise FileError(msg) from error
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not lines:
        msg = f"{path} must hold weights: one number per line, or a label, a tab and a number. It is empty."
        raise FileError(msg)
    if all("\t" not in line for _, line in lines):
        return np.array([_parse(path, number, line) for number, line in lines])
    weights: dict[Any, float] = {}
    for number, line in lines:
        label, _, weight = line.rpartition("\t")
        key = int(label) if label.isdecimal() and len(label) <= 10 else label
        if not label or key in weights:
            rule = "must be a label that was not listed before, a tab and its weight"
            msg = f"{path}, line {number}: {rule}. Got {line!r}."
            raise FileError(msg)
        weights[key] = _parse(path, number, weight)
    return weights


def _parse(path: Any, number: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"{path}, line {number}: the weight must be a number. Got {text.strip()!r}."
        raise FileError(msg) from None
