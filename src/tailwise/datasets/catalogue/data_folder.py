"""Folders of data sets in any supported layout, and their lock files.

A lock file records the source of a data set and the checksums of its files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import check_name, digest_of, opened, parse_json, written_beside
from tailwise.datasets.formats.read_write import as_labels, load_contents, load_features
from tailwise.errors import FileError, InputError
from tailwise.inputs.label_names import LabelNames, count_names, load_label_names

LOCK = "tailwise-lock.json"
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
        The files for "train" and "test", if present. A file that holds both labels and features is listed in both.
    names, filter : Path or None
        Label names; pairs to exclude from the evaluation of the test set.
    texts : dict of str to Path
        The files of texts, texts.trn.txt and texts.tst.txt, with a line per instance.
    corpora : dict of str to Path
        The files that hold texts and labels, train and test as .tsv, .csv or .jsonl, of a folder without other labels.
    """

    path: Path
    labels: dict[str, Path]
    features: dict[str, Path]
    names: Path | None = None
    filter: Path | None = None
    texts: dict[str, Path] = field(default_factory=dict)
    corpora: dict[str, Path] = field(default_factory=dict)

    def load(self, part: str) -> Contents:
        """Read labels, features (None if missing) and names of a part, "train" or "test"."""
        _check_part(part, self.labels, self.path)
        contents = load_contents(self.labels[part])
        features = contents.features
        if features is None and self.features.get(part, self.labels[part]) != self.labels[part]:
            features = self.load_features(part)
        if features is not None and features.shape[0] != contents.matrix.shape[0]:
            sizes = f"{features.shape[0]:,} and {contents.matrix.shape[0]:,}"
            msg = f"{self.path} must have features and labels for the same {part} instances. Got {sizes}."
            raise FileError(msg)
        matrix = as_labels(contents.matrix, self.labels[part])
        return replace(contents, matrix=matrix, features=features, label_names=self.load_names(matrix.shape[1]))

    def load_features(self, part: str) -> sp.csr_array:
        """Read the features of a part, which may have no labels."""
        _check_part(part, self.features, self.path)
        return load_features(self.features[part]).astype(np.float32)  # the type of features read from text

    def load_names(self, n_labels: int) -> LabelNames | None:
        """Read the label names if the file of names has one line per label."""
        if self.names is None or count_names(self.names) != n_labels:
            return None
        return load_label_names(self.names)


