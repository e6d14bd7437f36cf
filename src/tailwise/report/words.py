"""Numbers and metrics in plain words."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context

__all__ = ["MEANINGS", "NO_VALUE", "count_text", "metric_title", "percent", "percent_rounded_up", "signed_points"]

NO_VALUE = "\u2013"
SPACE = "\u00a0"  # keeps a number and its unit on one line

#: What a metric says, for people who do not know its name.
MEANINGS = {
    "precision": "share of the chosen labels that are true",
    "recall": "share of an instance's true labels that were chosen",
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
    """A metric or utility as people write it."""
    return name.replace("-f1", "-F1").replace("ndcg", "nDCG")


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
    """A bound in percent, two digits, never below the true one."""
    number = Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(100 * share)
    return f"{number.normalize():f}{SPACE}%"


def count_text(number: float) -> str:
    """A whole number with separators."""
    return f"{int(number):,}"
