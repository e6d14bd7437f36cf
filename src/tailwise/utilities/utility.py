"""The base of all utilities, which can be evaluated, scaled, added, compared and printed."""

from __future__ import annotations

import enum
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import UtilityError

# Products with smaller factors lose precision.
SMALLEST_FACTOR = 1e-290


class UtilityClass(enum.Enum):
    """The paper's four classes: they determine the method, and whether the semi-empirical value is exact."""

    FULLY_LINEAR = "fully linear"
    LINEAR_IN_PREDICTIONS = "linear in predictions"
    LINEAR_IN_LABELS = "linear in labels"
    NONLINEAR = "nonlinear"


@dataclass(frozen=True)
class Batch:
    """What a utility may need to know about the batch and its context."""

    n_instances: float
    n_labels: int
    n_slots: float  # sum of the budgets; n_instances if there is no budget
    condition_positives: NDArray  # (m,)
    label_names: Mapping[Any, int] | None = None  # numbers by name, if the labels have names

    def number_of(self, name: Any) -> int | None:
        """Return the number of the label with this name; None if there is none."""
        return None if self.label_names is None else self.label_names.get(name)


class Coefficients(NamedTuple):
    """psi_j = on_t[j] * t + on_q[j] * q + constant[j]; each of shape (m,)."""

    on_t: NDArray
    on_q: NDArray
    constant: NDArray


class Formula(NamedTuple):
    """psi(t, q, p, n, parameters) of one label, and its address as a C function once a kernel needs it."""

    function: Callable[[float, float, float, float, NDArray], float]
    address: Callable[[], int]
    parameters: NDArray  # (r,) for all labels, or (m, r)
    curvature: float  # curvature in t at fixed q and p, a constant of kernels/curvature.py


class Ratio(NamedTuple):
    """A ratio of counts whose exact expectation is an integral (docs: mathematics/exact).

    "hits": factor * t / (on_q * q + on_p * p). "jaccard": factor * t / (q + p - t). "false-positives":
    factor * (1 - (q - t) / (n - p)).
    """

    kind: str
    factor: float
    on_q: float = 0.0
    on_p: float = 0.0


class LabelWeights(ABC):
    """The factor of each label's part, a number of at least 0."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """An upper limit of all weights."""

    @abstractmethod
    def of(self, batch: Batch) -> NDArray:
        """The weights of the labels of a batch, (m,)."""

    @abstractmethod
    def identity(self) -> tuple[Any, ...]:
        """What distinguishes these weights from others."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelWeights) and self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(self.identity())


