"""Records of runs in JSON: description, writing, reading and comparison."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise import __version__
from tailwise.datasets.formats.disk import digest_of, parse_json, written_beside
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.certificates import Certificate
    from tailwise.selection import Selection

PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")
REMEDY = "Create the folder again"
_KINDS = {dict: "an object", list: "a list", str: "text", int: "an integer", float: "a number"}


class Stopwatch:
    """Durations of named steps, in seconds."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Add the duration of the block to that of the step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def describe_versions() -> dict[str, str]:
    """Return the versions of all packages that results depend on, and nothing that identifies the machine."""
    return {
        "tailwise": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def describe_files(files: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Return the size and SHA-256 of each file, for comparison."""
    return {name: {"bytes": path.stat().st_size, "sha256": digest_of(path)} for name, path in files.items()}


def describe_rows(rows: Any) -> dict[str, Any]:
    """Like `describe_files`, for rows in memory: a CSR array, sparse and dense features side by side, or texts."""
    digest, n_bytes = hashlib.sha256(repr(rows.shape).encode()), 0
    for array in _arrays_of(rows):
        digest.update(array.dtype.str.encode() + array.tobytes())
        n_bytes += array.nbytes
    return {"bytes": n_bytes, "sha256": digest.hexdigest()}


def _arrays_of(rows: Any) -> list[NDArray]:
    if hasattr(rows, "dense"):
        return [*_arrays_of(rows.sparse), rows.dense]
    if hasattr(rows, "indptr"):
        return [rows.indptr, rows.indices, rows.data]
    texts = [text.encode(errors="surrogatepass") for text in rows]
    return [np.array([len(text) for text in texts], np.int64), np.frombuffer(b"".join(texts), np.uint8)]


def describe_selection(selection: Selection) -> dict[str, Any]:
    """Describe how the labels were found."""
    return {
        "expected": selection.expected,
        "method": selection.method,
        "expectation": selection.expectation,
        "passes": selection.passes,
        "converged": selection.converged,
        "certificate": _describe_certificate(selection.certificate),
        "messages": list(selection.messages),
    }


def _describe_certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    names = ("value", "upper", "gap", "relative_gap", "rounds", "seconds", "interrupted")
    return {name: getattr(certificate, name) for name in names}


def identify(
    configuration: Mapping[str, Any], seed: int, inputs: Mapping[str, Mapping[str, Any]], version: str
) -> dict[str, Any]:
    """Return what two runs must share to give the same results; the number of threads may differ."""
    selection = {name: value for name, value in configuration["selection"].items() if name != "workers"}
    return {
        "configuration": {**configuration, "selection": selection},
        "seed": seed,
        "inputs": {name: facts["sha256"] for name, facts in inputs.items()},
        "tailwise": version,
    }


def list_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """List the names of the values in which two records differ."""
    changes = []
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            changes += list_changes(before, after)
        elif before != after:
            changes.append(name)
    return changes


def as_json(record: Mapping[str, Any]) -> str:
    """Convert to JSON text, with null for NaN and infinity."""
    text = json.dumps(_plain(record), indent=2, ensure_ascii=False) + "\n"
    # An undecodable file name holds unpaired surrogates, which JSON escapes as \udc80.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a record."""
    with written_beside(path) as file:
        file.write(as_json(record).encode())


def read_json(path: Path, remedy: str = REMEDY) -> Any:
    """Read a JSON file; `remedy` ends the error message."""
    try:
        return parse_json(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except (OSError, ValueError) as error:
        msg = f"{path} must be a record in JSON. Reading it failed: {error}. {remedy}."
        raise FileError(msg) from error


def _refuse_constant(name: str) -> None:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)


class Record:
    """An object in a JSON file; `place`, the file and the path to the object within it, is for error messages."""

    def __init__(self, values: dict[str, Any], place: str) -> None:
        self.values, self.place = values, place

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a whole file, which must hold valid text."""
        values = read_json(path)
        try:
            json.dumps(values, ensure_ascii=False).encode()
        except ValueError as error:  # unpaired surrogates
            msg = f"{path} must be a record in JSON. Reading it failed: {error}. {REMEDY}."
            raise FileError(msg) from error
        if not isinstance(values, dict):
            msg = f"{path} must hold a JSON object. Got {type(values).__name__}. {REMEDY}."
            raise FileError(msg)
        return cls(values, str(path))

    def get(self, key: str, kind: type, *, may_be_none: bool = False) -> Any:
        """Return a value of the given type; integers are accepted as numbers."""
        value = self.values.get(key)
        if value is None and may_be_none:
            return None
        kinds = (int, float) if kind is float else (kind,)
        if not isinstance(value, kinds) or isinstance(value, bool):
            came = "nothing" if key not in self.values else f"{value!r:.60}"
            msg = f"{self.place} must hold {key!r}, {_KINDS[kind]}. Got {came}. {REMEDY}."
            raise FileError(msg)
        return value

    def part(self, key: str) -> Record:
        """Return an object within this one."""
        return Record(self.get(key, dict), f"{self.place}, {key}")
