"""Ids of instances or labels: values of any kind, kept unchanged, and looked up by value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, overload

import numpy as np

from tailwise.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Ids", "describe_kinds", "is_missing"]

KINDS = {"i": "integers", "u": "integers", "f": "floats", "b": "booleans", "M": "times", "m": "durations"}


class Ids(Sequence[Any]):
    """The ids of instances or labels: integers of any size, text, UUIDs, or values of several kinds.

    Parameters
    ----------
    values : iterable or 1-D array
        One id for each instance or label. Ids are kept with their type: 1 and "1" are different ids, and so are 1 and
        True; 1 and 1.0 are equal, as many a column of integers is read as one of floats.
    what : str
        What the ids are of, for error messages.
    by_appearance : bool
        Whether they stand in the order in which the entries of a table or a file first name them, so that nobody has
        chosen their positions.

    Examples
    --------
    >>> from tailwise.datasets import Ids
    >>> users = Ids(["ann", "bob", "eve"])
    >>> users[1], users.positions_of(["eve", "dan"])
    ('bob', array([ 2, -1]))
    """

    def __init__(self, values: Iterable[Any], what: str = "instance", *, by_appearance: bool = False) -> None:
        self.values = _as_values(values, what)
        self.values.flags.writeable = False
        self.what = what
        self.by_appearance = by_appearance or getattr(values, "by_appearance", False)

    @classmethod
    def of(cls, values: Any, what: str = "instance") -> Ids | None:
        """Convert values of any kind; Ids and None are returned unchanged."""
        return values if values is None or isinstance(values, Ids) else Ids(values, what)

    def positions_of(self, other: Any) -> NDArray:
        """Return the position of each id of `other` among these ids, -1 where it is missing."""
        ids = Ids.of(other, self.what)
        assert ids is not None
        if ids is self or ids.values is self.values:
            return np.arange(len(self))
        if self.values.dtype.kind == ids.values.dtype.kind and self.values.dtype.kind in "iu":
            return self._search(ids.values)
        numbers = self._numbers
        return np.fromiter((numbers.get(key, -1) for key in _keys_of(ids.values.tolist())), np.int64, len(ids))

    def position_of(self, value: Any) -> int | None:
        """Return the position of one id, or None if it is not among these."""
        try:
            return self._numbers.get(_keys_of([value])[0])
        except TypeError:  # a list, for instance, is not an id
            return None

    def check_unique(self) -> Ids:
        """Refuse an id that occurs twice."""
        if self.values.dtype.kind in "iu":
            self._order  # noqa: B018 - checked when it is built
        else:
            self._numbers  # noqa: B018
        return self

    def take(self, positions: NDArray | slice) -> Ids:
        """Return the ids at some positions."""
        return Ids(self.values[positions], self.what, by_appearance=self.by_appearance)

    def _search(self, values: NDArray) -> NDArray:
        if len(self) == 0:
            return np.full(values.size, -1)
        ordered = self.values[self._order]
        places = np.minimum(np.searchsorted(ordered, values), len(self) - 1)
        return np.where(ordered[places] == values, self._order[places], -1)

    @cached_property
    def _order(self) -> NDArray:
        """The positions of integers in ascending order."""
        order = np.argsort(self.values, kind="stable")
        ordered = self.values[order]
        is_same = ordered[1:] == ordered[:-1]
        if is_same.any():
            self._refuse_twice(ordered[int(np.argmax(is_same))].item())
        return order

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        """The position of each id, by its key."""
        values = _keys_of(self.values.tolist())
        try:
            numbers = {value: position for position, value in enumerate(values)}
        except TypeError as error:
            msg = f"{self.what} ids must be hashable, as numbers and text are. Got {error}. Convert them with str()."
            raise InputError(msg) from error
        if len(numbers) < len(values):
            first = next(position for position, value in enumerate(values) if numbers[value] != position)
            self._refuse_twice(self[first])
        return numbers

    def _refuse_twice(self, value: Any) -> NoReturn:
        msg = f"{self.what} ids must be unique. Got {value!r} twice. Give each {self.what} an id of its own."
        raise InputError(msg)

    @property
    def kind(self) -> str:
        """The kind of values, for error messages."""
        if self.values.dtype.kind != "O":
            return KINDS.get(self.values.dtype.kind, str(self.values.dtype))
        names = sorted({type(value).__name__ for value in self.values.tolist()})
        return " and ".join("text" if name == "str" else name for name in names)

    def __len__(self) -> int:
        return self.values.size

    @overload
    def __getitem__(self, position: int) -> Any: ...
    @overload
    def __getitem__(self, position: slice) -> Ids: ...
    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, slice):
            return self.take(position)
        value = self.values[position]
        return value.item() if self.values.dtype.kind in "iufb" else value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Ids, tuple, list)):
            values = other.values if isinstance(other, Ids) else None
            if values is not None and values.dtype == self.values.dtype:
                return values is self.values or np.array_equal(values, self.values)
            return list(self) == list(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self.values.tolist()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.values, self.what), {"by_appearance": self.by_appearance}

    def __repr__(self) -> str:
        some = ", ".join(repr(value) for value in self[:3])
        return f"Ids({len(self):,} {self.what}s: {some}{', ...' if len(self) > 3 else ''})"


def _keys_of(values: list[Any]) -> list[Any]:
    """What ids are looked up by: 1.0 in a column of floats is the id 1, but True, which Python holds equal, is not."""
    if set(map(type, values)).isdisjoint((bool, np.bool_)):
        return values
    return [(bool, bool(value)) if isinstance(value, (bool, np.bool_)) else value for value in values]


def is_missing(value: Any) -> bool:
    """Whether a value stands for a missing one: None, NaN, NaT or pandas' NA."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return bool(isinstance(value, (float, np.floating, np.datetime64)) and value != value)


