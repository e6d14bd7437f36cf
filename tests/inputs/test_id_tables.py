"""Tables of ids of every library, compared with a dictionary of their rows."""

import uuid

import numpy as np
import pytest

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.id_tables import read_table

LIBRARIES = ("pandas", "polars", "pyarrow", "dask")
ROWS = [("eve", "q7", 0.5), ("ann", "q9", 0.25), ("eve", "q1", 1.0), ("bob", "q7", 0.125)]


def make_table(library, columns):
    module = pytest.importorskip("pandas" if library == "dask" else library)
    table = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    if library != "dask":
        return table
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2, sort=False)


def make_long(library, rows=ROWS, names=("user_id", "item_id", "score")):
    return make_table(library, {name: [row[c] for row in rows] for c, name in enumerate(names)})


def entries_of(candidates):
    """The probability of each pair of ids."""
    csr = candidates.to_csr().tocoo()
    instances = candidates.instance_ids or range(candidates.n_instances)
    labels = candidates.label_names or range(candidates.n_labels)
    pairs = ((instances[i], labels[j]) for i, j in zip(csr.row, csr.col, strict=True))
    return dict(zip(pairs, csr.data.tolist(), strict=True))


def check_rows(candidates, rows):
    assert entries_of(candidates) == {(instance, label): value for instance, label, value in rows}
    assert list(candidates.instance_ids) == list(dict.fromkeys(row[0] for row in rows))
    assert list(candidates.label_names) == list(dict.fromkeys(row[1] for row in rows))


