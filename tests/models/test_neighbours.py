"""Nearest neighbours against brute force, however the features are stored, in one go or bit by bit."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.kernels.nearest import STEP
from tailwise.models import row_index
from tailwise.models.row_index import RowIndex, UnitRows

RANDOM = np.random.default_rng(0)
X = sp.random_array((300, 50), density=0.1, format="csr", random_state=RANDOM)
X = sp.csr_array(sp.vstack([X, X[:20]]))  # with ties
Q = sp.random_array((60, 50), density=0.1, format="csr", random_state=RANDOM)
Y = (RANDOM.random((320, 12)) < 0.2).astype(int)
KINDS = {
    "sparse": lambda M: M,
    "negative": lambda M: sp.csr_array(M.multiply(np.where(np.arange(50) % 3, 1, -1)[None])),
    "dense": lambda M: M.toarray(),
    "both": lambda M: tw.SideBySide(M, M[:, :9].toarray()),
}


def unit(matrix):
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    return dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-12)


def cosines(queries, rows, weight=0.5):
    if not isinstance(rows, tw.SideBySide):
        return unit(queries) @ unit(rows).T
    return (1 - weight) * cosines(queries.sparse, rows.sparse) + weight * cosines(queries.dense, rows.dense)


@pytest.mark.boundscheck
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("r", [1, 7, 400])
def test_the_nearest_by_brute_force(kind, r):
    rows, queries = kind(X), kind(Q)
    found = tw.Neighbours(r).fit(rows, Y).search(queries)
    every = cosines(queries, rows)
    for i, near in enumerate(found.rows):
        near = near[near >= 0]
        assert near.size == min(r, (every[i] > 1e-6).sum())
        np.testing.assert_allclose(every[i, near], found.cosines[i, : near.size], atol=1e-6)
        np.testing.assert_allclose(every[i, near], np.sort(every[i])[::-1][: near.size], atol=1e-6)


@pytest.mark.boundscheck
def test_rows_that_bounds_rule_out():
    random = np.random.default_rng(7)
    rare = sp.random_array((4000, 300), density=0.03, format="csr", random_state=random)
    often = (
        sp.random_array((4000, 150), density=0.18, format="csr", random_state=random) * 0.03
    )  # long lists that add little
    always = sp.csr_array(0.02 * (random.random((4000, 3)) < 0.9))  # with columns of their own
    rows = sp.csr_array(sp.hstack([rare, often, always]))
    found = tw.Neighbours(5).fit(rows, np.ones((4000, 2))).search(rows[:50])
    every = cosines(rows[:50], rows)
    np.testing.assert_allclose(found.cosines, -np.sort(-every, axis=1)[:, :5], atol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(every, found.rows, axis=1), found.cosines, atol=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_postings_smaller_than_a_step(sign):
    """Rows of which a query shares only what rounds to less than a step are found, and in the right order."""
    rows = np.zeros((100, 4))
    rows[:, 0], rows[[3, 50, 97], 1] = 1.0, [1e-5, 1.4e-5, 1e-9]
    rows[5, 2] = sign * 1e-5
    queries = np.eye(4)[[1, 2, 3]]
    found = tw.Neighbours(5).fit(sp.csr_array(rows), np.ones((100, 2))).search(sp.csr_array(queries))
    assert found.rows.tolist() == [[50, 3, 97, -1, -1], [5 if sign > 0 else -1, *[-1] * 4], [-1] * 5]
    np.testing.assert_allclose(found.cosines[0, :3], [1.4e-5, 1e-5, 1e-9], rtol=1e-6)


def test_frequent_features_are_bytes_and_have_no_postings():
    rows = np.zeros((40, 3), np.float32)
    rows[:, 0], rows[::2, 2], rows[7, 1] = 0.5, np.linspace(0.1, 0.3, 20), 0.25
    postings = RowIndex(UnitRows(sp.csr_array(rows), None)).postings
    np.testing.assert_array_equal(postings.tops, rows[:, [0, 2]].max(axis=0))
    decoded = postings.codes[0, :, :40].T * postings.tops.astype(float) / 255
    assert (decoded >= rows[:, [0, 2]] - 1e-7).all()
    assert (decoded <= rows[:, [0, 2]] + postings.tops / 255 + 1e-7).all()
    assert not postings.codes[0, :, 40:].any()
    assert postings.starts.tolist() == [[0, 0, 0, 1]]
    assert postings.packed % 2**16 == [7]
    assert postings.head_starts.tolist() == [0, *np.cumsum(1 + (np.arange(40) % 2 == 0)).tolist()]
    heads = np.zeros((40, 2), np.float32)
    heads[np.repeat(np.arange(40), np.diff(postings.head_starts)), postings.heads % 2**16] = postings.heads >> 16
    np.testing.assert_allclose(heads * STEP, rows[:, [0, 2]], atol=STEP)
    np.testing.assert_allclose((postings.packed >> 16) * STEP, 0.25, atol=STEP)


@pytest.mark.boundscheck
def test_blocks_of_rows_and_queries(monkeypatch):
    """Several blocks and jobs, lists that overflow, bounds beyond 16 bits, and features that only queries have."""
    monkeypatch.setattr(row_index, "BLOCK", 64)
    monkeypatch.setattr(row_index, "MOST_QUERIES", 7)
    monkeypatch.setattr(row_index, "LISTED", 2)
    monkeypatch.setattr(row_index, "MOST_SUM", 2000)
    random = np.random.default_rng(3)
    often, rare = (
        sp.random_array((1000, m), density=d, format="csr", random_state=random) for m, d in ((40, 0.2), (400, 0.01))
    )
    rows = sp.csr_array(sp.hstack([often, sp.csr_array((1000, 2)), rare]))
    rows = sp.csr_array(sp.vstack([rows, rows]))
    queries = sp.csr_array(rows[:20] + sp.random_array((20, 442), density=0.1, format="csr", random_state=random))
    found = tw.Neighbours(41).fit(rows, np.ones((2000, 2))).search(queries)
    np.testing.assert_allclose(found.cosines, -np.sort(-cosines(queries, rows), axis=1)[:, :41], atol=1e-6)
    np.testing.assert_array_equal(found.rows[:, 1::2], found.rows[:, 0:-1:2] + 1000)  # twins, the earlier one first
    assert (found.rows[:, -1] < 1000).all()


def test_ties_go_to_the_earlier_row():
    found = tw.Neighbours(2).fit(X, Y).search(X[300:])
    np.testing.assert_array_equal(found.rows, np.column_stack([np.arange(20), np.arange(300, 320)]))


@pytest.mark.boundscheck
@pytest.mark.parametrize("block", [64, 8192])
def test_ties_of_different_rows(block, monkeypatch):
    """Rows of four equal features: their products are multiples of one number, and bounds differ from them."""
    monkeypatch.setattr(row_index, "BLOCK", block)
    random, rows = np.random.default_rng(8), np.zeros((900, 24))
    for row in rows:
        row[random.choice(24, 4, replace=False, p=np.arange(24, 0, -1) / 300)] = 1.0
    queries = rows[::30]
    found = tw.Neighbours(25).fit(sp.csr_array(rows), np.ones((900, 2))).search(sp.csr_array(queries))
    for near, n_shared in zip(found.rows, queries @ rows.T, strict=True):
        np.testing.assert_array_equal(near, np.argsort(-n_shared, kind="stable")[:25])


def test_votes_are_a_softmax():
    model = tw.Neighbours(5, temperature=0.1).fit(X, Y)
    found, votes = model.search(Q), model.predict_proba(Q, top=12).toarray()
    for near, cosine, row in zip(found.rows, found.cosines, votes, strict=True):
        weights = np.exp(cosine / 0.1)
        np.testing.assert_allclose(row, weights / weights.sum() @ Y[near], atol=1e-6)


def test_only_the_top_labels():
    assert np.diff(tw.Neighbours().fit(X, Y).predict_proba(Q, top=3).indptr).max() == 3


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_instances_can_be_added(kind):
    rows, queries = kind(X), kind(Q)
    whole = tw.Neighbours(7).fit(rows, Y)
    parts = tw.Neighbours(7).partial_fit(rows[:200], Y[:200])
    for first, last in ((200, 290), (290, 300), (300, 320)):
        parts.partial_fit(rows[first:last], Y[first:last])
    assert len(parts.indexes_) > 1
    np.testing.assert_array_equal(whole.search(queries).rows, parts.search(queries).rows)
    assert parts.priors_ == whole.priors_
    assert parts.n_instances_ == 320


def test_threads_do_not_matter():
    one, two = (tw.Neighbours(n_jobs=n).fit(X, Y).predict_proba(Q) for n in (1, 2))
    assert (one != two).nnz == 0


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_files(kind, tmp_path):
    model, path = tw.Neighbours(7, temperature=0.2).fit(kind(X), Y), tmp_path / "near.model"
    model.save(path)
    for loaded in (tw.load_model(path), tw.Neighbours.load(path)):
        assert (loaded.predict_proba(kind(Q)) != model.predict_proba(kind(Q))).nnz == 0
        assert loaded.get_params() == model.get_params()
        assert loaded.priors_ == model.priors_
    with pytest.raises(FileError, match="must be a model of the kind 'tree'"):
        tw.LabelTree.load(path)


@pytest.mark.boundscheck
@pytest.mark.parametrize("n", [50, 300, 1500])
@pytest.mark.parametrize("r", [1, 3, 4, 5, 93])
def test_the_start_of_the_search(n, r):
    """Fewer, as many and more neighbours than the first block has strips; equal rows, and rows without a product."""
    rows = sp.csr_array(sp.vstack([X[np.arange(n) % 30], sp.csr_array((n % 7, 50)), X[40:90]]))
    found, every = tw.Neighbours(r).fit(rows, np.ones((rows.shape[0], 2))).search(Q), cosines(Q, rows)
    for near, of_near, row in zip(found.rows, found.cosines, every, strict=True):
        best = np.sort(row)[::-1][:r]
        np.testing.assert_allclose(of_near, best, atol=1e-6)
        np.testing.assert_allclose(row[near[near >= 0]], best[best > 1e-6], atol=1e-6)


def repeat_a_label(labels):
    start = labels.indptr[np.flatnonzero(np.diff(labels.indptr) > 1)[0]]
    labels.indices[start + 1] = labels.indices[start]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda model: model.labels_.data.__setitem__(0, -1.0), "some values of labels are not 1"),
        (lambda model: model.labels_.data.__setitem__(0, 0.5), "some values of labels are not 1"),
        (lambda model: repeat_a_label(model.labels_), "some values of labels"),
        (lambda model: model.indexes_[0].rows.sparse.data.__setitem__(3, 1.5), "some values of sparse"),
        (lambda model: model.indexes_[0].rows.sparse.data.__setitem__(3, np.nan), "some values of sparse"),
        (lambda model: model.indexes_[0].rows.dense.__setitem__((3, 0), -2.0), "some values of dense"),
        (lambda model: model.indexes_[0].rows.dense.__setitem__((3, 0), np.nan), "some values of dense"),
    ],
)
def test_files_with_impossible_values_are_refused(tmp_path, change, words):
    model = tw.Neighbours(7).fit(KINDS["both"](X), Y)
    change(model)
    model.save(tmp_path / "altered.model")  # with checksums that are right
    with pytest.raises(FileError, match=words):
        tw.load_model(tmp_path / "altered.model")


def test_rows_without_neighbours_get_the_priors():
    votes = tw.Neighbours().fit(X, Y).predict_proba(sp.csr_array((1, 50)), top=12)
    np.testing.assert_allclose(votes.toarray()[0], Y.mean(axis=0), rtol=1e-6)


def test_the_rows_behind_a_label():
    model = tw.Neighbours(5).fit(X, Y)
    label = int(model.predict_proba(Q[[0]]).indices[0])
    rows, weights = model.explain(Q[[0]], label)
    assert Y[rows, label].all()
    assert weights.sum() == pytest.approx(model.predict_proba(Q[[0]], top=12)[0, label], rel=1e-6)


def test_labels_are_explained_by_name():
    tags = [[f"http://example.org/{j}" for j in np.flatnonzero(row)] for row in Y]
    named, plain = tw.Neighbours(5).fit(X, tags), tw.Neighbours(5).fit(X, Y)
    rows, weights = named.explain(Q[[0]], "http://example.org/4")
    expected = plain.explain(Q[[0]], 4)
    np.testing.assert_array_equal(rows, expected[0])
    np.testing.assert_array_equal(weights, expected[1])
    with pytest.raises(InputError, match="or one of their names"):
        named.explain(Q[[0]], "thesis")


def test_dense_and_sparse_queries():
    model = tw.Neighbours(5).fit(X, Y)
    np.testing.assert_array_equal(model.search(Q).rows, model.search(Q.toarray()).rows)
    model.fit(X.toarray(), Y)
    np.testing.assert_array_equal(model.search(Q).rows, model.search(Q.toarray()).rows)


def test_clones():
    assert clone(tw.Neighbours(4, temperature=0.3)).get_params() == tw.Neighbours(4, temperature=0.3).get_params()


REFUSED = {
    "n_neighbours must be an integer of at least 1. Got 0": lambda: tw.Neighbours(0).fit(X, Y),
    "temperature must be a finite number above 0": lambda: tw.Neighbours(temperature=0).fit(X, Y),
    "dense_weight must be at most 1": lambda: tw.Neighbours(dense_weight=1.5).fit(X, Y),
    "X has 9 features, but Neighbours is expecting 50": lambda: tw.Neighbours().fit(X, Y).search(Q[:, :9]),
    "must have 40 sparse and 10 dense features": lambda: (
        tw.Neighbours().fit(tw.SideBySide(X[:, :40], X[:, 40:].toarray()), Y).search(Q)
    ),
    "Y must have the 12 labels of fit. Got 3": lambda: tw.Neighbours().fit(X, Y).partial_fit(X, Y[:, :3]),
    "in the same order. Got 'b' in place of 'a'": lambda: (
        tw.Neighbours()
        .fit(np.eye(2), pd.DataFrame(np.eye(2), columns=["a", "b"]))
        .partial_fit(np.eye(2), pd.DataFrame(np.eye(2), columns=["b", "a"]))
    ),
    "x must be one instance": lambda: tw.Neighbours().fit(X, Y).explain(Q, 0),
    "label must be an integer from 0 to 11. Got 12": lambda: tw.Neighbours().fit(X, Y).explain(Q[[0]], 12),
    "NaN": lambda: tw.Neighbours().fit(np.full((2, 2), np.nan), np.eye(2)),
    "X and Y must have the same number of rows": lambda: tw.Neighbours().fit(X, Y[:9]),
    "sparse must be a sparse matrix": lambda: tw.SideBySide(np.eye(2), np.eye(2)),
    "dense must be a matrix with the rows of sparse": lambda: tw.SideBySide(X, np.eye(2)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words):
    with pytest.raises(InputError, match=words):
        REFUSED[words]()


def test_probabilities_are_at_most_one():
    model = tw.Neighbours(30).fit(np.ones((30, 2)), np.ones((30, 3)))
    assert model.predict_proba(np.ones((2, 2))).max() <= 1.0


def test_the_weight_of_dense_features_is_that_of_the_fit(tmp_path):
    rng = np.random.default_rng(5)
    X = tw.SideBySide(sp.random_array((20, 8), density=0.5, random_state=rng, format="csr"), rng.random((20, 3)))
    model = tw.Neighbours(3, dense_weight=0.2).fit(X, np.eye(20))
    before = model.search(X).cosines
    model.set_params(dense_weight=0.9)
    assert (model.search(X).cosines == before).all()
    model.save(tmp_path / "n.model")
    assert (tw.load_model(tmp_path / "n.model").search(X).cosines == before).all()
    assert (model.fit(X, np.eye(20)).search(X).cosines != before).any()


def test_more_neighbours_than_training_rows():
    rng = np.random.default_rng(6)
    X, Y = rng.random((9, 4)), np.eye(9)
    many, all_rows = tw.Neighbours(10**12).fit(X, Y), tw.Neighbours(9).fit(X, Y)
    assert many.search(X).rows.shape == (9, 9)
    assert (many.predict_proba(X).toarray() == all_rows.predict_proba(X).toarray()).all()