def describe_kinds(first: Ids, second: Ids, first_name: str, second_name: str) -> str:
    """Say why two lists of ids may have nothing in common, with a remedy if they are of different kinds."""
    if first.kind == second.kind:
        return (
            f"{first_name} has {_some(first)}, {second_name} has {_some(second)}. Check that both belong together and "
            "write ids in the same way."
        )
    return (
        f"The ids of {first_name} are {first.kind} ({_some(first)}), those of {second_name} are {second.kind} "
        f"({_some(second)}). Convert one side, with .astype(str) for instance."
    )


def _some(ids: Ids) -> str:
    return ", ".join(repr(value) for value in ids[:2]) + (", ..." if len(ids) > 2 else "")


def _as_values(values: Any, what: str) -> NDArray:
    if isinstance(values, Ids):
        return values.values
    array = values if isinstance(values, np.ndarray) else _as_list(values)
    if array.ndim != 1:
        msg = f"{what} ids must be a list, one id for each {what}. Got an array of shape {array.shape}."
        raise InputError(msg)
    if array.dtype.kind in "iub":
        return array.view()
    array = array.astype(object) if array.dtype.kind not in "OfMm" else array.view()
    can_miss = not set(map(type, array.tolist())) <= {str, int}
    missing = next((x for x, value in enumerate(array) if is_missing(value)), None) if can_miss else None
    if missing is not None:
        msg = f"{what} ids must not be missing. Got {array[missing]!r} at position {missing}. Remove it, or name it."
        raise InputError(msg)
    return array


def _as_list(values: Iterable[Any]) -> NDArray:
    """Values of a list, a table's column or an iterable; integers as int64 or uint64, anything else as objects."""
    items = values.tolist() if hasattr(values, "tolist") else list(values)
    if items and set(map(type, items)) == {int}:
        least, most = min(items), max(items)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= least and most <= np.iinfo(dtype).max:
                return np.array(items, dtype=dtype)
    array = np.empty(len(items), dtype=object)
    for position, item in enumerate(items):
        array[position] = item
    return array
