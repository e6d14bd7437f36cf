"""OnlineSelector, the public class for rows that arrive one after another."""

from __future__ import annotations

import copy
import os
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError
from tailwise.inputs.checks import check_size
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import as_array, check_most_labels
from tailwise.inputs.paths import Source
from tailwise.inputs.totals import Totals
from tailwise.kernels.online_greedy import N_TOTALS
from tailwise.online.semi_online_greedy import SemiOnlineGreedy
from tailwise.online.stream_file import find_utility, read_stream, write_stream
from tailwise.online.stream_names import check_numbers, number_by_name, read_rows
from tailwise.utilities import as_utility
from tailwise.utilities.utility import Utility

ONE_ROW = "For a single row of a matrix, give p[:1], not p[0]."


class OnlineSelector:
    r"""Choose k labels for each row as it arrives, given the decisions so far.

    After n - 1 rows with totals t, q and p, a row with probabilities eta gets the k labels with the largest gain

    .. math:: \psi_j(t_j + \eta_j,\, q_j + 1,\, p_j + \eta_j) - \psi_j(t_j,\, q_j,\, p_j + \eta_j),

    where n, if psi needs it, includes this row. The row is then added to the totals: to t and q of the labels it gets,
    to p of all its candidates. For coverage the gain is :math:`\eta_j \prod_{i \in S_j} (1 - \eta_{ij})`. This is the
    paper's semi-online greedy: decisions are final, true labels are never needed, and nothing is assumed about future
    rows. Ties go to the smaller label. The objective is semi-empirical: psi of expected counts.

    The cost of a row is proportional to its number of candidates and independent of the number of earlier rows. Memory
    is 64 bytes per label, plus some for weights and instance-wise utilities.

    Parameters
    ----------
    utility : Utility or str
        What to maximise, as for :func:`tailwise.select`: a name, a mixture, an object of :mod:`tailwise.utilities`.
    k : int
        Labels per row.
    n_labels : int
        Number of labels m; if rows name their labels, the largest number of names.
    priors : LabelPriors, 0/1 matrix of training labels, or path, optional
        For utility names that need them.

    Attributes
    ----------
    utility : Utility
        What is maximised.
    k, n_labels : int
        Labels per row, and number of labels.

    Notes
    -----
    A label not seen before has p = eta after the current row, so its macro-recall jumps from 0 to 1 for any eta. With
    macro-recall alone, the first rows therefore get new labels in ascending order, however improbable they are. This
    follows from the paper's definition. Mix in some precision, or another utility, to avoid it.

    Several threads may call one selector; their rows are processed one after another.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> selector = tw.OnlineSelector("macro-f1", k=1, n_labels=3)
    >>> selector.select((np.array([0, 1]), np.array([0.9, 0.4])))
    array([0], dtype=int32)
    >>> selector.select(np.array([[0.8, 0.0, 0.3], [0.2, 0.7, 0.1]])).labels.ravel()
    array([2, 1], dtype=int32)
    >>> selector.totals.q
    array([1., 1., 1.])

    With names:

    >>> import pandas as pd
    >>> selector = tw.OnlineSelector("macro-f1", k=1, n_labels=3)
    >>> selector.select(pd.DataFrame({"tea": [0.9], "jam": [0.4]}, index=["ann"]))["ann"]
    ['tea']
    >>> selector.select(pd.DataFrame({"jam": [0.3], "tea": [0.2]}, index=["bob"])).to_dict()
    {'bob': ['jam']}
    """

    def __init__(self, utility: Utility | str, k: int, n_labels: int, *, priors: Any = None) -> None:
        n_labels = check_size("n_labels", n_labels)
        check_most_labels(n_labels)
        k = check_size("k", k, largest=n_labels)
        self._stream = SemiOnlineGreedy(as_utility(utility, Source(None).read_priors(priors)), k, n_labels)
        self._names: LabelNames | None = None
        self._lock = threading.Lock()

    @property
    def utility(self) -> Utility:
        return self._stream.utility

    @property
    def k(self) -> int:
        return self._stream.k

    @property
    def n_labels(self) -> int:
        return self._stream.counts.shape[0]

    @property
    def label_names(self) -> LabelNames | None:
        """The names of labels 0, 1, 2, ... that rows have used so far; None if rows number their labels."""
        return self._names

    @property
    def n_instances(self) -> int:
        """Number of rows decided so far."""
        return int(self._stream.n_seen[0])

    @property
    def totals(self) -> Totals:
        """The totals so far: t, q, p and the probability that all predictions are wrong, for every (named) label.

        This is a copy, which takes time proportional to the number of labels. Pass it to
        ``select(..., context=totals)`` to choose labels for a whole batch on top of the stream.
        """
        with self._lock:
            totals, names = self._stream.totals, self._names
            return totals if names is None else totals.at_labels(np.arange(len(names)), names)

    def select(self, rows: Any) -> Any:
        """Choose labels for one row or several, and add them to the totals.

        Parameters
        ----------
        rows : pair of arrays of shape (c,), or array_like of several rows
            One row: its labels, in any order, and their probabilities. Several rows: a matrix of shape (n, m), dense or
            sparse, or any other form that :meth:`Candidates.of` accepts. They are processed one after another, so the
            labels do not depend on how the rows are grouped into calls. If the first rows name their labels, as tables
            with a column for each label or with ids do, later rows are joined by these names, and may bring new ones.

        Returns
        -------
        ndarray of int32 of shape (k,), or Chosen
            For one row, its labels in order of decreasing gain. For several rows, an object with these labels in
            ``labels``, of shape (n, k); :func:`tailwise.evaluate` accepts it, and ``to_csr()`` converts it to a 0/1
            matrix. A row with fewer than k candidates has -1 in its last slots. If labels have names,
            ``to_frame()``, ``to_dict()`` and ``chosen[instance]`` give them, and ``labels`` are the positions in
            ``label_names``.

        Raises
        ------
        InputError
            If a probability is outside [0, 1], or a label is repeated or out of range. In that case no row of this
            call is added to the totals.
        """
        pair = _single_row(rows)
        with self._lock:
            if pair is None:
                return self._select_rows(rows)
            labels, values = pair
            chosen = None
            if labels.size == 0 or (labels.dtype.kind in "iu" and values.dtype.kind in "fiub"):
                check_numbers(labels, self._names)
                chosen = self._stream.select_row(labels, values)
            if chosen is None:  # the checks for several rows name the error, or clip rounding beyond 1
                chosen = self._select_rows((labels[None], values[None])).labels[0]
            return chosen

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the selector to an .npz file, from which another process can continue.

        The utility is saved as text. Priors, label weights and user-defined formulas are not saved: pass such a
        utility to :meth:`load` again.
        """
        with self._lock:
            counts, n_seen = self._stream.counts[:, :N_TOTALS].copy(), float(self._stream.n_seen[0])
            names = self._names
        write_stream(path, self.utility, self.k, counts, n_seen, names)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], utility: Utility | str | None = None, *, priors: Any = None
    ) -> OnlineSelector:
        """Read a selector that :meth:`save` wrote.

        Parameters
        ----------
        path : str or PathLike
            The file.
        utility : Utility or str, optional
            The utility of the selector, required if the file cannot store it. It must have the same name as the saved
            one.
        priors : LabelPriors, 0/1 matrix of training labels, or path, optional
            For a utility whose name needs them.
        """
        saved = read_stream(path)
        found = find_utility(path, saved, utility, Source(None).read_priors(priors))
        selector = cls(found, saved.k, saved.counts.shape[0])
        selector._restore(saved.counts, saved.n_seen, saved.names)
        return selector

    def _restore(self, counts: NDArray, n_seen: float, names: LabelNames | None) -> None:
        self._stream.counts[:, :N_TOTALS] = counts
        self._stream.n_seen[0] = n_seen
        self._names = names

    def _select_rows(self, rows: Any) -> Chosen:
        candidates = read_rows(rows, self.n_labels, self._names)
        is_new = self.n_instances == 0
        candidates, names = number_by_name(candidates, self._names, self.n_labels, is_new=is_new)
        labels = self._stream.select_rows(candidates)
        self._names = names
        chosen = Chosen(labels, self.n_labels if names is None else len(names))
        return chosen.with_ids(candidates.instance_ids, names, candidates.origin.library)

    # Compiled formulas are looked up again, because their addresses are not valid in another process.
    def __getstate__(self) -> tuple[Any, ...]:
        with self._lock:
            counts, n_seen = self._stream.counts[:, :N_TOTALS].copy(), float(self._stream.n_seen[0])
            return self.utility, self.k, counts, n_seen, self._names

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        utility, k, counts, n_seen, names = state
        self.__init__(utility, k, counts.shape[0])  # type: ignore[misc]
        self._restore(counts, n_seen, names)

    def __deepcopy__(self, memo: dict[int, Any]) -> OnlineSelector:
        return copy.copy(self)  # shares only the utility, which is immutable

    def __repr__(self) -> str:
        return f"OnlineSelector({self.utility}, k={self.k}, {self.n_labels:,} labels, {self.n_instances:,} rows so far)"


def _single_row(rows: Any) -> tuple[NDArray, NDArray] | None:
    """Return the labels and probabilities of a single row, or None for any other form."""
    if isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype.kind in "fiub":
        msg = f"rows must be a matrix, or a pair of labels and probabilities. Got shape {rows.shape}. {ONE_ROW}"
        raise InputError(msg)
    if not isinstance(rows, tuple) or len(rows) != 2:
        return None
    labels, values = rows
    if type(labels) is not np.ndarray or type(values) is not np.ndarray:
        labels, values = as_array(labels, "labels"), as_array(values, "probabilities")
    if labels.ndim != 1 or values.ndim != 1:
        return None
    if labels.size != values.size:
        msg = f"A row must have as many labels as probabilities. Got {labels.size} and {values.size}."
        raise InputError(msg)
    return labels, values
