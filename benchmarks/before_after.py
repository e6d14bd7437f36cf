"""Processor time of selections divided by that of another checkout: interleaved pairs of fresh interpreters.

python benchmarks/before_after.py PATH_OF_THE_OTHER_SRC [--pairs 11] [--cases "semi macro-f1" coverage ...]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

K, PAIRS, REPEATS, SMALL_REPEATS = 3, 11, 3, 30
ROW_ASCENT = {"method": "ascent", "expectation": "semi"}
# The batch, the utility and the options of each case.
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "semi macro-f1": ("large", "macro-f1", ROW_ASCENT),
    "coverage": ("large", "coverage", ROW_ASCENT),
    "macro-precision": ("large", "macro-precision", ROW_ASCENT),
    "exact macro-f1": ("large", "macro-f1", {"method": "ascent"}),
    "closed form": ("large", "macro-recall", {"expectation": "semi"}),
    "g-mean": ("medium", "macro-gmean", {"method": "ascent"}),
    "default": ("large", "macro-f1", {}),
    "small": ("small", "macro-f1", {}),
}
SHAPES = {"large": (50_000, 13_330, 100), "medium": (9_000, 5_000, 100), "small": (200, 300, 0)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder src of another checkout")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--batches", type=Path, help=argparse.SUPPRESS)  # where a measuring process finds them
    options = parser.parse_args()
    if options.batches is not None:
        print(json.dumps({case: measure(case, options.batches) for case in options.cases}))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_batches(Path(folder))
        report(compare(options.other, options.pairs, options.cases, Path(folder)))


def write_batches(folder: Path) -> None:
    """The same candidates for both; saved to a file, since another version may draw different ones."""
    from matrices import zipf_matrix

    for name, (n_instances, n_labels, top) in SHAPES.items():
        if top:
            sp.save_npz(folder / f"{name}.npz", zipf_matrix(n_instances, n_labels, top), compressed=False)
        else:
            np.save(folder / f"{name}.npy", np.random.default_rng(0).beta(0.3, 2.0, (n_instances, n_labels)))


def measure(case: str, batches: Path) -> dict[str, Any]:
    """Processor seconds of a call, the best of a few after a first one that loads compiled code."""
    import tailwise as tw

    batch, utility, settings = CASES[case]
    dense = batches / f"{batch}.npy"
    matrix = np.load(dense) if dense.exists() else sp.load_npz(batches / f"{batch}.npz")

    def call() -> Any:
        return tw.select(matrix, utility, K, **settings)

    call()
    seconds = [time_of(call) for _ in range(SMALL_REPEATS if dense.exists() else REPEATS)]
    selection = call()
    return {"seconds": min(seconds), "passes": selection.passes, "expected": selection.expected}


def time_of(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(other: Path, pairs: int, cases: list[str], batches: Path) -> dict[str, list[tuple[Any, Any]]]:
    """Times of each case before and after, pair by pair; the order alternates."""
    sources = {"before": other.resolve(), "after": Path(__file__).resolve().parents[1] / "src"}
    found: dict[str, list[tuple[Any, Any]]] = {case: [] for case in cases}
    for pair in range(pairs):
        turn = list(sources) if pair % 2 == 0 else list(sources)[::-1]
        both = {name: run_other(sources[name], cases, batches) for name in turn}
        for case in cases:
            found[case].append((both["before"][case], both["after"][case]))
    return found


def run_other(source: Path, cases: list[str], batches: Path) -> dict[str, Any]:
    command = [sys.executable, __file__, str(source), "--batches", str(batches), "--cases", *cases]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout)


def report(found: dict[str, list[tuple[Any, Any]]]) -> None:
    """Median and quartiles of the ratios of pairs; seconds, passes and values of the last pair."""
    print(
        "| case | after / before | quartiles | ms before, after | passes | expected value |\n|---|---|---|---|---|---|"
    )
    for case, pairs in found.items():
        ratios = [after["seconds"] / before["seconds"] for before, after in pairs]
        low, _, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        times = [1e3 * statistics.median(pair[side]["seconds"] for pair in pairs) for side in range(2)]
        before, after = pairs[-1]
        change = after["expected"] / before["expected"] - 1
        print(
            f"| {case} | {statistics.median(ratios):.2f} | {low:.2f} to {high:.2f} | {times[0]:.1f}, {times[1]:.1f} "
            f"| {before['passes']}, {after['passes']} | {change:+.1e} |"
        )


if __name__ == "__main__":
    main()
