"""The labels of a selection, byte for byte, on one, two and four threads.

Run as a script it is one of the compared processes: `python threads.py workers`.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from harness import Result, run_script
from matrices import zipf_matrix

import tailwise as tw

WORKERS = (1, 2, 4)
UTILITIES = ("macro-f1", "macro-precision", "coverage", "0.7*precision + 0.3*macro-f1")


def run() -> Iterator[Result]:
    environment = {"NUMBA_NUM_THREADS": str(max(WORKERS))}
    digests = {n: run_script(Path(__file__), str(n), environment=environment) for n in WORKERS}
    for utility in UTILITIES:
        by_workers = {n: digests[n][utility] for n in WORKERS}
        n_distinct = len(set(by_workers.values()))
        yield Result(
            f"{utility}: labels on {', '.join(map(str, WORKERS))} threads",
            "the same bytes",
            "the same bytes" if n_distinct == 1 else f"{n_distinct} different results",
            n_distinct == 1,
            {"sha256": by_workers},
        )


def digest_labels(workers: int) -> dict[str, str]:
    matrix = zipf_matrix(20_000, 5_000, 50)
    selections = {utility: tw.select(matrix, utility, k=3, workers=workers) for utility in UTILITIES}
    return {utility: hashlib.sha256(s.labels.tobytes()).hexdigest() for utility, s in selections.items()}


if __name__ == "__main__":
    print(json.dumps(digest_labels(int(sys.argv[1]))))
