"""LabelTree as a user meets it: shapes and types of what it gives, and what it does with odd data."""

import io
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from reference import label_tree as reference

import tailwise as tw
from tailwise.models import job_sharing as sharing


@pytest.fixture(scope="module")
def data():
    return reference.random_data(11, n=80, m=20)


@pytest.fixture(scope="module")
def model(data):
    return tw.LabelTree(arity=3, leaf_size=4).fit(*data)


def test_probabilities_are_sparse_rows_of_the_top(model, data):
    features, _ = data
    probabilities = model.predict_proba(features, top=7)
    assert isinstance(probabilities, sp.csr_array)
    assert probabilities.shape == (80, 20)
    assert probabilities.dtype == np.float32
    assert probabilities.has_canonical_format
    assert (np.diff(probabilities.indptr) == 7).all()
    dense = probabilities.toarray()
    every = reference.all_probabilities(model.trees_[0], features, "logistic")
    expected = np.zeros_like(every)
    best = reference.best_labels(every, 7)
    np.put_along_axis(expected, best, np.take_along_axis(every, best, axis=1), axis=1)
    np.testing.assert_allclose(dense, expected, rtol=1e-5)


def test_there_is_no_more_than_all_labels(model, data):
    assert (np.diff(model.predict_proba(data[0], top=1000).indptr) == 20).all()


def test_predictions_are_the_top_labels(model, data):
    features, truth = data
    predicted = model.predict(features, k=3)
    assert isinstance(predicted, np.ndarray)
    assert predicted.dtype == truth.dtype
    assert (predicted.sum(axis=1) == 3).all()
    np.testing.assert_array_equal(predicted > 0, model.predict_proba(features, top=3).toarray() > 0)


def test_predictions_without_k_are_the_likely_labels(data):
    features, truth = data
    many = np.repeat(truth, 3, axis=1)  # more likely labels than the first search asks for
    model = tw.LabelTree(arity=3, leaf_size=4, C=1000.0, max_epochs=100).fit(features, many)
    every = reference.all_probabilities(model.trees_[0], features, "logistic")
    assert (every >= 0.5).sum(axis=1).max() > 16
    np.testing.assert_array_equal(model.predict(features) > 0, every >= 0.5)


def test_sparse_labels_give_sparse_predictions(model, data):
    features, truth = data
    sparse = tw.LabelTree(arity=3, leaf_size=4).fit(sp.csr_array(features), sp.csc_matrix(truth))
    predicted = sparse.predict(features, k=2)
    assert isinstance(predicted, sp.csr_array)
    np.testing.assert_array_equal(predicted.toarray(), model.predict(features, k=2))


def with_wide_indices(array):
    csr = sp.csr_array(array)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    return csr


