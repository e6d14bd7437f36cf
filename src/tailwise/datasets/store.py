"""Candidates that stay on disk: `open_store`, and the object that represents a store."""

from __future__ import annotations

import os
from typing import Any

from tailwise.datasets.formats.store_by_label import BY_LABEL
from tailwise.datasets.formats.store_files import map_store

__all__ = ["Store", "open_store"]


class Store(os.PathLike[str]):
    """A checked store. It can be used as a path, so every function that accepts a file path accepts a store.

    Attributes
    ----------
    path : str
        The folder.
    n_instances, n_labels, n_entries : int
        Sizes: n, m, and the number of candidates.
    is_by_label : bool
        Whether it holds the candidates by label as well.
    """

    def __init__(self, path: str, header: dict[str, Any]) -> None:
        self.path = path
        self.n_instances, self.n_labels, self.n_entries = (
            int(header[name]) for name in ("n_instances", "n_labels", "n_entries")
        )
        self.is_by_label = BY_LABEL[0] in header["files"]

    @property
    def shape(self) -> tuple[int, int]:
        """Instances and labels."""
        return self.n_instances, self.n_labels

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        sizes = f"{self.n_instances:,} instances, {self.n_labels:,} labels, {self.n_entries:,} entries"
        return f"Store({self.path!r}, {sizes})"


def open_store(path: str | os.PathLike[str], *, verify: bool = True) -> Store:
    """Open a store: a folder of candidates that are mapped instead of being read into memory.

    Create one from files of any format with ``tailwise convert FILE NAME.store`` or :func:`tailwise.datasets.convert`.
    Probabilities are kept in single precision.

    Parameters
    ----------
    path : str or path
        The folder.
    verify : bool
        Whether to verify the checksums of the store, once per process, which takes as long as reading it once. Its
        header and the sizes of its arrays are always checked. Functions that use the store verify it in any case.

    Returns
    -------
    Store
        Pass it to ``select``, ``certify``, ``evaluate`` and all other functions in place of a path.

    Raises
    ------
    FileError
        If the store is unfinished, damaged, or of a newer version.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "batch.store")
    ...     tw.save(path, np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]]))
    ...     store = tw.open_store(path)
    ...     store.shape, tw.select(store, "macro-f1", k=1).labels.ravel()
    ((3, 3), array([1, 2, 0], dtype=int32))
    """
    header, _ = map_store(path, verify=verify)
    return Store(os.fspath(path), header)
