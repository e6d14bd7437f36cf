"""Workers place nodes themselves: with the same bytes as the driver, from a fraction of what these take."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from engines.clusters import distributed, open_cluster

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.engines import Dask, dask_messages
from tailwise.engines.dask_messages import (
    Copy,
    Placed,
    Snapshot,
    own_copy,
    size_of,
    size_of_pickled,
    without_placing,
)
from tailwise.kernels.row_ascent import make_buffers
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve

UTILITIES = [
    "macro-f1",
    "macro-jaccard",
    "macro-balanced-accuracy",
    "0.5*macro-f1 + 0.3*macro-jaccard + 0.2*coverage",
    "0.6*macro-recall + 0.4*macro-f1",
]


def sent(message):
    """As it is after it was sent to another process: read-only."""
    return pickle.loads(pickle.dumps(message))


def everything(state):
    nodes = state.nodes
    arrays = state.counts, state.slopes, state.offsets, nodes.linear, nodes.product, nodes.largest, nodes.placed_for
    return [each.tobytes() for each in arrays]


@pytest.fixture(params=UTILITIES)
def problem(request):
    utility, batches = request.param, [zipf_candidates(300, 80, 20, seed=seed).astype(np.float32) for seed in (1, 2)]
    context = None if "jaccard" in utility else tw.select(batches[1], utility, 2, expectation="exact").totals
    return resolve(Request(batches[0], utility, 3, expectation="exact", context=context, workers=1))


def random_positions(problem, size, seed):
    rows = problem.candidates.rows
    draws = np.random.default_rng(seed).random((rows.indptr.size - 1, int(np.diff(rows.indptr).max())))
    draws[np.arange(draws.shape[1]) >= np.diff(rows.indptr)[:, None]] = 2.0
    return np.argsort(draws, axis=1)[:, :size].astype(np.int32)


def test_a_snapshot(problem):
    state = problem.expectation.count(random_positions(problem, 3, 0))
    message = without_placing(state)
    found = dask_messages._with_placing(sent(message), sent(problem.expectation.recipe))
    assert everything(found) == everything(state)
    assert found.nodes.linear.flags.writeable
    if "jaccard" not in str(problem.utility):
        assert size_of(message.nodes) < 0.6 * size_of(state.nodes)


def test_nodes_that_are_placed_anew(problem, monkeypatch):
    """The driver's `refit`, after the selection became very different from what nodes were placed for."""
    monkeypatch.setattr(dask_messages, "_worker", lambda: SimpleNamespace(state=SimpleNamespace(nthreads=2)))
    expectation, positions = problem.expectation, random_positions(problem, 12, 0)
    positions[np.arange(300) % 7 > 0] = -1
    state = expectation.count(positions)
    copy = Copy(
        *((0, 0), sent(expectation.recipe), problem.candidates.rows, expectation.terms, problem.rules.slots),
        *(positions, own_copy(state), make_buffers(80, 80, 1)[1]),
    )
    copy.positions = more = random_positions(problem, 12, 5)
    for each in (state, copy.state):
        each.counts[:] = expectation.count(more).counts
    before = state.nodes.placed_for.copy()
    expectation.refit(state, more)
    labels = np.flatnonzero(before != state.nodes.placed_for)
    assert labels.size > 5
    news = Placed.of(state.nodes, labels)
    dask_messages._renew(copy, sent(news))
    copy.state.nodes.placed_for[:] = state.nodes.placed_for  # which only the driver keeps
    assert everything(copy.state) == everything(state)
    nodes = state.nodes
    assert size_of(news) < 0.7 * (nodes.linear[labels].nbytes + nodes.product[labels].nbytes)


def test_what_is_sent_of_the_candidates(problem):
    """The sizes of labels, however many candidates they have."""
    recipe = problem.expectation.recipe
    assert sent(recipe).placing._candidates.by_label.largest.size == 0
    m = problem.candidates.n_labels
    assert size_of_pickled(Snapshot((), recipe, *[np.zeros(0)] * 3)) <= 8 * m * 20


@pytest.mark.parametrize("fails", [False, True], ids=["all are reached", "one is not"])
def test_nodes_that_are_placed_anew_on_a_cluster(tmp_path, monkeypatch, fails):
    """From a start that is far from where it leads, so that nodes are placed anew after passes."""
    probabilities, sent, told = zipf_candidates(2000, 400, 90, seed=2).astype(np.float32), [], []
    tw.save(tmp_path / "a.store", probabilities)
    send = Dask._send
    monkeypatch.setattr(Dask, "_send", lambda self, *rest: sent.append(1) or send(self, *rest))
    call = {"expectation": "exact", "method": "ascent", "init": np.tile(np.arange(3), (2000, 1)), "tolerance": 0.0}
    wanted = tw.select(probabilities, "macro-f1", 3, **call, workers=1)
    with open_cluster(2) as cluster, distributed.Client(cluster) as client:
        scatter = client.scatter

        def note(messages, **more):
            if isinstance(messages[0], Placed):
                told.append(1)
                if fails and len(told) == 2:
                    raise TimeoutError
            return scatter(messages, **more)

        monkeypatch.setattr(client, "scatter", note)
        found = tw.select(tmp_path / "a.store", "macro-f1", 3, **call, engine=Dask(client))
    assert found.labels.tobytes() == wanted.labels.tobytes()
    assert found.history == wanted.history
    assert len(told) >= 2
    assert len(sent) == (4 if fails else 2)  # everything, to both workers
