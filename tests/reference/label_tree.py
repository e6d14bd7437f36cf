"""Label trees the slow way: dense weights, every path multiplied out, every label scored, classifiers by a solver."""

import numpy as np
from scipy.optimize import minimize


def random_data(seed, n=40, n_features=12, m=9, density=0.4, labels=0.25):
    """Dense features, rows of length 1, and a 0/1 label matrix in which features say something about labels."""
    random = np.random.default_rng(seed)
    features = random.random((n, n_features)) * (random.random((n, n_features)) < density)
    features /= np.maximum(np.linalg.norm(features, axis=1, keepdims=True), 1e-9)
    scores = features @ random.normal(size=(n_features, m)) + random.normal(scale=0.2, size=(n, m))
    return features.astype(np.float32), (scores > np.quantile(scores, 1 - labels)).astype(np.int64)


def parents_of(tree):
    """The parent of every node, -1 for the root."""
    parents = [-1] * tree.n_nodes
    for node in range(tree.n_nodes):
        for child in range(tree.first_children[node], tree.first_children[node + 1]):
            parents[child] = node
    return parents


def path_to(parents, node):
    """The nodes from below the root to a node."""
    path = []
    while parents[node] >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def labels_below(tree, node):
    """All labels below a node, itself included."""
    if tree.labels[node] >= 0:
        return {int(tree.labels[node])}
    children = range(tree.first_children[node], tree.first_children[node + 1])
    return set().union(*(labels_below(tree, child) for child in children))


def instances_below(tree, node, truth):
    """The instances with a label below a node."""
    labels = sorted(labels_below(tree, node))
    return [i for i in range(len(truth)) if truth[i][labels].any()]


def dense_weights(fitted, n_features):
    """Weights (nodes, features) and biases (nodes,) of all nodes, from the tables of their parents."""
    tree, tables = fitted.tree, fitted.weights
    weights = np.zeros((tree.n_nodes, n_features))
    for parent in range(tree.n_nodes):
        slots = tables.slots[tables.slot_starts[parent] : tables.slot_starts[parent + 1]]
        for slot in range(len(slots) - 1):
            feature, first, last = slots[slot][0], slots[slot][1], slots[slot + 1][1]
            for entry in range(tables.entry_starts[parent] + first, tables.entry_starts[parent] + last):
                weights[tree.first_children[parent] + tables.children[entry], feature] = tables.values[entry]
    return weights, np.array(tables.biases, dtype=np.float64)


def node_probability(score, loss):
    """Probability of a node given its parent."""
    return 1 / (1 + np.exp(-score if loss == "logistic" else -(3 * score + 1)))


def all_probabilities(fitted, features, loss):
    """Probability of every label for every row, as the product along its path."""
    features = np.asarray(features, dtype=np.float64)
    weights, biases = dense_weights(fitted, features.shape[1])
    of_nodes = node_probability(features @ weights.T + biases, loss)
    parents, tree = parents_of(fitted.tree), fitted.tree
    result = np.ones((features.shape[0], tree.n_labels))
    for node in range(tree.n_nodes):
        if tree.labels[node] >= 0:
            for above in path_to(parents, node):
                result[:, tree.labels[node]] *= of_nodes[:, above]
    return result


def best_labels(gains, k):
    """The k labels of largest gain in each row, ties by the smaller label."""
    return np.array([sorted(range(len(row)), key=lambda j: (-row[j], j))[:k] for row in gains])


def loss_of(weights, features, signs, loss, costs):
    """Half the squared length of the weights, and the loss of every instance at its cost."""
    margins = signs * (features @ weights)
    each = np.logaddexp(0, -margins) if loss == "logistic" else np.maximum(0, 1 - margins) ** 2
    return weights @ weights / 2 + costs @ each


def train_classifier(features, is_positive, loss, cost, positive_weight=1.0):
    """Weights of least loss, the last of them the bias, by a general solver."""
    features = np.hstack([np.asarray(features, dtype=np.float64), np.ones((len(features), 1))])
    signs = np.where(is_positive, 1.0, -1.0)
    costs = cost * np.where(is_positive, positive_weight, 1.0)

    def gradient(weights):
        margins = signs * (features @ weights)
        slopes = -1 / (1 + np.exp(margins)) if loss == "logistic" else -2 * np.maximum(0, 1 - margins)
        return weights + features.T @ (costs * slopes * signs)

    found = minimize(
        loss_of,
        np.zeros(features.shape[1]),
        (features, signs, loss, costs),
        jac=lambda weights, *_: gradient(weights),
        method="BFGS",
        options={"gtol": 1e-9, "maxiter": 10_000},
    )
    return found.x


def select_greedily(probabilities, k, order, gain):
    """Each instance in turn takes its k labels of largest gain(t, q, eta) at the totals of those before it."""
    n, m = probabilities.shape
    history = [[] for _ in range(m)]  # probabilities of the instances that each label was selected for
    chosen = np.zeros((n, k), dtype=int)
    for i in order:
        gains = [[gain(history[j], probabilities[i, j]) for j in range(m)]]
        chosen[i] = best_labels(gains, k)[0]
        for j in chosen[i]:
            history[j].append(probabilities[i, j])
    return chosen


def precision_gain(history, eta):
    before = sum(history) / len(history) if history else 0.0
    return (sum(history) + eta) / (len(history) + 1) - before


def coverage_gain(history, eta):
    # A certain hit leaves a trace of doubt, so that the next certain one still counts a little.
    return eta * np.prod([1 - min(other, 1 - 2.0**-53) for other in history])


def jaccard_gain(p):
    """Of a label with p positives."""

    def value(t, q):
        return t / (q + p - t) if q + p - t > 0 else 0.0

    return lambda history, eta: value(sum(history) + eta, len(history) + 1) - value(sum(history), len(history))
