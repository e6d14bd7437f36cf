"""Damages files of every kind and reads them: the answer is an error of ours, or what the changed file says.

Run it for longer with ``python -m fuzz.files SECONDS [SEED]`` in the folder of the tests.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from fuzz.kinds import KINDS, Kind
from fuzz.mutations import mutate

from tailwise.errors import TailwiseError

try:
    import resource
except ImportError:  # Windows: there the memory is not looked at
    resource = None  # type: ignore[assignment]

__all__ = ["fuzz_files"]

MOST_MEMORY = 2 << 30  # bytes by which the process may grow


def fuzz_files(seconds: float, seed: int, *, rounds: int | None = None) -> int:
    """Try damaged files for some time, or for some rounds over all kinds; gives how many were tried.

    Raises AssertionError for the first that escapes, with what is needed to make it again.
    """
    end, rng, n_tried = time.monotonic() + seconds, random.Random(seed), 0
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [_make(kind, Path(name, kind.name.replace(".", "-"))) for kind in KINDS]
        before = _peak_memory()
        while time.monotonic() < end and (rounds is None or n_tried < rounds * len(KINDS)):
            for kind, path, content, answer in made:
                changed, told = mutate(_spliced(content, made, rng), rng)
                what = f"seed {seed}, file {n_tried}, {kind.name} of {len(changed)} bytes: {told}"
                _try(kind, path, content, changed, answer, what)
                n_tried += 1
            assert _peak_memory() - before < MOST_MEMORY, f"seed {seed}: {_peak_memory():,} bytes of memory near {what}"
    return n_tried


def _make(kind: Kind, folder: Path) -> tuple[Kind, Path, bytes, Any]:
    """A sound file, its bytes, and what it says."""
    folder.mkdir()
    path = folder / kind.name
    kind.make(path)
    return kind, path, path.read_bytes(), repr(kind.read(path))


def _spliced(content: bytes, made: list[Any], rng: random.Random) -> bytes:
    """Now and then the beginning of one file with the end of another."""
    if rng.random() > 0.05:
        return content
    other = rng.choice(made)[2]
    return content[: rng.randint(0, len(content))] + other[rng.randint(0, len(other)) :]


def _try(kind: Kind, path: Path, content: bytes, changed: bytes, answer: str, what: str) -> None:
    path.write_bytes(changed)
    try:
        said = kind.read(path)
    except TailwiseError:
        pass
    except Exception as error:
        msg = f"{type(error).__name__} escaped ({error}) for {what}"
        raise AssertionError(msg) from error
    else:
        assert not kind.is_checked or repr(said) == answer, f"another answer from {what}"
    finally:
        path.write_bytes(content)


def _peak_memory() -> int:
    """Bytes; macOS counts so, Linux in units of 1,024."""
    if resource is None:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


if __name__ == "__main__":
    print(fuzz_files(float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0), "files tried, none escaped")