FORMS = {
    "wide indices": with_wide_indices,
    "csc": sp.csc_array,
    "coo matrix": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "float64": lambda array: array.astype(np.float64),
    "fortran": np.asfortranarray,
    "lists": lambda array: array.tolist(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_forms_of_input_make_no_difference(model, data, form):
    features, truth = data
    other = tw.LabelTree(arity=3, leaf_size=4).fit(form(features), form(truth))
    expected = model.predict_proba(features).toarray()
    np.testing.assert_array_equal(other.predict_proba(features).toarray(), expected)
    np.testing.assert_array_equal(model.predict_proba(form(features)).toarray(), expected)


def test_duplicate_entries_of_features_add_up(model, data):
    features, _ = data
    csr = sp.csr_array(features)
    halves = sp.csr_array((np.repeat(csr.data / 2, 2), np.repeat(csr.indices, 2), 2 * csr.indptr), shape=csr.shape)
    before = halves.data.copy()
    np.testing.assert_allclose(model.predict_proba(halves).toarray(), model.predict_proba(csr).toarray(), rtol=1e-5)
    np.testing.assert_array_equal(halves.data, before)


def test_inputs_are_left_alone(data):
    features, truth = (sp.csr_array(part).astype(np.float64) for part in data)
    truth.data[:3] = 0  # stored zeros
    parts = [part.copy() for matrix in (features, truth) for part in (matrix.data, matrix.indices, matrix.indptr)]
    model = tw.LabelTree().fit(features, truth)
    model.select(features, "macro-f1", 2)
    after = [part for matrix in (features, truth) for part in (matrix.data, matrix.indices, matrix.indptr)]
    for x, y in zip(parts, after, strict=True):
        np.testing.assert_array_equal(x, y)


def test_empty_rows_of_features_and_labels(data):
    features, truth = (part.copy() for part in data)
    features[::5] = 0
    truth[::3] = 0
    model = tw.LabelTree(arity=3, leaf_size=4).fit(features, truth)
    every = reference.all_probabilities(model.trees_[0], features, "logistic")
    np.testing.assert_allclose(model.predict_proba(features, top=20).toarray(), every, rtol=1e-5)
    # Rows without labels are among what the children of the root learn from.
    n_unlabelled = int((truth.sum(axis=1) == 0).sum())
    assert n_unlabelled > 0
    fewer = tw.LabelTree(arity=3, leaf_size=4).fit(features[truth.any(axis=1)], truth[truth.any(axis=1)])
    assert fewer.predict_proba(features, top=20).sum() > model.predict_proba(features, top=20).sum()


def test_a_single_label():
    features = np.repeat(np.eye(2), 10, axis=0)
    truth = np.repeat([[1], [0]], 10, axis=0)
    for tree in ("k-means", "random", "huffman"):
        probabilities = tw.LabelTree(tree).fit(features, truth).predict_proba(np.eye(2)).toarray()
        assert probabilities[0, 0] > 0.8
        assert probabilities[1, 0] < 0.2


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge"])
def test_learnable_labels_are_learned(loss):
    random = np.random.default_rng(0)
    group = random.integers(0, 30, 900)
    features = sp.csr_array(np.eye(30)[group] + 0.1 * random.random((900, 30)))
    truth = sp.csr_array(np.eye(30)[group])
    for tree in ("k-means", "random", "huffman"):
        model = tw.LabelTree(tree, arity=4, leaf_size=6, loss=loss).fit(features, truth)
        assert (model.search(features, 1).labels.ravel() == group).mean() > 0.98


def test_several_trees_are_different(data):
    model = tw.LabelTree(arity=3, leaf_size=4, n_trees=3).fit(*data)
    assert len(model.trees_) == 3
    assert len({fitted.tree.labels.tobytes() for fitted in model.trees_}) > 1


def test_fitted_attributes(model, data):
    features, truth = data
    assert model.n_features_in_ == features.shape[1]
    assert model.n_labels_ == truth.shape[1]
    np.testing.assert_array_equal(model.priors_.counts, truth.sum(axis=0))
    assert model.trees_[0].tree.n_labels == 20


def test_progress_is_shown_where_it_is_asked_for(data, capsys):
    tw.LabelTree(arity=3, leaf_size=4).fit(*data)
    assert capsys.readouterr().err == ""
    tw.LabelTree(arity=3, leaf_size=4, progress=True).fit(*data)
    assert "tree 1 of 1" in capsys.readouterr().err


def test_calibrated_probabilities_come_through(model, data):
    features, truth = data
    calibrator = tw.Calibrator().fit(model.predict_proba(features, top=20), truth)
    assert calibrator.transform(model.predict_proba(features, top=20)).shape == (80, 20)


# Ctrl-C and other failures


def test_a_failed_fit_leaves_the_model_as_it_was(model, data):
    features, truth = data
    expected = model.predict_proba(features).toarray()
    with pytest.raises(ValueError, match="Y must hold only 0 and 1"):
        model.fit(features[:, :7], truth + 1)
    np.testing.assert_array_equal(model.predict_proba(features).toarray(), expected)


def test_an_interrupted_fit_leaves_the_model_as_it_was(model, data, monkeypatch):
    features, truth = data
    expected = model.predict_proba(features).toarray()
    count = io.BytesIO()

    def interrupt(*arguments):
        count.write(b".")
        if len(count.getvalue()) == 3:
            raise KeyboardInterrupt
        return original(*arguments)

    from tailwise.models import tree_training as node_training

    original = node_training.train_blocks
    monkeypatch.setattr(node_training, "train_blocks", interrupt)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        model.fit(features[:, :7], 1 - truth)
    assert threading.active_count() == before
    assert len(count.getvalue()) < 10  # nobody went on
    np.testing.assert_array_equal(model.predict_proba(features).toarray(), expected)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_jobs_are_shared_in_order(workers):
    from tailwise.engines import Threads

    rooms = []
    with Threads(workers) as threads:
        results = sharing.share_jobs(threads, range(50), lambda: rooms.append(1), lambda job, room: 2 * job)
    assert results == list(range(0, 100, 2))
    assert len(rooms) == workers


def test_rows_are_scaled_to_length_one(data):
    features, truth = data
    stretched = features * np.linspace(0.5, 30.0, len(features), dtype=np.float32)[:, None]
    plain, scaled = (tw.LabelTree(leaf_size=4).fit(matrix, truth) for matrix in (features, stretched))
    expected = plain.predict_proba(features).toarray()
    np.testing.assert_allclose(scaled.predict_proba(stretched).toarray(), expected, rtol=1e-3)
    unscaled = tw.LabelTree(leaf_size=4, normalise=False).fit(stretched, truth)
    assert np.abs(unscaled.predict_proba(stretched).toarray() - expected).max() > 0.01
