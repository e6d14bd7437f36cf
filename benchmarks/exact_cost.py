"""What a pass of exact macro-F1 ascent costs beside a semi-empirical one, over the same candidates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from harness import Result, Timing, time_calls
from matrices import zipf_matrix

import tailwise as tw
from tailwise.engines import Threads
from tailwise.expectations import Exact, SemiEmpirical
from tailwise.selection.ascent import AUTO_BATCHES, BLOCK, select_by_ascent
from tailwise.selection.batch import describe_batch
from tailwise.selection.budget import check_budgets
from tailwise.selection.passes import run_pass
from tailwise.selection.problem import Problem, Settings
from tailwise.selection.starting import starting_positions
from tailwise.utilities import as_utility

N_INSTANCES, N_LABELS, TOP, K = 50_000, 13_330, 100, 3
UTILITY, WORKERS, REPEATS = "macro-f1", 2, 7
ASKED_RATIO = 4


class Costs(NamedTuple):
    """Seconds of one expectation's passes, and of counting its totals from scratch."""

    first: Timing
    late: Timing
    count: Timing


def run() -> Iterator[Result]:
    candidates = tw.Candidates.of(zipf_matrix(N_INSTANCES, N_LABELS, TOP))
    budgets = check_budgets(K, *candidates.shape)
    batch = describe_batch(candidates, budgets, None, None)
    utility = as_utility(UTILITY, None)
    semi, exact = (expectation(utility, candidates, batch) for expectation in (SemiEmpirical, Exact))
    with Threads(WORKERS) as threads:
        semi_costs = time_passes(Problem(candidates, utility, semi, budgets, Settings(), threads))
        exact_costs = time_passes(Problem(candidates, utility, exact, budgets, Settings(), threads, rehearsal=semi))
    asked = f"at most {ASKED_RATIO} times a semi-empirical pass"
    yield compare("late pass, at the converged selection", exact_costs.late, semi_costs.late, asked)
    yield compare("first pass, from the most probable labels", exact_costs.first, semi_costs.first, "for information")
    yield compare(
        f"totals from scratch, every {exact.passes_per_count} passes (semi-empirical: every {semi.passes_per_count})",
        exact_costs.count,
        semi_costs.count,
        "for information",
    )
    yield compare("the whole of select", time_select("exact"), time_select("semi"), "for information")


def time_passes(problem: Problem) -> Costs:
    start, converged = starting_positions(problem), select_by_ascent(problem).positions
    count, _ = time_calls(lambda: problem.expectation.count(converged), REPEATS)
    return Costs(time_pass(problem, start), time_pass(problem, converged), count)


def time_pass(problem: Problem, start: np.ndarray) -> Timing:
    """The same pass again and again: its selection and totals are put back before each."""
    order = visiting_order(N_INSTANCES)

    def prepare() -> Callable[[], int]:
        positions = start.copy()
        problem.expectation.count(positions)
        return lambda: run_pass(problem, positions, order, N_INSTANCES // AUTO_BATCHES)

    prepare()()
    return time_prepared(prepare)


def time_prepared(prepare: Callable[[], Callable[[], int]]) -> Timing:
    seconds = []
    for _ in range(REPEATS):
        call = prepare()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return Timing(tuple(seconds))


def visiting_order(n: int) -> np.ndarray:
    """Random blocks of neighbours, as `select` visits them."""
    starts = np.random.default_rng(0).permutation(-(-n // BLOCK)) * BLOCK
    order = (starts[:, None] + np.arange(BLOCK)).ravel()
    return order[order < n]


def time_select(expectation: str) -> Timing:
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    selections = [tw.select(matrix, UTILITY, k=K, expectation=expectation, workers=WORKERS) for _ in range(3)]
    return Timing(tuple(selection.seconds for selection in selections))


def compare(name: str, exact: Timing, semi: Timing, asked: str) -> Result:
    ratio, best_ratio = exact.median / semi.median, exact.best / semi.best
    return Result(
        f"exact {UTILITY}, {name}",
        asked,
        f"{ratio:.1f} times ({best_ratio:.1f} by the best runs): {1e3 * exact.median:.1f} ms, best "
        f"{1e3 * exact.best:.1f} ms; semi-empirical {1e3 * semi.median:.1f} ms, best {1e3 * semi.best:.1f} ms",
        ratio <= ASKED_RATIO or asked == "for information",
        {"ratio": ratio, "ratio_by_best": best_ratio, "exact_seconds": exact.seconds, "semi_seconds": semi.seconds},
    )
