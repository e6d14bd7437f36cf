"""The time of a pass of exact macro-F1 ascent compared with a semi-empirical one, over the same candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from harness import Result, Timing, time_calls
from matrices import zipf_matrix

import tailwise as tw
from tailwise.selection.bca import run_pass
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Problem, Request
from tailwise.selection.resolve import resolve
from tailwise.selection.select import solve

N_INSTANCES, N_LABELS, TOP, K = 50_000, 13_330, 100, 3
UTILITY, WORKERS, REPEATS = "macro-f1", 2, 7
ASKED_RATIO = 4

Call = Callable[[], Any]
Prepare = Callable[[], Call]


def run() -> Iterator[Result]:
    matrix = zipf_matrix(N_INSTANCES, N_LABELS, TOP)
    exact, semi = (make_problem(matrix, expectation) for expectation in ("exact", "semi"))
    with exact.engine, semi.engine:
        tops, ends = ([find(problem) for problem in (exact, semi)] for find in (start, climb))
        late = time_in_turn(prepare_pass(exact, ends[0]), prepare_pass(semi, ends[1]))
        first = time_in_turn(prepare_pass(exact, tops[0]), prepare_pass(semi, tops[1]))
        count = time_in_turn(prepare_count(exact, ends[0]), prepare_count(semi, ends[1]))
    whole = time_in_turn(prepare_select(matrix, "exact"), prepare_select(matrix, "semi"))
    yield compare("late pass, at the converged selection", *late, f"at most {ASKED_RATIO} times a semi-empirical pass")
    yield compare("first pass, from the most probable labels", *first, "for information")
    yield compare("totals counted from scratch", *count, "for information")
    yield compare("the whole of select", *whole, "for information")


def make_problem(matrix: sp.csr_array, expectation: str) -> Problem:
    """The problem that `select` makes from its arguments."""
    return resolve(Request(matrix, UTILITY, K, method="ascent", expectation=expectation, workers=WORKERS))


def start(problem: Problem) -> np.ndarray:
    return problem.plan[0](problem, None, Observer()).positions


def climb(problem: Problem) -> np.ndarray:
    return solve(problem, Observer()).positions


def prepare_pass(problem: Problem, start: np.ndarray) -> Prepare:
    """The same pass repeatedly: selection and totals are restored before each."""

    def prepare() -> Call:
        positions, state = start.copy(), problem.expectation.count(start)
        return lambda: run_pass(problem, state, positions, problem.order, problem.group_size, Observer())

    return prepare


def prepare_count(problem: Problem, positions: np.ndarray) -> Prepare:
    return lambda: lambda: problem.expectation.count(positions)


def prepare_select(matrix: sp.csr_array, expectation: str) -> Prepare:
    return lambda: lambda: tw.select(matrix, UTILITY, k=K, method="ascent", expectation=expectation, workers=WORKERS)


def time_in_turn(exact: Prepare, semi: Prepare) -> tuple[Timing, Timing]:
    """Calls alternate, so that other load affects both; the first call of each is not counted."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(1 + REPEATS):
        for prepare, taken in zip((exact, semi), seconds, strict=True):
            timing, _ = time_calls(prepare(), 1)
            taken += timing.seconds
    return Timing(tuple(seconds[0][1:])), Timing(tuple(seconds[1][1:]))


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
