"""The data of a run: training and test features and labels, from a folder or from matrices in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import scipy.sparse as sp

from tailwise.datasets import Contents, DataFolder, DataSet, Ids, LabelNames
from tailwise.errors import FileError, InputError
from tailwise.inputs.priors import USUAL_PROPENSITY, LabelPriors
from tailwise.runs.record import describe_files, describe_rows

# The part of a folder that holds each matrix, and a description for errors if it is missing.
PLACES = {
    "X": ("train", "features and labels of training instances"),
    "Y": ("train", "features and labels of training instances"),
    "X_test": ("test", "features of test instances"),
    "Y_test": ("test", "labels of test instances"),
}
SHORT = {"train": "trn", "test": "tst"}
NAMES_ROLE = "label names"


@dataclass(frozen=True, eq=False)
class RunData:
    """Training and test features and labels as CSR arrays; None for what is missing.

    X and X_test may also be :class:`tailwise.SideBySide`, or arrays of texts.
    A file of label names that does not match the labels is not used; :meth:`check_names` refuses it.
    """

    X: Any = None
    Y: Any = None
    X_test: Any = None
    Y_test: Any = None
    label_names: LabelNames | None = None
    instance_names: Ids | None = None  # of the test instances
    files: dict[str, Path] = field(default_factory=dict)  # by role, such as "train features"; empty for matrices
    path: Path | None = None  # the folder
    drawn_after: str | None = None  # for synthetic data, the benchmark whose sizes it has

    @cached_property
    def priors(self) -> LabelPriors | None:
        """Training frequencies of the labels; None without training labels."""
        return None if self.Y is None else LabelPriors.from_labels(self.Y)

    @property
    def rows(self) -> str:
        """The rows X: features, features of two kinds side by side, or texts."""
        from tailwise.models.choosing import kind_of_rows

        return kind_of_rows(self.X)

    @property
    def benchmark(self) -> DataSet | None:
        """The data set of the catalogue with these sizes; None for synthetic data."""
        from tailwise.datasets.catalogue.benchmarks import find_data_set_of_size

        tests = [each for each in (self.X_test, self.Y_test) if each is not None]
        if self.Y is None or not tests or self.drawn_after is not None:
            return None
        return find_data_set_of_size(self.Y.shape[0], tests[0].shape[0], self.Y.shape[1])

    @property
    def propensity(self) -> tuple[float, float]:
        """a and b of the propensity model: those of the benchmark, or the default ones."""
        return USUAL_PROPENSITY if self.benchmark is None else self.benchmark.propensity

    @property
    def name(self) -> str:
        """The name of the benchmark with these sizes, otherwise of the folder."""
        if self.drawn_after is not None:
            return f"{self.drawn_after} (synthetic)"
        if self.benchmark is not None:
            return self.benchmark.name
        return "data in memory" if self.path is None else self.path.resolve().name

    def check_names(self) -> None:
        """Refuse label names that do not match the number of training labels."""
        from tailwise.datasets import load_label_names

        path, names, m = self.files.get(NAMES_ROLE), self.label_names, 0 if self.Y is None else self.Y.shape[1]
        if names is None and path is not None:
            names = load_label_names(path)
        if names is None or len(names) == m:
            return
        if path is None:
            msg = f"label_names must hold one name for each of the {m} labels. Got {len(names)}."
            raise InputError(msg)
        msg = f"{path} must hold one line for each of the {m} labels. Got {len(names)}. Fix or remove the file."
        raise FileError(msg)

    @cached_property
    def inputs(self) -> dict[str, dict[str, Any]]:
        """Size and SHA-256 of each file that a run reads, by name, or of each matrix."""
        from tailwise.inputs.texts import text_rows

        if self.path is None:
            matrices = {name: getattr(self, name) for name in PLACES}
            if self.instance_names is not None:  # which the results hold as well
                matrices["instances"] = text_rows([repr(each) for each in self.instance_names])
            return {name: describe_rows(each) for name, each in matrices.items() if each is not None}
        paths = {path for role, path in self.files.items() if role != "filter"}
        return describe_files({path.name: path for path in sorted(paths)})


@dataclass(frozen=True)
class TextColumns:
    """The columns of texts and labels in tables and JSON lines; None for a usual name of labels.

    Several columns of texts, separated by commas, make one text.
    Also label names, or their file, that replace those of the data, and the language of titles in a vocabulary.
    """

    text: str = "text"
    labels: str | None = None
    names: Any = None
    language: str | None = None

    def read_names(self) -> LabelNames | None:
        """Read the names given, if any."""
        from tailwise.inputs.vocabularies import read_vocabulary

        return read_vocabulary(self.names, self.language)

    def describe(self) -> dict[str, Any]:
        """Return the options of the command; names that are not in a file become a list."""
        is_path = self.names is None or isinstance(self.names, (str, os.PathLike))
        names = (self.names and os.fspath(self.names)) if is_path else [str(name) for name in self.names]
        columns = {"text_column": self.text, "label_column": self.labels}
        return {**columns, "label_names": names, "language": self.language}


USUAL_COLUMNS = TextColumns()


def read_data(
    source: Any,
    *,
    needs: Iterable[str] = ("X", "Y", "X_test"),
    columns: TextColumns = USUAL_COLUMNS,
) -> RunData:
    """Read a folder in any layout, or take X, Y, X_test, Y_test and label_names from keys or attributes.

    `needs` lists what is required. Test data are read only if it includes some.
    """
    needs, names = tuple(needs), columns.read_names()
    data = (
        _read_folder(source, needs, columns, names)
        if isinstance(source, (str, os.PathLike))
        else _take_matrices(source, needs, names)
    )
    _check_shapes(data)
    if isinstance(columns.names, (str, os.PathLike)) and data.path is not None:
        return replace(data, files={**data.files, NAMES_ROLE: Path(columns.names)})
    return data


def _read_folder(
    path: str | os.PathLike[str], needs: tuple[str, ...], columns: TextColumns, names: LabelNames | None
) -> RunData:
    from tailwise.datasets import open_folder
    from tailwise.datasets.catalogue.data_folder import read_lock

    folder = open_folder(path)
    if folder.corpora:
        return read_corpora(folder.corpora, needs, columns, names=names, names_file=folder.names, path=folder.path)
    train, test = _load_parts(folder, {PLACES[name][0] for name in needs})
    labels = train or test
    lock = read_lock(folder.path)
    found = {
        "X": None if train is None else train.features,
        "Y": None if train is None else train.matrix,
        "X_test": _load_alone(folder, needs) if test is None else test.features,
        "Y_test": None if test is None else test.matrix,
    }
    found |= _read_texts(folder, found, needs)
    for name in needs:
        if found[name] is None:
            _refuse_missing(folder.path, *PLACES[name])
    return RunData(
        **found,
        label_names=names or (None if labels is None else folder.load_names(labels.matrix.shape[1])),
        instance_names=None if test is None else test.instance_names,
        files={role: file for role, file in _list_files(folder).items() if names is None or role != NAMES_ROLE},
        path=folder.path,
        drawn_after=lock["name"] if lock is not None and lock.get("source") == "synthetic" else None,
    )


def _read_texts(folder: DataFolder, found: dict[str, Any], needs: tuple[str, ...]) -> dict[str, Any]:
    """Return the texts of a folder without features."""
    from tailwise.datasets.formats.text_lines import read_texts
    from tailwise.inputs.texts import text_rows

    if folder.features or "train" not in folder.texts:
        return {}
    is_tested = any(PLACES[name][0] == "test" for name in needs)
    parts = {"train": "Y", "test": "Y_test"} if is_tested else {"train": "Y"}
    texts = {}
    for part, name in parts.items():
        if part not in folder.texts:
            continue
        texts[f"X{name[1:]}"] = rows = text_rows(read_texts(folder.texts[part]))
        labels = found[name]
        if labels is not None and rows.size != labels.shape[0]:
            rule = f"{folder.texts[part]} must have a line for each of the {labels.shape[0]} instances"
            msg = f"{rule}. Got {rows.size} lines. Check the file."
            raise FileError(msg)
    return texts


def read_corpora(
    files: dict[str, Path],
    needs: tuple[str, ...],
    columns: TextColumns,
    *,
    names: LabelNames | None = None,
    names_file: Path | None = None,
    path: Path | None = None,
) -> RunData:
    """Read files with texts and label names; the labels are the given names, otherwise those that occur in training."""
    from tailwise.datasets import load_label_names
    from tailwise.datasets.formats.disk import input_errors_of
    from tailwise.datasets.formats.labelled_texts import read_labelled_texts, read_new_texts
    from tailwise.datasets.formats.text_lines import read_ids
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.tags import place_tags
    from tailwise.inputs.texts import text_rows

    names_file = names_file if names is None else None
    names = names if names_file is None else load_label_names(names_file)
    found: dict[str, Any] = {}
    needed = {"train", *(PLACES[name][0] for name in needs)}  # the training part determines the labels
    parts = [part for part in ("train", "test") if part in files and part in needed]
    for part in parts:
        ending = "" if part == "train" else "_test"
        read = read_labelled_texts if f"Y{ending}" in needs or part == "train" else read_new_texts
        texts, labels = read(files[part], columns.text, columns.labels)
        found[f"X{ending}"] = text_rows(texts)
        if labels is not None:
            with input_errors_of(files[part]):
                found[f"Y{ending}"], names = place_tags(labels, names, "labels")
    for name in needs:
        if name not in found:
            _refuse_missing(path or Path(), *PLACES[name])
    roles = {f"{part} {what}": files[part] for part in parts for what in ("labels", "texts")}
    if "Y_test" not in found:
        roles.pop("test labels", None)
    roles |= {} if names_file is None else {NAMES_ROLE: names_file}
    ids = Ids.of(read_ids(files["test"], columns.text)) if "test" in parts else None
    return RunData(**found, label_names=names, instance_names=ids, files=roles, path=path)


def _load_parts(folder: DataFolder, needed: set[str]) -> tuple[Contents | None, Contents | None]:
    """Load the training part, and the test part if needed."""
    from tailwise.datasets.catalogue.data_folder import made_as_wide
    from tailwise.inputs.label_names import count_names

    train = folder.load("train") if "train" in folder.labels else None
    test = folder.load("test") if "test" in folder.labels and "test" in needed else None
    if train is None or test is None:
        return train, test
    return made_as_wide(train, test, 0 if folder.names is None else count_names(folder.names))


def _load_alone(folder: DataFolder, needs: tuple[str, ...]) -> sp.csr_array | None:
    """Load the features of test instances without labels."""
    is_there = "X_test" in needs and "test" in folder.features and "test" not in folder.labels
    return folder.load_features("test") if is_there else None


def _refuse_missing(path: Path, part: str, what: str) -> NoReturn:
    short = SHORT[part]
    msg = (
        f"{path} must hold {what}, as X.{short}.npz with Y.{short}.npz, {short}_X_Xf.txt with {short}_X_Y.txt, "
        f"or {part}.txt with both; or texts, as texts.{short}.txt with Y.{short}.npz, or {part}.tsv. Got none. "
        f"List its files with: tailwise data info {path}"
    )
    raise FileError(msg)


def _list_files(folder: DataFolder) -> dict[str, Path]:
    files = {f"{part} labels": path for part, path in folder.labels.items()}
    files |= {f"{part} features": path for part, path in folder.features.items()}
    if not folder.features:
        files |= {f"{part} texts": path for part, path in folder.texts.items()}
    others = {NAMES_ROLE: folder.names, "filter": folder.filter}
    return files | {role: path for role, path in others.items() if path is not None}


def _take_matrices(source: Any, needs: tuple[str, ...], replaced: LabelNames | None) -> RunData:
    from tailwise.datasets import LabelNames
    from tailwise.inputs.table_columns import is_table
    from tailwise.inputs.wide_tables import index_of
    from tailwise.metrics.evaluation_inputs import read_truth
    from tailwise.models.features import check_labels

    keys = (*PLACES, "label_names")
    get = source.get if isinstance(source, Mapping) else lambda name: getattr(source, name, None)
    given = {name: get(name) for name in keys}
    missing = [name for name in needs if given[name] is None]
    if missing:
        came = ", ".join(name for name in keys if given[name] is not None) or "none of them"
        msg = (
            f"data must be a folder, or hold matrices named {', '.join(needs)}. Got {type(source).__name__} with "
            f"{came}. Use dict(X=..., Y=..., X_test=..., Y_test=...)."
        )
        raise InputError(msg)
    names = LabelNames.of(given["label_names"]) if replaced is None else replaced
    X, X_test = (None if given[name] is None else _as_rows(given[name], name) for name in ("X", "X_test"))
    Y, names = _read_own_labels(given["Y"], names, "Y")
    Y_test, names = _read_own_labels(given["Y_test"], names, "Y_test")
    Y = None if Y is None or X is None else check_labels(Y, X.shape[0])
    ids = index_of(given["X_test"]) if is_table(given["X_test"]) else None
    Y_test = None if Y_test is None else read_truth(Y_test).matrix
    return RunData(X, Y, X_test, Y_test, names, None if ids is None else ids.check_unique())


def _read_own_labels(labels: Any, names: LabelNames | None, name: str) -> tuple[Any, LabelNames | None]:
    """Return a matrix and the names of its columns if labels are given by name; anything else unchanged."""
    from tailwise.inputs.tags import are_tags, list_tags, place_tags

    return place_tags(list_tags(labels, name), names, name) if are_tags(labels) else (labels, names)


def _as_rows(rows: Any, name: str) -> Any:
    from tailwise.inputs.matrices import canonical_csr
    from tailwise.inputs.texts import are_texts, check_texts, text_rows
    from tailwise.models.side_by_side import SideBySide

    if are_texts(rows):
        return text_rows(check_texts(rows, name))
    return rows if isinstance(rows, SideBySide) else canonical_csr(rows, name)


def _check_shapes(data: RunData) -> None:
    """Refuse training and test data of different kinds, or with different numbers of features, labels or instances."""
    _check_kinds(data)
    for first, second, axis, what in (
        ("X", "X_test", 1, "features"),
        ("Y", "Y_test", 1, "labels"),
        ("X_test", "Y_test", 0, "instances"),
    ):
        one, other = getattr(data, first), getattr(data, second)
        is_known = one is not None and other is not None and axis < min(len(one.shape), len(other.shape))
        if is_known and one.shape[axis] != other.shape[axis]:
            rule = f"{_title(data, second)} must have the {one.shape[axis]} {what} of {_title(data, first)}"
            msg = f"{rule}. Got {other.shape[axis]}."
            raise InputError(msg)


def _check_kinds(data: RunData) -> None:
    from tailwise.models.choosing import kind_of_rows

    if data.X is None or data.X_test is None:
        return
    one, other = kind_of_rows(data.X), kind_of_rows(data.X_test)
    if one != other:
        rule = f"{_title(data, 'X_test')} must hold {one}, as {_title(data, 'X')} does"
        msg = f"{rule}. Got {other}. Pass the same kind of input for training and test."
        raise InputError(msg)


def _title(data: RunData, name: str) -> str:
    """Return the name of a matrix for error messages: its file, or its key."""
    kinds = ("features", "texts") if name.startswith("X") else ("labels",)
    roles = [f"{PLACES[name][0]} {kind}" for kind in kinds]
    return next((data.files[role].name for role in roles if role in data.files), name)
