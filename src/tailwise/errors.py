"""The exceptions a user can catch.

TailwiseError
├── InputError        (also a ValueError)   an invalid argument
│   ├── UtilityError                        a utility that is unknown, malformed or incomplete
│   └── FormulaError                        a formula that cannot be compiled or evaluated
├── FileError         (also an OSError)     a file that cannot be read or written
│   └── MachineError                        the same because space, memory or a permission is missing
├── ClusterError                            a cluster that does not answer, or has no usable workers
├── NumericalError    (also an ArithmeticError)  numbers too extreme to compute with
└── MissingExtraError (also an ImportError) an optional dependency that is not installed

Interrupted           (a KeyboardInterrupt) Ctrl-C during a search; `best` holds the best result so far
CalibrationWarning    (a UserWarning)       probabilities that imply more or fewer labels than priors or truth have
EmptySlotsWarning     (a UserWarning)       instances with fewer candidates than their budget have empty slots
NoCertificateWarning  (a UserWarning)       time was over before the first round of a proof
UnknownIdsWarning     (a UserWarning)       ids of one input that another input lacks, and how they were handled
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = [
    "CalibrationWarning",
    "ClusterError",
    "EmptySlotsWarning",
    "FileError",
    "FormulaError",
    "InputError",
    "Interrupted",
    "MachineError",
    "MissingExtraError",
    "NoCertificateWarning",
    "NumericalError",
    "TailwiseError",
    "UnknownIdsWarning",
    "UtilityError",
]


class TailwiseError(Exception):
    """Base class of all errors that tailwise raises deliberately."""


class InputError(TailwiseError, ValueError):
    """An invalid argument; the message names the parameter, the rule, the value received and a remedy."""


class UtilityError(InputError):
    """A utility that is unknown, malformed, or lacks something it needs (label priors, for instance)."""


class FormulaError(InputError):
    """A user-defined formula that cannot be compiled or evaluated."""


class FileError(TailwiseError, OSError):
    """A file that cannot be read or written."""


class MachineError(FileError):
    """A file that cannot be read or written because space, memory or a permission is missing."""


class ClusterError(TailwiseError):
    """A cluster that does not answer, or has no usable workers."""


class NumericalError(TailwiseError, ArithmeticError):
    """A result that is not finite or lies outside the range of the utility, because the inputs are too extreme."""


class MissingExtraError(TailwiseError, ImportError):
    """An optional dependency that is not installed."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a search.

    Attributes
    ----------
    best : Selection or Certificate
        The best selection, or the lowest upper bound, found so far.
    """

    def __init__(self, best: Any) -> None:
        super().__init__("Interrupted. The attribute `best` of this exception holds the best result so far.")
        self.best = best


class CalibrationWarning(UserWarning):
    """The probabilities imply far more or fewer labels than there are in the training or the true labels."""


class EmptySlotsWarning(UserWarning):
    """Some instances have fewer candidates than their budget, which leaves empty slots (-1)."""


class NoCertificateWarning(UserWarning):
    """A selection was to be proven, but `max_seconds` were over before there was a bound."""


class UnknownIdsWarning(UserWarning):
    """Some ids of one input are missing in another, or a file cannot hold ids; they are left out."""


@contextmanager
def extra_needed(need: str, install: str) -> Iterator[None]:
    """Turn a failed import within the block into an error that says how to install the package."""
    try:
        yield
    except ImportError as error:
        msg = f"{need}, which is not installed. Install it with: pip install {install}"
        raise MissingExtraError(msg) from error
