"""The frame of every climb: a progress bar, and Ctrl-C that keeps what was found by then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from tailwise.selection.problem import Outcome, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["climb"]


def climb(
    problem: Problem, positions: NDArray, history: list[float], name: str, run_passes: Callable[[tqdm], bool]
) -> Outcome:
    """What passes lead to that change positions and add to the history; they say whether they converged."""
    bar = tqdm(unit=" passes", disable=not problem.settings.progress, desc=name)
    converged = interrupted = False
    try:
        converged = run_passes(bar)
    except KeyboardInterrupt:
        interrupted = True
    finally:
        bar.close()
    problem.expectation.count(positions)
    return Outcome(positions, tuple(history), len(history) - 1, converged, interrupted)
