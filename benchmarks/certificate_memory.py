"""Peak memory of a certificate over 50,000 x 100 candidates, compared with a process that only holds them.

Run as a script, `python certificate_memory.py folder work [expectation]`, it is a measured process; the folder holds
.npy files, and work is what the process does with the candidates: hold, warm-up or certify.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from harness import Result, run_script
from matrices import zipf_matrix
from memory import PARTS, in_mb, resident_bytes

import tailwise as tw

N_INSTANCES, N_LABELS, TOP, K = 50_000, 13_330, 100, 3
UTILITY, EXPECTATIONS = "macro-f1", ("semi", "exact")
ROUNDS = 30  # enough for every buffer to be in use
ASKED_FACTOR = 3


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        save_candidates(folder)
        for expectation in EXPECTATIONS:
            run_script(Path(__file__), folder, "certify", expectation)  # compiles, which takes memory of its own
            figures = {work: run_script(Path(__file__), folder, work, expectation) for work in WORKS}
            yield compare(expectation, figures)


def save_candidates(folder: str) -> None:
    # Made here, so that making them leaves no peak in the measured process.
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    for part in PARTS:
        np.save(Path(folder, f"{part}.npy"), getattr(matrix, part))


def compare(expectation: str, figures: dict[str, dict[str, int]]) -> Result:
    n_bytes = figures["certify"]["candidates_bytes"]
    hold, warm_up, certify = (figures[work]["peak_bytes"] for work in ("hold", "warm-up", "certify"))
    return Result(
        f"peak memory of select and certify, {expectation} expectation, above that of a process that imports tailwise "
        "and holds the candidates, over the bytes of the candidates",
        f"at most {ASKED_FACTOR} times",
        f"{(certify - hold) / n_bytes:.2f} times: peaks of {in_mb(certify)} and {in_mb(hold)}, candidates "
        f"{in_mb(n_bytes)}; {(certify - warm_up) / n_bytes:.2f} times where the other process has the compiled code "
        f"loaded, too ({in_mb(warm_up)})",
        certify - hold <= ASKED_FACTOR * n_bytes,
        figures,
    )


def measure(folder: str, work: str, expectation: str) -> dict[str, int]:
    arrays = [np.load(Path(folder, f"{part}.npy")) for part in PARTS]
    matrix = sp.csr_array(tuple(arrays), shape=(N_INSTANCES, N_LABELS), copy=False)
    WORKS[work](matrix, expectation)
    return {"candidates_bytes": sum(array.nbytes for array in arrays), "peak_bytes": resident_bytes("VmHWM")}


def hold(matrix: sp.csr_array, expectation: str) -> None:
    """Nothing: the candidates are there."""


def warm_up(matrix: sp.csr_array, expectation: str) -> None:
    """Load Numba and the compiled code."""
    certify(zipf_matrix(100, 200, 20), expectation)


def certify(matrix: sp.csr_array, expectation: str) -> None:
    selection = tw.select(matrix, UTILITY, k=K, method="global", expectation=expectation)
    tw.certify(matrix, UTILITY, K, selection, expectation=expectation, rounds=ROUNDS, target_gap=0.0)


WORKS = {"hold": hold, "warm-up": warm_up, "certify": certify}

if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
