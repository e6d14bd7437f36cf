"""Observers are told of every pass and may stop the search; time limits; where a search starts; one engine for all."""

import itertools

import numpy as np
import pytest
from reference import selection as reference

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.engines import Engine, Threads
from tailwise.errors import InputError
from tailwise.selection.bca import visiting_order

MATRIX = reference.random_matrix(3, 60, 20, 0.6)
LARGE = zipf_candidates(3_000, 500, 40)


@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_every_pass_is_reported(expectation):
    told = []
    found = tw.select(LARGE, "macro-f1", 3, expectation=expectation, on_pass=told.append)
    own = [each for each in told if each.stage in ("rows", "labels")]
    assert own[-1].history == found.history
    assert {each.stage for each in told} >= {"rows", "labels"}
    assert ("warm-up" in {each.stage for each in told}) == (expectation == "exact")
    assert told[0].moved > 0
    assert told[0].state.counts.shape[0] == 500


@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_an_observer_may_stop_the_search(expectation):
    options = {"expectation": expectation, "init": "random"}
    whole = tw.select(LARGE, "macro-f1", 3, **options)
    for stage, n_passes in (("rows", 1), ("labels", 1)):
        seen = []

        def stop(each, stage=stage, n_passes=n_passes, seen=seen):
            seen.append(each.stage)
            return seen.count(stage) == n_passes

        found = tw.select(LARGE, "macro-f1", 3, **options, on_pass=stop)
        assert seen[-1] == stage
        assert (found.converged, found.interrupted) == (False, False)
        assert found.history == whole.history[: len(found.history)]
        value = tw.expected_utility(LARGE, "macro-f1", found, 3, expectation=expectation)
        assert found.expected == pytest.approx(value, rel=1e-9)
        assert (found.labels >= 0).all()


def test_a_proof_may_be_stopped():
    rounds = []

    def stop(each):
        rounds.extend([each] if each.stage == "proof" else [])
        return len(rounds) == 3

    found = tw.certify(LARGE, "macro-f1", 3, target_gap=0.0, on_pass=stop)
    assert found.rounds == 3
    assert not found.interrupted


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_a_time_limit_ends_the_search_with_the_best_so_far(expectation, workers):
    options = {"expectation": expectation, "init": "random", "workers": workers}
    found = tw.select(LARGE, "macro-f1", 3, **options, max_seconds=1e-9)
    whole = tw.select(LARGE, "macro-f1", 3, **options)
    assert (found.converged, found.interrupted, found.passes) == (False, False, 0)
    assert found.expected == pytest.approx(found.history[0], rel=1e-9)
    if expectation == "semi":
        assert found.history[0] == whole.history[0]
    else:  # whose history begins after the warm-up, for which there was no time
        assert found.history[0] < whole.history[0]
    assert tw.select(LARGE, "macro-f1", 3, **options, max_seconds=1e6).history == whole.history


@pytest.mark.parametrize(
    ("name", "value"), [("max_seconds", 0), ("max_seconds", "soon"), ("on_pass", 3), ("engine", 3)]
)
def test_bad_observers_are_refused(name, value):
    with pytest.raises(InputError, match=f"{name} must be "):
        tw.select(MATRIX, "macro-f1", 3, **{name: value})


# Where it starts


@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_a_given_start_is_where_the_search_starts(expectation):
    start = np.argsort(MATRIX.toarray() if hasattr(MATRIX, "toarray") else np.asarray(MATRIX), axis=1)[:, :3]
    stages = []
    found = tw.select(
        MATRIX, "macro-f1", 3, init=start, expectation=expectation, on_pass=lambda each: stages.append(each.stage)
    )
    value = tw.expected_utility(MATRIX, "macro-f1", start, 3, expectation=expectation)
    assert found.history[0] == pytest.approx(value, rel=1e-9)
    assert "warm-up" not in stages
    assert found.expected >= value


def test_judging_selects_nothing():
    given = np.zeros((60, 1), dtype=int)
    stages = []
    certificate = tw.certify(MATRIX, "macro-f1", 3, given, rounds=5, on_pass=lambda each: stages.append(each.stage))
    assert set(stages) == {"proof"}
    assert certificate.value == pytest.approx(tw.expected_utility(MATRIX, "macro-f1", given, 3), rel=1e-9)
    assert certificate.upper >= tw.select(MATRIX, "macro-f1", 3).expected


