"""Upper bounds of certificates compared with the best of all selections, enumerated, on thousands of tiny problems."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Result
from references import Training, enumerate_optimum

import tailwise as tw

UTILITIES = (
    "precision",
    "ps-precision",
    "power-law",
    "log",
    "hamming",
    "macro-accuracy",
    "macro-recall",
    "macro-balanced-accuracy",
    "macro-precision",
    "macro-f1",
    "macro-fbeta(2)",
    "macro-jaccard",
    "coverage",
    "0.7*precision + 0.3*macro-f1",
    "0.5*macro-jaccard + 0.5*coverage",
    "macro-f1 + macro-precision + coverage",
)
EXPECTATIONS, BUDGETS, FILLS = ("semi", "exact"), ("one number", "per instance", "none"), ("least-loss", "none")
ROUNDS = (1, 5, 40)
MAX_INSTANCES, MAX_LABELS, N_PROBLEMS = 4, 5, 3_000
ROUNDING = 1e-12  # relative to the optimum, or absolute where that is below 1
TRAINING_INSTANCES = 50


class Problem(NamedTuple):
    matrix: np.ndarray
    is_candidate: np.ndarray
    budgets: Any
    fill: str
    rounds: int
    training: Training


class Check(NamedTuple):
    """The best possible value, and the certificate."""

    utility: str
    budget: str
    optimum: float
    upper: float

    @property
    def is_violated(self) -> bool:
        return self.upper < self.optimum - ROUNDING * max(1.0, abs(self.optimum))

    @property
    def distance(self) -> float:
        """Of the bound above the optimum, relative where there is anything to reach."""
        return (self.upper - self.optimum) / (abs(self.optimum) or 1.0)


def run() -> Iterator[Result]:
    rng = np.random.default_rng(0)
    combinations = itertools.cycle(itertools.product(UTILITIES, BUDGETS, EXPECTATIONS))
    checks: dict[str, list[Check]] = {expectation: [] for expectation in EXPECTATIONS}
    for utility, budget, expectation in itertools.islice(combinations, N_PROBLEMS):
        checks[expectation].append(check(draw(rng, budget), utility, budget, expectation))
    for expectation in EXPECTATIONS:
        yield summarise(expectation, checks[expectation])


def draw(rng: np.random.Generator, budget: str) -> Problem:
    """Probabilities of all kinds, ties, certain and impossible ones among them; some labels are no candidates."""
    n, m = int(rng.integers(1, MAX_INSTANCES + 1)), int(rng.integers(1, MAX_LABELS + 1))
    is_candidate = rng.random((n, m)) < rng.choice([0.5, 0.8, 1.0])
    values = np.where(rng.random((n, m)) < 0.7, rng.beta(0.4, 1.0, (n, m)), rng.choice([0.0, 1.0, 0.25, 1e-6], (n, m)))
    counts = tuple(int(count) for count in rng.integers(0, TRAINING_INSTANCES, m))
    budgets = {"one number": int(rng.integers(1, m + 1)), "per instance": rng.integers(0, m + 1, n), "none": None}
    return Problem(
        np.where(is_candidate, values, 0.0),
        is_candidate,
        budgets[budget],
        str(rng.choice(FILLS)),
        int(rng.choice(ROUNDS)),
        Training(counts, TRAINING_INSTANCES),
    )


def check(problem: Problem, utility: str, budget: str, expectation: str) -> Check:
    matrix, is_candidate, budgets, fill, rounds, training = problem
    places = np.nonzero(is_candidate)  # a probability of 0 is a candidate, too, where it is stored
    certificate = tw.certify(
        sp.csr_array((matrix[places], places), shape=matrix.shape),
        utility,
        budgets,
        expectation=expectation,
        fill=fill,
        rounds=rounds,
        target_gap=0.0,
        priors=tw.LabelPriors(training.counts, training.n_instances),
    )
    optimum = enumerate_optimum(
        matrix, utility, budgets, expectation, fill, is_candidate=is_candidate, training=training
    )
    return Check(utility, budget, optimum, certificate.upper)


def summarise(expectation: str, checks: list[Check]) -> Result:
    violated = [check for check in checks if check.is_violated]
    distances = [check.distance for check in checks]
    return Result(
        f"upper bounds by {expectation} expectation, {len(checks):,} tiny problems, {len(UTILITIES)} utilities",
        "no selection above its bound",
        f"{len(violated)} violations; the bound is {min(distances):.1e} at the closest above the optimum, median "
        f"{np.median(distances):.1e}, {np.mean(np.array(distances) < 1e-3):.0%} below 0.1 %",
        not violated,
        {
            "violations_by_utility": dict(Counter(check.utility for check in violated)),
            "median_distance_by_utility": {
                utility: float(np.median([check.distance for check in checks if check.utility == utility]))
                for utility in UTILITIES
            },
            "n_checks_by_budget": dict(Counter(check.budget for check in checks)),
        },
    )
