"""The exceptions a user can catch.

TailwiseError
├── InputError        (also a ValueError)   a parameter breaks its rule
│   ├── UtilityError                        a utility that is unknown, ill-formed or lacks what it needs
│   └── FormulaError                        a formula that cannot be compiled or evaluated
├── FileError         (also an OSError)     a file that cannot be read or written
└── MissingExtraError (also an ImportError) an optional dependency that is not installed
"""

__all__ = ["FileError", "FormulaError", "InputError", "MissingExtraError", "TailwiseError", "UtilityError"]


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


class MissingExtraError(TailwiseError, ImportError):
    """An optional dependency that is not installed."""
