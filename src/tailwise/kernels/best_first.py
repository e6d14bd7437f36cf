"""Search for the labels of largest gain, best node first (paper, appendix on inference with PLTs, Algorithm 9).

A line with slope >= 0 lies above the gain of each label: slope * eta + offset. A node of probability eta bounds what
lies below it by (largest slope) * eta + (largest offset), as no label is more probable than the nodes above it. Where
there is an terms, state, the gain is what it says, and the line only a bound; otherwise the line is the gain.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step
from tailwise.kernels.heaps import Best, Waiting, offer, pop, push, sort_best
from tailwise.kernels.label_state import call_gain_of
from tailwise.kernels.node_weights import Weights, score_children

# How a score becomes the probability of a child given its parent.
LOGISTIC, STEEP = 0, 1
# The margin 1 that a squared hinge asks for is a near certainty, its -1 a rare thing but none to be ruled out.
STEEPNESS, SHIFT = 3.0, 1.0
# Scores are compared with a bar instead of being turned into probabilities; rounding must not hide one at the bar.
SLACK = 1e-5
NO_LABEL = -1
ROOT = 0


@bundle
class Branches(NamedTuple):
    """The tree: nodes level by level, so that the children of a node follow those of the node before."""

    first_children: np.ndarray  # int64 (nodes + 1,)
    labels: np.ndarray  # int32 (nodes,): -1 for a node that is no leaf


@bundle
class Lines(NamedTuple):
    """A bound of each label's gain, and the largest slope and offset below each node."""

    slopes: np.ndarray  # float32 or float64 (m,)
    offsets: np.ndarray  # float32 or float64 (m,)
    node_slopes: np.ndarray  # float64 (nodes,)
    node_offsets: np.ndarray  # float64 (nodes,)


@bundle
class Model(NamedTuple):
    """A tree and what its nodes learned."""

    branches: Branches
    weights: Weights
    link: int


@bundle
class Room(NamedTuple):
    """What one thread needs to search."""

    best: Best
    waiting: Waiting
    kept: Best  # the nodes of a level that a beam keeps
    scores: np.ndarray  # float32 (most children,)
    found: np.ndarray  # int64 (longest row, 2)


@step
def probability_of(score, link):
    """Probability of a node given its parent."""
    logit = np.float64(score) if link == LOGISTIC else STEEPNESS * score + SHIFT
    return 1.0 / (1.0 + np.exp(-logit))


@step
def least_score(probability, link):
    """A score that is not above any with at least this probability."""
    if probability <= 0.0:
        return -np.inf
    logit = np.log(probability / (1.0 - probability)) if probability < 1.0 else 30.0
    score = logit if link == LOGISTIC else (logit - SHIFT) / STEEPNESS
    return score - SLACK * (1.0 + abs(score))


@step
def bar_below(lines, node, probability, link, worst):
    """A score that a child must have for anything below it to reach the gain `worst`; infinity if none can."""
    slope = lines.node_slopes[node] * probability
    missing = worst - lines.node_offsets[node]
    if slope <= 0.0:
        return -np.inf if missing <= 0.0 else np.inf
    if missing > slope:
        return np.inf
    return least_score(missing / slope * (1.0 - 1e-12), link)


@step
def score_row(model, node, matrix, i, room):
    """Scores of the children of a node for instance i; returns the first child and their number."""
    first = model.branches.first_children[node]
    n_children = model.branches.first_children[node + 1] - first
    for c in range(n_children):
        room.scores[c] = model.weights.biases[first + c]
    score_children(model.weights, node, matrix, i, room.scores, room.found)
    return first, n_children


@step
def offer_label(lines, terms, state, j, eta, best, n_best, k):
    """Take a label in if it is among the k best; returns how many there are."""
    gain = lines.slopes[j] * eta + lines.offsets[j]
    if state is not None and (n_best < k or gain >= best.gains[0]):
        gain = call_gain_of(terms, state, j, eta)
    return offer(best, n_best, k, gain, j, eta)


@step
def search_row(model, lines, terms, state, matrix, i, k, room):
    """The k labels of largest gain for instance i, in room.best; returns how many were found and nodes visited."""
    labels, best, waiting = model.branches.labels, room.best, room.waiting
    push(waiting, 0, np.inf, ROOT, 1.0)
    n_waiting, n_best, n_visited = 1, 0, 0
    while n_waiting > 0:
        pop(waiting, n_waiting)
        n_waiting -= 1
        node, probability = waiting.nodes[n_waiting], waiting.probabilities[n_waiting]
        bar = -np.inf
        if n_best == k:
            if waiting.bounds[n_waiting] < best.gains[0]:
                break
            bar = bar_below(lines, node, probability, model.link, best.gains[0])
            if bar == np.inf:
                continue
        first, n_children = score_row(model, node, matrix, i, room)
        n_visited += n_children
        for c in range(n_children):
            if room.scores[c] < bar:
                continue
            eta = probability * probability_of(room.scores[c], model.link)
            j = labels[first + c]
            if j != NO_LABEL:
                n_best = offer_label(lines, terms, state, j, eta, best, n_best, k)
            else:
                bound = lines.node_slopes[first + c] * eta + lines.node_offsets[first + c]
                if n_best < k or bound >= best.gains[0]:
                    push(waiting, n_waiting, bound, first + c, eta)
                    n_waiting += 1
    sort_best(best, n_best)
    return n_best, n_visited


@step
def search_row_with_beam(model, lines, terms, state, matrix, i, k, beam, room):
    """As search_row, but of each level only the `beam` nodes of largest bound are followed."""
    labels, best, kept, waiting = model.branches.labels, room.best, room.kept, room.waiting
    waiting.nodes[0], waiting.probabilities[0] = ROOT, 1.0
    n_level, n_best, n_visited = 1, 0, 0
    while n_level > 0:
        n_kept = 0
        for x in range(n_level):
            probability = waiting.probabilities[x]
            first, n_children = score_row(model, waiting.nodes[x], matrix, i, room)
            n_visited += n_children
            for c in range(n_children):
                eta = probability * probability_of(room.scores[c], model.link)
                j = labels[first + c]
                if j != NO_LABEL:
                    n_best = offer_label(lines, terms, state, j, eta, best, n_best, k)
                else:
                    bound = lines.node_slopes[first + c] * eta + lines.node_offsets[first + c]
                    n_kept = offer(kept, n_kept, beam, bound, first + c, eta)
        for x in range(n_kept):
            waiting.nodes[x], waiting.probabilities[x] = kept.items[x], kept.probabilities[x]
        n_level = n_kept
    sort_best(best, n_best)
    return n_best, n_visited


@kernel
def search(model, lines, matrix, k, beam, room, labels, probabilities, visited, first, last):
    """The k labels of largest gain for the instances from first to last: exactly where beam is 0.

    Shapes: matrix with n rows; labels int32, probabilities float64 (n, k), best first; visited int64 (n,).
    Writes: rows first to last of labels (-1 where there are fewer than k), probabilities, visited; room.
    """
    for i in range(first, last):
        if beam > 0:
            found, visited[i] = search_row_with_beam(model, lines, None, None, matrix, i, k, beam, room)
        else:
            found, visited[i] = search_row(model, lines, None, None, matrix, i, k, room)
        for x in range(k):
            labels[i, x] = room.best.items[x] if x < found else NO_LABEL
            probabilities[i, x] = room.best.probabilities[x] if x < found else 0.0
