"""Search on the tree finds what scoring every label finds."""

import numpy as np
import pytest
from reference import label_tree as reference

import tailwise as tw
from tailwise.errors import InputError

pytestmark = pytest.mark.boundscheck

LOSSES = ("logistic", "squared-hinge")
TREES = ("k-means", "random", "huffman", "given")
SEEDS = range(3)
every_tree = pytest.mark.parametrize(("tree", "loss"), [(tree, loss) for tree in TREES for loss in LOSSES])


def fit(seed, tree="k-means", loss="logistic", n=60, m=13, **options):
    features, truth = reference.random_data(seed, n=n, m=m)
    if tree == "given":
        tree = [*[m] * (m // 2), *[m + 1] * (m - m // 2 - 1), m + 2, m + 2, m, -1]
    options = {"arity": 2, "leaf_size": 3, "C": 3.0, **options}
    return tw.LabelTree(tree, loss=loss, **options).fit(features, truth), reference.random_data(seed + 100, m=m)[0]


def average(model, rows):
    return np.mean([reference.all_probabilities(fitted, rows, model.loss) for fitted in model.trees_], axis=0)


@every_tree
@pytest.mark.parametrize("k", [1, 3, 13])
def test_most_probable_labels(tree, loss, k):
    for seed in SEEDS:
        model, rows = fit(seed, tree, loss)
        probabilities = average(model, rows)
        found = model.search(rows, k)
        np.testing.assert_array_equal(found.labels, reference.best_labels(probabilities, k))
        expected = np.take_along_axis(probabilities, found.labels.astype(int), axis=1)
        np.testing.assert_allclose(found.probabilities, expected, rtol=1e-5)
        assert (found.visited <= model.trees_[0].tree.n_nodes - 1).all()


@every_tree
@pytest.mark.parametrize("k", [1, 4, 13])
def test_largest_weighted_probabilities(tree, loss, k):
    for seed in SEEDS:
        model, rows = fit(seed, tree, loss)
        weights = np.random.default_rng(seed).exponential(size=13) ** 2
        weights[seed] = 0
        gains = weights * average(model, rows)
        np.testing.assert_array_equal(model.search(rows, k, weights=weights).labels, reference.best_labels(gains, k))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [1, 3, 13])
def test_averages_of_several_trees(loss, k):
    for seed in SEEDS:
        model, rows = fit(seed, "random", loss, n_trees=3)
        probabilities = average(model, rows)
        found = model.search(rows, k)
        np.testing.assert_array_equal(found.labels, reference.best_labels(probabilities, k))
        expected = np.take_along_axis(probabilities, found.labels.astype(int), axis=1)
        np.testing.assert_allclose(found.probabilities, expected, rtol=1e-5)
        weights = np.random.default_rng(seed).exponential(size=13)
        found = model.search(rows, k, weights=weights)
        np.testing.assert_array_equal(found.labels, reference.best_labels(weights * probabilities, k))


def test_only_part_of_a_large_tree_is_seen():
    model, rows = fit(0, "k-means", n=400, m=300, arity=4, leaf_size=5)
    found = model.search(rows, 3)
    np.testing.assert_array_equal(found.labels, reference.best_labels(average(model, rows), 3))
    assert found.visited.mean() < 0.5 * model.trees_[0].tree.n_nodes


def test_ties_go_to_the_smaller_label():
    truth = np.repeat(np.eye(2, dtype=int), 10, axis=0)[:, [0, 0, 0, 1, 1, 1]]
    features = np.repeat(np.eye(2), 10, axis=0)
    model = tw.LabelTree([6, 7, 6, 7, 6, 7, 8, 8, -1], random_state=0).fit(features, np.zeros_like(truth))
    # Nothing was seen, so that all labels are equally probable.
    assert model.search(features[:1], 3).labels.tolist() == [[0, 1, 2]]


def test_empty_rows_are_decided_by_the_biases():
    model, rows = fit(1)
    empty = np.zeros_like(rows[:2])
    np.testing.assert_array_equal(model.search(empty, 4).labels, reference.best_labels(average(model, empty), 4))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_wide_beam_is_exact(loss):
    model, rows = fit(2, "k-means", loss, m=40)
    exact, beam = model.search(rows, 5), model.search(rows, 5, beam=100)
    np.testing.assert_array_equal(exact.labels, beam.labels)
    np.testing.assert_allclose(exact.probabilities, beam.probabilities)


@pytest.mark.parametrize("n_trees", [1, 2])
def test_a_narrow_beam_sees_less(n_trees):
    model, rows = fit(3, "k-means", m=40, n_trees=n_trees)
    exact, beam = model.search(rows, 9), model.search(rows, 9, beam=1)
    assert beam.visited.sum() < exact.visited.sum()
    assert (beam.labels[:, -1] == -1).any()  # one lowest node has at most three labels
    is_found = beam.labels >= 0
    every = average(model, rows)
    expected = np.take_along_axis(every, np.where(is_found, beam.labels, 0).astype(int), axis=1)
    np.testing.assert_allclose(beam.probabilities[is_found], expected[is_found], rtol=1e-5)
    assert (beam.probabilities[~is_found] == 0).all()


@pytest.mark.parametrize("options", [{}, {"beam": 2}, {"weights": np.arange(1.0, 41.0)}])
@pytest.mark.parametrize("n_trees", [1, 2])
def test_the_same_answers_on_any_number_of_threads(options, n_trees):
    model, _ = fit(4, "k-means", m=40, n_trees=n_trees)
    rows = reference.random_data(9, n=300)[0]
    answers = [model.set_params(n_jobs=jobs).search(rows, 5, **options) for jobs in (1, 2, 5)]
    for other in answers[1:]:
        assert [array.tobytes() for array in other] == [array.tobytes() for array in answers[0]]


# Selections on the tree

GAINS = {"macro-precision": reference.precision_gain, "coverage": reference.coverage_gain}


@every_tree
@pytest.mark.parametrize("utility", GAINS)
def test_greedy_selection(tree, loss, utility):
    for seed in SEEDS:
        model, rows = fit(seed, tree, loss)
        order = np.random.default_rng(seed).permutation(len(rows))
        expected = reference.select_greedily(average(model, rows), 3, order, GAINS[utility])
        selection = model.select(rows, utility, 3, method="tree", seed=seed)
        np.testing.assert_array_equal(selection.labels, expected)
        assert selection.method == "greedy"
        assert selection.visited.shape == (len(rows),)
        assert (selection.visited > 0).all()
        assert selection.expected == pytest.approx(
            tw.expected_utility(average(model, rows), utility, selection, expectation="semi"), rel=1e-5
        )


@pytest.mark.parametrize("utility", ["macro-jaccard", "macro-gmean", "macro-f1", "0.5*precision + 0.5*coverage"])
def test_greedy_selection_by_other_utilities(utility):
    model, rows = fit(5, m=11)
    every = model.predict_proba(rows, top=11)
    positives = np.maximum(3.0, every.sum(axis=0))
    on_tree = model.select(rows, utility, 2, method="tree", condition_positives=positives, seed=1)
    options = {"expectation": "semi", "condition_positives": positives, "seed": 1}
    expected = tw.select(every, utility, 2, method="greedy", **options)  # ranked by the gain at the end
    np.testing.assert_array_equal(np.sort(on_tree.labels), np.sort(expected.labels))


def test_greedy_selection_by_a_formula():
    model, rows = fit(6, m=11)
    utility = tw.utilities.Utility.from_formula(lambda t, q, p: t / (q + p - t) if q + p - t > 0 else 0.0)
    positives = np.full(11, 3.0)
    selection = model.select(rows, utility, 2, method="tree", condition_positives=positives)
    order = np.random.default_rng(0).permutation(len(rows))
    expected = reference.select_greedily(average(model, rows), 2, order, reference.jaccard_gain(3.0))
    np.testing.assert_array_equal(selection.labels, expected)


LINEAR = (
    "precision",
    "ps-precision",
    "power-law",
    "log",
    "hamming",
    "macro-recall",
    "0.5*precision + 0.5*macro-recall",
)


@pytest.mark.parametrize("n_trees", [1, 3])
@pytest.mark.parametrize("utility", LINEAR)
def test_linear_utilities_are_maximised_exactly(utility, n_trees):
    model, rows = fit(7, "random", m=11, n_trees=n_trees)
    every = model.predict_proba(rows, top=11).astype(np.float64)
    positives = np.maximum(model.priors_.probabilities * len(rows), every.sum(axis=0))
    selection = model.select(rows, utility, 3, condition_positives=positives)
    options = {"priors": model.priors_, "condition_positives": positives, "expectation": "semi"}
    expected = tw.select(every, utility, 3, method="instance", **options)
    np.testing.assert_array_equal(selection.labels, expected.labels)
    assert selection.expected == pytest.approx(expected.expected, rel=1e-5)
    assert selection.method == "instance"


@pytest.mark.parametrize("utility", ["macro-recall", "macro-f1", "macro-jaccard", "macro-balanced-accuracy"])
def test_values_stay_in_range_where_priors_promise_too_few_positives(utility):
    model, rows = fit(7, m=11)
    selection = model.select(rows, utility, 5, method="tree", condition_positives=np.full(11, 0.01))
    assert 0 < selection.expected <= 1


def test_others_come_from_a_shortlist():
    model, rows = fit(8)
    selection = model.select(rows, "macro-f1", 3, top=6)
    expected = tw.select(model.predict_proba(rows, top=6), "macro-f1", 3, priors=model.priors_)
    np.testing.assert_array_equal(selection.labels, expected.labels)
    assert selection.visited is None
    assert isinstance(selection, tw.Selection)
    ascent = model.select(rows, "precision", 3, method="ascent", max_passes=2)
    assert ascent.method == "ascent"


def test_greedy_on_several_trees_is_refused():
    model, rows = fit(0, n_trees=2)
    with pytest.raises(InputError, match="method='tree' with 2 trees needs a utility that is linear"):
        model.select(rows, "coverage", 2, method="tree")


def test_options_that_the_tree_does_not_know():
    model, rows = fit(0)
    with pytest.raises(InputError, match="method='tree' accepts only the options condition_positives, seed"):
        model.select(rows, "coverage", 2, method="tree", tolerance=0.1)


def test_gains_that_fall():
    model, rows = fit(0, m=11)
    utility = tw.utilities.WeightedInstance(0.0, 1.0, 0.0, 0.5)  # rewards false positives more than true ones
    with pytest.raises(InputError, match="method='tree' needs a utility whose gain increases with the probability"):
        model.select(rows, utility, 2, method="tree")
    every = model.predict_proba(rows, top=11)
    shortlist = model.select(rows, utility, 2, top=11)
    np.testing.assert_array_equal(shortlist.labels, tw.select(every, utility, 2).labels)
