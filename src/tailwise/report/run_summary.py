"""The first section of a run's page: what was chosen and why, in plain words."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from tailwise.report.markup import Section, paragraph
from tailwise.report.words import count_text, metric_title, percent, percent_rounded_up
from tailwise.utilities import as_utility
from tailwise.utilities.base import UtilityClass
from tailwise.utilities.instance_wise import Precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailwise.report.comparison import BinGain, Judgement
    from tailwise.report.run_folder import RunFolder

__all__ = ["summarise"]

TAIL = 10  # training instances, at most, of a label of the tail


def summarise(run: RunFolder, own: Judgement, top: Judgement | None, bins: Sequence[BinGain]) -> Section:
    """Words first, then four figures."""
    parts = [paragraph(_what_was_chosen(run), kind="lead")]
    if top is not None:
        parts.append(paragraph(_against_top(run, own, top), kind="lead"))
    parts += [_tiles(run, own, top), paragraph(_why(run, bins))]
    return Section("summary", "What was chosen, and why", "\n".join(parts))


def _what_was_chosen(run: RunFolder) -> str:
    budget = "any number" if run.k is None else count_text(run.k)
    text = (
        f"For each of {count_text(run.n_instances)} instances, {budget} of {count_text(run.n_labels)} labels were "
        f"chosen so that expected {metric_title(run.utility)} is highest."
    )
    if run.probabilities is None:
        return f"{text} They were searched for in the label tree itself, without a list of probabilities."
    return text


def _against_top(run: RunFolder, own: Judgement, top: Judgement) -> str:
    names = [name for name in dict.fromkeys((chief_metric(run, own), "precision")) if name in top.values]
    parts = [
        f"{metric_title(name)} {percent(own.values[name])} instead of {percent(top.values[name])}" for name in names
    ]
    basis = "on the true labels" if own.realised is not None else "as the probabilities have it"
    text = f"Against the {run.k} most probable labels, {basis}: {', '.join(parts)}"
    if own.n_found is None or top.n_found is None:
        return f"{text}."
    return f"{text}; {_more_labels(own.n_found - top.n_found)} found at least once."


def _more_labels(more: int) -> str:
    if more == 0:
        return "as many labels are"
    labels = "label is" if abs(more) == 1 else "labels are"
    return f"{count_text(abs(more))} {'more' if more > 0 else 'fewer'} {labels}"


def chief_metric(run: RunFolder, own: Judgement) -> str:
    """The metric that the page speaks of first: the one maximised, the heaviest of a mixture, else macro-F1."""
    terms = sorted(as_utility(run.utility, run.priors).terms, key=lambda pair: -pair[0])
    names = [str(term).partition("(")[0] for _, term in terms if not isinstance(term, Precision)]
    return next((name for name in names if name in own.values), "macro-f1")


def _why(run: RunFolder, bins: Sequence[BinGain]) -> str:
    text = _how_many_are_rare(run)
    tail = next((each for each in bins if each.name == "tail"), None)
    if tail is not None:
        text += (
            f" Taking the most probable labels gives {percent(tail.top_share, 1)} of the places to them; "
            f"this selection gives them {percent(tail.own_share, 1)}."
        )
    because = _why_of_utility(run)
    return f"{text} {because[0].upper()}{because[1:]}"


def _how_many_are_rare(run: RunFolder) -> str:
    n_rare, share = int((run.priors.counts <= TAIL).sum()), float((run.priors.counts <= TAIL).mean())
    rule = f"at most {TAIL} training instances"
    if n_rare == 0:
        return f"No label is very rare here: none has {rule}, the rarest has {count_text(run.priors.counts.min())}."
    text = f"{count_text(n_rare)} of {count_text(run.n_labels)} labels ({percent(share, 0)})"
    return f"Most labels are rare: {text} have {rule}." if share > 0.5 else f"{text} are rare: they have {rule}."


def _why_of_utility(run: RunFolder) -> str:
    utility = as_utility(run.utility, run.priors)
    if all(isinstance(term, Precision) for _, term in utility.terms):
        return "Precision counts every hit alike, so the most probable labels are the best ones for it."
    if utility.kind is UtilityClass.FULLY_LINEAR:
        return (
            f"{metric_title(run.utility)} gives each hit a weight, and rare labels more of it, so a rare label may go "
            "before a more probable one."
        )
    return (
        f"{metric_title(run.utility)} looks at each label by itself: a frequent label that is chosen once more wins "
        "little, a rare one that is found at last wins much. So some places go from labels that are chosen often "
        "anyway to labels that would be missed. The price is precision."
    )


def _tiles(run: RunFolder, own: Judgement, top: Judgement | None) -> str:
    tiles = []
    for name in dict.fromkeys((chief_metric(run, own), "precision")):
        if name in own.values:
            before = "" if top is None or name not in top.values else f", top-{run.k} {percent(top.values[name])}"
            state = "realised" if own.realised is not None else "expected"
            tiles.append((percent(own.values[name]), f"{metric_title(name)}, {state}{before}"))
    if own.n_found is not None:
        before = "" if top is None or top.n_found is None else f", top-{run.k} {count_text(top.n_found)}"
        tiles.append((count_text(own.n_found), f"labels found at least once{before}"))
    gap = _proven_gap(run)
    if gap is not None:
        tiles.append((percent_rounded_up(gap), "below the best possible, at most: proven"))
    boxes = (f'<div class="tile"><b>{html.escape(b)}</b><span>{html.escape(s)}</span></div>' for b, s in tiles)
    return f'<div class="tiles">{"".join(boxes)}</div>'


def _proven_gap(run: RunFolder) -> float | None:
    selection = run.record.part("selection")
    if selection.get("certificate", dict, may_be_none=True) is None:
        return None
    return selection.part("certificate").get("relative_gap", float, may_be_none=True)
