"""Numbers and metrics in plain words."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, Context

__all__ = [
    "MEANINGS",
    "NO_VALUE",
    "change_text",
    "count_text",
    "is_share",
    "labels_text",
    "metric_title",
    "percent",
    "percent_rounded_up",
    "signed_points",
    "top_text",
    "value_text",
]

NO_VALUE = "\u2013"
SPACE = "\u00a0"  # keeps a number and its unit on one line
NOTHING = 1e-9  # as good as proven
WEIGHTED = ("ps-precision", "power-law", "log")  # sums of weights, which may be above 1

#: What a metric says, for people who do not know its name.
MEANINGS = {
    "precision": "share of an instance's chosen labels that are true, averaged over instances",
    "recall": "share of an instance's true labels that were chosen, averaged over instances",
    "ndcg": "precision, first places counting more",
    "ps-precision": "precision, rare labels counting more",
    "ps-precision-normalised": "ps-precision, as a share of the best that could be had",
    "ps-ndcg": "ps-precision, first places counting more",
    "micro-f1": "F1 over all pairs of instance and label",
    "macro-precision": "precision of a label, every label counting alike",
    "macro-recall": "recall of a label, every label counting alike",
    "macro-f1": "F1 of a label, every label counting alike",
    "macro-jaccard": "overlap of chosen and true instances of a label",
    "macro-balanced-accuracy": "mean of recall on true and on other instances",
    "macro-gmean": "geometric mean of recall on true and on other instances",
    "macro-hmean": "harmonic mean of recall on true and on other instances",
    "macro-accuracy": "share of instances for which a label is right",
    "coverage": "share of labels found at least once",
    "catalogue-coverage": "share of labels chosen at least once, right or wrong",
}


def metric_title(name: str) -> str:
    """A metric or utility as people write it, factors of a mixture to three digits."""
    short = re.sub(r"\d+\.\d{4,}(?=\*)", lambda factor: f"{float(factor[0]):.3g}", name)
    return short.replace("-f1", "-F1").replace("ndcg", "nDCG")


def is_share(name: str) -> bool:
    """Whether a metric or utility lies between 0 and 1, so that percent are a fit unit."""
    return not any(term.rpartition("*")[2].partition("(")[0] in WEIGHTED for term in name.split(" + "))


def value_text(name: str, value: float | None) -> str:
    """A value in percent, or as it is where it is no share."""
    return percent(value) if value is None or is_share(name) else f"{value:.4f}"


def change_text(name: str, change: float) -> str:
    """A difference of two values in percentage points, or as it is where they are no shares."""
    return signed_points(change) if is_share(name) else f"{change:+.4f}".replace("-", "\u2212")


def labels_text(k: int) -> str:
    """1 label, 2 labels."""
    return f"{count_text(k)} label{'' if k == 1 else 's'}"


def top_text(k: int) -> str:
    """The most probable label, or the 2 most probable labels."""
    return "the most probable label" if k == 1 else f"the {count_text(k)} most probable labels"


def percent(value: float | None, digits: int = 2) -> str:
    """A share in percent."""
    if value is None or math.isnan(value):
        return NO_VALUE
    return f"{100 * value:.{digits}f}{SPACE}%"


def signed_points(value: float) -> str:
    """A difference of two shares, in percentage points."""
    text = f"{100 * value:+.2f}"
    return "0.00" if float(text) == 0 else text.replace("-", "\u2212")


def percent_rounded_up(share: float) -> str:
    """A bound in percent, two digits, never below the true one (but for what rounding leaves)."""
    if share < NOTHING:
        return f"0{SPACE}%"
    number = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(100 * share)
    return f"{number.normalize():f}{SPACE}%"


def count_text(number: float) -> str:
    """A whole number with separators."""
    return f"{int(number):,}"
