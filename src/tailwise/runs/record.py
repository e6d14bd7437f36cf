"""The record of a run: what was done, with what, in which time, and what came of it."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailwise import __version__

if TYPE_CHECKING:
    from tailwise.certificates import Certificate
    from tailwise.selection import Selection

__all__ = ["Stopwatch", "as_json", "describe_files", "describe_selection", "describe_versions"]

CHUNK = 1 << 20
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


class Stopwatch:
    """Seconds of named steps."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, step: str) -> Iterator[None]:
        """Add the time that the block takes to that of the step."""
        start = time.perf_counter()
        yield
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


def describe_versions() -> dict[str, str]:
    """What the figures of a run depend on, and nothing that names the machine."""
    return {
        "tailwise": __version__,
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
    }


def describe_files(files: dict[str, Path]) -> dict[str, Any]:
    """Size and SHA-256 of each file: what a run can be compared by."""
    return {name: {"bytes": path.stat().st_size, "sha256": _hash(path)} for name, path in files.items()}


def describe_selection(selection: Selection) -> dict[str, Any]:
    """How the labels were found."""
    return {
        "expected": selection.expected,
        "method": selection.method,
        "expectation": selection.expectation,
        "passes": selection.passes,
        "converged": selection.converged,
        "certificate": _describe_certificate(selection.certificate),
    }


def as_json(record: dict[str, Any]) -> str:
    """Text of JSON, which has no NaN and no infinity: null stands for them."""
    text = json.dumps(_plain(record), indent=2, ensure_ascii=False) + "\n"
    # A file name that is no text holds half characters, which no file can; JSON knows them as \udc80.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _describe_certificate(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    names = ("value", "upper", "gap", "relative_gap", "rounds", "seconds", "interrupted")
    return {name: getattr(certificate, name) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _hash(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(CHUNK):
            digest.update(part)
    return digest.hexdigest()
