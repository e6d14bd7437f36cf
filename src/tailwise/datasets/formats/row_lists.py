"""Rows that are collected one after another in Python, their labels numbers or names: for JSON lines and for names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.text_lines import ANY, refuse_line
from tailwise.datasets.formats.text_values import ordered_contents
from tailwise.datasets.formats.tidy_matrices import check_numbers
from tailwise.errors import FileError
from tailwise.inputs.label_names import LabelNames, is_text

__all__ = ["RowLists"]


class RowLists:
    """Labels and scores row by row; names are numbered in the order in which they come."""

    def __init__(self, path: Any) -> None:
        self._path = path
        self._numbers: dict[str, int] = {}
        self._uses_names: bool | None = None
        self._width, self._n_entries = 1, 0
        self._first_line = 1
        self.clear()

    @property
    def n_rows(self) -> int:
        return len(self._counts)

    def clear(self) -> None:
        """Forget the rows, and keep the names."""
        self._counts: list[int] = []
        self._labels: list[int] = []
        self._scores: list[float] = []

    def append(self, labels: Sequence[Any], scores: Sequence[float], line: int) -> None:
        """One more row, read from a line; all labels of a file are numbers, or all are names."""
        if not self._counts:
            self._first_line = line
        if len(labels):
            uses_names = isinstance(labels[0], str)
            if self._uses_names is None:
                self._uses_names = uses_names
            self._check(labels, line)
        numbers = (
            [self._numbers.setdefault(label, len(self._numbers)) for label in labels] if self._uses_names else labels
        )
        self._labels.extend(numbers)
        self._scores.extend(scores)
        self._counts.append(len(numbers))

    def _check(self, labels: Sequence[Any], line: int) -> None:
        for label in labels:
            if self._uses_names and not (isinstance(label, str) and is_text(label)):
                refuse_line(self._path, line, "a name of a label, as in the lines before", ascii(label))
            if not self._uses_names and (type(label) is not int or not 0 <= label < ANY):
                refuse_line(self._path, line, "a label number of at least 0", str(label))

    def contents(self) -> Contents:
        """What was collected since the last `clear`, ranked in the order of each row."""
        if not self._counts:
            msg = f"{self._path} must hold at least one instance. It holds none. Check how it was written."
            raise FileError(msg)
        labels = np.array(self._labels, dtype=np.int32)
        self._n_entries += labels.size
        self._width = max(self._width, int(labels.max(initial=0)) + 1)
        if not self._uses_names:
            check_numbers(self._path, "label", self._width, self._n_entries)
        names = LabelNames(self._numbers) if self._uses_names else None
        contents = ordered_contents(
            np.array(self._counts),
            labels,
            np.array(self._scores, dtype=np.float64),
            self._width,
            self._path,
            is_ranked=True,
            first_line=self._first_line,
            label_names=names,
        )
        return replace(contents, is_open=True)
