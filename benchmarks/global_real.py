"""Row and label passes compared with row ascent alone on real records: objective, bound, and realised value."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from exact_real import ASKED_ON, DATA, Problem, is_present, read
from exact_real import score as score_truth
from harness import Result
from scoring import score as score_semi

import tailwise as tw

UTILITY = "macro-f1"
WAYS = {
    "global": {"method": "global"},
    "ascent": {"method": "ascent"},
    "global with certificate": {"method": "global", "certify": True},
}
SEEDS = {"global": range(8), "ascent": range(8), "global with certificate": range(1)}  # the last takes longest
ASKED_OBJECTIVE = {3: 0.03483, 5: 0.03806}
ASKED_REALISED = {3: 7.10, 5: 7.55}  # percent


def run() -> Iterator[Result]:
    if not is_present(ASKED_ON):
        yield Result(f"{ASKED_ON}: global selection", "for information", "data not present", is_met=True)
        return
    problem = read(DATA / ASKED_ON)
    for k, asked in ASKED_OBJECTIVE.items():
        selections = select_by_seed(problem, k, "semi")
        yield compare(f"semi-empirical {UTILITY} at {k}", asked, ".5f", selections, lambda s: objective(problem, s))
        yield bound(f"semi-empirical {UTILITY} at {k}", selections)
    for k, asked in ASKED_REALISED.items():
        selections = select_by_seed(problem, k, "exact")
        yield compare(f"exact {UTILITY} at {k}, expected", None, ".5f", selections, lambda s: s.expected)
        yield bound(f"exact {UTILITY} at {k}", selections)
        yield compare(
            f"exact {UTILITY} at {k}, true test labels, percent",
            asked,
            ".2f",
            selections,
            lambda s: score_truth(problem, s, UTILITY),
        )


def select_by_seed(problem: Problem, k: int, expectation: str) -> dict[str, list[tw.Selection]]:
    return {
        way: [
            tw.select(problem.probabilities, UTILITY, k=k, expectation=expectation, seed=seed, **options)
            for seed in SEEDS[way]
        ]
        for way, options in WAYS.items()
    }


def objective(problem: Problem, selection: tw.Selection) -> float:
    """The value computed by these benchmarks (scoring.py), not by the library itself."""
    return score_semi(problem.probabilities, selection.to_csr(), UTILITY)


def compare(
    name: str,
    asked: float | None,
    digits: str,
    selections: dict[str, list[tw.Selection]],
    value_of: Callable[[tw.Selection], float],
) -> Result:
    """Targets refer to the default seed; the other seeds show how much of the result is chance."""
    values = {way: [value_of(selection) for selection in by_seed] for way, by_seed in selections.items()}
    return Result(
        f"{ASKED_ON}: {name}",
        "for information" if asked is None else f"at least {asked:{digits}}",
        "; ".join(f"{way} {describe(by_seed, digits)}" for way, by_seed in values.items()),
        asked is None or values["global"][0] >= asked,
        {"by_seed": values},
    )


def bound(name: str, selections: dict[str, list[tw.Selection]]) -> Result:
    """What a whole data set leaves to be gained; the linear program of global_optimum solves small parts only."""
    best = max(selection.expected for by_seed in selections.values() for selection in by_seed)
    upper = selections["global with certificate"][0].certificate.upper
    below = {
        way: [100 * (1 - by_seed[0].expected / reference) for reference in (best, upper)]
        for way, by_seed in selections.items()
    }
    return Result(
        f"{ASKED_ON}: {name}, below the optimum: at least (the best selection found), at most (the upper bound)",
        "for information",
        "; ".join(f"{way} {least:.3f} to {most:.3f} %" for way, (least, most) in below.items()),
        is_met=True,
        figures={"percent": below, "upper": upper},
    )


def describe(by_seed: list[float], digits: str) -> str:
    first, lowest, highest, mean = (
        f"{value:{digits}}" for value in (by_seed[0], min(by_seed), max(by_seed), np.mean(by_seed))
    )
    return f"{first} (seeds 0 to {len(by_seed) - 1}: {lowest} to {highest}, mean {mean})" if len(by_seed) > 1 else first
