"""Peak memory of a selection over 50,000 x 1,000 candidates: of row ascent by both expectations, and by default.

The code that is compiled or loaded does not count. Run as a script, `python memory.py folder call`, it is the measured
process; the folder holds .npy files.
"""

from __future__ import annotations

import ctypes
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from harness import Result, run_script
from matrices import zipf_matrix

import tailwise as tw

N_INSTANCES, N_LABELS, TOP, K = 50_000, 100_000, 1_000, 5
PARTS = ("data", "indices", "indptr")
# What a call may take: so many times the candidates, and so many bytes a label.
CALLS = {
    "row ascent, semi expectation": ({"method": "ascent", "expectation": "semi"}, 1.2, 64),
    "row ascent, exact expectation": ({"method": "ascent", "expectation": "exact"}, 1.2, 64),
    "the default call": ({}, 2.3, 0),
}


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        save_candidates(folder)
        for call in CALLS:
            run_script(Path(__file__), folder, call)  # compiles, which takes memory of its own
            yield compare(call, run_script(Path(__file__), folder, call))


def compare(call: str, figures: dict[str, int]) -> Result:
    _, factor, bytes_a_label = CALLS[call]
    candidates, used = figures["candidates_bytes"], figures["peak_bytes"] - figures["before_bytes"]
    allowed = factor * candidates + bytes_a_label * N_LABELS
    labels = f" and {bytes_a_label} bytes a label" if bytes_a_label else ""
    return Result(
        f"peak memory of a selection, {call}",
        f"at most {factor} times the candidates{labels}: {in_mb(allowed)}",
        f"{in_mb(used)}, {used / candidates:.2f} times the candidates, which are {in_mb(candidates)} of it",
        used <= allowed,
        {**figures, "used_bytes": used, "allowed_bytes": allowed},
    )


def save_candidates(folder: str) -> None:
    # Made here, so that making them leaves no peak in the measured process.
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    for part in PARTS:
        np.save(Path(folder, f"{part}.npy"), getattr(matrix, part))


def measure(folder: str, call: str) -> dict[str, int]:
    """Resident bytes just before the candidates are loaded, and at the peak of loading and selecting."""
    # Enough candidates for the same code to be loaded. What they leave free would hide what the measured call takes.
    select(tw.Candidates.of(zipf_matrix(10_000, 1_000, 100)), call)
    ctypes.CDLL(None).malloc_trim(0)
    before = resident_bytes("VmRSS")
    arrays = [np.load(Path(folder, f"{part}.npy")) for part in PARTS]
    matrix = sp.csr_array(tuple(arrays), shape=(N_INSTANCES, N_LABELS), copy=False)
    select(matrix, call)
    return {
        "candidates_bytes": sum(array.nbytes for array in arrays),
        "before_bytes": before,
        "peak_bytes": resident_bytes("VmHWM"),
    }


def select(candidates: sp.csr_array | tw.Candidates, call: str) -> None:
    tw.select(candidates, "macro-f1", k=K, **CALLS[call][0])


def resident_bytes(entry: str) -> int:
    """VmRSS now or VmHWM at its peak. (The peak of getrusage would not do: a process inherits that of its parent.)"""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(rf"^{entry}:\s+(\d+) kB$", status, re.MULTILINE)[1])


def in_mb(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.0f} MB"


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
