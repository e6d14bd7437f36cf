"""The kinds of files that tailwise reads: how to make a small one, how to read it, and what must hold of the answer."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import (
    load_contents,
    load_filter,
    load_label_names,
    load_priors,
    load_selection,
    read_blocks,
    save,
    save_label_names,
    save_priors,
    save_selection,
)
from tailwise.datasets.catalogue.data_folder import LOCK, read_lock, verify_folder, write_lock
from tailwise.datasets.formats.output_folders import UNFINISHED, FolderKind, claimed_folder
from tailwise.errors import TailwiseError
from tailwise.experiments.experiment import Measured
from tailwise.experiments.results_folder import SPECIFICATION, ResultsFolder
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.vocabularies import read_vocabulary
from tailwise.reports.experiment_page import read_experiment
from tailwise.runs.record import as_json
from tailwise.runs.run_folder import read_run_folder

__all__ = ["KINDS", "Kind"]

RANDOM = np.random.default_rng(0)
MATRIX = sp.random_array((12, 9), density=0.5, random_state=RANDOM, format="csr", dtype=np.float32)
FEATURES = sp.random_array((60, 20), density=0.3, random_state=RANDOM, format="csr", dtype=np.float32)
TRUTH = (RANDOM.random((60, 9)) < 0.3).astype(np.int8)
NAMES = [f"label-{j}" for j in range(9)]
RUN = {"strategy": "Top-K", "k": 3}
IDENTITY = {"specification": {"experiment": "main"}, "model": None, "inputs": {"labels": "abc"}, "tailwise": "1"}


@dataclasses.dataclass(frozen=True)
class Kind:
    """One kind of file.

    Attributes
    ----------
    name : str
        The file's name, by which formats are told apart.
    make : callable
        From a path to a file there.
    read : callable
        From a path to whatever the file says; raises a TailwiseError for a file that is none.
    is_checked : bool
        Whether a checksum protects the file: what it says is then what it said, or an error.
    """

    name: str
    make: Callable[[Path], Any]
    read: Callable[[Path], Any]
    is_checked: bool = False


def read_matrix(path: Path) -> Any:
    """A file of any format, whole and in blocks, as a matrix and as a selection."""
    contents = load_contents(path)
    check_contents(contents)
    for again in (lambda: sum(block.matrix.shape[0] for block in read_blocks(path, 5)), lambda: load_selection(path)):
        try:
            again()
        except TailwiseError:
            continue
    return contents.matrix


def check_contents(contents: Any) -> None:
    """What every reader promises: canonical matrices, and ranks and names that fit them."""
    for matrix in filter(lambda each: each is not None, (contents.matrix, contents.features)):
        matrix.check_format(full_check=True)
        assert matrix.has_canonical_format
        assert max(matrix.shape) <= 2**31
    n, m = contents.matrix.shape
    assert contents.ranks is None or contents.ranks.shape == (contents.matrix.nnz,)
    assert contents.label_names is None or len(contents.label_names) == m
    assert contents.instance_names is None or len(contents.instance_names) == n


def matrix_kind(name: str, format: str | None = None, **options: Any) -> Kind:
    """A format of the registry."""
    matrix = (MATRIX != 0) if "features" in options else MATRIX
    return Kind(name, lambda path: save(path, matrix, format=format, **options), read_matrix)


def read_model(path: Path) -> Any:
    model = tw.LabelTree.load(path).set_params(n_jobs=1)
    probabilities = model.predict_proba(FEATURES, top=5)
    assert ((probabilities.data >= 0) & (probabilities.data <= 1)).all()
    return model.get_params()["arity"], probabilities.toarray().tolist()


def make_calibrator(path: Path) -> None:
    probabilities = sp.csr_array(RANDOM.random((60, 9)))
    tw.Calibrator(by="frequency", bins=[20]).fit(probabilities, TRUTH, priors=TRUTH).save(path)


def read_calibrator(path: Path) -> Any:
    return tw.Calibrator.load(path).transform(abs(MATRIX)).toarray().tolist()


def make_stream(path: Path) -> None:
    selector = tw.OnlineSelector("0.5*macro-f1 + 0.5*coverage", 2, 9)
    selector.select(abs(MATRIX) / 9)
    selector.save(path)


def read_stream(path: Path) -> Any:
    """Whatever is loaded can decide the next rows."""
    selector = tw.OnlineSelector.load(path)
    if selector.n_labels == 9:
        assert selector.select(abs(MATRIX) / 9).labels.shape == (12, selector.k)
    return selector.k, selector.n_instances


def make_store(path: Path) -> None:
    """The record of a run, in the folder of an experiment of its own."""
    store = ResultsFolder(path.parent / "store")
    with store.opened(IDENTITY, overwrite=True):
        store.keep(Measured(RUN, {"precision": 0.5, "gap": None}, 1.5))
    (record,) = (store.path / "runs").iterdir()
    path.write_bytes(record.read_bytes())


def read_stored(path: Path) -> Any:
    store = ResultsFolder(path.parent / "store")
    (record,) = (store.path / "runs").iterdir()
    record.write_bytes(path.read_bytes())
    return store.find(RUN)


def read_specification(path: Path) -> Any:
    folder = path.parent / "begun"
    folder.mkdir(exist_ok=True)
    (folder / SPECIFICATION).write_bytes(path.read_bytes())
    with ResultsFolder(folder).opened(IDENTITY):
        return True


def make_lock(path: Path) -> None:
    (path.parent / "data.txt").write_text("words")
    write_lock(path.parent, ["data.txt"], name="Eurlex-4K", source="a.zip")
    assert path.name == LOCK


def read_locked(path: Path) -> Any:
    lock = read_lock(path.parent)
    return None if lock is None else verify_folder(path.parent, lock)


COLUMN = {"key": "p", "title": "P", "group": "", "better": "high", "digits": 2, "percent": True}
ROW = {"name": "Top-K", "values": {"p": 0.5, "q": None}, "deviations": {"p": 0.1}, "group": "", "own": ["p"]}
POINT = {"alpha": 0.0, "first": 1.0, "second": 0.5, "first_deviation": None, "second_deviation": 0.1}
WORDS = {"name": "c", "title": "t", "first": "precision", "second": "coverage", "measured": "m", "probabilities": "p"}
CURVE = {**WORDS, "k": 3, "points": [POINT, {**POINT, "alpha": 1.0}], "others": {"Top-K": [0.5, 0.5]}, "options": {}}
EXPERIMENT = {
    "experiment": "main",
    "title": "The main table",
    "tables": [{"name": "main", "title": "t", "columns": [COLUMN], "rows": [ROW]}],
    "curves": [CURVE],
    "notes": ["a note"],
}


def make_run(path: Path) -> None:
    """The folder of a run; its record is what is damaged."""
    data = path.parent / "data"
    data.mkdir()
    for part, rows in (("trn", slice(40)), ("tst", slice(40, 60))):
        save(data / f"X.{part}.npz", FEATURES[rows])
        save(data / f"Y.{part}.npz", TRUTH[rows])
    words = ["run", str(data), "-u", "macro-f1", "-k", "2", "-o", str(path.parent / "out"), "--quiet"]
    assert main(words) == 0
    path.write_bytes((path.parent / "out" / "run.json").read_bytes())


def read_run(path: Path) -> Any:
    (path.parent / "out" / "run.json").write_bytes(path.read_bytes())
    return read_run_folder(path.parent / "out").k


KIND = FolderKind("record", "be of this test", lambda folder: ["record"])


def read_mark(path: Path) -> Any:
    """The mark of an unfinished folder leads to nothing outside it."""
    folder = path.parent / "unfinished"
    folder.mkdir(exist_ok=True)
    (path.parent / "evil").write_text("mine")
    (folder / UNFINISHED).write_bytes(path.read_bytes())
    with claimed_folder(folder, KIND, overwrite=True) as draft:
        (draft / "record").touch()
    assert (path.parent / "evil").read_text() == "mine"
    return sorted(each.name for each in folder.iterdir())


KINDS = [
    matrix_kind("a.npz"),
    matrix_kind("a.smat.npz"),
    matrix_kind("a-labels.npy"),
    Kind("dense.npy", lambda path: np.save(path, MATRIX.toarray()), read_matrix),
    matrix_kind("a.txt"),
    matrix_kind("names.txt", label_names=NAMES),
    matrix_kind("a.txt.gz"),
    matrix_kind("repository.txt", features=FEATURES[:12]),
    matrix_kind("split.txt", format="split"),
    matrix_kind("a.svm", features=FEATURES[:12]),
    matrix_kind("a.jsonl", label_names=NAMES),
    matrix_kind("a.jsonl.gz"),
    matrix_kind("a.csv"),
    matrix_kind("names.csv", label_names=NAMES, instance_names=[f"instance {i}" for i in range(12)]),
    matrix_kind("a.tsv.gz"),
    matrix_kind("a.csv.zst"),
    matrix_kind("a.json", label_names=NAMES),
    matrix_kind("records.jsonl", format="records"),
    Kind("corpus.tsv", lambda path: path.write_text("a text\t<u:1> <u:2>\nanother\t<u:2>\n" * 3), read_matrix),
    Kind("one.annif", lambda path: path.write_text("<u:1>\tcats\t0.5\n<u:2>\tdogs\t0.25\n"), read_matrix),
    Kind("subjects.csv", lambda path: path.write_text("uri,label_en\nu:1,cats\nu:2,dogs\n"), read_vocabulary),
    matrix_kind("a.parquet"),
    matrix_kind("names.parquet", label_names=NAMES, instance_names=[f"instance {i}" for i in range(12)]),
    Kind("chosen.npz", lambda path: save_selection(path, tw.select(abs(MATRIX) / 9, "precision", 2)), read_matrix),
    Kind("labels.txt", lambda path: save_label_names(path, LabelNames(NAMES, NAMES)), load_label_names),
    Kind("filter.txt", lambda path: path.write_text("0 1\n2 3\n" * 5), load_filter),
    Kind("priors.npz", lambda path: save_priors(path, tw.LabelPriors.from_labels(TRUTH)), load_priors),
    Kind(
        "model.tree",
        lambda path: tw.LabelTree(arity=3, leaf_size=4, n_jobs=1).fit(FEATURES, TRUTH).save(path),
        read_model,
        is_checked=True,
    ),
    Kind("calibrator.npz", make_calibrator, read_calibrator, is_checked=True),
    Kind("stream.npz", make_stream, read_stream),
    Kind("run-record.json", make_store, read_stored),
    Kind("specification.json", lambda path: path.write_text(as_json(IDENTITY)), read_specification),
    Kind("experiment.json", lambda path: path.write_text(json.dumps(EXPERIMENT)), read_experiment),
    Kind("run.json", make_run, read_run),
    Kind(LOCK, make_lock, read_locked),
    Kind("mark.json", lambda path: path.write_text('["record", "old"]'), read_mark),
]
