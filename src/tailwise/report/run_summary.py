"""The first section of a run's page: what was chosen and why, in plain words."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from tailwise.report.comparison import metric_of
from tailwise.report.markup import Section, paragraph
from tailwise.report.words import count_text, metric_title, percent, percent_rounded_up, top_text, value_text
from tailwise.utilities import as_utility
from tailwise.utilities.instance_weights import Precision
from tailwise.utilities.utility import UtilityClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailwise.report.comparison import BinGain, Judgement
    from tailwise.runs.run_folder import RunFolder

__all__ = ["summarise"]

TAIL = 10  # training instances, at most, of a label of the tail


def summarise(run: RunFolder, own: Judgement, top: Judgement | None, bins: Sequence[BinGain]) -> Section:
    """Words first, then four figures."""
    parts = [paragraph(_what_was_chosen(run), kind="lead")]
    if top is not None:
        parts.append(paragraph(_against_top(run, own, top), kind="lead"))
    parts += [_tiles(run, own, top), paragraph(_why(run, own, top, bins))]
    return Section("summary", "What was chosen, and why", "\n".join(parts))


def _what_was_chosen(run: RunFolder) -> str:
    budget, were = ("any number", "were") if run.k is None else (count_text(run.k), "was" if run.k == 1 else "were")
    text = (
        f"For each of {count_text(run.n_instances)} instances, {budget} of {count_text(run.n_labels)} labels {were} "
        f"chosen so that expected {metric_title(run.utility)} is highest."
    )
    if run.probabilities is None:
        return f"{text} They were searched for in the label tree itself, without a list of probabilities."
    return text


def _against_top(run: RunFolder, own: Judgement, top: Judgement) -> str:
    assert run.k is not None
    if _are_same(own, top):
        return f"That is what taking {top_text(run.k)} gives, too."
    before = dict(_figures(run, top))
    parts = [
        f"{metric_title(name)} {value_text(name, value)} instead of {value_text(name, before[name])}"
        for name, value in _figures(run, own)
    ]
    basis = "on the true labels" if own.realised is not None else "as the probabilities have it"
    text = f"Against {top_text(run.k)}, {basis}: {', '.join(parts)}"
    if own.n_found is None or top.n_found is None:
        return f"{text}."
    return f"{text}; {_more_labels(own.n_found - top.n_found)} found at least once."


def _are_same(own: Judgement, top: Judgement) -> bool:
    """Whether both choose the same labels, in whatever order."""
    return (own.chosen.to_csr() != top.chosen.to_csr()).nnz == 0


def _figures(run: RunFolder, judgement: Judgement) -> list[tuple[str, float]]:
    """What the page speaks of first: what was maximised, or the heaviest part of a mixture, and precision."""
    figures = {}
    terms = sorted(as_utility(run.utility, run.priors).terms, key=lambda pair: -pair[0])
    names = [str(term).partition("(")[0] for _, term in terms if not isinstance(term, Precision)]
    if metric_of(run) is None and len(terms) == 1 and judgement.worth is not None:
        figures[run.utility] = judgement.worth
    for name in (*names, "precision"):
        if name in judgement.values and (name == "precision" or not figures):
            figures[name] = judgement.values[name]
    return list(figures.items())


def _more_labels(more: int) -> str:
    if more == 0:
        return "as many labels are"
    labels = "label is" if abs(more) == 1 else "labels are"
    return f"{count_text(abs(more))} {'more' if more > 0 else 'fewer'} {labels}"


def _why(run: RunFolder, own: Judgement, top: Judgement | None, bins: Sequence[BinGain]) -> str:
    parts = [_how_many_are_rare(run)]
    tail = next((each for each in bins if each.name == "tail"), None)
    if tail is not None:
        parts.append(
            f"Taking the most probable labels gives {percent(tail.top_share, 1)} of the places to them; "
            f"this selection gives them {percent(tail.own_share, 1)}."
        )
    because = _why_of_utility(run, is_for_tail=tail is not None and tail.own_share > tail.top_share)
    parts.append(f"{because[0].upper()}{because[1:]}")
    if top is not None and top.values["precision"] > own.values["precision"]:
        parts.append("The price is precision.")
    return " ".join(parts)


def _how_many_are_rare(run: RunFolder) -> str:
    n_rare, share = int((run.priors.counts <= TAIL).sum()), float((run.priors.counts <= TAIL).mean())
    rule = f"at most {TAIL} training instances"
    if n_rare == 0:
        return f"No label is very rare here: none has {rule}, the rarest has {count_text(run.priors.counts.min())}."
    text = f"{count_text(n_rare)} of {count_text(run.n_labels)} labels ({percent(share, 0)})"
    return f"Most labels are rare: {text} have {rule}." if share > 0.5 else f"{text} are rare: they have {rule}."


def _why_of_utility(run: RunFolder, *, is_for_tail: bool) -> str:
    utility, title = as_utility(run.utility, run.priors), metric_title(run.utility)
    if all(isinstance(term, Precision) for _, term in utility.terms):
        return "Precision counts every hit alike, so the most probable labels are the best ones for it."
    if run.k is None:
        return f"{title} was maximised without a budget: each label is chosen for the instances where that raises it."
    if utility.kind is UtilityClass.FULLY_LINEAR:
        return (
            f"{title} gives every hit of a label the same weight, so each instance takes the labels with the largest "
            "product of weight and probability."
        )
    if not is_for_tail:
        return f"{title} looks at each label by itself: places go where they raise a label's own value most."
    return (
        f"{title} looks at each label by itself: a frequent label that is chosen once more wins little, a rare one "
        "that is found at last wins much. So some places go from labels that are chosen often anyway to rarer ones."
    )


def _tiles(run: RunFolder, own: Judgement, top: Judgement | None) -> str:
    tiles = []
    tops = {} if top is None else dict(_figures(run, top))
    state = "realised" if own.realised is not None else "expected"
    for name, value in _figures(run, own):
        before = f", top-{run.k} {value_text(name, tops[name])}" if name in tops else ""
        tiles.append((value_text(name, value), f"{metric_title(name)}, {state}{before}"))
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
