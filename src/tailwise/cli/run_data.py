"""What ``tailwise run`` and ``tailwise train`` read of a folder, in any layout, checked to belong together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tailwise.errors import FileError, InputError

if TYPE_CHECKING:
    import scipy.sparse as sp

    from tailwise.datasets import Contents, DataFolder, DataSet, LabelNames

__all__ = ["RunData", "load_run_data", "load_training_data"]


@dataclass(frozen=True, eq=False)
class RunData:
    """Features and labels for training and for the test.

    Attributes
    ----------
    X, X_test : csr_array
        Features.
    Y, truth : csr_array, or None for a truth that is not there
        Labels of the same instances.
    names : LabelNames or None
        What the labels are called.
    files : dict of str to Path
        The files that were read, by their names.
    is_drawn : bool
        Whether they are synthetic data in the shape of a benchmark.
    """

    X: sp.csr_array
    Y: sp.csr_array
    X_test: sp.csr_array
    truth: sp.csr_array | None
    names: LabelNames | None
    files: dict[str, Path]
    is_drawn: bool

    @property
    def benchmark(self) -> DataSet | None:
        """The data set of the catalogue that has these sizes."""
        from tailwise.datasets.catalogue.benchmarks import find_data_set_of_size

        (n_train, m), n_test = self.Y.shape, self.X_test.shape[0]
        return None if self.is_drawn else find_data_set_of_size(n_train, n_test, m)


def load_run_data(path: str | os.PathLike[str]) -> RunData:
    """Read a folder with training data and at least the features of test instances."""
    from tailwise.datasets import load_label_names, open_folder
    from tailwise.datasets.catalogue.data_folder import made_as_wide, read_lock

    folder = open_folder(path)
    train = _load_part(folder, "train")
    names = None if folder.names is None else load_label_names(folder.names)
    if "test" in folder.labels:
        test = _load_part(folder, "test")
        train, test = made_as_wide(train, test, 0 if names is None else len(names))
        X_test, truth = test.features, test.matrix
    else:
        _check_there(folder, "test", is_there="test" in folder.features)
        X_test, truth = folder.load_features("test"), None
    lock = read_lock(folder.path)
    is_drawn = lock is not None and lock.get("source") == "synthetic"
    data = RunData(train.features, train.matrix, X_test, truth, names, _list_files(folder), is_drawn)
    _check_shapes(data, folder)
    return data


def load_training_data(path: str | os.PathLike[str]) -> tuple[sp.csr_array, sp.csr_array]:
    """Features and labels of a folder's training instances."""
    from tailwise.datasets import open_folder

    train = _load_part(open_folder(path), "train")
    return train.features, train.matrix


def _load_part(folder: DataFolder, part: str) -> Contents:
    _check_there(folder, part, is_there=part in folder.labels and part in folder.features)
    contents = folder.load(part)
    _check_there(folder, part, is_there=contents.features is not None)  # a text may hold labels alone
    return contents


def _check_there(folder: DataFolder, part: str, *, is_there: bool) -> None:
    if is_there:
        return
    what = "features of test instances" if part == "test" else "features and labels of training instances"
    short = {"train": "trn", "test": "tst"}[part]
    msg = (
        f"{folder.path} must hold {what}, as X.{short}.npz with Y.{short}.npz, {short}_X_Xf.txt with {short}_X_Y.txt, "
        f"or {part}.txt with both. Got none. See what is there with: tailwise data info {folder.path}"
    )
    raise FileError(msg)


def _list_files(folder: DataFolder) -> dict[str, Path]:
    paths = [*folder.features.values(), *folder.labels.values(), *([] if folder.names is None else [folder.names])]
    return {path.name: path for path in sorted(set(paths))}


def _check_shapes(data: RunData, folder: DataFolder) -> None:
    d, m = data.X.shape[1], data.Y.shape[1]
    train, test = folder.features["train"].name, folder.features["test"].name
    if data.X_test.shape[1] != d:
        msg = f"{test} must have the {d} features of {train}. Got {data.X_test.shape[1]}."
        raise InputError(msg)
    if data.truth is not None and data.truth.shape[1] != m:
        train, test = folder.labels["train"].name, folder.labels["test"].name
        msg = f"{test} must have the {m} labels of {train}. Got {data.truth.shape[1]}."
        raise InputError(msg)
    if data.names is not None and len(data.names) != m:
        came = f"Got {len(data.names)}. Mend or remove the file."
        msg = f"{folder.names} must hold one line for each of the {m} labels. {came}"
        raise FileError(msg)
