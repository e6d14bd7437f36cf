"""Label names: ids for programs, titles for people."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from tailwise.datasets.formats.disk import input_errors_of, opened_text, written_beside
from tailwise.errors import FileError, InputError
from tailwise.inputs.ids import Ids

__all__ = [
    "LabelNames",
    "bare_uri",
    "count_names",
    "find_label_names",
    "is_text",
    "load_label_names",
    "plain_names",
    "save_label_names",
]

BESIDE = ("labels.txt", "Y.txt")


def is_text(word: str) -> bool:
    """Whether text can be encoded: Python and JSON strings may hold unpaired surrogates."""
    return word.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in word)


class LabelNames(Ids):
    """A unique id for each label and, optionally, a title for people to read.

    Parameters
    ----------
    ids : iterable
        The id of label 0, 1, 2, ...: text, integers or any other values, kept with their type.
    titles : iterable of str, optional
        One title per label; titles may repeat or be empty.

    Examples
    --------
    >>> from tailwise.datasets import LabelNames
    >>> names = LabelNames(["q1", "q2"], ["Earth", "Moon"])
    >>> names.number_of("q2"), names.title_of(1)
    (1, 'Moon')
    """

    def __init__(self, ids: Iterable[Any], titles: Iterable[str] | None = None, *, by_appearance: bool = False) -> None:
        super().__init__(ids, "label", by_appearance=by_appearance)
        self.titles = None if titles is None else tuple(titles)
        for name in (*(() if self.values.dtype.kind in "iu" else self.values), *(self.titles or ())):
            if isinstance(name, str) and not is_text(name):
                msg = f"label names must be text that can be encoded. Got {name!a}. Remove its unpaired surrogates."
                raise InputError(msg)
        self.check_unique()
        if self.titles is not None and len(self.titles) != len(self):
            msg = f"titles must hold one title for each of the {len(self)} ids. Got {len(self.titles)}."
            raise InputError(msg)

    @classmethod
    def of(cls, names: Any, what: str = "label") -> LabelNames | None:
        """Convert a list of names or the path of a file; LabelNames and None are returned unchanged."""
        if names is None or isinstance(names, cls):
            return names
        if not isinstance(names, (str, os.PathLike)):
            return cls(names)
        from tailwise.inputs.vocabularies import read_vocabulary  # reads files by functions of this module

        return read_vocabulary(names)

    @cached_property
    def ids(self) -> tuple[Any, ...]:
        """The ids as a tuple."""
        return tuple(self.values.tolist())

    @property
    def texts(self) -> tuple[str, ...]:
        """The ids as text, for files and tables that hold nothing else."""
        return tuple(map(str, self.ids))

    def number_of(self, name: Any) -> int | None:
        """Return the number of the label with this id, or None if there is none."""
        return self.position_of(name)

    def title_of(self, label: int) -> str:
        """Return the title of a label, or its id if it has no title."""
        return (self.titles[label] if self.titles is not None else "") or str(self.ids[label])

    def extended(self, others: Ids) -> LabelNames:
        """Return these names, followed by those of `others` that are not among them."""
        positions = np.flatnonzero(self.positions_of(others) < 0)
        if positions.size == 0:
            return self
        titles = None
        if self.titles is not None:
            more = getattr(others, "titles", None) or [""] * len(others)
            titles = [*self.titles, *(more[position] for position in positions)]
        return LabelNames([*self.ids, *others.take(positions)], titles, by_appearance=self.by_appearance)

    def _refuse_twice(self, value: Any) -> NoReturn:
        msg = f"label names must be unique. Got {value!r} twice. Give each label its own identifier."
        raise InputError(msg)

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other) and (not isinstance(other, LabelNames) or self.titles == other.titles)

    def __hash__(self) -> int:
        return super().__hash__()

    def __reduce__(self) -> tuple[Any, ...]:
        return LabelNames, (self.values, self.titles), {"by_appearance": self.by_appearance}

    def __repr__(self) -> str:
        return f"LabelNames({len(self):,} labels{'' if self.titles is None else ', with titles'})"


def plain_names(names: Ids | None) -> list[Any] | None:
    """Return ids as JSON holds them: integers and text as they are, anything else as text."""
    if names is None:
        return None
    return [name if type(name) in (int, str) else str(name) for name in names.values.tolist()]


def load_label_names(path: str | os.PathLike[str]) -> LabelNames:
    """Read one label per line: an identifier, in angle brackets or not, optionally followed by a tab and a title."""
    with opened_text(path) as file:
        try:
            lines = file.read().decode("utf-8").split("\n")
        except UnicodeDecodeError as error:
            msg = f"{path} must be UTF-8 text. Invalid UTF-8 at byte {error.start}. Convert the file to UTF-8."
            raise FileError(msg) from error
    if lines[-1] == "":
        lines.pop()
    fields = [line.split("\t", 1) for line in lines]
    has_titles = any(len(each) > 1 for each in fields)
    with input_errors_of(path):
        ids = [bare_uri(each[0]) for each in fields]
        return LabelNames(ids, [each[-1] for each in fields] if has_titles else None)


def bare_uri(text: str) -> str:
    """Return an id without the angle brackets that some programs write around URIs."""
    return text[1:-1] if text.startswith("<") and text.endswith(">") and len(text) > 2 else text


def save_label_names(path: str | os.PathLike[str], names: LabelNames) -> None:
    """Write one label per line, in the format that :func:`load_label_names` reads."""
    for texts, marks in ((names.texts, "\n\r\t"), (names.titles or (), "\n\r")):
        for name in texts:
            if any(mark in name for mark in marks):
                msg = f"Saved label names must not contain line breaks, nor identifiers tabs. Got {name!r}. Rename it."
                raise InputError(msg)
    titles = [""] * len(names) if names.titles is None else [f"\t{title}" for title in names.titles]
    with written_beside(path) as file:
        file.write("".join(f"{each}{title}\n" for each, title in zip(names.texts, titles, strict=True)).encode())


def find_label_names(path: str | os.PathLike[str], n_labels: int, *, may_be_more: bool = False) -> LabelNames | None:
    """Find label names in the same folder as `path`: a file with one line per label, or more if allowed."""
    folder = os.path.dirname(os.path.abspath(path))
    for name in BESIDE:
        file = os.path.join(folder, name)
        if os.path.isfile(file):
            lines = count_names(file)
            if lines == n_labels or (may_be_more and lines > n_labels):
                return load_label_names(file)
    return None


def count_names(path: str | os.PathLike[str]) -> int:
    """Count the lines of a file of names without parsing them."""
    lines, last = 0, b"\n"
    with opened_text(path) as file:
        while block := file.read(1 << 20):
            lines += block.count(b"\n")
            last = block[-1:]
    return lines + (last != b"\n")