def open_folder(path: str | os.PathLike[str]) -> DataFolder:
    """Find the files of a data set in a folder or one of its subfolders.

    There are four layouts: X.trn.npz, Y.trn.npz, X.tst.npz and Y.tst.npz, with labels.txt; train.txt and test.txt of
    the Extreme Classification Repository (also as NAME_train.txt and NAME_test.txt); its split form with trn_X_Xf.txt,
    trn_X_Y.txt, tst_X_Xf.txt and tst_X_Y.txt; and texts with labels, train and test as .tsv, .csv or .jsonl. Instead of
    features there may be texts.trn.txt and texts.tst.txt. Text may be compressed (.gz). Parts may be missing.

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
        msg = f"path must name the folder of a data set. Got {path}, {came}. Check the spelling."
        raise FileError(msg)
    found = find_data(folder)
    if found is None:
        msg = (
            f"path must name the folder of a data set. Got {path}, which has neither Y.tst.npz nor test.txt nor "
            "tst_X_Y.txt. Check the folder, or get the data with get_data (tailwise data get NAME)."
        )
        raise FileError(msg)
    return found


def find_data(folder: Path) -> DataFolder | None:
    """Find the files of a data set in a folder or a subfolder; None if there are none."""
    inner = [each for each in sorted(folder.iterdir()) if each.is_dir() and not each.name.startswith(".")]
    places = (_look(place) for place in (folder, *inner))
    return next((replace(found, path=folder) for found in places if found is not None), None)


def _check_part(part: str, files: dict[str, Path], path: Path) -> None:
    if part not in files:
        msg = f"part must be one of {', '.join(files)}, which {path} has. Got {part!r}."
        raise InputError(msg)


def made_as_wide(train: Contents, test: Contents, n_names: int = 0) -> tuple[Contents, Contents]:
    """Extend files without a header, which show only the features and labels they use, to the same width."""
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
    names = next((files[name] for name in NAMES if name in files), None)
    excluded = files.get("filter_labels_test.txt")
    for find in (_find_npz, _find_split, _find_whole):
        labels, features = find(files)
        if labels:
            return DataFolder(folder, labels, features, names, excluded, _find_texts(files))
    corpora = _find_corpora(files)
    return DataFolder(folder, {}, {}, names, excluded, corpora=corpora) if corpora else None


Found = tuple[dict[str, Path], dict[str, Path]]


def _find_npz(files: dict[str, Path]) -> Found:
    found = (
        {part: files[f"{letter}.{short}.npz"] for part, short in PARTS.items() if f"{letter}.{short}.npz" in files}
        for letter in "YX"
    )
    return next(found), next(found)


def _find_texts(files: dict[str, Path]) -> dict[str, Path]:
    names = {part: (f"texts.{short}.txt", f"texts.{short}.txt.gz") for part, short in PARTS.items()}
    return {part: files[name] for part, choices in names.items() for name in choices if name in files}


def _find_corpora(files: dict[str, Path]) -> dict[str, Path]:
    """Find train.tsv, train.csv or train.jsonl, and the same for test; skip a part with several."""
    found = {}
    for part in PARTS:
        names = [f"{part}.{kind}{pack}" for kind in ("tsv", "csv", "jsonl") for pack in ("", ".gz")]
        matches = [files[name] for name in names if name in files]
        if len(matches) == 1:
            found[part] = matches[0]
    return found


def _find_split(files: dict[str, Path]) -> Found:
    def find(ending: str) -> dict[str, Path]:
        names = {part: (f"{short}_{ending}.txt", f"{short}_{ending}.txt.gz") for part, short in PARTS.items()}
        return {part: files[name] for part, choices in names.items() for name in choices if name in files}

    return find("X_Y"), find("X_Xf")


def _find_whole(files: dict[str, Path]) -> Found:
    """Find one file per part whose name ends in train.txt or test.txt (or .svm); skip a part with several."""
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


# The lock file


def check_digest(path: str | os.PathLike[str], expected: str, whose: str, remedy: str, kind: str = "sha256") -> None:
    """Refuse a file whose checksum differs from the expected one."""
    came = digest_of(path, kind)
    if came != expected.lower():
        rule = f"{path} must have the {kind} {expected.lower()}, {whose}"
        msg = f"{rule}. Got {came}. The file is damaged or has changed: {remedy}."
        raise FileError(msg)


def read_lock(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Read the lock file of a folder; None if there is none."""
    path = Path(folder, LOCK)
    if not path.exists():
        return None
    with opened(path) as file:
        text = file.read()
    try:
        lock = parse_json(text)
    except ValueError:
        lock = None
    if not _is_lock(lock):
        msg = (
            f"{path} must be a lock file that tailwise wrote. It is damaged. "
            "Delete it to use the data without checks, or get the data again in another folder."
        )
        raise FileError(msg)
    return lock


def _is_lock(lock: Any) -> bool:
    if not isinstance(lock, dict) or not isinstance(lock.get("files"), dict):
        return False
    return all(isinstance(each, str) for each in (lock.get("name"), lock.get("sha256", ""), *lock["files"].values()))


def write_lock(folder: Path, files: Iterable[str], **facts: Any) -> None:
    """Record facts about a data set and the checksums of its files; an existing lock file is replaced."""
    lock = {**facts, "files": {name: digest_of(folder / name) for name in sorted(files) if name != LOCK}}
    with written_beside(folder / LOCK) as file:
        file.write(json.dumps(lock, indent=2).encode() + b"\n")


def verify_folder(folder: str | os.PathLike[str], lock: dict[str, Any]) -> int:
    """Compare every file with its recorded checksum, and return the number of files."""
    for name, expected in lock["files"].items():
        check_name(name)
        path = Path(folder, name)
        if not os.path.isfile(path):  # unlike Path.is_file, accepts impossible names
            msg = f"{folder} must hold the file {name}, which its lock file lists. It is missing. Get the data again."
            raise FileError(msg)
        check_digest(path, expected, "recorded when it was unpacked", "get the data again")
    return len(lock["files"])
