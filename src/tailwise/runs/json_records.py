"""Records in JSON: read whole, and asked for what they must hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tailwise.datasets.formats.disk import parse_json
from tailwise.errors import FileError

__all__ = ["Record"]

_KINDS = {dict: "an object", list: "a list", str: "text", int: "an integer", float: "a number"}


class Record:
    """An object of a JSON file that knows where it stands, so that what is missing can be named.

    Parameters
    ----------
    values : dict
        What the object holds.
    place : str
        The file, and the way from its top to this object.
    """

    def __init__(self, values: dict[str, Any], place: str) -> None:
        self.values, self.place = values, place

    @classmethod
    def read(cls, path: Path) -> Record:
        """The whole of a file."""
        try:
            values = parse_json(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
            json.dumps(values, ensure_ascii=False).encode()  # a ValueError where it holds half characters
        except (OSError, ValueError) as error:
            msg = f"{path} must be a record in JSON. Reading it failed: {error}. Make the folder again."
            raise FileError(msg) from error
        if not isinstance(values, dict):
            msg = f"{path} must be a record in JSON, an object. Got {type(values).__name__}. Make the folder again."
            raise FileError(msg)
        return cls(values, str(path))

    def get(self, key: str, kind: type, *, may_be_none: bool = False) -> Any:
        """A value of the kind asked for; an integer is a number, too."""
        value = self.values.get(key)
        if value is None and may_be_none:
            return None
        kinds = (int, float) if kind is float else (kind,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            came = "nothing" if key not in self.values else f"{value!r:.60}"
            msg = f"{self.place} must hold {key!r}, {_KINDS[kind]}. Got {came}. Make the folder again."
            raise FileError(msg)
        return value

    def part(self, key: str) -> Record:
        """An object within this one."""
        return Record(self.get(key, dict), f"{self.place}, {key}")

    def parts(self, key: str) -> list[Record]:
        """A list of objects within this one."""
        items = self.get(key, list)
        for number, item in enumerate(items):
            if not isinstance(item, dict):
                msg = f"{self.place} must hold objects in {key!r}. Got {item!r:.60} at place {number}."
                raise FileError(msg)
        return [Record(item, f"{self.place}, {key} {number}") for number, item in enumerate(items)]


def _refuse_constant(name: str) -> None:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)
