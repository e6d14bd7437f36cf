"""Binary heaps in arrays: the best few that were found, and the nodes that wait."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, step


@bundle
class Best(NamedTuple):
    """The best found so far, the worst of them on top; equal gains are ordered by the smaller number."""

    gains: np.ndarray  # float64 (k,)
    items: np.ndarray  # int32 (k,): labels or nodes
    probabilities: np.ndarray  # float64 (k,)


@bundle
class Waiting(NamedTuple):
    """Nodes whose children are still to be seen, the one of largest bound on top."""

    bounds: np.ndarray  # float64 (any,)
    nodes: np.ndarray  # int32 (any,)
    probabilities: np.ndarray  # float64 (any,)


@step
def is_worse(best, x, gain, item):
    """Whether entry x is worse than this one."""
    return best.gains[x] < gain or (best.gains[x] == gain and best.items[x] > item)


@step
def put_best(best, x, gain, item, probability):
    best.gains[x], best.items[x], best.probabilities[x] = gain, item, probability


@step
def move_best(best, to, x):
    put_best(best, to, best.gains[x], best.items[x], best.probabilities[x])


@step
def sink_best(best, size, gain, item, probability):
    """Put an entry in the place of the worst, and let it sink to where it belongs among `size`."""
    x = 0
    while 2 * x + 1 < size:
        child = 2 * x + 1
        if child + 1 < size and is_worse(best, child + 1, best.gains[child], best.items[child]):
            child += 1
        if not is_worse(best, child, gain, item):
            break
        move_best(best, x, child)
        x = child
    put_best(best, x, gain, item, probability)


@step
def offer(best, size, room, gain, item, probability):
    """Take an entry in, if there is room or it is better than the worst; returns the new size."""
    if size < room:
        x = size
        while x > 0 and not is_worse(best, (x - 1) // 2, gain, item):
            move_best(best, x, (x - 1) // 2)
            x = (x - 1) // 2
        put_best(best, x, gain, item, probability)
        return size + 1
    if is_worse(best, 0, gain, item):
        sink_best(best, size, gain, item, probability)
    return size


@step
def sort_best(best, size):
    """Order the entries, the best first."""
    for last in range(size - 1, 0, -1):
        gain, item, probability = best.gains[last], best.items[last], best.probabilities[last]
        move_best(best, last, 0)
        sink_best(best, last, gain, item, probability)


@step
def put_waiting(waiting, x, bound, node, probability):
    waiting.bounds[x], waiting.nodes[x], waiting.probabilities[x] = bound, node, probability


@step
def move_waiting(waiting, to, x):
    put_waiting(waiting, to, waiting.bounds[x], waiting.nodes[x], waiting.probabilities[x])


@step
def push(waiting, size, bound, node, probability):
    """Add a node to the `size` that wait."""
    x = size
    while x > 0 and waiting.bounds[(x - 1) // 2] < bound:
        move_waiting(waiting, x, (x - 1) // 2)
        x = (x - 1) // 2
    put_waiting(waiting, x, bound, node, probability)


@step
def pop(waiting, size):
    """Take out the node of largest bound; it stands at position size - 1 afterwards."""
    last = size - 1
    bound, node, probability = waiting.bounds[last], waiting.nodes[last], waiting.probabilities[last]
    move_waiting(waiting, last, 0)
    x = 0
    while 2 * x + 1 < last:
        child = 2 * x + 1
        if child + 1 < last and waiting.bounds[child + 1] > waiting.bounds[child]:
            child += 1
        if waiting.bounds[child] <= bound:
            break
        move_waiting(waiting, x, child)
        x = child
    if last > 0:
        put_waiting(waiting, x, bound, node, probability)
