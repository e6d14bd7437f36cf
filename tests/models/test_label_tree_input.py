"""What LabelTree refuses, and how it says so."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import label_tree as reference

import tailwise as tw
from tailwise.errors import InputError, UtilityError


@pytest.fixture(scope="module")
def data():
    return reference.random_data(12, n=30, m=6)


@pytest.fixture(scope="module")
def model(data):
    return tw.LabelTree().fit(*data)


def refusal(call, *arguments, **options):
    with pytest.raises(InputError) as caught:
        call(*arguments, **options)
    return str(caught.value)


BAD_LABELS = {
    "counts": ([[0, 2], [1, 0]], "Y must hold only 0 and 1. Got 2. Use (Y > 0) for counts or scores."),
    "halves": (np.array([[0.5, 0], [1, 0]]), "Y must hold only 0 and 1. Got 0.5."),
    "negative": (sp.csr_array([[0, -1], [1, 0]]), "Y must hold only 0 and 1. Got -1."),
    "nan": (np.array([[np.nan, 0], [1, 0]]), "Y must hold only 0 and 1. Got nan."),
    "a list of labels": ([1, 0], "Y must be a 0/1 matrix of shape (n, m), one column per label. Got shape (2,)."),
    "no name": ([["a"], ["b", None]], "Got None in row 1. Use text, and [] for an instance without labels."),
    "no list": ([["a"], None], "Y must hold a list of names for each instance. Got None in row 1."),
    "an empty name": ([["a"], [""]], "Y must hold a list of names for each instance. Got '' in row 1."),
    "names of some": ([["a", "b"], [1]], "Y must hold a list of names for each instance. Got 1 in row 1. Use text"),
    "lists of labels": ([[1], [0, 1]], "Y must be a matrix with rows of equal length. Got different lengths."),
    "no label": (np.zeros((2, 0)), "Y must be a 0/1 matrix of shape (n, m), one column per label. Got shape (2, 0)."),
    "too short": (np.zeros((1, 3)), "X and Y must have the same number of rows. Got 2 and 1."),
    "nothing": (None, "requires y to be passed, but the target y is None"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_labels_that_are_refused(labels, message):
    assert message in refusal(tw.LabelTree().fit, np.eye(2), labels)


BAD_FEATURES = {
    "nan": (np.array([[np.nan, 0], [1, 0]]), "NaN"),
    "sparse nan": (sp.csr_array([[np.nan, 0], [1, 0]]), "NaN"),
    "infinity": (np.array([[np.inf, 0], [1, 0]]), "infinity"),
    "a list": (np.array([1.0, 2.0]), "2D array"),
    "no rows": (np.zeros((0, 2)), "0 sample(s)"),
    "no features": (np.zeros((2, 0)), "0 feature(s)"),
    "complex": (np.array([[1j, 0], [1, 0]]), "Complex data not supported"),
    "too large for single precision": (np.array([[1e300, 0], [1, 0]]), "infinity"),
}


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@pytest.mark.parametrize(("features", "message"), BAD_FEATURES.values(), ids=BAD_FEATURES)
def test_features_that_are_refused(features, message):
    assert message in refusal(tw.LabelTree().fit, features, np.eye(features.shape[0]))


@pytest.mark.parametrize("call", ["predict_proba", "predict"])
def test_another_number_of_features(model, data, call):
    message = refusal(getattr(model, call), data[0][:, :5])
    assert message == "X has 5 features, but LabelTree is expecting 12 features as input."


def test_features_with_nan_in_prediction(model, data):
    rows = data[0].copy()
    rows[3, 3] = np.nan
    assert "NaN" in refusal(model.predict_proba, rows)


BAD_PARAMETERS = {
    "tree": ("k_means", "tree must be one of k-means, random, huffman. Got 'k_means'."),
    "loss": ("hinge", "loss must be one of logistic, squared-hinge. Got 'hinge'."),
    "arity": (1, "arity must be an integer of at least 2. Got 1."),
    "leaf_size": (0, "leaf_size must be an integer of at least 1. Got 0."),
    "n_trees": (2.0, "n_trees must be an integer of at least 1. Got 2.0."),
    "max_epochs": (True, "max_epochs must be an integer of at least 1. Got True."),
    "C": (0, "C must be a finite number above 0. Got 0."),
    "normalise": (1, "normalise must be True or False. Got 1."),
    "positive_weight": (np.inf, "positive_weight must be a finite number above 0. Got inf."),
    "threshold": (-0.1, "threshold must be a finite number of at least 0. Got -0.1."),
    "tolerance": ("0.1", "tolerance must be a finite number of at least 0. Got '0.1'."),
    "n_jobs": (0, "n_jobs must be an integer of at least 1, or -1 or None for all cores. Got 0."),
}


@pytest.mark.parametrize(("name", "value", "message"), [(n, *rest) for n, rest in BAD_PARAMETERS.items()])
def test_parameters_that_are_refused(data, name, value, message):
    assert refusal(tw.LabelTree(**{name: value}).fit, *data) == message


def test_more_threads_than_a_machine_can_use(data, tmp_path):
    rule = "n_jobs must be at most "
    assert refusal(tw.LabelTree(n_jobs=100_000).fit, *data).startswith(rule)
    model = tw.LabelTree().fit(*data).set_params(n_jobs=100_000)  # as it was on a larger machine
    model.save(tmp_path / "model.tree")
    loaded = tw.LabelTree.load(tmp_path / "model.tree")
    message = refusal(loaded.predict_proba, data[0])
    assert message.startswith(rule)
    assert message.endswith("Got 100000. Use n_jobs=None for one thread per core.")
    assert loaded.set_params(n_jobs=None).predict_proba(data[0]).shape == data[1].shape


@pytest.mark.parametrize("tree", ["huffman", [6, 6, 6, 6, 6, 6, -1]])
def test_equal_trees_are_refused(data, tree):
    message = refusal(tw.LabelTree(tree, n_trees=2).fit, *data)
    assert message == "n_trees must be 1 for a Huffman or user-defined tree, as all would be equal. Got 2."


def test_a_given_tree_over_other_labels(data):
    message = refusal(tw.LabelTree([2, 2, -1]).fit, *data)
    assert message.startswith("parents must list the 6 labels first")


def test_numbers_of_labels_that_are_refused(model, data):
    features, _ = data
    too_many = "k must be an integer between 1 and 6, the number of labels. Got 7."
    assert refusal(model.predict, features, k=7) == too_many
    assert refusal(model.search, features, 7) == too_many
    assert refusal(model.select, features, "precision", 7) == too_many
    assert refusal(model.search, features, 0) == "k must be an integer between 1 and 6, the number of labels. Got 0."
    assert refusal(model.predict_proba, features, top=0) == "top must be an integer of at least 1. Got 0."
    assert refusal(model.predict_proba, features, beam=0) == "beam must be an integer of at least 1. Got 0."


def test_sizes_that_nothing_can_have(model, data):
    huge = 99999999999999999999
    for name in ("top", "beam"):
        rule = f"{name} must be an integer of at most 9223372036854775807. Got {huge}."
        assert refusal(model.predict_proba, data[0], **{name: huge}) == rule


def test_a_beam_wider_than_the_tree_is_no_larger_than_the_tree(model, data):
    wide = model.predict_proba(data[0], beam=2**62)
    assert (wide != model.predict_proba(data[0])).nnz == 0


@pytest.mark.parametrize("random_state", [-1, 2**32, 10**30, "zero", 1.5])
def test_seeds_that_are_refused(data, random_state):
    rule = "random_state must be an integer from 0 to 4294967295, a RandomState, or None."
    message = refusal(tw.LabelTree(random_state=random_state).fit, *data)
    assert message == f"{rule} Got {random_state!r}. Use another seed, for instance 0."


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("heavy", "weights must hold numbers. Got an array of dtype <U5."),
        ([[1], [2, 3]], "weights must be a matrix with rows of equal length."),
        (sp.csr_array(np.ones((1, 6))), "weights must be a list or array of numbers. Got a sparse matrix."),
        (np.ma.array(np.ones(6), mask=np.eye(6)[0]), "weights must not have masked entries."),
        (None, None),
    ],
)
def test_weights_that_are_no_numbers(model, data, weights, message):
    if message is None:
        assert model.search(data[0], 2, weights=weights).labels.shape == (30, 2)
    else:
        assert message in refusal(model.search, data[0], 2, weights=weights)


def test_a_given_tree_that_is_no_list(data):
    assert "parents must be a matrix with rows of equal length" in refusal(tw.LabelTree([[1], [2, 3]]).fit, *data)


@pytest.mark.parametrize(
    ("weights", "came"),
    [([1, 2], "shape (2,)"), (np.full(6, np.nan), "values from nan"), (-np.ones(6), "values from -1")],
)
def test_weights_that_are_refused(model, data, weights, came):
    message = refusal(model.search, data[0], 2, weights=weights)
    assert message.startswith(f"weights must be 6 finite numbers of at least 0, one per label. Got {came}")


def test_selections_that_are_refused(model, data):
    features, _ = data
    with pytest.raises(UtilityError):
        model.select(features, "macro-f2", 2)
    assert "method must be one of" in refusal(model.select, features, "macro-f1", 2, method="best")
    assert "seed must be an integer" in refusal(model.select, features, "coverage", 2, method="tree", seed=-1)


def test_nothing_works_before_fit(data, tmp_path):
    from sklearn.exceptions import NotFittedError

    fresh, features = tw.LabelTree(), data[0]
    for call in (
        lambda: fresh.predict(features),
        lambda: fresh.predict_proba(features),
        lambda: fresh.search(features, 1),
        lambda: fresh.select(features, "precision", 1),
        lambda: fresh.save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError):
            call()
