"""The sections of a run's page that hold figures: metrics, bins, labels, expectations, proof, probabilities, record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tailwise.report.charts import draw_bins, draw_curve, draw_expected, draw_reliability
from tailwise.report.comparison import metric_of
from tailwise.report.curve_block import curve_block
from tailwise.report.markup import Section, chart_box, code_block, details, paragraph, text_table
from tailwise.report.words import (
    MEANINGS,
    NO_VALUE,
    change_text,
    count_text,
    is_share,
    metric_title,
    percent,
    percent_rounded_up,
    top_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tailwise.models.reliability import Reliability
    from tailwise.report.comparison import BinGain, Judgement, LabelChange
    from tailwise.report.curve import ReportCurve
    from tailwise.runs.run_folder import RunFolder

__all__ = [
    "show_bins",
    "show_certificate",
    "show_curve",
    "show_expected",
    "show_labels",
    "show_metrics",
    "show_record",
    "show_reliability",
]

ARROW = " \u2192 "
BASES = {"exact": "the exact expectation", "semi": "the semi-empirical expectation, the utility of expected counts"}
CHIEF = ("precision", "macro-precision", "macro-recall", "macro-f1", "coverage")


def show_metrics(run: RunFolder, own: Judgement, top: Judgement | None) -> Section:
    """Every metric, beside that of the most probable labels."""
    if not own.values:
        text = "Nothing can be scored: there are neither true labels nor probabilities in this run."
        return Section("metrics", "All metrics", paragraph(text))
    state = "on the true labels" if own.realised is not None else "expected by the probabilities; no true labels known"
    headings = ["metric", "this selection", "meaning"]
    values, before = _values_of(run, own), {} if top is None else _values_of(run, top)
    rows = [[metric_title(name), value_text(name, value), MEANINGS.get(name, "")] for name, value in values.items()]
    if top is not None:
        headings[1:2] = [f"top-{run.k}", "this selection", "change, points"]
        for row, (name, value) in zip(rows, values.items(), strict=True):
            row[1:2] = [value_text(name, before[name]), row[1], change_text(name, value - before[name])]
    table = text_table(headings, rows, words=(0, len(headings) - 1))
    return Section("metrics", "All metrics", paragraph(f"In percent, {state}.") + table)


def _values_of(run: RunFolder, judgement: Judgement) -> dict[str, float]:
    """What was maximised, where it is none of the metrics, and all metrics."""
    if metric_of(run) in judgement.values or judgement.worth is None:
        return judgement.values
    return {run.utility: judgement.worth, **judgement.values}


def show_curve(curve: ReportCurve | None, run: RunFolder) -> Section:
    """What the utility costs in precision, with the dial."""
    title = "The trade-off"
    if curve is None:
        why = "there is no budget" if run.k is None else "the run kept no probabilities"
        return Section("trade-off", title, paragraph(f"Nothing can be traded here: {why}."))
    text = (
        f"Each point is a selection of its own, by the mixture {curve.formula}. Say how much of "
        f"{metric_title(curve.first)} you would give, at most; the dial picks the alpha with most of the rest."
    )
    note = "The command runs in the folder of the run."
    if run.record.part("selection").get("certificate", dict, may_be_none=True) is not None:
        note += " The proof has improved this run's own selection a little, which the points of the curve go without."
    words = paragraph(text) + paragraph(note, kind="note")
    return Section(
        "trade-off",
        title,
        words + curve_block(curve),
        {curve.name: draw_curve(curve)},
        {curve.name: curve.for_page()},
    )


def show_bins(run: RunFolder, bins: Sequence[BinGain]) -> Section:
    """Rare and frequent labels apart."""
    title = "Rare and frequent labels"
    if not bins:
        return Section("frequency", title, paragraph(_why_no_top(run)))
    shares = [(each.top_share, each.own_share) for each in bins]
    charts = {"places": draw_bins(bins, shares, "share of all places")}
    scored = [(each, each.top, each.own) for each in bins if each.top is not None and each.own is not None]
    if scored:
        f1 = [(top.macro_f1, own.macro_f1) for _, top, own in scored]
        found = [(top.coverage, own.coverage) for _, top, own in scored]
        charts = {
            "bins-f1": draw_bins(bins, f1, "macro-F1"),
            "bins-found": draw_bins(bins, found, "labels found"),
        }
    boxes = "".join(chart_box(name, f"Bars of {name} by training frequency", kind="chart small") for name in charts)
    text = "Labels by the number of their training instances: how they fare under the most probable labels, and here."
    return Section("frequency", title, f'{paragraph(text)}<div class="pair">{boxes}</div>{_bin_table(bins)}', charts)


def _bin_table(bins: Sequence[BinGain]) -> str:
    headings = ["labels", "in training", "how many", "places"]
    names = {"macro_precision": "precision", "macro_recall": "recall", "macro_f1": "F1", "coverage": "found"}
    has_scores = all(each.top is not None and each.own is not None for each in bins)
    headings += names.values() if has_scores else []
    rows = []
    for each in bins:
        row = [each.name, each.training, count_text(each.n_labels), _from_to(each.top_share, each.own_share)]
        if has_scores:
            row += [_from_to(getattr(each.top, name), getattr(each.own, name)) for name in names]
        rows.append(row)
    return text_table(headings, rows, caption=f"Top-k{ARROW}this selection, percent; averages over labels")


def show_labels(run: RunFolder, gained: Sequence[LabelChange], lost: Sequence[LabelChange]) -> Section:
    """The labels that moved most, by name."""
    title = "Labels that gained and lost most"
    if run.probabilities is None or run.k is None:
        return Section("labels", title, paragraph(_why_no_top(run)))
    if run.truth is None:
        text = "In how often they were chosen, against the most probable labels."
    else:
        text = (
            "In their F1 on the true labels, against the most probable labels; of equal ones, the more frequent first."
        )
    body = paragraph(text)
    for caption, changes in (("Gained", gained), ("Lost", lost)):
        body += _label_table(run, changes, caption) if changes else paragraph(f"{caption}: no label.")
    return Section("labels", title, body)


def _label_table(run: RunFolder, changes: Sequence[LabelChange], caption: str) -> str:
    headings = ["label", "in training", "chosen"]
    headings += [] if changes[0].found is None else ["found", "true", "F1, percent"]
    rows = []
    for each in changes:
        row = [run.name_of(each.label), count_text(each.n_training), ARROW.join(map(count_text, each.predicted))]
        if each.found is not None and each.f1 is not None and each.positives is not None:
            row += [ARROW.join(map(count_text, each.found)), count_text(each.positives), _from_to(*each.f1)]
        rows.append(row)
    return text_table(headings, rows, caption=f"{caption} (top-k{ARROW}this selection)")


def show_expected(run: RunFolder, own: Judgement) -> Section:
    """What the probabilities promised, beside what came true."""
    title = "Expected and realised"
    if own.realised is None or not own.expected:
        missing = "the true labels are not known" if own.realised is None else "the run kept no probabilities"
        return Section("expected", title, paragraph(f"There is nothing to compare: {missing}."))
    pairs = {name: (value, own.realised[name]) for name, value in own.expected.items()}
    rows = [
        [metric_title(name), value_text(name, promise), value_text(name, came), change_text(name, came - promise)]
        for name, (promise, came) in pairs.items()
    ]
    table = text_table(["metric", "expected", "realised", "difference, points"], rows)
    chief = {name: pairs[name] for name in CHIEF if name in pairs}
    text = (
        f"What the probabilities promised for this selection, by {BASES[run.basis['expectation']]}, and what came "
        "true. The further apart the two, the less the probabilities are to be trusted; calibration, an option of "
        "tailwise run, brings them together."
    )
    chart = chart_box("expected", "Expected and realised metrics", kind="chart small")
    return Section("expected", title, paragraph(text) + chart + table, {"expected": draw_expected(chief)})


def show_certificate(run: RunFolder) -> Section:
    """How far from the optimum the selection can be."""
    title = "The certificate"
    selection = run.record.part("selection")
    if selection.get("certificate", dict, may_be_none=True) is None:
        text = "No proof was asked for. tailwise run --certify says how far from the best possible a selection can be."
        if run.probabilities is None:
            text = "There is no proof: a search in the label tree itself keeps no probabilities to prove anything by."
        return Section("certificate", title, paragraph(text))
    proof = selection.part("certificate")
    value, upper = proof.get("value", float), proof.get("upper", float)
    share = proof.get("relative_gap", float, may_be_none=True)
    gap = "an unknown share" if share is None else percent_rounded_up(share)
    shown = [percent(each, 4) if is_share(run.utility) else f"{each:.6f}" for each in (value, upper)]
    budget = "" if run.k is None else " of as many candidates"
    text = (
        f"Expected {metric_title(run.utility)} of this selection is {shown[0]}, by {BASES[run.basis['expectation']]}. "
        f"It is proven that no other choice{budget}, by whatever method, can expect more than {shown[1]}. So this "
        f"selection is at most {gap} of its value below the best possible."
    )
    if proof.values.get("interrupted"):
        text += " The proof was interrupted; its bound holds all the same."
    rows = [
        ["this selection", shown[0]],
        ["no selection above", shown[1]],
        ["rounds of the proof", count_text(proof.get("rounds", int))],
        ["seconds", f"{proof.get('seconds', float):.1f}"],
    ]
    return Section("certificate", title, paragraph(text) + text_table(["", ""], rows))


def show_reliability(found: Reliability | None, run: RunFolder) -> Section:
    """Whether the probabilities come true as often as they say."""
    title = "Are the probabilities honest?"
    if found is None:
        missing = "true labels" if run.truth is None else "probabilities"
        return Section("reliability", title, paragraph(f"This cannot be said without {missing}."))
    which = "of all candidates" if found.k is None else f"of {top_text(found.k)} of each instance"
    text = (
        f"The probabilities {which} promise {percent(found.mean_probability)} true ones on average; "
        f"{percent(found.share_true)} came true. The expected calibration error is {percent(found.error)} "
        f"({percent(found.chance_error)} by chance alone). Points above the dashed line promised too little."
    )
    chart = chart_box("reliability", "Reliability diagram", kind="chart square")
    return Section("reliability", title, paragraph(text) + chart, {"reliability": draw_reliability(found)})


def show_record(run: RunFolder) -> Section:
    """How it was done, for whoever wants to do it again."""
    record = run.record
    seconds = record.part("seconds")
    rows = [
        ["utility", run.utility],
        ["labels per instance", NO_VALUE if run.k is None else str(run.k)],
        ["method, expectation", ", ".join(_texts(record.part("selection").values, "method", "expectation"))],
        ["seed", str(record.get("seed", int))],
        ["training instances", count_text(run.priors.n_instances)],
        *([step, f"{seconds.get(step, float):.1f} s"] for step in seconds.values),
    ]
    keys = ("configuration", "versions", "inputs")
    text = json.dumps({key: record.get(key, dict) for key in keys}, indent=2, ensure_ascii=False)
    body = text_table(["", ""], rows, words=(0, 1)) + details("Configuration, versions, inputs", code_block(text))
    return Section("record", "How it was made", body)


def _from_to(top: float, own: float) -> str:
    return f"{100 * top:.1f}{ARROW}{100 * own:.1f}"


def _texts(values: dict[str, object], *keys: str) -> list[str]:
    return [str(values.get(key, NO_VALUE)) for key in keys]


def _why_no_top(run: RunFolder) -> str:
    why = "there is no budget" if run.k is None else "the run kept no probabilities"
    return f"There are no most probable labels to compare with: {why}."
