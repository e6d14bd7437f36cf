"""Utilities by name, and mixtures written as text: ``0.7*precision + 0.3*macro-f1``."""

from __future__ import annotations

import difflib
import functools
import operator
import re
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from tailwise.errors import UtilityError
from tailwise.inputs.priors import USUAL_PROPENSITY
from tailwise.utilities import instance_weights as instance_wise
from tailwise.utilities import macro
from tailwise.utilities.utility import Utility

_FACTORIES: dict[str, Callable[..., Utility]] = {
    cls.name: cls
    for cls in (
        instance_wise.Precision,
        instance_wise.PropensityScoredPrecision,
        instance_wise.PowerLawPrecision,
        instance_wise.LogPrecision,
        instance_wise.Hamming,
        macro.MacroPrecision,
        macro.MacroRecall,
        macro.MacroF1,
        macro.MacroFBeta,
        macro.MacroJaccard,
        macro.MacroBalancedAccuracy,
        macro.MacroGMean,
        macro.MacroHMean,
        macro.MacroAccuracy,
        macro.MacroAUC,
        macro.Coverage,
    )
}
_NEED_PRIORS = ("ps-precision", "power-law", "log")

UTILITY_NAMES = tuple(_FACTORIES)

_TERM = re.compile(
    r"(?:(?P<factor>[0-9.]+(?:e[+-]?[0-9]+)?)\s*\*\s*)?"
    r"(?P<name>[a-z][a-z0-9_@.-]*)"  # more characters than names have, so that a similar name can be suggested
    r"(?:\((?P<arguments>[^()]*)\))?"
)
_MINUS = re.compile(r"(?:^|[\s*+])-|-\s")  # not the hyphen in a name
_NUMBERED_F = re.compile(r"macro-f([0-9]+(?:\.[0-9]+)?)")


def as_utility(utility: Any, priors: Any = None, propensity: tuple[float, float] = USUAL_PROPENSITY) -> Utility:
    """Convert an object or text to a utility.

    Parameters
    ----------
    utility : Utility or str
        A name (:data:`UTILITY_NAMES`), with parameters in parentheses if it has any (``macro-fbeta(2)``,
        ``power-law(0.5)``, ``ps-precision(0.55, 1.5)``), or a mixture like ``0.7*precision + 0.3*macro-f1``.
    priors : LabelPriors or 0/1 matrix, optional
        Training frequencies, for names that need them.
    propensity : (float, float)
        a and b of ``ps-precision`` if the text does not contain them.

    Examples
    --------
    >>> from tailwise.utilities import as_utility
    >>> as_utility("0.7*precision + 0.3*macro-f1")
    0.7*Precision() + 0.3*MacroF1()
    """
    if isinstance(utility, str):
        texts = re.split(r"\s*(?<!\de)\+\s*(?=[a-z0-9.])", utility.strip().lower())
        utility = functools.reduce(operator.add, (_parse_term(text, priors, propensity) for text in texts))
    if not isinstance(utility, Utility):
        _refuse_type(utility)
    if not utility.terms:
        msg = "utility must have at least one part with a factor above 0. Got none."
        raise UtilityError(msg)
    return utility


def _parse_term(text: str, priors: Any, propensity: tuple[float, float]) -> Utility:
    match = _TERM.fullmatch(text.strip())
    if match is None:
        hint = " Parts are added, not subtracted, with factors of at least 0." if _MINUS.search(text) else ""
        msg = f"utility must read like macro-f1 or 0.7*precision + 0.3*macro-f1. Got {text!r}.{hint}"
        raise UtilityError(msg)
    name, arguments = match["name"], _parse_arguments(match["arguments"], text)
    if name not in _FACTORIES:
        _refuse_name(name)
    needed = [priors] if name in _NEED_PRIORS else []
    if name == "ps-precision":
        arguments = [*arguments, *propensity[len(arguments) :]]
    try:
        utility = _FACTORIES[name](*needed, *arguments)
    except TypeError as error:
        msg = f"{name} does not take {len(arguments)} parameters. Got {text!r}."
        raise UtilityError(msg) from error
    return utility if match["factor"] is None else _parse_number(match["factor"], text) * utility


def _parse_arguments(arguments: str | None, text: str) -> list[Any]:
    return [] if arguments is None else [_parse_number(part, text) for part in arguments.split(",")]


def _parse_number(number: str, text: str) -> float:
    try:
        return float(number)
    except ValueError as error:
        msg = f"The parameters and factors of a utility must be numbers. Got {number!r} in {text!r}."
        raise UtilityError(msg) from error


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """Return the name that a misspelt one may mean, such as macro-fbeta(2) for macro-f2; None if none is similar."""
    plain = name.lower().replace("_", "-").partition("@")[0]
    numbered = _NUMBERED_F.fullmatch(plain)
    if numbered is not None and plain not in known:
        return f"macro-fbeta({numbered[1]})"
    close = difflib.get_close_matches(plain, known, n=1, cutoff=0.4)
    return close[0] if close else None


def _refuse_name(name: str) -> NoReturn:
    close = nearest_name(name, UTILITY_NAMES)
    hint = f"Did you mean {close}? " if close else ""
    budget = "The budget is a separate parameter, k (-k). " if "@" in name else ""
    msg = f"utility must be a known name. Got {name!r}. {hint}{budget}Names: {', '.join(UTILITY_NAMES)}."
    raise UtilityError(msg)


def _refuse_type(utility: Any) -> NoReturn:
    if isinstance(utility, type) and issubclass(utility, Utility):
        name = utility.__name__
        msg = f"utility must be a Utility or a name. Got the class {name}. Write {name}()."
    else:
        came = type(utility).__name__
        msg = f"utility must be a Utility or a name. Got {came}. Names: {', '.join(UTILITY_NAMES)}."
    raise UtilityError(msg)
