"""How close to the optimum a selection is proven to be, after how many rounds and seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import NamedTuple

import scipy.sparse as sp
from exact_real import ASKED_ON, DATA, PROBABILITIES
from harness import Result
from matrices import zipf_matrix

import tailwise as tw
from tailwise.datasets import load

WORKERS, WARM_UP_INSTANCES = 2, 200
ROUNDS_SHOWN = (1, 5, 10, 20, 40, 80, 160)
EXPECTATIONS = ("semi", "exact")
ASKED_SECONDS = 60.0


class Asked(NamedTuple):
    """The target gap of a utility, in percent, and the time limit in seconds, including the selection."""

    utility: str
    expectations: tuple[str, ...]
    percent: float
    seconds: float | None = None


SMALL_ZIPF = (
    Asked("macro-f1", EXPECTATIONS, 0.1),
    Asked("macro-precision", EXPECTATIONS, 0.4),
    Asked("coverage", EXPECTATIONS, 0.5),
)
REAL = (Asked("macro-f1", EXPECTATIONS, 0.5, ASKED_SECONDS),)
LARGE_ZIPF = (Asked("macro-f1", EXPECTATIONS, 0.3, ASKED_SECONDS),)


def run() -> Iterator[Result]:
    yield from measure("zipf, 3,809 x 3,993, 100 candidates", zipf_matrix(3_809, 3_993, 100), 3, SMALL_ZIPF)
    if (DATA / ASKED_ON / PROBABILITIES).is_file():
        yield from measure(ASKED_ON, load(DATA / ASKED_ON / PROBABILITIES), 5, REAL)
    else:
        yield Result(f"{ASKED_ON}: certificate", "for information", "data not present", is_met=True)
    yield from measure("zipf, 50,000 x 13,330, 100 candidates", zipf_matrix(50_000, 13_330, 100), 3, LARGE_ZIPF)


def measure(name: str, matrix: sp.csr_array, k: int, all_asked: tuple[Asked, ...]) -> Iterator[Result]:
    for asked in all_asked:
        for expectation in asked.expectations:
            select(matrix[:WARM_UP_INSTANCES], asked.utility, k, expectation)  # compiles
            start = time.perf_counter()
            selection = select(matrix, asked.utility, k, expectation)
            seconds = time.perf_counter() - start
            yield compare(f"{name}, k = {k}: {asked.utility}, {expectation} expectation", asked, selection, seconds)


def select(matrix: sp.csr_array, utility: str, k: int, expectation: str) -> tw.Selection:
    return tw.select(matrix, utility, k=k, method="global", expectation=expectation, certify=True, workers=WORKERS)


def compare(name: str, asked: Asked, selection: tw.Selection, seconds: float) -> Result:
    certificate = selection.certificate
    percent = 100 * certificate.relative_gap
    by_round = gap_by_round(certificate)
    return Result(
        name,
        f"gap at most {asked.percent} %" + (f" within {asked.seconds:.0f} s" if asked.seconds else ""),
        f"{percent:.3f} % in {seconds:.1f} s, of which {certificate.rounds} rounds {certificate.seconds:.1f} s; bound "
        f"above this value after {' / '.join(map(str, by_round))} rounds: "
        f"{' / '.join(f'{gap:.3f}' for gap in by_round.values())} %",
        percent <= asked.percent and (asked.seconds is None or seconds <= asked.seconds),
        {"certificate": certificate.to_dict(), "percent_by_round": by_round, "seconds": seconds},
    )


def gap_by_round(certificate: tw.Certificate) -> dict[int, float]:
    """How far the bound was above the final value after some of the rounds, the last among them, in percent."""
    bounds = certificate.history
    shown = sorted({n for n in ROUNDS_SHOWN if n < len(bounds)} | {len(bounds)})
    return {n: 100 * (bounds[n - 1] / certificate.value - 1) for n in shown}