class Utility(ABC):
    """A utility that is a sum over labels of psi_j(t_j, q_j, p_j).

    Utilities can be scaled and added: ``0.7 * Precision() + 0.3 * MacroF1()`` is also a utility.
    """

    linear_in_predictions: bool
    linear_in_labels: bool

    @property
    @abstractmethod
    def terms(self) -> tuple[tuple[float, SingleUtility], ...]:
        """The mixture as (factor, utility) pairs; a single pair for a utility that is not a mixture."""

    def psi(self, t: Any, q: Any, p: Any, *, n_instances: int, k: float = 1) -> NDArray:
        """Contribution of each label to the utility, from counts; the utility is its sum.

        Parameters
        ----------
        t, q, p : array_like of shape (m,)
            True, predicted and condition positives of all m labels, observed or expected.
        n_instances : int
            Size of the batch.
        k : float
            Budget per instance (the mean, if budgets differ).
        """
        t, q, p = (np.asarray(part, dtype=np.float64) for part in (t, q, p))
        batch = Batch(n_instances, t.size, round(n_instances * k), p)
        return np.sum([factor * term.psi_of(t, q, batch) for factor, term in self.terms], axis=0)

    @property
    def kind(self) -> UtilityClass:
        """Which of the paper's four classes this utility belongs to."""
        if self.linear_in_predictions:
            return UtilityClass.FULLY_LINEAR if self.linear_in_labels else UtilityClass.LINEAR_IN_PREDICTIONS
        return UtilityClass.LINEAR_IN_LABELS if self.linear_in_labels else UtilityClass.NONLINEAR

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value that the utility can have on any batch."""
        return sum(f * term.range[0] for f, term in self.terms), sum(f * term.range[1] for f, term in self.terms)

    @staticmethod
    def from_formula(function: Callable, **options: Any) -> Utility:
        """Make a utility from a formula of your own, averaged over labels; see :class:`tailwise.utilities.Custom`."""
        from tailwise.utilities.formula import Custom

        return Custom(function, **options)

    def __mul__(self, factor: float) -> Utility:
        if not isinstance(factor, (int, float, np.number)):
            return NotImplemented
        if not (math.isfinite(factor) and (factor == 0 or factor >= SMALLEST_FACTOR)):
            msg = f"A utility's factor must be 0, or a finite number of at least {SMALLEST_FACTOR:g}. Got {factor}."
            raise UtilityError(msg)
        return Mixture([(factor * own, term) for own, term in self.terms])

    __rmul__ = __mul__

    def __add__(self, other: Utility) -> Utility:
        if not isinstance(other, Utility):
            return NotImplemented
        return Mixture([*self.terms, *other.terms])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Utility):
            return NotImplemented
        return dict((term, factor) for factor, term in self.terms) == dict(
            (term, factor) for factor, term in other.terms
        )

    def __hash__(self) -> int:
        return hash(frozenset(type(term) for _, term in self.terms))


class SingleUtility(Utility):
    """A utility that is not a mixture. It declares its properties; expectations refuse it if they support none."""

    name: ClassVar[str]
    formula: Formula | None = None  # psi(t, q, p, n), if it is not linear in t and q
    is_coverage: ClassVar[bool] = False  # whether it counts the labels that are correct at least once
    ratios: tuple[Ratio, ...] = ()  # ratios that it is a sum of, if exact expectations support them
    is_macro: ClassVar[bool] = False  # whether it is a mean over labels, which can have weights
    weights: LabelWeights | None = None  # factors of the labels' parts
    lowest, highest = 0.0, 1.0  # on any batch, if all weights are 1

    @property
    def terms(self) -> tuple[tuple[float, SingleUtility], ...]:
        return ((1.0, self),)

    @property
    def range(self) -> tuple[float, float]:
        largest = 1.0 if self.weights is None else self.weights.largest
        return min(self.lowest, self.lowest * largest), max(self.highest, self.highest * largest)

    def linear(self, batch: Batch) -> Coefficients | None:
        """The factors of t and q and the constant of each label, if it is linear in them; includes weights."""
        return None

    def weights_in(self, batch: Batch) -> NDArray | None:
        """The weights of the labels of a batch; None if all are 1."""
        return None if self.weights is None else self.weights.of(batch)

    @abstractmethod
    def psi_of(self, t: NDArray, q: NDArray, batch: Batch) -> NDArray:
        """Contribution of each label; p is taken from the batch."""

    def parameters(self) -> dict[str, Any]:
        """What distinguishes this utility from others of its type."""
        return {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SingleUtility):
            return super().__eq__(other)
        if type(self) is not type(other):
            return False
        own, others = self.parameters(), other.parameters()
        return self.weights == other.weights and all(np.array_equal(own[key], others[key]) for key in own)

    __hash__ = Utility.__hash__

    def __repr__(self) -> str:
        values = [f"{name}={_short(value)}" for name, value in self.parameters().items()]
        values += [] if self.weights is None else [f"weights={self.weights!r}"]
        return f"{type(self).__name__}({', '.join(values)})"

    def __str__(self) -> str:
        return self.text() if self.weights is None else f"{self.text()} by label"

    def text(self) -> str:
        """The text from which it can be parsed, without its weights."""
        return self.name


class Mixture(Utility):
    """A sum of utilities with factors; equal terms are merged, and terms with factor 0 are dropped.

    As text, factors are rounded to 12 digits, so that 1 - 0.8 is written as 0.2.
    """

    def __init__(self, terms: list[tuple[float, SingleUtility]]) -> None:
        merged: dict[SingleUtility, float] = {}
        for factor, term in terms:
            merged[term] = merged.get(term, 0.0) + float(factor)
        self._terms = tuple((factor, term) for term, factor in merged.items() if factor > 0)

    @property
    def terms(self) -> tuple[tuple[float, SingleUtility], ...]:
        return self._terms

    @property
    def linear_in_predictions(self) -> bool:  # type: ignore[override]
        return all(term.linear_in_predictions for _, term in self._terms)

    @property
    def linear_in_labels(self) -> bool:  # type: ignore[override]
        return all(term.linear_in_labels for _, term in self._terms)

    def __repr__(self) -> str:
        return " + ".join(f"{factor:.12g}*{term!r}" for factor, term in self._terms) or "0"

    def __str__(self) -> str:
        if len(self._terms) == 1 and self._terms[0][0] == 1:
            return str(self._terms[0][1])
        return " + ".join(f"{factor:.12g}*{term}" for factor, term in self._terms) or "0"


def number_text(number: float) -> str:
    """Format a number: short, but with all digits needed to read it back."""
    return f"{number:.12g}" if float(f"{number:.12g}") == number else repr(float(number))


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"<{value.size} values>"
    return number_text(float(value)) if isinstance(value, (np.ndarray, float)) else repr(value)
