"""The classifiers of the nodes: the optimum of their loss, on the instances that reach their parent."""

import numpy as np
import pytest
from reference import label_tree as reference

import tailwise as tw

pytestmark = pytest.mark.boundscheck

LOSSES = ("logistic", "squared-hinge")
every_loss = pytest.mark.parametrize("loss", LOSSES)
TO_THE_END = {"tolerance": 1e-6, "max_epochs": 2000, "threshold": 0.0}


def fit(features, truth, **options):
    return tw.LabelTree(**{"arity": 3, "leaf_size": 3, **TO_THE_END, **options}).fit(features, truth)


@every_loss
@pytest.mark.parametrize(("cost", "positive_weight"), [(0.3, 1.0), (1.0, 1.0), (10.0, 1.0), (1.0, 5.0), (2.0, 0.5)])
def test_every_node_is_trained_to_the_optimum(loss, cost, positive_weight):
    features, truth = reference.random_data(1)
    truth[0] = 1  # every label has a positive
    model = fit(features, truth, loss=loss, C=cost, positive_weight=positive_weight)
    (fitted,) = model.trees_
    weights, biases = reference.dense_weights(fitted, features.shape[1])
    parents = reference.parents_of(fitted.tree)
    for node in range(1, fitted.tree.n_nodes):
        reached = range(len(truth))
        if parents[node] > 0:
            reached = reference.instances_below(fitted.tree, parents[node], truth)
        is_positive = np.isin(reached, reference.instances_below(fitted.tree, node, truth))
        expected = reference.train_classifier(features[reached], is_positive, loss, cost, positive_weight)
        np.testing.assert_allclose(np.append(weights[node], biases[node]), expected, atol=5e-3)


@every_loss
def test_a_loose_tolerance_comes_close(loss):
    features, truth = reference.random_data(2, n=200)
    loose = fit(features, truth, loss=loss, C=1.0, tolerance=0.1, max_epochs=20)
    close = fit(features, truth, loss=loss, C=1.0)
    for node in range(1, 4):
        values = []
        for model in (loose, close):
            weights, biases = reference.dense_weights(model.trees_[0], features.shape[1])
            signs = np.full(len(truth), -1.0)
            signs[reference.instances_below(model.trees_[0].tree, node, truth)] = 1
            with_bias = np.hstack([features, np.ones((len(truth), 1))])
            point = np.append(weights[node], biases[node])
            values.append(reference.loss_of(point, with_bias, signs, loss, np.full(len(truth), model.C)))
        assert values[1] <= values[0] <= 1.1 * values[1]


@every_loss
@pytest.mark.parametrize("m", [1, 2, 15, 16, 17, 40])
def test_any_number_of_siblings(loss, m):
    features, truth = reference.random_data(3, m=m)
    truth[0] = 1  # every label has a positive
    model = fit(features, truth, loss=loss, C=2.0, arity=2, leaf_size=100)
    weights, biases = reference.dense_weights(model.trees_[0], features.shape[1])
    for j in {0, m // 2, m - 1}:
        expected = reference.train_classifier(features, truth[:, j] == 1, loss, 2.0)
        leaf = model.trees_[0].tree.leaves[j]
        np.testing.assert_allclose(np.append(weights[leaf], biases[leaf]), expected, atol=5e-3)


@every_loss
def test_weights_below_the_threshold_are_dropped(loss):
    features, truth = reference.random_data(4)
    whole = fit(features, truth, loss=loss).trees_[0]
    cut = fit(features, truth, loss=loss, threshold=0.7).trees_[0]
    before, biases = reference.dense_weights(whole, 12)
    after, same_biases = reference.dense_weights(cut, 12)
    assert 0 < (after != 0).sum() < (before != 0).sum()
    np.testing.assert_array_equal(after, np.where(np.abs(before) >= np.float32(0.7), before, 0))
    np.testing.assert_array_equal(same_biases, biases)
    assert cut.weights.values.size == (after != 0).sum()


def summarise(model):
    return [array.tobytes() for fitted in model.trees_ for array in (*fitted.model().branches, *fitted.weights)]


@every_loss
def test_the_same_bytes_on_any_number_of_threads(loss):
    features, truth = reference.random_data(5, n=300, m=120)
    options = {"loss": loss, "arity": 5, "leaf_size": 7, "tolerance": 0.1, "max_epochs": 5}
    one, *others = (summarise(fit(features, truth, n_jobs=jobs, **options)) for jobs in (1, 2, 3, 8, -1))
    assert others == [one] * 4


def test_the_seed_makes_the_model():
    features, truth = reference.random_data(6, m=50)
    options = {"tolerance": 0.1, "max_epochs": 3}
    first, again, other = (summarise(fit(features, truth, random_state=seed, **options)) for seed in (0, 0, 1))
    assert first == again != other


@every_loss
def test_labels_never_seen_get_a_small_probability(loss):
    features, truth = reference.random_data(7)
    truth[:, [2, 5]] = 0
    model = fit(features, truth, tree=[9, 9, 9, 9, 10, 10, 10, 10, 10, 11, 11, -1], loss=loss)
    probabilities = reference.all_probabilities(model.trees_[0], features, loss)
    assert (probabilities[:, [2, 5]] > 0).all()
    tree = model.trees_[0].tree
    of_nodes = model.trees_[0].weights.biases
    for j in (2, 5):
        n_reached = len(reference.instances_below(tree, tree.parents[tree.leaves[j]], truth))
        score = of_nodes[tree.leaves[j]]
        assert reference.node_probability(score, loss) == pytest.approx(1 / (n_reached + 2), rel=1e-5)


@every_loss
def test_nothing_seen_at_all(loss):
    features, truth = reference.random_data(8)
    model = fit(features, np.zeros_like(truth), loss=loss, leaf_size=2)
    probabilities = model.predict_proba(features, top=9).toarray()
    assert (probabilities > 0).all()
    assert probabilities.max() < 0.05
