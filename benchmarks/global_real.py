"""Row and label passes against row ascent alone on real records: the objective, and what comes true."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from exact_real import ASKED_ON, DATA, Problem, is_present, read
from exact_real import score as score_truth
from harness import Result
from scoring import score as score_semi

import tailwise as tw

UTILITY, METHODS, SEEDS = "macro-f1", ("global", "ascent"), range(8)
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
    for k, asked in ASKED_REALISED.items():
        selections = select_by_seed(problem, k, "exact")
        yield compare(f"exact {UTILITY} at {k}, expected", None, ".5f", selections, lambda s: s.expected)
        yield compare(
            f"exact {UTILITY} at {k}, true test labels, percent",
            asked,
            ".2f",
            selections,
            lambda s: score_truth(problem, s, UTILITY),
        )


def select_by_seed(problem: Problem, k: int, expectation: str) -> dict[str, list[tw.Selection]]:
    return {
        method: [
            tw.select(problem.probabilities, UTILITY, k=k, method=method, expectation=expectation, seed=seed)
            for seed in SEEDS
        ]
        for method in METHODS
    }


def objective(problem: Problem, selection: tw.Selection) -> float:
    """By the judge of these benchmarks, not by the library's own word."""
    return score_semi(problem.probabilities, selection.to_csr(), UTILITY)


def compare(
    name: str,
    asked: float | None,
    digits: str,
    selections: dict[str, list[tw.Selection]],
    value_of: Callable[[tw.Selection], float],
) -> Result:
    """What is asked is asked of the default seed; the others show how much of it is luck."""
    values = {method: [value_of(selection) for selection in by_seed] for method, by_seed in selections.items()}
    listed = (
        f"{method} {by_seed[0]:{digits}} (seeds 0 to {SEEDS[-1]}: {min(by_seed):{digits}} to {max(by_seed):{digits}}, "
        f"mean {np.mean(by_seed):{digits}})"
        for method, by_seed in values.items()
    )
    return Result(
        f"{ASKED_ON}: {name}",
        "for information" if asked is None else f"at least {asked:{digits}}",
        "; ".join(listed),
        asked is None or values["global"][0] >= asked,
        {"by_seed": values},
    )
