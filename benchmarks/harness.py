"""Shared by all benchmarks: records of results, timing, fresh interpreters, data, and a description of the machine."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import cpu_count

__all__ = ["OthersShare", "Result", "Timing", "describe_machine", "find_data", "run_script", "time_calls"]


@dataclass(frozen=True)
class Result:
    """One result and its target; `figures` contains the numbers behind the sentence."""

    name: str
    asked: str
    measured: str
    is_met: bool
    figures: dict[str, Any] = field(default_factory=dict)

    def line(self) -> str:
        """The result as `name | asked | measured`; a figure that misses what was asked says so."""
        return f"{self.name} | {self.asked} | {self.measured}{'' if self.is_met else ' (not met)'}"


@dataclass(frozen=True)
class Timing:
    """Wall seconds of repeated calls."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def time_calls(call: Callable[[], Any], repeats: int) -> tuple[Timing, Any]:
    """Call `repeats` times; the timing and what the last call returned."""
    seconds = []
    returned = None
    for _ in range(repeats):
        start = time.perf_counter()
        returned = call()
        seconds.append(time.perf_counter() - start)
    return Timing(tuple(seconds)), returned


def run_script(script: Path, *arguments: str, environment: dict[str, str] | None = None) -> Any:
    """Run a script in a fresh interpreter and read the JSON it prints."""
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})}
    )
    return json.loads(done.stdout)


def find_data() -> Path:
    """Where the real data sets are, each in a folder of its own: TAILWISE_DATA, or shared/data beside the repository.

    docs/benchmarks.md says which there are and where they come from. A benchmark does without those that are missing.
    """
    return Path(os.environ.get("TAILWISE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")


def describe_machine() -> dict[str, Any]:
    """Processor, cores and versions: what a figure depends on, and nothing that identifies the machine."""
    models = [line.split(":", 1)[1].strip() for line in _read_lines("/proc/cpuinfo") if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "scipy", "numba")},
    }


class OthersShare:
    """The share of the cores' time that other processes have taken since this object was made.

    Other load on the same cores falsifies times, especially of threads that wait for each other, so the share is
    printed next to the figure.
    """

    def __init__(self) -> None:
        self._start = _cpu_seconds()

    def read(self) -> float:
        all_time, busy, own = (now - then for now, then in zip(_cpu_seconds(), self._start, strict=True))
        return max(0.0, busy - own) / max(all_time, 1e-9)


def _cpu_seconds() -> tuple[float, float, float]:
    """Of all cores since the system started: all time, and busy time; then that of this process and its children."""
    counts = [int(count) for count in _read_lines("/proc/stat")[0].split()[1:9]]
    idle = counts[3] + counts[4]
    ticks = os.sysconf("SC_CLK_TCK")
    return sum(counts) / ticks, (sum(counts) - idle) / ticks, sum(os.times()[:4])


def _read_lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []
