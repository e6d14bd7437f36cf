"""What the door for label probabilities refuses, and what it says."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import InputError, TailwiseError
from tailwise.inputs.candidates import Candidates

DENSE = np.array([[0.875, 0.0, 0.25, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 1.0]])
PAIR = np.array([[2, -1, 0], [-1, -1, -1], [3, 1, -1]]), np.full((3, 3), 0.5)
TRIPLES = {"instance": [2, 0, 2, 0], "label": [3, 2, 1, 0], "probability": [1.0, 0.25, 0.5, 0.875]}
LIBRARIES = ("pandas", "polars", "pyarrow")

MATRIX_RULE = r"probabilities must be a matrix with at least one instance and one label\. Got shape "
TWICE = r"probabilities must hold each label of an instance once\. Instance 2 holds label 1 twice\. Remove or merge"
RANGE = r"probabilities must lie in \[0, 1\]\. Got "
MISSING_ID = r"must have an id in every row of the column '{}'\. 1 are missing, the first in row 2\. Drop these rows"
NUMBERS = r" numbers must be integers of at least 0\. Got "


def make_table(library, **columns):
    module = pytest.importorskip(library)
    build = module.table if library == "pyarrow" else module.DataFrame
    return build({**TRIPLES, **columns})


def changed(i, j, value, dtype=np.float64):
    dense = DENSE.astype(dtype)
    dense[i, j] = value
    return dense


def make_csr(indices, indptr, values=None, shape=DENSE.shape):
    values = np.full(len(indices), 0.5) if values is None else np.asarray(values)
    return sp.csr_array((values, np.asarray(indices), np.asarray(indptr)), shape=shape)


def make_pair(labels, values=None):
    labels = np.asarray(labels)
    return labels, np.full(labels.shape, 0.5) if values is None else np.asarray(values)


REFUSED = {
    "nan": (
        changed(2, 1, np.nan),
        {},
        RANGE + r"nan for instance 2, label 1\. Remove or replace such entries",
    ),
    "inf": (changed(2, 1, np.inf), {}, RANGE + r"inf for instance 2, label 1\. Remove or replace such"),
    "minus inf": (sp.coo_array(changed(0, 0, -np.inf)), {}, RANGE + r"-inf for instance 0, label 0\. Remove"),
    "negative": (
        changed(2, 3, -0.5),
        {},
        RANGE + r"-0\.5 for instance 2, label 3\. If these are logits, apply a sigmoid",
    ),
    "above one": (
        changed(0, 2, 3.25),
        {},
        RANGE + r"3\.25 for instance 0, label 2\. If these are percentages, divide them by 100; if they are logits",
    ),
    "counts": (
        sp.csc_array(changed(2, 1, 2, int)),
        {},
        RANGE + r"2 for instance 2, label 1\. If these are percentages?",
    ),
    "above a hundred": (
        changed(0, 2, 250.0),
        {},
        RANGE + r"250 for instance 0, label 2\. If these are logits",
    ),
    "more than rounding": (
        changed(0, 2, 1.00001, np.float32),
        {},
        RANGE + r"1\.00001 for instance 0, label 2\.",
    ),
    "behind what is rounding": (
        np.array([[1.0000001, 1.5]], dtype=np.float32),
        {},
        RANGE + r"1\.5 for instance 0, label 1\.",
    ),
    "pair range": (make_pair([[1]], [[1.5]]), {}, RANGE + r"1\.5 for instance 0, label 1\."),
    "csr twice": (make_csr([0, 1, 1], [0, 1, 1, 3]), {}, TWICE),
    "csr unsorted twice": (make_csr([3, 1, 0, 1], [0, 0, 0, 4]), {}, TWICE),
    "csc twice": (sp.csc_array(([0.5, 0.5], [2, 2], [0, 0, 2, 2, 2]), shape=DENSE.shape), {}, TWICE),
    "coo twice": (sp.coo_array(([0.5, 0.1, 0.5], ([2, 0, 2], [1, 0, 1])), shape=DENSE.shape), {}, TWICE),
    "coo matrix twice": (sp.coo_matrix(([0.5, 0.1, 0.5], ([2, 0, 2], [1, 0, 1])), shape=DENSE.shape), {}, TWICE),
    "coo zeros twice": (sp.coo_array((np.zeros(2), ([2, 2], [1, 1])), shape=DENSE.shape), {}, TWICE),
    "bsr twice": (sp.bsr_array((np.ones((2, 1, 1)), [1, 1], [0, 0, 0, 2]), shape=DENSE.shape), {}, TWICE),
    "pair twice": (make_pair([[0, 1], [-1, -1], [1, 1]]), {}, TWICE),
    "scalar": (0.5, {}, MATRIX_RULE + r"a scalar\."),
    "vector": (DENSE[0], {}, MATRIX_RULE + r"4\."),
    "cube": (DENSE[None], {}, MATRIX_RULE + r"1x3x4\."),
    "no instance": (np.zeros((0, 4)), {}, MATRIX_RULE + r"0x4\."),
    "no label": (np.zeros((3, 0)), {}, MATRIX_RULE + r"3x0\."),
    "sparse empty": (sp.csr_array((0, 4)), {}, MATRIX_RULE + r"0x4\."),
    "ragged": ([[0.5], [0.5, 0.5]], {}, "probabilities must"),
    "text": (
        np.array([["a"]]),
        {},
        r"probabilities must hold numbers\. Got an array of dtype <U1\. Convert it to float32",
    ),
    "none": (None, {}, r"probabilities must hold numbers\. Got an array of dtype object\."),
    "complex": (DENSE * 1j, {}, r"probabilities must hold numbers\. Got an array of dtype complex128\."),
    "sparse complex": (sp.csr_array(DENSE * 1j), {}, r"probabilities must hold .*numbers\. Got .*dtype complex128"),
    "n_labels of a matrix": (
        DENSE,
        {"n_labels": 5},
        r"n_labels must equal the number of columns, 4\. Got 5\. Omit it",
    ),
    "n_labels of candidates": (
        Candidates.of(DENSE),
        {"n_labels": 3},
        r"n_labels must equal the number of columns, 4\. Got 3",
    ),
    "n_labels fraction": (PAIR, {"n_labels": 4.5}, r"n_labels must .*Got 4\.5"),
    "n_labels text": (PAIR, {"n_labels": "4"}, r"n_labels must .*Got '4'"),
    "n_labels negative": (make_pair([[-1]]), {"n_labels": -1}, r"n_labels must .*Got -1"),
    "label at n_labels": (PAIR, {"n_labels": 3}, r"label numbers must be below n_labels=3\. Got 3\. Give a larger n_"),
    "negative label": (make_pair([[0, -2]]), {}, r"label numbers must be integers of at least 0\. Got -2\. Map names"),
    "fractional label": (make_pair([[0.0]]), {}, r"label numbers must be integers of at least 0\. Got float64\."),
    "text label": (make_pair([["a"]]), {}, r"label numbers must be integers of at least 0\. Got <U1\. Map names to 0"),
    "text values": (make_pair([[0]], [["a"]]), {}, r"probabilities must hold .*numbers"),
    "huge label": (make_pair([[2**32 + 1]]), {}, r"label.* must .*Got 429496729"),
    "triple": ((1, 2, 3), {}, r"probabilities as a tuple must be a pair \(labels, values\)\. Got 3 parts\."),
    "pair shapes": (
        (np.zeros((2, 3), int), np.zeros((2, 2))),
        {},
        r"same shape \(n, k'\)\. Got \(2, 3\) and \(2, 2\)\.",
    ),
    "flat pair": ((np.zeros(2, int), np.zeros(2)), {}, r"same shape \(n, k'\)\. Got \(2,\) and \(2,\)\."),
    "padding only": (make_pair([[-1]]), {}, MATRIX_RULE + r"1x0\."),
    "top zero": (
        DENSE,
        {"top": 0},
        r"top must be an integer of at least 1\. Got 0\. Omit it to keep every candidate",
    ),
    "top negative": (DENSE, {"top": -1}, r"top must be .* Got -1\."),
    "top fraction": (DENSE, {"top": 1.5}, r"top must be .* Got 1\.5\."),
    "top boolean": (DENSE, {"top": True}, r"top must be .* Got True\."),
    "index beyond the labels": (make_csr([0, 7], [0, 1, 1, 2]), {}, r"probabilities must .*7"),
    "negative index": (make_csr([0, -1], [0, 1, 1, 2]), {}, r"probabilities must .*-1"),
    "row starts in disorder": (make_csr([0, 1], [0, 2, 1, 2]), {}, r"probabilities must "),
    "more labels than int32 counts": (make_csr([2**32 + 1], [0, 1], shape=(1, 2**33)), {}, r"labels? .*must .*Got "),
}


@pytest.mark.parametrize(("probabilities", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(probabilities, options, message):
    with pytest.raises(InputError, match=message):
        Candidates.of(probabilities, **options)


REFUSED_TABLES = {
    "label twice": ({"instance": [2, 0, 2, 0], "label": [1, 2, 1, 0]}, TWICE),
    "negative label": (
        {"label": [3, 2, -1, 0]},
        "label" + NUMBERS + r"-1\. If these are ids, name their column: label='label'",
    ),
    "negative instance": ({"instance": [2, 0, -1, 0]}, "instance" + NUMBERS + r"-1\. If these are ids, name"),
    "missing label": ({"label": [0.0, 1.0, None, 3.0]}, MISSING_ID.format("label")),
    "missing text": ({"instance": ["a", "b", None, "c"]}, MISSING_ID.format("instance")),
    "ids twice": (
        {"instance": list("baba"), "label": ["x", "x", "x", "y"]},
        r"once\. Instance 'b' holds label 'x' twice\. Remove or merge the duplicates first, .* group_?by",
    ),
    "logits of ids": (
        {"instance": list("abab"), "label": list("xxyy"), "probability": [0.5, 0.5, 7.5, 0.5]},
        RANGE + r"7\.5 for instance 'a', label 'y'\.",
    ),
    "text probability": ({"probability": list("abcd")}, r"probabilities must hold .*numbers"),
    "missing probability": ({"probability": [0.1, 0.2, None, 0.3]}, RANGE + r"nan for instance 2, label 1\."),
    "logits": ({"probability": [0.1, 0.2, -7.5, 0.3]}, RANGE + r"-7\.5 for instance 2, label 1\. If these are logits"),
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("changes", "message"), REFUSED_TABLES.values(), ids=REFUSED_TABLES)
def test_bad_tables_are_refused(library, changes, message):
    with pytest.raises(InputError, match=message):
        Candidates.of(make_table(library, **changes))


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_and_rows_that_are_missing(library):
    table = make_table(library)
    other = table.rename(columns={"label": "tag"}) if library == "pandas" else None
    other = table.rename({"label": "tag"}) if library == "polars" else other
    other = table.rename_columns(["instance", "tag", "probability"]) if library == "pyarrow" else other
    rule = r"must have the columns instance, label, probability\. Missing: label\."
    with pytest.raises(InputError, match=rule):
        Candidates.of(other)
    with pytest.raises(InputError, match=MATRIX_RULE + "0x0"):
        Candidates.of(table[:0])
    with pytest.raises(InputError, match=r"label numbers must be below n_labels=3\. Got 3\."):
        Candidates.of(table, n_labels=3)


def test_entries_taken_for_a_wide_table():
    frame = pytest.importorskip("pandas").DataFrame({"who": [7, 7], "what": [0, 1], "chance": [0.5, 0.1]})
    rule = r"Got 7 for instance 0, label 'who'\. If the table has a row for each entry, name its columns"
    with pytest.raises(InputError, match=rule):
        Candidates.of(frame)


def test_missing_values_of_a_wide_table():
    frame = pytest.importorskip("pandas").DataFrame({"a": [0.5, np.nan], "b": [0.5, 0.1]})
    with pytest.raises(InputError, match=r"must not be missing\. Row 1 has none for 'a'\. Fill them in, with .fillna"):
        Candidates.of(frame)


def test_columns_that_are_not_there():
    frame = pytest.importorskip("pandas").DataFrame({"who": ["a"], "what": ["x"], "chance": [0.5]})
    with pytest.raises(InputError, match=r"must have the column 'user'\. It has who, what, chance\."):
        Candidates.of(frame, columns={"instance": "user"})
    with pytest.raises(
        InputError, match=r"Missing: instance, label, probability\. It has who, what, chance\. Name them"
    ):
        Candidates.of(frame)
    with pytest.raises(InputError, match=r"columns must name the parts instance, label, probability, rank\. Got 'who'"):
        Candidates.of(frame, columns={"who": "who"})
    with pytest.raises(InputError, match=r"columns must name those of instances, labels and"):
        Candidates.of(frame, columns=["who"])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_single_column_is_refused(library):
    series = pytest.importorskip(library).Series([0.5])
    with pytest.raises(InputError, match=r"must have the columns instance, label, probability\."):
        Candidates.of(series)


@pytest.mark.parametrize("save", [lambda frame: frame, lambda frame: frame.to_csv("a.csv", index=False) or "a.csv"])
def test_the_remedy_names_columns_that_are_there(tmp_path, monkeypatch, save):
    monkeypatch.chdir(tmp_path)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"chance": ["u"], "user_id": ["v"], "good": ["x"]})
    remedy = "instance='user_id', label='chance', probability='good'"
    with pytest.raises(TailwiseError, match=rf"It has chance, user_id, good.*{remedy}"):
        tw.select(save(frame), "precision", 1)
    few = tmp_path / "few.csv"
    few.write_text("user_id\nu\n")
    with pytest.raises(TailwiseError, match=r"It has user_id.*instance='user_id', label='item_id'"):
        tw.load(few)
