"""`predict`: the probabilities of a model for many instances, part by part into a store, here or on a Dask cluster."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.output_folders import claimed_folder
from tailwise.datasets.formats.store_files import SUFFIX, fill_store, store_folder
from tailwise.datasets.store import Store, open_store
from tailwise.errors import ClusterError, InputError
from tailwise.inputs.checks import check_size
from tailwise.inputs.ids import Ids
from tailwise.inputs.table_columns import is_table, library_of
from tailwise.inputs.wide_tables import index_of
from tailwise.models.model import load_model
from tailwise.progress import track

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["predict"]

ROWS_AT_ONCE = 20_000  # of features that are in memory
PARTS_PER_THREAD = 2  # that are under way at the same time


def predict(
    model: Any,
    X: Any,
    target: str | os.PathLike[str],
    *,
    top: int = 100,
    overwrite: bool = False,
    progress: bool = False,
) -> Store:
    """Estimate the probabilities of many instances, and write them to a store as they come.

    Parameters
    ----------
    model : Model or path
        A fitted model, or its file. On a cluster, give a file that all workers see: each reads it once. A model in
        memory is sent with every part.
    X : features
        What the model takes, which is cut into parts; or a Dask collection, whose parts are predicted where they are:
        a dask.array (dense or sparse blocks of rows), a dask.dataframe of features, or a dask.bag of texts. They run
        on the distributed.Client of this process if there is one, else on its threads. The index of a pandas table
        names the instances if it holds text or integers, unless it is a nameless 0, 1, 2, ...
    target : path
        The store to write; its name ends in .store.
    top : int
        Labels per instance, at most.
    overwrite : bool
        Whether to replace a store that exists.
    progress : bool
        Show a progress bar on standard error.

    Returns
    -------
    Store
        For ``select`` and all others, on this machine or on the cluster. The same for every number of workers.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model = tw.LabelTree().fit(np.eye(4), np.eye(4))
    ...     store = tw.predict(model, np.eye(4), os.path.join(folder, "batch.store"))
    ...     store.shape
    (4, 4)
    """
    top = check_size("top", top, remedy="The default is 100.")
    if not os.fspath(target).rstrip("/\\").lower().endswith(SUFFIX):
        hint = "For other formats, use save(path, model.predict_proba(X)) or tailwise convert."
        msg = f"target must end in {SUFFIX}. Got {os.fspath(target)!r}. {hint}"
        raise InputError(msg)
    with (
        claimed_folder(target, store_folder(), overwrite=overwrite) as draft,
        track(title="predict", unit="instances", shown=progress) as bar,
    ):

        def watched() -> Iterator[Contents]:
            for block in _predict_parts(model, X, top):
                yield block
                bar.update(block.matrix.shape[0])

        fill_store(draft, watched(), target)
    return open_store(target)


def _predict_parts(model: Any, X: Any, top: int) -> Iterator[Contents]:
    names, ids, first = _open(model).priors_.label_names, None, 0
    if library_of(X) == "dask":
        found = _compute(model, _list_parts(X), top)
    else:
        ids = _storable_ids(X)
        n = X.shape[0] if hasattr(X, "shape") else len(X)
        rows = getattr(X, "iloc", X)  # a DataFrame whose index holds floats reads a slice of itself as labels
        found = (predict_part(model, rows[at : at + ROWS_AT_ONCE], top) for at in range(0, n, ROWS_AT_ONCE))
    for matrix in found:
        last = first + matrix.shape[0]
        yield Contents(matrix, label_names=names, instance_names=None if ids is None else ids[first:last])
        first = last


def _storable_ids(X: Any) -> Ids | None:
    """The index of a pandas table, if a store can hold it."""
    ids = index_of(X) if is_table(X) else None
    if ids is None or ids.values.dtype.kind in "iu" or all(isinstance(each, str) for each in ids):
        return ids
    return None


def _list_parts(X: Any) -> list[Any]:
    """The parts of a collection, rows in order."""
    from dask.delayed import Delayed

    if isinstance(X, Delayed) or not hasattr(X, "to_delayed"):
        msg = f"X must be features, or a dask.array, dask.dataframe or dask.bag of them. Got {type(X).__name__}."
        raise InputError(msg)
    if getattr(X, "ndim", 1) == 2 and hasattr(X, "rechunk") and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})  # a part holds whole rows
    parts = X.to_delayed()
    return parts if isinstance(parts, list) else parts.ravel().tolist()


def _compute(model: Any, parts: list[Any], top: int) -> Iterator[sp.csr_array]:
    """The probabilities of all parts, in order; only some are under way at a time, so that memory is bounded."""
    from dask import delayed

    tasks = [
        delayed(predict_part, pure=False)(model, part, top, dask_key_name=f"predict-part{number}-{id(parts):x}")
        for number, part in enumerate(parts)
    ]
    client = _find_client()
    if client is None:
        for task in tasks:
            yield task.compute()
        return
    waiting: deque[Any] = deque()
    for task in tasks:
        waiting.append(client.compute(task))
        if len(waiting) > PARTS_PER_THREAD * sum(client.nthreads().values()):
            yield _result_of(waiting.popleft())
    while waiting:
        yield _result_of(waiting.popleft())


def _find_client() -> Any:
    """The client of this process, if it has one."""
    try:
        from distributed import default_client

        return default_client()
    except (ImportError, ValueError):
        return None


def _result_of(future: Any) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        msg = f"The cluster must predict all parts. It cannot: {error} Give workers more memory, or X smaller parts."
        raise ClusterError(msg) from error


def predict_part(model: Any, X: Any, top: int) -> sp.csr_array:
    """The probabilities of some instances; a model that is given by its file is read once in a process."""
    return _open(model).predict_proba(X, top=top)


def _open(model: Any) -> Any:
    if not isinstance(model, (str, os.PathLike)):
        return model
    return _read(os.fspath(model), os.stat(model).st_mtime_ns if os.path.exists(model) else 0)


@lru_cache(maxsize=1)
def _read(path: str, _: int) -> Any:
    return load_model(path)
