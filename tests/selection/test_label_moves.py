"""Shortcuts of label passes: labels without news, passes that end early, states counted from earlier ones."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.kernels.label_ascent import make_visits
from tailwise.selection import label_moves
from tailwise.selection.bca import start
from tailwise.selection.label_moves import GROUPS, _LabelMoves, may_move_far
from tailwise.selection.observer import Observer
from tailwise.selection.problem import Request
from tailwise.selection.resolve import resolve

MATRIX = zipf_candidates(300, 200, 20)


def make_problem(**options):
    return resolve(Request(MATRIX, "macro-f1", 3, method="global", fill="none", **options))


@pytest.fixture
def groups(monkeypatch):
    """The groups of labels that made proposals."""
    seen, propose = [], _LabelMoves._propose

    def spy(self, worth, state, positions, held, labels):
        seen.append(labels)
        return propose(self, worth, state, positions, held, labels)

    monkeypatch.setattr(_LabelMoves, "_propose", spy)
    return seen


# News


# In the first two, labels that heard no news at all would end elsewhere.
@pytest.mark.parametrize(
    ("utility", "expectation", "seed"),
    [("macro-precision", "semi", 3), ("coverage", "exact", 1), ("macro-f1", "semi", 0), ("macro-f1", "exact", 0)],
)
def test_labels_without_news_would_not_have_moved(monkeypatch, utility, expectation, seed):
    matrix = zipf_candidates(300, 200, 20, seed=seed)
    options = {"method": "global", "expectation": expectation, "init": "random", "seed": seed, "fill": "none"}
    monkeypatch.setattr(label_moves, "NEWS_SHARE", 0.0)  # the least change is news
    monkeypatch.setattr(label_moves, "LEAST_SHARE", 0.0)  # passes go on while anything is gained
    with_news = tw.select(matrix, utility, 3, tolerance=0, **options)
    propose = _LabelMoves._propose

    def forget_and_propose(self, worth, state, positions, held, labels):
        self._visits = make_visits(self._sizes.size)
        return propose(self, worth, state, positions, held, labels)

    monkeypatch.setattr(_LabelMoves, "_propose", forget_and_propose)
    looking_again = tw.select(matrix, utility, 3, tolerance=0, **options)
    assert with_news.labels.tobytes() == looking_again.labels.tobytes()
    assert with_news.history == looking_again.history


@pytest.mark.parametrize(
    ("noted", "now", "is_news"),
    [
        (-np.inf, 0.5, True),
        (0.5, -np.inf, True),
        (-np.inf, -np.inf, False),
        (np.inf, np.inf, False),
        (0.0, 1e-9, True),
        (0.0, 0.0, False),
        (0.5, 0.5001, False),
        (0.5, 0.6, True),
        (0.5, -0.5, True),
    ],
)
def test_what_is_news(noted, now, is_news):
    problem = make_problem()
    moves = _LabelMoves(problem, start(problem, None, Observer()).state, move_far=True)
    for each in (noted, now):
        moves._prices.weakest[:], moves._prices.other[:] = 1.0, each
        before = moves._prices.changed.copy()
        moves._note_changes()
    assert (moves._prices.changed != before).all() == (moves._prices.changed != before).any() == is_news


# The sample that a pass begins with


@pytest.mark.parametrize(("least_sample", "n_groups"), [(0, 1), (10**9, GROUPS)])
def test_a_pass_that_gains_nothing_ends_after_its_first_group(monkeypatch, groups, least_sample, n_groups):
    problem = make_problem(expectation="semi", init=tw.select(MATRIX, "macro-f1", 3, expectation="semi", fill="none"))
    outcome = start(problem, None, Observer())
    moves = _LabelMoves(problem, outcome.state, move_far=True)
    while moves.run_pass(outcome.state, outcome.positions, moves.every, Observer()):
        pass
    groups.clear()
    monkeypatch.setattr(label_moves, "LEAST_SAMPLE", least_sample)
    assert moves.run_pass(outcome.state, outcome.positions, moves.every, Observer()) == 0
    assert len(groups) == n_groups
    assert moves.pays == (n_groups > 1)


def test_a_pass_that_gains_goes_on_after_its_first_group(monkeypatch, groups):
    monkeypatch.setattr(label_moves, "LEAST_SAMPLE", 0)
    problem = make_problem(expectation="semi", init="random")
    outcome = start(problem, None, Observer())
    moves = _LabelMoves(problem, outcome.state, move_far=True)
    assert moves.run_pass(outcome.state, outcome.positions, moves.every, Observer()) > 0
    assert (len(groups), moves.pays) == (GROUPS, True)


# States


def context_of(name):
    """Nothing, or what was decided for another batch."""
    if name == "alone":
        return None
    other = zipf_candidates(80, 200, 20, seed=9)
    return tw.Totals.of(tw.select(other, "macro-f1", 3), other)


@pytest.mark.parametrize("context", ["alone", "with a context"])
@pytest.mark.parametrize("utility", ["macro-f1", "macro-jaccard", "macro-recall", "macro-gmean", "coverage"])
def test_a_state_counted_from_an_earlier_one_is_the_same(utility, context):
    request = Request(MATRIX, utility, 3, expectation="exact", fill="none", init="random", context=context_of(context))
    expectation, rng = (problem := resolve(request)).expectation, np.random.default_rng(0)
    positions = start(problem, None, Observer()).positions
    state = expectation.count(positions)
    for n_moved in (0, 20, 300):  # some labels come to have many more instances than their nodes were placed for
        positions[:n_moved] = np.sort(rng.permuted(np.tile(np.arange(20, dtype=np.int32), (n_moved, 1)), axis=1)[:, :3])
        fresh = expectation.count(positions)
        state = expectation.recount(state, positions)
        np.testing.assert_allclose(state.counts, fresh.counts, rtol=1e-12, atol=1e-12)
        assert expectation.value(state) == pytest.approx(expectation.value(fresh), rel=1e-6)


# Sizes of sets


@pytest.mark.parametrize("utility", ["macro-f1", "macro-recall", "macro-jaccard", "macro-balanced-accuracy"])
def test_worth_by_the_nodes_of_a_state_finds_no_less(monkeypatch, utility):
    """Near searches by the state's own nodes end about as high as searches over all sizes by nodes of their own."""
    matrix = zipf_candidates(200, 30, 15)
    monkeypatch.setattr(label_moves, "FAR_SHARE", 1.0)
    near = tw.select(matrix, utility, 3, method="global", expectation="exact", fill="none")
    monkeypatch.setattr(label_moves, "FAR_SHARE", -1.0)
    anywhere = tw.select(matrix, utility, 3, method="global", expectation="exact", fill="none")
    assert near.expected == pytest.approx(anywhere.expected, rel=2e-4)
    rows = tw.select(matrix, utility, 3, method="ascent", expectation="exact", fill="none")
    assert near.expected >= rows.expected * (1 - 1e-9)


def test_deep_tails_are_searched_in_all_sizes():
    problem = resolve(Request(zipf_candidates(60, 200, 20), "macro-f1", 3, method="global", fill="none"))
    outcome = start(problem, None, Observer())
    state = problem.expectation.count(outcome.positions)
    assert may_move_far(problem, state)
