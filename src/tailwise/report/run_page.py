"""The page of a run: everything is judged here, and told section by section."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tailwise.errors import InputError
from tailwise.models.reliability import reliability
from tailwise.report import run_sections as sections
from tailwise.report.comparison import compare_bins, find_changes, judge, select_top
from tailwise.report.curve import compute_curve
from tailwise.report.markup import Page
from tailwise.report.run_summary import summarise
from tailwise.report.words import count_text, labels_text, metric_title

if TYPE_CHECKING:
    from tailwise.models.reliability import Reliability
    from tailwise.runs.run_folder import RunFolder

__all__ = ["Progress", "build_run_page"]

Progress = Callable[[int], object]
USUAL_K = 5


def build_run_page(run: RunFolder, *, alphas: Sequence[float] | None, progress: Progress | None = None) -> Page:
    """Compare with the most probable labels, trade, and write it all down."""
    if alphas is not None and (run.k is None or run.probabilities is None):
        msg = (
            "alphas choose points of a curve, which needs a budget and probabilities. The run has none. Leave them out."
        )
        raise InputError(msg)
    own, chosen_top = judge(run, run.selection), select_top(run)
    top = None if chosen_top is None else judge(run, chosen_top)
    bins = [] if top is None else compare_bins(run, top, own)
    gained, lost = ([], []) if top is None else find_changes(run, top, own)
    shown = {} if top is None else {f"top-{run.k}": top, "this run": own}
    curve = None if top is None else compute_curve(run, shown, alphas=alphas, on_done=_counter(progress))
    return Page(
        f"{'Labels' if run.k is None else f'{labels_text(run.k)} per instance'} for {metric_title(run.utility)}",
        f"{count_text(run.n_instances)} instances, {count_text(run.n_labels)} labels, "
        f"{count_text(run.priors.n_instances)} training instances",
        [
            summarise(run, own, top, bins),
            sections.show_metrics(run, own, top),
            sections.show_curve(curve, run),
            sections.show_bins(run, bins),
            sections.show_labels(run, gained, lost),
            sections.show_expected(run, own),
            sections.show_certificate(run),
            sections.show_reliability(_measure_reliability(run), run),
            sections.show_record(run),
        ],
    )


def _measure_reliability(run: RunFolder) -> Reliability | None:
    if run.truth is None or run.probabilities is None or run.probabilities.nnz == 0:
        return None
    return reliability(run.probabilities, run.truth, run.k or USUAL_K)


def _counter(progress: Progress | None) -> Callable[[object], object]:
    """From a call for each point to a call with the number of points done, which is 0 at first."""
    done = 0
    if progress is not None:
        progress(done)

    def count(point: object) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done)

    return count
