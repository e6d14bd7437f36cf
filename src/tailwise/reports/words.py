"""Texts for numbers and metrics in reports."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailwise.experiments.results import MeanCurve

NO_VALUE = "\u2013"
SPACE = "\u00a0"  # keeps a number and its unit on one line
NOTHING = 1e-9  # smaller values are rounding errors
WEIGHTED = ("ps-precision", "power-law", "log")  # sums of weights, which may exceed 1

#: Explanations of the metrics.
MEANINGS = {
    "precision": "share of the labels given to an instance that are true, averaged over instances",
    "recall": "share of an instance's true labels that it was given, averaged over instances",
    "ndcg": "precision in which earlier positions count more",
    "ps-precision": "precision in which rare labels count more",
    "ps-precision-normalised": "ps-precision as a fraction of the highest possible value",
    "ps-ndcg": "ps-precision in which earlier positions count more",
    "micro-f1": "F1 over all pairs of instance and label",
    "macro-precision": "precision of each label, averaged over labels",
    "macro-recall": "recall of each label, averaged over labels",
    "macro-f1": "F1 of each label, averaged over labels",
    "macro-jaccard": "overlap of each label's chosen and true instances, averaged over labels",
    "macro-balanced-accuracy": "mean of the recall on a label's true and on all other instances",
    "macro-gmean": "geometric mean of the recall on a label's true and on all other instances",
    "macro-hmean": "harmonic mean of the recall on a label's true and on all other instances",
    "macro-accuracy": "share of instances for which a label is right, averaged over labels",
    "coverage": "share of labels found at least once",
    "catalogue-coverage": "share of labels chosen at least once, right or wrong",
}


def metric_title(name: str) -> str:
    """Return the display name of a metric or utility, with factors of a mixture rounded to three digits."""
    short = re.sub(r"\d+\.\d{4,}(?=\*)", lambda factor: f"{float(factor[0]):.3g}", name)
    return short.replace("-f1", "-F1").replace("ndcg", "nDCG")


def short_title(name: str) -> str:
    """Return a short display name of a utility."""
    return "rest of the mixture" if " + " in name else metric_title(name)


def mixture_text(curve: MeanCurve) -> str:
    """Return the formula that each point of a trade-off maximises."""
    second = metric_title(curve.second)
    second = f"({second})" if " + " in second else second
    return f"(1 \u2212 alpha) \u00d7 {metric_title(curve.first)} + alpha \u00d7 {second}"


def is_share(name: str) -> bool:
    """Whether a metric or utility lies between 0 and 1 and can be shown in percent."""
    return not any(term.rpartition("*")[2].partition("(")[0] in WEIGHTED for term in name.split(" + "))


def value_text(value: float | None, name: str, digits: int = 2) -> str:
    """Format the value of a metric or utility, in percent if it lies between 0 and 1."""
    return percent(value, digits) if value is None or is_share(name) else f"{value:.{digits + 2}f}"


def change_text(change: float, name: str) -> str:
    """Format a difference of two values, in percentage points if they lie between 0 and 1."""
    text = f"{100 * change:+.2f}" if is_share(name) else f"{change:+.4f}"
    return text[1:] if float(text) == 0 else text.replace("-", "\u2212")


def from_to(shares: tuple[float, float]) -> str:
    """Format two fractions in percent, before and after."""
    return " \u2192 ".join(f"{100 * share:.1f}" for share in shares)


def labels_text(k: int) -> str:
    """Format a number of labels: 1 label, 2 labels."""
    return f"{count_text(k)} label{'' if k == 1 else 's'}"


def top_text(k: int) -> str:
    """Return "the most probable label", or "the 2 most probable labels"."""
    return "the most probable label" if k == 1 else f"the {count_text(k)} most probable labels"


def percent(value: float | None, digits: int = 2) -> str:
    """Format a fraction in percent."""
    if value is None or math.isnan(value):
        return NO_VALUE
    return f"{100 * value:.{digits}f}{SPACE}%"


def percent_rounded_up(share: float) -> str:
    """Format a bound in percent with two digits, rounded up."""
    if share < NOTHING:
        return f"0{SPACE}%"
    number = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(100 * share)
    return f"{number.normalize():f}{SPACE}%"


def count_text(number: float) -> str:
    """Format an integer with thousands separators."""
    return f"{int(number):,}"
