"""Totals: the expected or observed counts of a selection for every label, which can be added, scaled and saved."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.errors import FileError, InputError, UnknownIdsWarning
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.checks import check_choice
from tailwise.inputs.chosen import EMPTY, Chosen
from tailwise.inputs.id_tables import read_table
from tailwise.inputs.ids import Ids
from tailwise.inputs.joining import Space, as_chosen, common_rows
from tailwise.inputs.label_names import LabelNames, plain_names
from tailwise.inputs.matrices import build_csr, canonical_csr
from tailwise.inputs.table_columns import is_table
from tailwise.kernels.rows import find_positions

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Totals", "check_totals", "known_slots"]

KIND, VERSION = "tailwise totals", 1
# Relative amount by which rounding may push a difference below 0.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Totals:
    r"""Counts of a selection for every label: t, q, p, and the probability that all its predictions are wrong.

    .. math:: t_j = \sum_{i \in S_j} \eta_{ij},\quad q_j = |S_j|,\quad p_j = \sum_i \eta_{ij},\quad
        f_j = \prod_{i \in S_j} (1 - \eta_{ij})

    Totals of parts of a batch add up to those of the whole. Pass them to ``select(..., context=totals)`` to choose
    labels on top of earlier decisions: those of yesterday, or for another part of the data.

    Attributes
    ----------
    t, q, p : ndarray of shape (m,)
        True, predicted and condition positives; expected numbers where the true labels are not known.
    n_instances, n_slots : float
        Number of instances, and sum of their budgets.
    log_failure : ndarray of shape (m,) or None
        Logarithm of f, which coverage needs; None if it was not kept.
    known_t, known_p : ndarray of shape (m,)
        The observed part of t and p, which is taken as certain. Exact expectations treat the rest as Poisson
        distributed.
    label_names : LabelNames or None
        The ids of the labels, if known.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> first, second = np.array([[0.9, 0.4], [0.8, 0.1]]), np.array([[0.7, 0.6]])
    >>> done = tw.select(first, "macro-f1", k=1, expectation="semi")
    >>> done.totals.q
    array([1., 1.])
    >>> tw.select(second, "macro-f1", k=1, expectation="semi", context=done.totals).labels.ravel()
    array([1], dtype=int32)
    """

    t: NDArray
    q: NDArray
    p: NDArray
    n_instances: float
    n_slots: float
    log_failure: NDArray | None
    known_t: NDArray
    known_p: NDArray
    label_names: LabelNames | None = None

    @classmethod
    def of(cls, selection: Any, probabilities: Any = None, *, truth: Any = None, instances: str = "common") -> Totals:
        """Compute the totals of a selection: expected ones from probabilities, or observed ones from true labels.

        Parameters
        ----------
        selection : Selection or array_like
            The labels of each instance, in any form that :func:`tailwise.evaluate` accepts.
        probabilities : array_like of shape (n, m), optional
            Label probabilities, in any form that :func:`tailwise.select` accepts.
        truth : 0/1 matrix of shape (n, m), optional
            The true labels. Give either these or the probabilities. Both may be tables of ids; the selection is then
            joined by id.
        instances : {"common", "all"}
            If truth and selection have ids, as for :func:`tailwise.evaluate`: count the instances in both, with a
            warning if there are others, or also those in only one of them, with no true or no chosen labels. A table
            with a row for each true label does not list instances that have none: use "all" if the selection has such.
        """
        check_choice("instances", instances, ("common", "all"))
        if (probabilities is None) == (truth is None):
            came = "neither" if truth is None else "both"
            msg = f"Totals.of needs either probabilities or truth. Got {came}. Give exactly one of them."
            raise InputError(msg)
        name = "truth" if probabilities is None else "probabilities"
        source = _read_truth(truth) if probabilities is None else Candidates.of(probabilities)
        selection = as_chosen(selection, "selection") if is_table(selection) else selection
        if source.label_names is not None and getattr(selection, "label_names", None) is not None:
            source = source.with_labels(selection.label_names)
        if probabilities is None:
            source = _match_instances(source, getattr(selection, "instance_ids", None), instances)
        space = Space(name, source.instance_ids, source.label_names)
        selection = space.read_chosen(selection, "selection", may_have_more=probabilities is None)
        n, m = source.shape
        expected = _count(source, Chosen.of(selection, m, n_instances=n, like=name))
        if probabilities is not None:
            return expected
        return replace(expected, known_t=expected.t, known_p=expected.p)

    @classmethod
    def nothing(cls, n_labels: int) -> Totals:
        """Return the totals of an empty batch."""
        zeros = np.zeros(n_labels)
        return cls(zeros, zeros, zeros, 0.0, 0.0, zeros, zeros, zeros)

    @property
    def n_labels(self) -> int:
        return self.t.size

    @property
    def is_observed(self) -> bool:
        """Whether t and p were fully observed."""
        return bool((self.known_p == self.p).all() and (self.known_t == self.t).all())

    def __add__(self, other: Totals) -> Totals:
        return self._combine(other, 1.0) if isinstance(other, Totals) else NotImplemented

    def __sub__(self, other: Totals) -> Totals:
        return self._combine(other, -1.0) if isinstance(other, Totals) else NotImplemented

    def __mul__(self, factor: float) -> Totals:
        if not isinstance(factor, (int, float, np.integer, np.floating)):
            return NotImplemented
        factor = float(factor)
        if not 0 <= factor < np.inf:
            msg = f"Totals can only be multiplied by a finite number of at least 0. Got {factor}."
            raise InputError(msg)
        failure = self.log_failure
        if failure is not None:
            failure = factor * failure if factor > 0 else np.zeros_like(failure)  # 0 times infinity is not a number
        parts = {name: factor * getattr(self, name) for name in _ADDED}
        return replace(self, **parts, log_failure=failure)

    __rmul__ = __mul__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the totals to an .npz file, which appears only when it is complete."""
        from tailwise.datasets.formats.saved_object import write_object

        arrays = {name: np.asarray(getattr(self, name)) for name in _ADDED}
        if self.log_failure is not None:
            arrays["log_failure"] = self.log_failure
        write_object(path, KIND, VERSION, {"label_names": plain_names(self.label_names)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Totals:
        """Read totals that :meth:`save` wrote."""
        from tailwise.datasets.formats.saved_object import read_object

        header, arrays = read_object(path, KIND, VERSION, "be a file that Totals.save wrote", "Save the totals again.")
        names = header.get("label_names")
        return _check(path, arrays, None if names is None else LabelNames(names))

    def at_labels(self, numbers: NDArray, label_names: LabelNames | None = None) -> Totals:
        """Return the totals of other labels: those with these numbers, and 0 for -1."""
        is_there = numbers >= 0
        parts: dict[str, Any] = {name: np.where(is_there, getattr(self, name)[numbers], 0.0) for name in _PER_LABEL}
        failure = None if self.log_failure is None else np.where(is_there, self.log_failure[numbers], 0.0)
        return replace(self, **parts, log_failure=failure, label_names=label_names)

    def _combine(self, other: Totals, sign: float) -> Totals:
        if self.label_names is not None and other.label_names is not None:
            names = self.label_names.extended(other.label_names)
            if not (len(names) == self.n_labels and np.array_equal(names.values, other.label_names.values)):
                positions = (self.label_names.positions_of(names), other.label_names.positions_of(names))
                first, second = self.at_labels(positions[0], names), other.at_labels(positions[1], names)
                return first._combine(second, sign)
        if self.n_labels != other.n_labels:
            msg = f"Totals to combine must have the same labels. Got {self.n_labels} and {other.n_labels} labels."
            raise InputError(msg)
        parts = {name: _difference(name, getattr(self, name), sign * getattr(other, name)) for name in _ADDED}
        failure = None
        if self.log_failure is not None and other.log_failure is not None:
            failure = _combine_failures(self.log_failure, other.log_failure, sign)
        return Totals(**parts, log_failure=failure, label_names=self.label_names or other.label_names)

    def __repr__(self) -> str:
        state = "observed" if self.is_observed else "expected"
        return (
            f"Totals({self.n_instances:,.12g} instances, {self.n_labels:,} labels, "
            f"{self.q.sum():,.12g} predicted positives, {state})"
        )


def known_slots(selection: Any, n_instances: int) -> float | None:
    """The number of slots, including empty ones, of a Selection with this number of instances; else None."""
    totals = getattr(selection, "totals", None)
    return totals.n_slots if isinstance(totals, Totals) and totals.n_instances == n_instances else None


_PER_LABEL = ("t", "q", "p", "known_t", "known_p")
_ADDED = ("t", "q", "p", "n_instances", "n_slots", "known_t", "known_p")


def _read_truth(truth: Any) -> Candidates:
    if not is_table(truth):
        return Candidates.of(canonical_csr(truth, "truth"))
    found = read_table(truth, name="truth", needs_values=False, may_repeat=True)
    return Candidates.of(found.matrix).with_names(found.label_names, found.instance_ids)


def _match_instances(truth: Candidates, selected: Ids | None, instances: str) -> Candidates:
    """Return the true labels of the instances in both, or in either."""
    known = truth.instance_ids
    if known is None or selected is None or known == selected:
        return truth
    rows, n_both = common_rows(selected, known, "selection", "truth")
    more = np.flatnonzero(known.positions_of(selected) < 0)
    csr, n_known = truth.to_csr(), len(known)
    if instances == "all":
        indptr = np.append(csr.indptr, np.full(more.size, csr.nnz))
        csr = build_csr(csr.data, csr.indices, indptr, (n_known + more.size, truth.n_labels))
        ids = Ids([*known, *selected.take(more)])
    elif (n_both, n_both) == (n_known, len(selected)):
        return truth
    else:
        is_there = np.flatnonzero(rows >= 0)
        csr, ids = csr[is_there], known.take(is_there)
        words = (
            f"{n_both:,} instances are in both, of {n_known:,} in truth and {len(selected):,} in selection; the others "
            "are left out. Use instances='all' to count them as without true or without chosen labels."
        )
        warnings.warn(words, UnknownIdsWarning, stacklevel=3)
    return Candidates.of(csr).with_names(truth.label_names, ids)


def _count(source: Candidates, chosen: Chosen) -> Totals:
    rows, labels = source.rows, chosen.labels
    positions = np.empty_like(labels)
    find_positions(rows, labels, positions)
    is_candidate = positions >= 0
    eta = rows.values[(rows.indptr[:-1, None] + positions)[is_candidate]].astype(np.float64)
    m, picked, taken = source.n_labels, labels[is_candidate], labels[labels != EMPTY]
    with np.errstate(divide="ignore"):
        logs = np.log1p(-eta)
    zeros = np.zeros(m)
    return Totals(
        np.bincount(picked, weights=eta, minlength=m).astype(np.float64),  # integers if there is nothing to add
        np.bincount(taken, minlength=m).astype(np.float64),
        source.condition_positives(),
        float(source.n_instances),
        float(taken.size),
        np.bincount(picked, weights=logs, minlength=m).astype(np.float64),
        zeros,
        zeros,
        source.label_names,
    )


def _difference(name: str, first: Any, second: Any) -> Any:
    total = np.asarray(first + second)
    if (total < -ROUNDING * (np.abs(first) + np.abs(second))).any():
        msg = f"Totals can only be subtracted from totals that include them. Got a negative {name}."
        raise InputError(msg)
    total = np.maximum(total, 0.0)
    return total if total.ndim else float(total)


def _combine_failures(first: NDArray, second: NDArray, sign: float) -> NDArray:
    """Add or subtract logarithms; a certain hit cannot be subtracted, because it hides all other factors."""
    if sign > 0:
        return first + second
    if (np.isinf(second)).any():
        j = int(np.argmax(np.isinf(second)))
        msg = (
            f"Totals with a certain hit (probability 1) cannot be subtracted. Label {j} has one. "
            "Compute the totals of the remaining instances with Totals.of."
        )
        raise InputError(msg)
    return np.minimum(0.0, first - second)


def _check(path: Any, arrays: dict[str, NDArray], names: LabelNames | None) -> Totals:
    """Build totals from the arrays of a file, which may contain anything."""
    shapes = {name: arrays[name].shape for name in _ADDED if name in arrays}
    sizes = {shape for name, shape in shapes.items() if not name.startswith("n_")}
    fits = len(shapes) == len(_ADDED) and len(sizes) == 1 and len(next(iter(sizes))) == 1
    fits = fits and shapes["n_instances"] == shapes["n_slots"] == ()
    numbers = {name: arrays[name] for name in (*_ADDED, "log_failure") if name in arrays}
    if not fits or not all(each.dtype == np.float64 and not np.isnan(each).any() for each in numbers.values()):
        msg = f"{path} must hold arrays of one size for totals. It is damaged. Save the totals again."
        raise FileError(msg)
    parts: dict[str, Any] = {name: float(array) if array.ndim == 0 else array for name, array in numbers.items()}
    return Totals(**{"log_failure": None, **parts}, label_names=names)


def check_totals(context: Totals) -> None:
    """Refuse numbers that no selection can have, which were put together by hand or read from an edited file."""
    arrays = [context.t, context.q, context.p, context.known_t, context.known_p]
    failure = np.zeros(context.n_labels) if context.log_failure is None else context.log_failure
    fits = all(np.shape(array) == (context.n_labels,) for array in (*arrays, failure))
    if fits:
        t, q, p, known_t, known_p = arrays
        slack = 1e-9 * (1.0 + context.n_instances)
        orders: list[tuple[Any, Any]] = [
            (0.0, known_t),
            (known_t, t),
            (t, q),
            (t, p),
            (known_p, p),
            (p, context.n_instances),
            (failure, 0.0),
        ]
        fits = all(bool(np.all(np.subtract(low, high) <= slack)) for low, high in orders)
    sizes = (context.n_instances, context.n_slots)
    if not (fits and np.isfinite(arrays).all() and all(0 <= size < np.inf for size in sizes)):
        msg = (
            "context must hold the totals of a selection: finite numbers with 0 <= t <= q, t <= p <= n_instances and "
            "log_failure <= 0. Got others. Make it by Totals.of or selection.totals."
        )
        raise InputError(msg)
