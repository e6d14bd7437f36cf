"""The default call, row ascent and a certificate, timed in gathers: bare gather-and-sums over the same candidates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from exact_real import ASKED_ON, DATA, PROBABILITIES
from harness import Result, Timing
from matrices import zipf_matrix
from numba import set_num_threads
from pass_cost import gather_and_sum

import tailwise as tw
from tailwise.datasets import load

N_LABELS, TOP, K, WORKERS, REPEATS = 13_330, 100, 3, 2, 5
# What is asked for, by the number of instances: gathers of the whole call.
ASKED = {50_000: {"default": 75, "exact row ascent": 45}, 300_000: {"default": 80, "exact row ascent": 50}}
ASKED_PER_PASS, ASKED_SPEEDUP, ASKED_CERTIFICATE = 2.5, 1.7, 1.0
WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "exact row ascent": {"method": "ascent"},
    "semi row ascent": {"method": "ascent", "expectation": "semi"},
}
SMALL, SMALL_REPEATS = (200, 300), 50

Call = Callable[[], Any]


def run() -> Iterator[Result]:
    for n_instances, asked in ASKED.items():
        matrix = zipf_matrix(n_instances, N_LABELS, TOP)
        yield from compare_with_gathers(f"{n_instances:,} x {N_LABELS:,}", matrix, asked)
        if n_instances == min(ASKED):
            yield compare_threads(f"{n_instances:,} x {N_LABELS:,}", matrix)
            yield compare_certificate(f"{n_instances:,} x {N_LABELS:,}", matrix, K)
    yield from measure_deep_tail()
    yield measure_small()


def compare_with_gathers(name: str, matrix: sp.csr_array, asked: dict[str, float]) -> Iterator[Result]:
    calls: dict[str, Call] = {way: lambda way=way: select(matrix, K, **WAYS[way]) for way in WAYS}
    timings, last = time_in_turn({"gather": make_gather(matrix), **calls})
    for way in WAYS:
        per = last[way].passes if way not in asked else 1
        limit = asked.get(way, ASKED_PER_PASS)
        ratio, best_ratio = (
            getattr(timings[way], kind) / getattr(timings["gather"], kind) / per for kind in ("median", "best")
        )
        unit = "gathers per pass" if per > 1 else "gathers"
        yield Result(
            f"{name}, {way}",
            f"at most {limit} {unit}",
            f"{best_ratio:.1f} {unit} by the best runs ({ratio:.1f} by the medians): {1e3 * timings[way].best:.0f} ms, "
            f"a gather {1e3 * timings['gather'].best:.1f} ms; {last[way].passes} passes, "
            f"{last[way].expected:.8f} expected",
            best_ratio <= limit,
            {"ratio": ratio, "ratio_by_best": best_ratio, "expected": last[way].expected},
        )


def compare_threads(name: str, matrix: sp.csr_array) -> Result:
    timings, last = time_in_turn({str(n): lambda n=n: select(matrix, K, workers=n) for n in (1, WORKERS)})
    ratio = timings["1"].best / timings[str(WORKERS)].best
    is_same = last["1"].labels.tobytes() == last[str(WORKERS)].labels.tobytes()
    return Result(
        f"{name}, default: {WORKERS} threads against one",
        f"at least {ASKED_SPEEDUP} times as fast, the same labels",
        f"{ratio:.2f} times by the best runs: {1e3 * timings[str(WORKERS)].best:.0f} ms against "
        f"{1e3 * timings['1'].best:.0f} ms, {'the same' if is_same else 'other'} labels",
        ratio >= ASKED_SPEEDUP and is_same,
        {"ratio": ratio},
    )


def compare_certificate(name: str, matrix: sp.csr_array, k: int) -> Result:
    """The additional time of a certificate."""
    timings, last = time_in_turn(
        {"default": lambda: select(matrix, k), "proved": lambda: select(matrix, k, certify=True)}
    )
    ratio = timings["proved"].best / timings["default"].best - 1
    return Result(
        f"{name}, k = {k}: a certificate",
        f"at most {ASKED_CERTIFICATE:g} times the call it proves",
        f"{ratio:.2f} times: {1e3 * timings['default'].best:.0f} ms, with the proof "
        f"{1e3 * timings['proved'].best:.0f} ms, gap {last['proved'].certificate.relative_gap:.3%}",
        ratio <= ASKED_CERTIFICATE,
        {"ratio": ratio},
    )


def measure_deep_tail() -> Iterator[Result]:
    """Real candidates of which most labels have few; compare with an earlier version by its own run."""
    if not (DATA / ASKED_ON / PROBABILITIES).is_file():
        yield Result(f"{ASKED_ON}: default", "for information", "data not present", is_met=True)
        return
    matrix = load(DATA / ASKED_ON / PROBABILITIES)
    for k in (3, 5):
        timings, last = time_in_turn({"gather": make_gather(matrix), "default": lambda k=k: select(matrix, k)})
        yield Result(
            f"{ASKED_ON}, k = {k}, default",
            "for information",
            f"{timings['default'].best / timings['gather'].best:.0f} gathers by the best runs: "
            f"{1e3 * timings['default'].best:.0f} ms, {last['default'].expected:.8f} expected",
            is_met=True,
        )
    yield compare_certificate(ASKED_ON, matrix, K)


def measure_small() -> Result:
    """A warm call on a small dense batch, where fixed costs dominate."""
    matrix = np.random.default_rng(0).beta(0.3, 2.0, SMALL)
    ways = {way: (lambda way=way: select(matrix, K, **WAYS[way])) for way in WAYS}
    timings, _ = time_in_turn(ways, SMALL_REPEATS)
    listed = ", ".join(f"{way} {1e3 * timing.best:.1f} ms" for way, timing in timings.items())
    return Result(f"{SMALL[0]} x {SMALL[1]}, warm calls", "for information", listed, is_met=True)


def make_gather(matrix: sp.csr_array) -> Call:
    """Reading every candidate and one number of its label, once."""
    table, sums = np.random.default_rng(0).random(matrix.shape[1]), np.empty(matrix.shape[0])
    set_num_threads(WORKERS)
    return lambda: gather_and_sum(matrix.indptr, matrix.indices, matrix.data, table, sums)


def select(matrix: Any, k: int, **options: Any) -> tw.Selection:
    return tw.select(matrix, "macro-f1", k, **{"workers": WORKERS, **options})


def time_in_turn(calls: dict[str, Call], repeats: int = REPEATS) -> tuple[dict[str, Timing], dict[str, Any]]:
    """Calls alternate, so that other load affects all of them; the first call of each is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    last = {}
    for _ in range(1 + repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            last[name] = call()
            seconds[name].append(time.perf_counter() - start)
    return {name: Timing(tuple(taken[1:])) for name, taken in seconds.items()}, last
