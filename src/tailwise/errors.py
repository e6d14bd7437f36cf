"""The exceptions a user can catch.

TailwiseError
├── InputError        (also a ValueError)   a parameter breaks its rule
│   ├── UtilityError                        a utility that is unknown, ill-formed or lacks what it needs
│   └── FormulaError                        a formula that cannot be compiled or evaluated
├── FileError         (also an OSError)     a file that cannot be read or written
├── NumericalError    (also an ArithmeticError)  numbers too extreme to compute with
└── MissingExtraError (also an ImportError) an optional dependency that is not installed

Interrupted           (a KeyboardInterrupt) Ctrl-C during a search; `best` is what was found by then
EmptySlotsWarning     (a UserWarning)       instances with fewer candidates than their budget keep empty slots
"""

from typing import Any

__all__ = [
    "EmptySlotsWarning",
    "FileError",
    "FormulaError",
    "InputError",
    "Interrupted",
    "MissingExtraError",
    "NumericalError",
    "TailwiseError",
    "UtilityError",
]


class TailwiseError(Exception):
    """Base of every error that tailwise raises on purpose."""


class InputError(TailwiseError, ValueError):
    """A parameter breaks its rule; the message names the parameter, the rule, what came, and the remedy."""


class UtilityError(InputError):
    """A utility that is unknown, ill-formed, or lacks what it needs (label priors, for instance)."""


class FormulaError(InputError):
    """A user's formula that cannot be compiled or evaluated."""


class FileError(TailwiseError, OSError):
    """A file that cannot be read or written."""


class NumericalError(TailwiseError, ArithmeticError):
    """A result that is not finite, or outside the range of the utility: the numbers are too extreme to compute with."""


class MissingExtraError(TailwiseError, ImportError):
    """An optional dependency that is not installed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search.

    Attributes
    ----------
    best : Selection or Certificate
        The best selection, or the least upper bound, that was found by then.
    """

    def __init__(self, best: Any) -> None:
        super().__init__("Interrupted. The attribute `best` of this exception holds the best result so far.")
        self.best = best


class EmptySlotsWarning(UserWarning):
    """Instances with fewer candidates than their budget keep empty slots (-1)."""
