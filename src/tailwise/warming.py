"""Compile ahead of time, by solving small problems of every kind."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tailwise.progress import track

__all__ = ["warm_up"]

K, CANDIDATES = 3, 8


def warm_up(*, everything: bool = False, progress: bool | None = None) -> float:
    r"""Compile what is usually needed, so that later calls do not have to.

    tailwise is compiled for the processor when it is first used, and the compiled code is kept on disk. This function
    does it ahead of time, for instance when an image is built, by solving small problems. Code that is already
    compiled takes no time.

    Parameters
    ----------
    everything : bool
        Also compile what is needed less often: all utilities, label trees, calibration, streams and text files.
    progress : bool, optional
        Show a progress bar on standard error. Default: if it is a terminal.

    Returns
    -------
    seconds : float
        Time spent compiling; 0 if everything was compiled already.

    Examples
    --------
    >>> import tailwise as tw
    >>> seconds = tw.warm_up()
    """
    from tailwise.kernels.compiling import compile_seconds

    before = compile_seconds()
    tasks = [*_list_usual(), *(_list_rare() if everything else ())]
    is_shown = sys.stderr.isatty() if progress is None else progress
    for name, task in (bar := track(tasks, title="compiling", unit="problems", shown=is_shown)):
        bar.set_postfix_str(name)
        task()
    return compile_seconds() - before


def _list_usual() -> list[tuple[str, Callable[[], object]]]:
    """What most users call, with the types of arrays that they pass."""
    from tailwise.inputs.candidates import MOST_WIDENED
    from tailwise.metrics import evaluate
    from tailwise.selection import select

    sparse, truth = _make_batch()
    dense = sparse.toarray()
    wide = type(sparse)((sparse.data, sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)), sparse.shape)
    return [
        ("dense", lambda: select(dense.astype(np.float64), "macro-f1", K)),
        ("float32", lambda: select(dense.astype(np.float32), "macro-f1", K)),
        ("sparse", lambda: select(sparse.astype(np.float64), "macro-f1", K, fill="none")),
        ("sparse float32", lambda: select(sparse.astype(np.float32), "macro-f1", K, fill="none")),
        ("int64", lambda: select(wide, "macro-f1", K, fill="none")),
        ("ascent", lambda: select(sparse, "macro-f1", K, method="ascent", fill="none")),
        ("semi", lambda: select(sparse, "macro-f1", K, expectation="semi", fill="none")),
        ("precision", lambda: select(sparse, "precision", K, fill="none")),
        ("recall", lambda: select(sparse, "macro-recall", K, fill="none")),
        ("coverage", lambda: select(sparse, "coverage", K, fill="none")),
        ("no budget", lambda: select(sparse, "macro-f1", None)),
        ("certify", lambda: select(sparse, "macro-f1", K, certify=True, fill="none")),
        ("threads", lambda: _use_threads(n_rows=2000)),
        ("single precision", lambda: _use_threads(n_rows=MOST_WIDENED // 100 + 1)),
        ("evaluate", lambda: evaluate(truth, select(dense, "precision", K))),
    ]


def _list_rare() -> list[tuple[str, Callable[[], object]]]:
    from tailwise.utilities import UTILITY_NAMES

    sparse, truth = _make_batch()
    utilities = [(name, lambda name=name: _use_utility(name, sparse, truth)) for name in UTILITY_NAMES]
    return [
        *utilities,
        *((f"certify {name}", lambda name=name: _certify(name, sparse)) for name in ("macro-jaccard", "coverage")),
        ("budgets", lambda: _use_budgets(sparse)),
        ("cluster", _use_best_sets),
        ("messages", _use_messages),
        ("formula", lambda: _use_formula(sparse)),
        ("streams", lambda: _use_stream(sparse)),
        ("label tree", lambda: _use_tree(truth)),
        ("neighbours", lambda: _use_neighbours(truth)),
        ("calibration", lambda: _use_calibration(sparse, truth)),
        ("files", lambda: _use_files(sparse)),
    ]


def _make_batch() -> tuple[Any, Any]:
    """Sparse probabilities and true labels of a small batch."""
    from tailwise.datasets import make_long_tail

    batch = make_long_tail(60, 30, labels_per_instance=3.0, top=CANDIDATES, n_training=100)
    return batch.probabilities, batch.truth


def _use_threads(n_rows: int) -> None:
    """A batch that is large enough for several threads; still larger ones stay in single precision."""
    from tailwise.datasets import make_long_tail
    from tailwise.selection import select

    large = make_long_tail(n_rows, 300, labels_per_instance=3.0, top=100, n_training=100).probabilities
    for name in ("macro-f1", "coverage"):
        select(large, name, K, workers=2, max_passes=1)


def _certify(name: str, sparse: Any) -> None:
    from tailwise.selection import certify

    for expectation in ("semi", "exact"):
        certify(sparse, name, K, expectation=expectation)


def _use_utility(name: str, sparse: Any, truth: Any) -> None:
    from tailwise.expectations.drawn import monte_carlo
    from tailwise.selection import expected_utility, select

    for options in ({"method": "greedy"}, {"expectation": "semi"}, {"expectation": "exact"}):
        selection = select(sparse, name, K, priors=truth, **options)  # type: ignore[arg-type]
    select(sparse, name, None, priors=truth)
    expected_utility(sparse, name, selection, priors=truth)
    monte_carlo(sparse, name, selection, draws=2, priors=truth)


def _use_best_sets() -> None:
    from tailwise.kernels.slot_offers import make_offers, merge_offers
    from tailwise.kernels.slot_prices import note_best_sets

    note_best_sets(np.zeros(8, np.uint16), np.zeros(1, np.uint8), 0.5)
    merge_offers(make_offers(1), make_offers(1))


def _use_messages() -> None:
    """What the workers of a cluster propose, as they send it and as it is read."""
    from tailwise.engines.dask_messages import NOTHING_SETTLED, pack, unpack
    from tailwise.kernels.row_ascent import make_buffers

    group, (moves, _) = np.arange(1), make_buffers(1, 1, 1)
    unpack(pack(moves, group, np.float32, NOTHING_SETTLED), group, moves)


def _use_budgets(sparse: Any) -> None:
    from tailwise.selection import select

    mixture = "macro-f1 + coverage"
    first = select(sparse, mixture, np.arange(sparse.shape[0]) % K, fill="none")
    select(sparse, mixture, K, context=first.totals, certify=True, fill="none")
    select(sparse, "macro-balanced-accuracy", K, context=first.totals)
    select(sparse, "macro-f1", CANDIDATES + 1, fill="least-loss")
    select(sparse, "macro-f1", K, exclude=[0], fill="none")


def _use_formula(sparse: Any) -> None:
    from tailwise.selection import certify
    from tailwise.utilities import Utility

    formula = Utility.from_formula(lambda t, q, p: t / (q + 1.0), compiled=False)
    certify(sparse, formula, CANDIDATES + 1, fill="least-loss")


def _use_stream(sparse: Any) -> None:
    from tailwise.online import OnlineSelector

    for name in ("macro-f1", "coverage", "precision"):
        OnlineSelector(name, K, sparse.shape[1]).select(sparse)


def _use_tree(truth: Any) -> None:
    from tailwise.models import LabelTree

    features = np.random.default_rng(0).random((truth.shape[0], 20))
    for loss, n_trees in (("logistic", 2), ("squared-hinge", 1)):
        tree = LabelTree(arity=4, leaf_size=4, loss=loss, n_trees=n_trees).fit(features, truth)
        tree.select(features, "macro-recall", K, method="tree")
        tree.predict_proba(features, top=5, beam=3)
        tree.predict(features)
    for name in ("macro-f1", "coverage"):
        tree.select(features, name, K, method="tree")
    with tempfile.TemporaryDirectory() as folder:
        tree.save(Path(folder) / "tree.npz")
        LabelTree.load(Path(folder) / "tree.npz")


def _use_neighbours(truth: Any) -> None:
    from scipy.sparse import csr_array

    from tailwise.models import Ensemble, Neighbours, SideBySide

    dense = np.random.default_rng(0).random((truth.shape[0], 20))
    for features in (csr_array(dense), SideBySide(csr_array(dense), dense)):
        Neighbours().fit(features, truth).predict_proba(features, top=2)
    Ensemble().fit(dense, truth).predict_proba(dense)


def _use_calibration(sparse: Any, truth: Any) -> None:
    from tailwise.models import Calibrator, reliability, shift_to_priors

    Calibrator().fit(sparse, truth).transform(sparse)
    shift_to_priors(sparse, truth)
    reliability(sparse, truth)


def _use_files(sparse: Any) -> None:
    from tailwise.datasets import load, save

    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".npz", ".txt", ".jsonl", ".csv"):
            path = Path(folder) / f"probabilities{suffix}"
            save(path, sparse)
            load(path)
        path.write_text(
            "\n".join(["user,item,score", *(f"user {i},item {i},0.5" for i in range(2000))]),
            encoding="utf-8",
            newline="\n",
        )
        load(path)  # with enough ids to make their table grow
