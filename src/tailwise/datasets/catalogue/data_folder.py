"""A folder with a data set, in whichever layout it came: what there is, and how to read it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.read_write import as_labels, load_contents, load_features
from tailwise.errors import FileError, InputError
from tailwise.inputs.label_names import LabelNames, count_names, load_label_names

__all__ = ["DataFolder", "find_data", "made_as_wide", "open_folder"]

PARTS = {"train": "trn", "test": "tst"}
NAMES = ("labels.txt", "Y.txt", "Yf.txt")


@dataclass(frozen=True)
class DataFolder:
    """The files of a data set.

    Attributes
    ----------
    path : Path
        The folder.
    labels, features : dict of str to Path
        For "train" and "test", where there: the files. The same file in both where it holds both.
    names, filter : Path or None
        Names of the labels; pairs to leave out of the evaluation of the test set.
    """

    path: Path
    labels: dict[str, Path]
    features: dict[str, Path]
    names: Path | None = None
    filter: Path | None = None

    def load(self, part: str) -> Contents:
        """Labels, features (None where there are none) and names of a part, "train" or "test"."""
        _check_part(part, self.labels, self.path)
        contents = load_contents(self.labels[part])
        features = contents.features
        if features is None and self.features.get(part, self.labels[part]) != self.labels[part]:
            features = self.load_features(part)
        if features is not None and features.shape[0] != contents.matrix.shape[0]:
            sizes = f"{features.shape[0]:,} and {contents.matrix.shape[0]:,}"
            msg = f"{self.path} must have features and labels of the same {part} instances. Got {sizes}."
            raise FileError(msg)
        matrix = as_labels(contents.matrix, self.labels[part])
        return replace(contents, matrix=matrix, features=features, label_names=self.load_names(matrix.shape[1]))

    def load_features(self, part: str) -> sp.csr_array:
        """The features of a part, which may be there without labels."""
        _check_part(part, self.features, self.path)
        return load_features(self.features[part]).astype(np.float32)  # as those of one text for both are

    def load_names(self, n_labels: int) -> LabelNames | None:
        """The names of the labels, where there is a file with a line for each; other files are not looked into."""
        if self.names is None or count_names(self.names) != n_labels:
            return None
        return load_label_names(self.names)


def open_folder(path: str | os.PathLike[str]) -> DataFolder:
    """Find the files of a data set in a folder, or in the one folder within it.

    There are three layouts: X.trn.npz, Y.trn.npz, X.tst.npz, Y.tst.npz, with labels.txt; the Extreme Classification
    Repository's train.txt and test.txt (also as NAME_train.txt and NAME_test.txt); and its split form with
    trn_X_Xf.txt, trn_X_Y.txt, tst_X_Xf.txt, tst_X_Y.txt. Text may be compressed (.gz). Parts may be missing.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tw.save(os.path.join(folder, "test.txt"), np.eye(3), features=np.ones((3, 2)))
    ...     tw.datasets.open_folder(folder).load("test").features.shape
    (3, 2)
    """
    folder = Path(path)
    if not folder.is_dir():
        came = "which is a file" if folder.exists() else "which does not exist"
        msg = f"path must name a folder with a data set. Got {path}, {came}. Check the spelling."
        raise FileError(msg)
    found = find_data(folder)
    if found is None:
        msg = (
            f"path must name a folder with a data set. Got {path}, which has neither Y.tst.npz nor test.txt nor "
            "tst_X_Y.txt. Check the folder, or get the data with: tailwise data get NAME"
        )
        raise FileError(msg)
    return found


def find_data(folder: Path) -> DataFolder | None:
    """The files of a data set in a folder, or in one within it; None where there are none."""
    inner = [each for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    places = (_look(place) for place in (folder, *inner))
    return next((replace(found, path=folder) for found in places if found is not None), None)


def _check_part(part: str, files: dict[str, Path], path: Path) -> None:
    if part not in files:
        msg = f"part must be one that {path} has: {', '.join(files)}. Got {part!r}."
        raise InputError(msg)


def made_as_wide(train: Contents, test: Contents, n_names: int = 0) -> tuple[Contents, Contents]:
    """Text without a header shows only the features and labels it uses: take as many as all files together."""
    if not (train.is_open and test.is_open):
        return train, test
    n_labels = max(train.matrix.shape[1], test.matrix.shape[1], n_names)
    features = [part.features for part in (train, test) if part.features is not None]
    n_features = max((each.shape[1] for each in features), default=0)
    return _widened(train, n_labels, n_features), _widened(test, n_labels, n_features)


def _widened(contents: Contents, n_labels: int, n_features: int) -> Contents:
    labels, features = contents.matrix.copy(), contents.features
    labels.resize(labels.shape[0], n_labels)
    if features is not None:
        features = features.copy()
        features.resize(features.shape[0], n_features)
    return replace(contents, matrix=labels, features=features)


def _look(folder: Path) -> DataFolder | None:
    files = {each.name: each for each in sorted(folder.iterdir()) if each.is_file()}
    for find in (_find_npz, _find_split, _find_whole):
        labels, features = find(files)
        if labels:
            names = next((files[name] for name in NAMES if name in files), None)
            return DataFolder(folder, labels, features, names, files.get("filter_labels_test.txt"))
    return None


Found = tuple[dict[str, Path], dict[str, Path]]


def _find_npz(files: dict[str, Path]) -> Found:
    found = (
        {part: files[f"{letter}.{short}.npz"] for part, short in PARTS.items() if f"{letter}.{short}.npz" in files}
        for letter in "YX"
    )
    return next(found), next(found)


def _find_split(files: dict[str, Path]) -> Found:
    def find(ending: str) -> dict[str, Path]:
        names = {part: (f"{short}_{ending}.txt", f"{short}_{ending}.txt.gz") for part, short in PARTS.items()}
        return {part: files[name] for part, choices in names.items() for name in choices if name in files}

    return find("X_Y"), find("X_Xf")


def _find_whole(files: dict[str, Path]) -> Found:
    """One file for each part, which ends in train.txt or test.txt; the only one of its kind."""
    found: dict[str, Path] = {}
    for part in PARTS:
        endings = (f"{part}.txt", f"{part}.txt.gz", f"{part}.svm", f"{part}.svm.gz")
        matches = [path for name, path in files.items() if _is_named(name.lower(), endings)]
        exact = [path for path in matches if path.name.lower() in endings]
        if len(exact or matches) == 1:
            found[part] = (exact or matches)[0]
    return found, found


def _is_named(name: str, endings: tuple[str, ...]) -> bool:
    return any(name == ending or name.endswith("_" + ending) for ending in endings) and not name.startswith("filter")
