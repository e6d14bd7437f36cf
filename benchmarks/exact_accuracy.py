"""How far the exact expected utility is from a Poisson-binomial dynamic program, for all kinds of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import Result
from scipy.optimize import brentq
from scipy.special import expit, logit

import tailwise as tw

SIZES = (1, 2, 3, 6, 20, 100, 700, 4_000)
POSITIVES = (0.001, 0.03, 0.3, 0.9, 3.0, 10.0, 40.0, 200.0, 600.0, 1_500.0)
SHAPES = ("flat", "beta", "mixed")
ORDERS = ("likeliest first", "any order")
UTILITIES = ("macro-f1", "macro-fbeta(2)", "macro-recall", "macro-jaccard", "macro-balanced-accuracy")
ASKED_ERROR = 1e-6


class Case(NamedTuple):
    """A label: the probabilities of its candidates, the first q of which are chosen, and where they come from."""

    probabilities: np.ndarray
    q: int
    origin: str


class Error(NamedTuple):
    relative: float
    origin: str


def run() -> Iterator[Result]:
    errors: dict[str, list[Error]] = {utility: [] for utility in UTILITIES}
    for case in draw_cases():
        others = sum_up(case.probabilities[case.q :])
        chosen = sum_up(case.probabilities[: case.q])
        for utility in UTILITIES:
            errors[utility] += [compare(utility, case, chosen, others, n) for n in instances_of(utility, case)]
    for utility in UTILITIES:
        yield summarise(utility, errors[utility])


def draw_cases() -> Iterator[Case]:
    """All sizes, expected positives, shapes, orders and numbers of chosen instances that go together."""
    rng = np.random.default_rng(0)
    for n in SIZES:
        for p in (p for p in POSITIVES if p < n):
            for shape in SHAPES:
                drawn = draw_probabilities(rng, n, p, shape)
                for order, probabilities in zip(ORDERS, (np.sort(drawn)[::-1], drawn), strict=True):
                    for q in sorted({q for q in (0, 1, 2, 5, n // 2, n) if q <= n}):
                        yield Case(probabilities, q, f"{n:,} candidates, {p:g} positives, {shape}, q = {q:,}, {order}")


def draw_probabilities(rng: np.random.Generator, n: int, p: float, shape: str) -> np.ndarray:
    """n probabilities that sum to p: logits of a shape, moved by one number."""
    if shape == "flat":
        return np.full(n, p / n)
    logits = logit(np.clip(rng.beta(0.15, 3.0, n), 1e-9, 1 - 1e-9))
    if shape == "mixed":  # one in ten is nearly certain
        logits = np.where(rng.random(n) < 0.1, rng.normal(4.0, 1.0, n), logits)
    return expit(logits + brentq(lambda shift: expit(logits + shift).sum() - p, -100.0, 100.0, xtol=1e-12))


def instances_of(utility: str, case: Case) -> tuple[int, ...]:
    """Sizes of the batch: balanced accuracy counts instances for which the label is no candidate, too."""
    n = case.probabilities.size
    return (n, 4 * n) if utility == "macro-balanced-accuracy" else (n,)


def compare(utility: str, case: Case, chosen: np.ndarray, others: np.ndarray, n: int) -> Error:
    reference = float(chosen @ tabulate(utility, case, n) @ others)
    value = expect(utility, case, n)
    error = abs(value - reference) / reference if reference > 0 else abs(value)
    return Error(error, f"{case.origin}, {n:,} instances")


def expect(utility: str, case: Case, n: int) -> float:
    """What tailwise says, of a batch with a single label."""
    rows = np.arange(case.probabilities.size)
    matrix = sp.csr_array((case.probabilities, (rows, np.zeros_like(rows))), shape=(n, 1))
    return tw.expected_utility(matrix, utility, np.where(np.arange(n) < case.q, 0, -1)[:, None])


def sum_up(probabilities: np.ndarray) -> np.ndarray:
    """The distribution of a sum of independent 0/1 variables."""
    chances = np.ones(1)
    for e in probabilities:
        chances = np.convolve(chances, (1 - e, e))
    return chances


def tabulate(utility: str, case: Case, n: int) -> np.ndarray:
    """The utility of a label with t positives among its q chosen instances (rows), and others elsewhere (columns)."""
    q = case.q
    t = np.arange(q + 1.0)[:, None]
    p = t + np.arange(case.probabilities.size - q + 1.0)
    if utility == "macro-balanced-accuracy":
        return (divide(t, p) + divide(n - p - q + t, n - p)) / 2
    above, below = {
        "macro-f1": (2 * t, q + p),
        "macro-fbeta(2)": (5 * t, q + 4 * p),
        "macro-recall": (t, p),
        "macro-jaccard": (t, q + p - t),
    }[utility]
    return divide(above, below)


def divide(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """With 0/0 = 0."""
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > 0)


def summarise(utility: str, errors: list[Error]) -> Result:
    worst = max(errors)
    median = float(np.median([error.relative for error in errors]))
    return Result(
        f"{utility}: relative error of the exact expectation",
        f"at most {ASKED_ERROR:g}",
        f"{worst.relative:.1e} at worst ({worst.origin}), median {median:.1e}, {len(errors):,} labels",
        worst.relative <= ASKED_ERROR,
        {"worst": worst._asdict(), "median": median, "n_labels": len(errors)},
    )
