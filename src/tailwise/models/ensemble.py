"""`Ensemble`: several models, stacked."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice, check_size, is_integer
from tailwise.inputs.table_columns import is_table
from tailwise.models.features import check_feature_names, check_n_jobs, check_random, read_labels, refuse_texts
from tailwise.models.folds import draw_held
from tailwise.models.label_tree import LabelTree
from tailwise.models.member_parameters import get_deep, read_members, split_deep
from tailwise.models.model import SavedModel, unpack_member
from tailwise.models.model_file import Packed
from tailwise.models.neighbours import Neighbours
from tailwise.models.ready_stack import check_ready, ready_weights
from tailwise.models.reliability import calibration_error
from tailwise.models.side_by_side import PARTS, part_of
from tailwise.models.stacking import OF_ALL, apply_stack, describe_pairs, find_true, fit_stack, list_inputs, pool
from tailwise.models.top_entries import keep_top
from tailwise.models.tree_file import describe_fit, plain_parameters, restore_fit
from tailwise.utilities import LabelPriors

TOP = 100  # candidates of each member
SPLITS, STACKINGS = ("random", "time"), ("fit", "ready")
FIFTHS = 5
ROWS = 4096  # combined at once, so that memory does not grow with the number of rows
OWN_PARAMETERS = ("folds", "split", "stacking", "n_jobs", "random_state", "progress")


class Ensemble(SavedModel, BaseEstimator):
    r"""Several models, stacked by a logistic regression on what each of them says.

    For a pair (x, j) that any member proposes, with the probabilities :math:`\eta^{(1)}_j, \eta^{(2)}_j, \ldots` of all
    members,

    .. math:: \eta_j(x) = \sigma\bigl(b + w \cdot (\text{logits}, \text{log ranks}, \text{log row sums},
        \text{log frequency of } j, \text{logit of the mean})\bigr).

    The regression is fitted on rows that its members were not trained on, so the result is calibrated; afterwards the
    members are trained on all rows.

    Parameters
    ----------
    members : list of (name, model) or (name, model, part), optional
        The models; ``part`` is "all", "sparse" or "dense" features of :class:`SideBySide`. By default a
        :class:`LabelTree` named "tree" and :class:`Neighbours` named "neighbours".
    folds : int, optional
        Number of folds for out-of-fold predictions; by default one held-out fifth, which takes less time.
    split : {"random", "time"}
        Which rows are held out: random ones, or the last fifth, for rows in order of time.
    stacking : {"fit", "ready"}
        Whether the weights of the regression are fitted on held-out rows, or ready ones are used, which takes no second
        fit; there are ready ones for a label tree followed by neighbours.
    n_jobs : int, optional
        Number of threads of the members; None or -1 for all cores. Results do not depend on it.
    random_state : int, RandomState instance or None
        Seed of the members and of the split. With an integer, each member is the one that it would be if fitted alone
        with this seed.
    progress : bool
        Whether members show progress bars.

    Attributes
    ----------
    members_ : dict
        The fitted members by name.
    weights_ : dict
        The weights of the regression by name, with "bias".
    shares_ : dict
        The share of each member in the log odds, summing to 1: weights times standard deviations of its inputs on the
        rows held out, which count as 1 for ready weights.
    calibration_error_ : float
        Expected calibration error on the rows held out, in 15 bins of equal size; NaN for ready weights.
    n_features_in_, n_labels_, priors_
        As for all models.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> X = np.eye(4).repeat(10, axis=0)
    >>> model = tw.Ensemble().fit(X, X)
    >>> model.predict_proba(np.eye(4), top=1).toarray().argmax(axis=1)
    array([0, 1, 2, 3])
    """

    kind = "ensemble"

    def __init__(
        self,
        members: Any = None,
        *,
        folds: int | None = None,
        split: str = "random",
        stacking: str = "fit",
        n_jobs: int | None = None,
        random_state: Any = 0,
        progress: bool = False,
    ) -> None:
        self.members = members
        self.folds = folds
        self.split = split
        self.stacking = stacking
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, Y: Any, groups: Any = None) -> Ensemble:
        """Fit the regression on rows held out, then the members on all rows.

        Parameters
        ----------
        X : array_like, sparse matrix or SideBySide of shape (n, features)
            Features.
        Y : array_like or sparse matrix of shape (n, m)
            0/1 matrix of the labels; the columns of a DataFrame are their names.
        groups : array_like of shape (n,), optional
            Rows of one group are held out together, so that near duplicates do not flatter.

        Returns
        -------
        Ensemble
            This estimator.
        """
        self.check_parameters()
        refuse_texts(X)
        rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        labels, names, output_type = read_labels(Y, rows.shape[0])
        rows = sp.csr_array(rows) if sp.issparse(rows) else rows if not is_table(rows) else rows.to_numpy()
        seed = self._draw_seed()
        if self.stacking == "ready":
            weights, bias = ready_weights(self._list())
            error, scales = float("nan"), np.ones(weights.size)
        else:
            held = self._list_held(labels.shape[0], groups, seed)
            weights, bias, error, scales = self._fit_stack(rows, labels, held, seed)
        fitted = {name: self._train(model, part, rows, labels, seed) for name, model, part in self._list()}
        self.members_, self.bias_, self.calibration_error_, self.coefficients_ = fitted, bias, error, weights
        self.scales_ = scales
        self.parts_ = {name: part for name, _, part in self._list()}
        self.n_features_in_, self.n_labels_ = rows.shape[1], labels.shape[1]
        check_feature_names(self, X, reset=True)
        self.priors_ = LabelPriors.from_labels(labels).with_names(names)
        self._output_type = output_type
        return self

    def predict_proba(self, X: Any, top: int = TOP) -> sp.csr_array:
        """Estimate the probabilities of the most probable labels; float32 CSR with ascending labels."""
        check_is_fitted(self)
        check_size("top", top, 1)
        refuse_texts(X)
        check_feature_names(self, X, reset=False)
        rows: Any = X if hasattr(X, "shape") else np.asarray(X)
        rows = rows.to_numpy() if is_table(rows) else rows
        candidates = [
            model.set_params(n_jobs=self.n_jobs).predict_proba(part_of(rows, self.parts_[name]), top=max(top, TOP))
            for name, model in self.members_.items()
        ]
        starts = range(0, max(1, candidates[0].shape[0]), ROWS)
        parts = [self._combine([each[first : first + ROWS] for each in candidates], top) for first in starts]
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def _combine(self, candidates: list[sp.csr_array], top: int) -> sp.csr_array:
        """Apply the regression to candidates of the members."""
        pooled = pool(candidates)
        inputs = describe_pairs(pooled, self.priors_.counts)
        values = apply_stack(inputs, self.coefficients_, self.bias_)
        values = np.clip(values, 1e-7, 1 - 1e-7).astype(np.float32)
        return keep_top(sp.csr_array((values, pooled.labels, pooled.indptr), shape=pooled.shape), top)

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - of scikit-learn
        """Return the parameters; with `deep` also those of the members, such as ``tree__C``."""
        own = super().get_params(deep=False)
        return get_deep(own, self._list()) if deep else own

    def set_params(self, **parameters: Any) -> Ensemble:
        """Set parameters, those of members as ``tree__C=3``, and members as ``tree=model``."""
        if "members" in parameters:  # first, as the others may be of these
            self.members = parameters.pop("members")
        own, of_members, members = split_deep(parameters, self._list())
        super().set_params(**own)
        if members is not None:
            for name, model, _ in members:
                model.set_params(**of_members.get(name, {}))
            self.members = members
        return self

    @property
    def weights_(self) -> dict[str, float]:
        """The weights of the regression by name."""
        check_is_fitted(self)
        named = zip(list_inputs(list(self.members_)), self.coefficients_.tolist(), strict=True)
        return {**dict(named), "bias": self.bias_}

    @property
    def shares_(self) -> dict[str, float]:
        """The share of each member in the log odds: weights times standard deviations of its inputs, summing to 1."""
        check_is_fitted(self)
        sizes = np.abs(self.coefficients_ * self.scales_)[: -len(OF_ALL)].reshape(len(self.members_), -1).sum(axis=1)
        whole = sizes.sum()
        shares = sizes / whole if whole > 0 else np.full(sizes.size, 1 / sizes.size)
        return dict(zip(self.members_, shares.tolist(), strict=True))

    def check_parameters(self) -> None:
        """Refuse invalid parameters, as `fit` does."""
        check_choice("split", self.split, SPLITS)
        check_choice("stacking", self.stacking, STACKINGS)
        check_n_jobs(self.n_jobs)
        check_random(self.random_state)
        if self.folds is not None:
            check_size("folds", self.folds, 2)
            if self.split == "time":
                msg = f"folds must be None for split='time', which holds out the last fifth. Got {self.folds!r}."
                raise InputError(msg)
        members = self._list()
        names = [name for name, _, _ in members]
        if not names or len(set(names)) < len(names):
            msg = f"members must have different names. Got {names}."
            raise InputError(msg)
        for _, model, part in members:
            check_choice("the part of a member", part, PARTS)
            model.check_parameters()
        if self.stacking == "ready":
            check_ready(members)

    def pack(self) -> Packed:
        """Take the fitted estimator apart, for `save` and for models that contain it."""
        check_is_fitted(self)
        own = {name: getattr(self, name) for name in OWN_PARAMETERS}
        packed = {name: model.pack() for name, model in self.members_.items()}
        arrays = {"counts": self.priors_.counts, "coefficients": self.coefficients_, "scales": self.scales_}
        for number, each in enumerate(packed.values()):
            arrays |= each.with_prefix(str(number))
        headers = {name: {**p.header, "kind": p.kind, "version": p.version} for name, p in packed.items()}
        header = {"parameters": plain_parameters(own), **describe_fit(self), "members": headers, "parts": self.parts_}
        error = None if np.isnan(self.calibration_error_) else self.calibration_error_  # JSON has no NaN
        header |= {"bias": self.bias_, "calibration_error": error}
        return Packed(self.kind, self.VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Ensemble:
        """Put an estimator together again."""
        header, arrays = packed.header, packed.arrays
        parts, named = header["parts"], enumerate(header["members"].items())
        fitted = {name: unpack_member(packed.part(str(number), own)) for number, (name, own) in named}
        model = cls([(name, clone(each), parts[name]) for name, each in fitted.items()], **header["parameters"])
        restore_fit(model, header, arrays["counts"])
        model.members_, model.parts_ = fitted, header["parts"]
        model.coefficients_, model.scales_ = arrays["coefficients"], arrays["scales"]
        error = header["calibration_error"]
        model.bias_, model.calibration_error_ = float(header["bias"]), float("nan") if error is None else float(error)
        model._check_stack()
        return model

    def _check_stack(self) -> None:
        """Refuse what no fit gives, from a file that was altered."""
        n_inputs, error = len(list_inputs(list(self.members_))), self.calibration_error_
        for name, array in (("weights", self.coefficients_), ("scales", self.scales_)):
            if array.shape != (n_inputs,) or array.dtype != np.float64 or not np.isfinite(array).all():
                msg = f"the {name} of the regression do not fit the members"
                raise InputError(msg)
        if (self.scales_ < 0.0).any():
            msg = f"the scales of the regression must not be negative, but one is {self.scales_.min():g}"
            raise InputError(msg)
        if not np.isfinite(self.bias_) or not (np.isnan(error) or 0.0 <= error <= 1.0):
            msg = f"the bias is {self.bias_:g}, and the calibration error {error:g}"
            raise InputError(msg)
        if list(self.parts_) != list(self.members_) or not set(self.parts_.values()) <= set(PARTS):
            msg = f"the parts of the members are {self.parts_!r:.60}"
            raise InputError(msg)

    def _list(self) -> list[tuple[str, Any, str]]:
        usual = self.members is None
        return read_members([("tree", LabelTree()), ("neighbours", Neighbours())] if usual else self.members)

    def _draw_seed(self) -> int:
        """Return an integer as it is, so that members are what they would be alone with the same `random_state`."""
        state = self.random_state
        return int(state) if is_integer(state) else int(check_random(state).randint(2**31 - 1))

    def _train(self, model: Any, part: str, X: Any, Y: sp.csr_array, seed: int) -> Any:
        own = {"n_jobs": self.n_jobs, "random_state": seed, "progress": self.progress}
        return clone(model).set_params(**own).fit(part_of(X, part), Y)

    def _fit_stack(
        self, X: Any, Y: sp.csr_array, held: list[NDArray], seed: int
    ) -> tuple[NDArray, float, float, NDArray]:
        inputs, truth = [], []
        for rows in held:
            others = np.setdiff1d(np.arange(Y.shape[0]), rows)
            seen, counts = Y[others], np.asarray(Y[others].sum(axis=0)).ravel()
            trained = [(self._train(model, part, X[others], seen, seed), part) for _, model, part in self._list()]
            pooled = pool([model.predict_proba(part_of(X[rows], part), top=TOP) for model, part in trained])
            inputs.append(describe_pairs(pooled, counts))
            truth.append(find_true(pooled, Y[rows]))
        seen, is_true = np.concatenate(inputs), np.concatenate(truth)
        stack = fit_stack(seen, is_true)
        error = calibration_error(apply_stack(seen, stack.weights, stack.bias), is_true)
        return stack.weights, stack.bias, error, stack.scales

    def _list_held(self, n: int, groups: Any, seed: int) -> list[NDArray]:
        """List the rows that are held out, once or for each fold."""
        names = np.arange(n) if groups is None else _number_groups(groups)
        if names.size != n:
            msg = f"groups must have one entry for each of the {n} rows. Got {names.size}."
            raise InputError(msg)
        n_groups, n_parts = int(names.max(initial=-1)) + 1, self.folds or FIFTHS
        if n_groups < n_parts:
            what = "rows" if groups is None else "groups"
            msg = f"An ensemble needs at least {n_parts} {what}, to hold some out. Got {n_groups}. Use one model alone."
            raise InputError(msg)
        if self.split == "time":
            return [_last(names)]
        return draw_held(names, n_parts, seed)[: self.folds or 1]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "members_")


def _number_groups(groups: Any) -> NDArray:
    """Number the groups from 0."""
    try:
        return np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    except (TypeError, ValueError) as error:  # ValueError: lists of different lengths
        msg = f"groups must be a list of numbers or a list of texts, one for each row. {error}. Use for instance 0, 1."
        raise InputError(msg) from error


def _last(names: NDArray) -> NDArray:
    """The rows of the groups that occur in the last fifth."""
    return np.flatnonzero(np.isin(names, names[-max(1, names.size // FIFTHS) :]))
