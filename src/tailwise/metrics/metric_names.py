"""The names of the metrics, their requirements, and suggestions for misspelt names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from tailwise.errors import InputError
from tailwise.metrics.metric_formulas import INSTANCE_METRICS, LABEL_METRICS, fbeta
from tailwise.utilities.parse import nearest_name

#: All metrics with a fixed name; in addition, there is ``macro-fbeta(B)`` for any number B above 0.
METRIC_NAMES = (*INSTANCE_METRICS, *LABEL_METRICS)

_NEEDS_PRIORS = ("ps-precision", "ps-precision-normalised", "ps-ndcg")
_NEEDS_RANKING = ("ndcg", "ps-ndcg")
_FBETA = re.compile(r"macro-fbeta\((.*)\)")


def resolve_names(metrics: str | Iterable[str] | None, *, has_priors: bool, is_ranked: bool) -> list[str]:
    """Return the requested metrics without repetitions, or by default all that the input allows."""
    if metrics is None:
        missing = set(() if has_priors else _NEEDS_PRIORS) | set(() if is_ranked else _NEEDS_RANKING)
        return [name for name in METRIC_NAMES if name not in missing]
    names = list(metrics) if isinstance(metrics, Iterable) and not isinstance(metrics, str) else [metrics]
    for name in names:
        if not isinstance(name, str):
            _refuse_unknown(name)
        if name not in INSTANCE_METRICS:
            find_label_formula(name)
        _check_available(name, has_priors=has_priors, is_ranked=is_ranked)
    return list(dict.fromkeys(names))


def find_label_formula(name: str) -> Callable[..., Any]:
    """Return the formula of a metric that is averaged over labels."""
    if name in LABEL_METRICS:
        return LABEL_METRICS[name]
    match = _FBETA.fullmatch(name)
    if match is None:
        _refuse_unknown(name)
    return fbeta(_parse_beta(match.group(1)))


def _parse_beta(text: str) -> float:
    try:
        beta = float(text)
    except ValueError:
        beta = math.nan
    if not 0 < beta < math.inf:
        msg = f"B in macro-fbeta(B) must be a number above 0. Got {text!r}. Write macro-fbeta(2), for instance."
        raise InputError(msg)
    return beta


def _refuse_unknown(name: Any) -> NoReturn:
    known = (*METRIC_NAMES, "macro-fbeta(2)")
    nearest = nearest_name(str(name), known)
    remedy = f"Did you mean {nearest!r}?" if nearest else f"Choose from {', '.join(METRIC_NAMES)} and macro-fbeta(B)."
    msg = f"metrics must be known names. Got {name!r}. {remedy}"
    raise InputError(msg)


def _check_available(name: str, *, has_priors: bool, is_ranked: bool) -> None:
    if name in _NEEDS_PRIORS and not has_priors:
        msg = f"{name} needs label priors. Got priors=None. Use priors=training_labels (--priors FILE)."
        raise InputError(msg)
    if name in _NEEDS_RANKING and not is_ranked:
        msg = (
            f"{name} needs a ranked selection. Got a 0/1 matrix, which has no order of labels. "
            "Give a Selection (a file of tailwise select) or an (n, k) array of labels, best first."
        )
        raise InputError(msg)
