"""Peak memory of a selection over 50,000 x 1,000 candidates, besides the candidates themselves.

Run as a script, `python memory.py folder expectation`, it is the measured process; the folder holds .npy files.
"""

from __future__ import annotations

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
ASKED_FACTOR, ASKED_BYTES_A_LABEL = 1.2, 64
PARTS = ("data", "indices", "indptr")


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        save_candidates(folder)
        yield compare("semi", run_script(Path(__file__), folder, "semi"))
        yield compare("exact", run_script(Path(__file__), folder, "exact"))


def compare(expectation: str, figures: dict[str, int]) -> Result:
    allowed = ASKED_FACTOR * figures["candidates_bytes"] + ASKED_BYTES_A_LABEL * N_LABELS
    used = figures["peak_bytes"] - figures["before_bytes"]
    return Result(
        f"peak memory of a selection, {expectation} expectation",
        f"at most {ASKED_FACTOR} times the candidates and {ASKED_BYTES_A_LABEL} bytes a label: {in_mb(allowed)}",
        f"{in_mb(used)}, of which the candidates {in_mb(figures['candidates_bytes'])}",
        used <= allowed,
        {**figures, "used_bytes": used, "allowed_bytes": allowed},
    )


def save_candidates(folder: str) -> None:
    # Made here, so that making them leaves no peak in the measured process.
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    for part in PARTS:
        np.save(Path(folder, f"{part}.npy"), getattr(matrix, part))


def measure(folder: str, expectation: str) -> dict[str, int]:
    """Resident bytes just before the candidates are loaded, and at the peak of loading and selecting."""
    select(zipf_matrix(100, 200, 20), expectation)  # compiles
    before = resident_bytes("VmRSS")
    arrays = [np.load(Path(folder, f"{part}.npy")) for part in PARTS]
    matrix = sp.csr_array(tuple(arrays), shape=(N_INSTANCES, N_LABELS), copy=False)
    select(matrix, expectation)
    return {
        "candidates_bytes": sum(array.nbytes for array in arrays),
        "before_bytes": before,
        "peak_bytes": resident_bytes("VmHWM"),
    }


def select(matrix: sp.csr_array, expectation: str) -> None:
    tw.select(matrix, "macro-f1", k=K, method="ascent", expectation=expectation)


def resident_bytes(entry: str) -> int:
    """VmRSS now or VmHWM at its peak. (The peak of getrusage would not do: a process inherits that of its parent.)"""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(re.search(rf"^{entry}:\s+(\d+) kB$", status, re.MULTILINE)[1])


def in_mb(n_bytes: float) -> str:
    return f"{n_bytes / 1e6:.0f} MB"


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
