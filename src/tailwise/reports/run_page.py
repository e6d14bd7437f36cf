"""The contents of the page of a run, which compares it with the k most probable labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tailwise.errors import InputError
from tailwise.models.reliability import Reliability, reliability
from tailwise.reports.charts import Figure, draw_bins, draw_curve, draw_expected, draw_reliability
from tailwise.reports.comparison import RARE, BinGain, Judgement, compare_bins, find_changes, judge, judge_top
from tailwise.reports.dial import compute_curve, describe_dial
from tailwise.reports.words import NO_VALUE, count_text, labels_text, metric_title
from tailwise.runs.run_folder import RunFolder
from tailwise.utilities import Precision, as_utility
from tailwise.utilities.utility import UtilityClass

SECTIONS = {
    "summary": "What was chosen, and why",
    "metrics": "All metrics",
    "trade-off": "The trade-off",
    "frequency": "Rare and frequent labels",
    "labels": "Labels that gained and lost most",
    "expected": "Expected and realised",
    "certificate": "How close to the best possible",
    "reliability": "How reliable the probabilities are",
    "model": "The model",
    "record": "How it was made",
}
USUAL_K = 5
MEMBER_FACTS = ("model", "features")
CHIEF = ("precision", "macro-precision", "macro-recall", "macro-f1", "coverage")


def describe_run(run: RunFolder, *, alphas: Sequence[float] | None = None, progress: bool = False) -> dict[str, Any]:
    """Return the variables of the template run.html."""
    own, top = judge(run, run.selection), judge_top(run)
    if alphas is not None and top is None:
        msg = "alphas (--alphas) need a run with a budget and probabilities, which this run lacks. Omit them."
        raise InputError(msg)
    charts: dict[str, Figure] = {}
    labels = "Labels" if run.k is None else f"{labels_text(run.k)} per instance"
    return {
        "title": f"{labels} for {metric_title(run.utility)}",
        "subtitle": f"{count_text(run.n_instances)} instances, {count_text(run.n_labels)} labels, "
        f"{count_text(run.priors.n_instances)} training instances",
        "sections": SECTIONS,
        "charts": charts,
        "run": run,
        "own": own,
        "top": top,
        "headline": _choose_headline(run, own),
        "reason": _find_reason(run),
        "rare": RARE,
        "n_rare": int((run.priors.counts <= RARE).sum()),
        **_compare(run, own, top, charts),
        **_trade(run, {f"top-{run.k}": top, "this run": own} if top else {}, alphas, charts, progress=progress),
        "expectation": run.basis["expectation"],
        "messages": run.messages,
        "proof": _read_proof(run),
        "reliability": _check_probabilities(run, own, charts),
        "model": _describe_model(run),
        **_describe_making(run),
    }


def _choose_headline(run: RunFolder, own: Judgement) -> list[str]:
    """Choose the metrics of the headline: the utility, or the main part of a mixture, and precision."""
    terms = sorted(as_utility(run.utility, run.priors).terms, key=lambda pair: -pair[0])
    names = [str(term).partition("(")[0] for _, term in terms if not isinstance(term, Precision)]
    if len(terms) == 1 and run.utility in own.values:
        names = [run.utility]
    known = [name for name in (*names, "precision") if name in own.values]
    return list(dict.fromkeys([*known[:1], *known[-1:]]))


def _find_reason(run: RunFolder) -> str:
    """Choose the explanation that suits the utility."""
    utility = as_utility(run.utility, run.priors)
    if all(isinstance(term, Precision) for _, term in utility.terms):
        return "precision"
    if run.k is None:
        return "no budget"
    return "weights" if utility.kind is UtilityClass.FULLY_LINEAR else "labels"


def _compare(run: RunFolder, own: Judgement, top: Judgement | None, charts: dict[str, Figure]) -> dict[str, Any]:
    """Compare the selection with the most probable labels, by frequency bin and by label."""
    if top is None:
        return {"is_top": False, "bins": [], "tail": None, "bin_charts": {}, "gained": [], "lost": []}
    bins = compare_bins(run, top, own)
    drawn = _list_bin_charts(bins)
    charts |= {name: draw_bins(bins, values, title) for name, (title, values) in drawn.items()}
    gained, lost = find_changes(run, top, own)
    return {
        "is_top": (own.chosen.to_csr() != top.chosen.to_csr()).nnz == 0,
        "bins": bins,
        "tail": next((each for each in bins if each.name == "tail"), None),
        "bin_charts": {name: title for name, (title, _) in drawn.items()},
        "gained": gained,
        "lost": lost,
    }


def _list_bin_charts(bins: Sequence[BinGain]) -> dict[str, tuple[str, list[tuple[float, float]]]]:
    """Return the bars of each chart: scores on the true labels or, without these, fractions of all chosen labels."""
    scored = [(each.top, each.own) for each in bins if each.top is not None and each.own is not None]
    if not scored:
        return {"places": ("share of all chosen labels", [(each.top_share, each.own_share) for each in bins])}
    return {
        "bins-f1": ("macro-F1", [(top.macro_f1, own.macro_f1) for top, own in scored]),
        "bins-found": ("labels found", [(top.coverage, own.coverage) for top, own in scored]),
    }


def _trade(
    run: RunFolder,
    judgements: dict[str, Judgement],
    alphas: Sequence[float] | None,
    charts: dict[str, Figure],
    *,
    progress: bool,
) -> dict[str, Any]:
    """Compute the trade-off curve and its dial, if there are selections to compare."""
    if not judgements:
        return {"curve": None, "dials": {}}
    curve = compute_curve(run, judgements, alphas=alphas, progress=progress)
    charts[curve.name] = draw_curve(curve)
    return {"curve": curve, "dials": {curve.name: describe_dial(curve, run.priors)}}


def _check_probabilities(run: RunFolder, own: Judgement, charts: dict[str, Figure]) -> Reliability | None:
    """Draw expected and realised metrics and the reliability diagram."""
    if own.realised is not None and own.expected:
        pairs = {name: (own.expected[name], own.realised[name]) for name in CHIEF if name in own.expected}
        charts["expected"] = draw_expected(pairs)
    if run.truth is None or run.probabilities is None or run.probabilities.nnz == 0:
        return None
    found = reliability(run.probabilities, run.truth, run.k or USUAL_K)
    charts["reliability"] = draw_reliability(found)
    return found


def _read_proof(run: RunFolder) -> dict[str, Any] | None:
    selection = run.record.part("selection")
    if selection.get("certificate", dict, may_be_none=True) is None:
        return None
    proof = selection.part("certificate")
    return {
        **{name: proof.get(name, float) for name in ("value", "upper", "seconds")},
        "relative_gap": proof.get("relative_gap", float, may_be_none=True),
        "rounds": proof.get("rounds", int),
        "interrupted": bool(proof.values.get("interrupted")),
    }


def _describe_model(run: RunFolder) -> dict[str, Any] | None:
    """Return name, reason and members of the model, each with its share; None if the record does not say."""
    if run.record.get("model", dict, may_be_none=True) is None:
        return None
    model = run.record.part("model")
    members = {} if model.get("members", dict, may_be_none=True) is None else model.part("members").values
    parts = {name: model.part("members").part(name) for name in members}
    return {
        "name": model.get("name", str),
        "why": model.get("why", str),
        "terms": model.get("terms", int, may_be_none=True),
        "error": model.get("calibration_error", float, may_be_none=True),
        "members": [
            {"name": name, "share": part.get("share", float), **{key: part.get(key, str) for key in MEMBER_FACTS}}
            for name, part in parts.items()
        ],
    }


def _describe_making(run: RunFolder) -> dict[str, Any]:
    """Describe the settings of the run."""
    record = run.record
    seconds, selection = record.part("seconds"), record.part("selection").values
    made_by = {
        "utility": run.utility,
        "labels per instance": "no budget" if run.k is None else count_text(run.k),
        "method": selection.get("method", NO_VALUE),
        "expectation": selection.get("expectation", NO_VALUE),
        "seed": record.get("seed", int),
        **{f"seconds to {step}": f"{seconds.get(step, float):.1f}" for step in seconds.values},
    }
    kept = {key: record.get(key, dict) for key in ("configuration", "versions", "inputs")}
    return {"made_by": made_by, "record": json.dumps(kept, indent=2, ensure_ascii=False)}