@pytest.mark.parametrize("library", LIBRARIES)
def test_ids_of_text_by_usual_names(library):
    candidates = Candidates.of(make_long(library))
    check_rows(candidates, ROWS)
    assert candidates.origin.library == library
    (message,) = candidates.origin.messages
    assert message == (
        "Columns found by name: instance from 'user_id', label from 'item_id', probability from 'score'."
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("is_grouped", [True, False])
def test_large_integers(library, is_grouped):
    rows = [(10**12 + 5, 2**62, 0.5), (-7, 3, 0.25), (10**12 + 5, 3, 0.75)]
    rows = sorted(rows) if is_grouped else rows
    candidates = Candidates.of(make_long(library, rows))
    check_rows(candidates, rows)
    assert all(type(value) is int for value in (*candidates.instance_ids, *candidates.label_names))


def test_values_of_any_kind():
    rows = [(uuid.UUID(int=3), (1, 2), 0.5), ("x", 7, 0.25), (7, "7", 0.5)]
    check_rows(Candidates.of(make_long("pandas", rows)), rows)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_by_any_name(library):
    table = make_long(library, names=("who", "what", "chance"))
    names = {"instance": "who", "label": "what", "probability": "chance"}
    candidates = Candidates.of(table, columns=names)
    check_rows(candidates, ROWS)
    assert candidates.origin.messages == ()
    assert (read_table(table, ["who", "what", "chance"]).matrix != candidates.to_csr()).nnz == 0


def test_categories_and_chunks():
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    frame = make_long("pandas").astype({"user_id": "category", "item_id": "category"})
    frame["item_id"] = frame["item_id"].cat.add_categories(["unused"])
    check_rows(Candidates.of(frame), ROWS)
    check_rows(Candidates.of(pyarrow.Table.from_pandas(frame)), ROWS)
    check_rows(Candidates.of(pyarrow.concat_tables([make_long("pyarrow", [row]) for row in ROWS])), ROWS)
    check_rows(Candidates.of(pandas.DataFrame(frame.astype({"user_id": object}))), ROWS)
    check_rows(Candidates.of(make_long("pyarrow").to_reader()), ROWS)


def test_which_integers_are_numbers():
    """Of columns called instance and label, unless they are huge or the caller names them."""
    names = ("instance", "label", "probability")
    small = make_long("pandas", [(2, 3, 0.5), (0, 1, 0.25)], names)
    assert Candidates.of(small).shape == (3, 4)
    assert Candidates.of(small).instance_ids is Candidates.of(small).label_names is None
    named = Candidates.of(small, columns={"label": "label"})
    assert named.shape == (3, 2)
    assert list(named.label_names) == [3, 1]
    huge = Candidates.of(make_long("pandas", [(10**12, 3, 0.5), (0, 10**15, 0.25)], names))
    assert huge.shape == (2, 2)
    assert list(huge.instance_ids) == [10**12, 0]
    sized = Candidates.of(make_long("pandas", [("a", 3, 0.5)], ("user", "item", "score")), n_labels=7)
    assert sized.shape == (1, 7)
    assert sized.label_names is None


@pytest.mark.parametrize("library", LIBRARIES)
def test_wide_tables(library):
    columns = {"user_id": ["eve", "ann"], "q7": [0.5, 0.0], "q9": [0.25, 1.0]}
    candidates = Candidates.of(make_table(library, columns))
    assert entries_of(candidates) == {("eve", "q7"): 0.5, ("eve", "q9"): 0.25, ("ann", "q9"): 1.0}
    assert candidates.holds_all_labels


def test_wide_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    values = np.array([[0.5, 0.25], [0.0, 1.0]])
    plain = Candidates.of(pandas.DataFrame(values))
    assert plain.instance_ids is plain.label_names is None
    named = Candidates.of(pandas.DataFrame(values, index=["eve", "ann"], columns=["q7", "q9"]))
    assert entries_of(named) == {("eve", "q7"): 0.5, ("eve", "q9"): 0.25, ("ann", "q9"): 1.0}
    assert list(Candidates.of(pandas.DataFrame(values, index=[5, 6])).instance_ids) == [5, 6]


def test_truth_needs_no_values_and_ranks_are_kept():
    table = make_long("pandas", [("a", "y", 2), ("a", "x", 1)], ("user", "item", "rank"))
    found = read_table(table, needs_values=False)
    assert found.matrix.toarray().tolist() == [[1.0, 1.0]]
    assert found.ranks.tolist() == [2, 1]
    assert list(found.label_names) == ["y", "x"]


def test_random_tables():
    rng = np.random.default_rng(0)
    pairs = {(int(i), int(j)): 0.0 for i, j in rng.integers(0, 40, (300, 2))}
    rows = [(f"u{i}", f"l{j}", float(rng.random())) for i, j in pairs]
    for library in LIBRARIES[:3]:
        check_rows(Candidates.of(make_long(library, rows)), rows)


def test_without_pyarrow(monkeypatch):
    pytest.importorskip("polars")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    check_rows(Candidates.of(make_long("polars")), ROWS)


@pytest.mark.parametrize("values", [["a", "b", "a"], [7, 8, 7]])
def test_a_dictionary_may_hold_a_value_twice(values):
    pa = pytest.importorskip("pyarrow")
    users = pa.DictionaryArray.from_arrays(pa.array([2, 1, 0], pa.int8()), pa.array(values))
    items = ["x", "x", "y"]
    candidates = Candidates.of(pa.table({"user": users, "item": items, "score": [0.1, 0.2, 0.3]}))
    check_rows(candidates, [(values[2], "x", 0.1), (values[1], "x", 0.2), (values[0], "y", 0.3)])
    with pytest.raises(InputError, match="holds label 'x' twice"):
        Candidates.of(pa.table({"user": users, "item": ["x", "x", "x"], "score": [0.1, 0.2, 0.3]}))


@pytest.mark.parametrize("column", ["user", "item"])
def test_text_that_cannot_be_encoded(column):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"user": ["a", "b", "c"], "item": ["x", "y", "z"], "score": [0.1, 0.2, 0.3]})
    table[column] = pd.Series(["p", "q", "\ud800"], dtype=object)
    with pytest.raises(InputError, match=rf"in the column '{column}'\. Got '\\ud800' in row 2\. Remove its unpaired"):
        Candidates.of(table)


@pytest.mark.parametrize("other", [1.0, True])
def test_numbers_of_different_types_that_are_equal(other):
    pandas = pytest.importorskip("pandas")
    users = pandas.Series(["ann", 1, 1, other], dtype=object)
    table = pandas.DataFrame({"user": users, "item": ["a", "a", "b", "c"], "score": [0.5] * 4})
    with pytest.raises(
        InputError, match=rf"in the column 'user'.* Got 1 in row 1 and {other!r} in row 3, .* or to text"
    ):
        read_table(table)
    users[3] = np.int64(1)  # the same integer
    assert read_table(table.assign(user=users)).instance_ids.values.tolist() == ["ann", 1]
    users = pandas.Series(["ann", 1.5, np.float64(1.5), 2], dtype=object)
    assert read_table(table.assign(user=users)).instance_ids.values.tolist() == ["ann", 1.5, 2]


@pytest.mark.parametrize("name", ["sku", "product_id", "SKU"])
def test_usual_names_of_products(name):
    check_rows(Candidates.of(make_long("pandas", names=("user_id", name, "score"))), ROWS)