# The engine


class Recording(Threads):
    """Threads that note which instances propose, and that nothing is written but proposals."""

    def __init__(self):
        super().__init__(2)
        self.groups = []

    def shares(self, n_entries):
        return True

    def propose(self, rows, terms, state, positions, slots, group, moves):
        before = state.counts.copy(), positions.copy()
        super().propose(rows, terms, state, positions, slots, group, moves)
        np.testing.assert_array_equal(state.counts, before[0])
        np.testing.assert_array_equal(positions, before[1])
        self.groups.append(group.tolist())


def test_an_engine_is_asked_for_proposals_only():
    engine, options = Recording(), {"method": "ascent", "expectation": "semi"}
    found = tw.select(LARGE, "macro-f1", 3, **options, engine=engine)
    np.testing.assert_array_equal(found.labels, tw.select(LARGE, "macro-f1", 3, **options).labels)
    assert all(group == sorted(group) for group in engine.groups)
    a_pass = [i for group in engine.groups for i in group][:3_000]
    assert sorted(a_pass) == list(range(3_000))


@pytest.mark.parametrize("n", [1, 7, 100, 1023, 5000, 70_001])
@pytest.mark.parametrize("group_size", ["auto", 1, 50, 10**9])
def test_a_pass_visits_everyone_once_in_groups_of_neighbouring_blocks(n, group_size):
    order, size = visiting_order(n, group_size, seed=3)
    assert sorted(order.tolist()) == list(range(n))
    assert 1 <= size <= max(1, n)
    for first in range(0, n, size):
        group = order[first : first + size]
        assert (np.diff(group) > 0).all()
    np.testing.assert_array_equal(order, visiting_order(n, group_size, seed=3)[0])


@pytest.mark.parametrize(
    ("utility", "options"),
    [
        ("macro-f1", {"method": "greedy"}),
        ("macro-f1", {"method": "greedy", "expectation": "semi"}),
        ("macro-recall", {}),
        ("macro-f1", {"init": "greedy"}),
        ("macro-f1", {"init": "random"}),
        ("macro-f1", {"init": np.full((3_000, 1), -1)}),
    ],
)
def test_a_search_that_is_stopped_leaves_no_instance_without_labels(utility, options):
    found = tw.select(LARGE, utility, 3, **options, max_seconds=1e-9)
    assert (found.labels >= 0).all()
    assert not found.converged
    expected = tw.expected_utility(LARGE, utility, found, 3, expectation=found.expectation)
    assert found.expected == pytest.approx(expected, rel=1e-9)


class Alone(Engine):
    """An engine of a user: it does all work in this thread, and inherits the rest."""

    workers = 1

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def shares(self, n_entries):
        return True

    def share(self, edges, task):
        for part, (first, last) in enumerate(itertools.pairwise(edges)):
            task(part, first, last)


def test_engines_of_all_kinds_give_the_same_labels_again_and_again():
    plain = tw.select(LARGE, "macro-f1", 3)
    for engine in (Alone(), Threads(2)):
        for _ in range(2):
            np.testing.assert_array_equal(tw.select(LARGE, "macro-f1", 3, engine=engine).labels, plain.labels)
    with pytest.raises(InputError, match=r"workers is for engine='threads'\. Got 2"):
        tw.select(LARGE, "macro-f1", 3, engine=Alone(), workers=2)
    with pytest.raises(
        InputError,
        match=r"engine must be 'threads' or an Engine. Got object. Derive a class",
    ):
        tw.select(LARGE, "macro-f1", 3, engine=object())


def test_ctrl_c_in_the_warm_up_keeps_the_start():
    def stop(each):
        if each.stage == "warm-up":
            raise KeyboardInterrupt

    found = tw.select(LARGE, "macro-f1", 3, expectation="exact", on_pass=stop, on_interrupt="return")
    assert found.interrupted
    assert found.expected == pytest.approx(tw.expected_utility(LARGE, "macro-f1", found, 3), rel=1e-9)


def test_a_proof_that_cannot_be_had_is_refused_before_the_work():
    with pytest.raises(tw.errors.UtilityError, match="There is no upper bound for it yet"):
        tw.select(LARGE, "macro-gmean", 3, certify=True, on_pass=lambda each: pytest.fail("it worked"))
