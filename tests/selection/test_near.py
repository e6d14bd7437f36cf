"""Passes over near candidates: they end where passes over all candidates gain nothing more."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.datasets import zipf_candidates
from tailwise.engines import Threads
from tailwise.selection import bca, near
from tailwise.selection.label_moves import LEAST_SHARE

MATRIX, K = zipf_candidates(1500, 120, 40, seed=3), 2


@pytest.fixture
def small_batches_have_near_candidates(monkeypatch):
    monkeypatch.setattr(bca, "LEAST_NEAR", 0)


pytestmark = pytest.mark.usefixtures("small_batches_have_near_candidates")


@pytest.fixture
def built(monkeypatch):
    """How many near candidates were made, each time they were."""
    seen, make_near = [], near.make_near

    def spy(*arguments):
        made = make_near(*arguments)
        seen.append(made[0].labels.size)
        return made

    monkeypatch.setattr(near, "make_near", spy)
    return seen


@pytest.mark.parametrize("method", ["ascent", "global"])
@pytest.mark.parametrize(
    ("utility", "expectation"),
    [("coverage", "semi"), ("macro-f1", "exact"), ("macro-jaccard", "exact"), ("coverage", "exact")],
)
def test_passes_over_all_candidates_gain_nothing_more(monkeypatch, built, utility, expectation, method):
    options = {"method": method, "expectation": expectation, "fill": "none"}
    found = tw.select(MATRIX, utility, K, **options)
    assert built[0] == 1500 * 12
    monkeypatch.setattr(bca, "LEAST_NEAR", 10**9)
    again = tw.select(MATRIX, utility, K, init=found, method="ascent", expectation=expectation, fill="none")
    limit = 1e-7 if method == "ascent" else LEAST_SHARE * found.expected  # where label passes end
    assert again.history[1] - again.history[0] < limit
    whole = tw.select(MATRIX, utility, K, **options)
    assert found.expected == pytest.approx(whole.expected, rel=1e-4)


@pytest.mark.parametrize("utility", ["macro-f1", "coverage"])
def test_labels_do_not_depend_on_threads_or_engines(utility):
    one = tw.select(MATRIX, utility, K, workers=1)
    assert one.labels.tobytes() == tw.select(MATRIX, utility, K, workers=3).labels.tobytes()
    assert one.labels.tobytes() == tw.select(MATRIX, utility, K, engine=Threads(2)).labels.tobytes()


def test_a_call_that_was_stopped_goes_on_from_its_checkpoint(tmp_path):
    whole = tw.select(MATRIX, "macro-f1", K, method="ascent")
    for _ in range(2):
        tw.select(
            MATRIX, "macro-f1", K, method="ascent", checkpoint=tmp_path, on_pass=lambda each: each.stage == "rows"
        )
    again = tw.select(MATRIX, "macro-f1", K, method="ascent", checkpoint=tmp_path)
    assert again.labels.tobytes() == whole.labels.tobytes()


def test_short_rows_and_groups_of_one_are_looked_at_as_a_whole(built):
    tw.select(zipf_candidates(200, 120, 20), "macro-f1", K)
    tw.select(MATRIX, "macro-f1", K, group_size=1)
    assert built == []


def test_instances_with_budgets_of_their_own(built):
    budgets = np.arange(1500) % 3
    found = tw.select(MATRIX, "macro-f1", budgets, fill="none")
    assert built
    np.testing.assert_array_equal((found.labels >= 0).sum(axis=1), budgets)


def make_sparse(seed):
    rng = np.random.default_rng(seed)
    return sp.csr_array(rng.random((114, 60)) ** 3 * (rng.random((114, 60)) >= 0.3))


@pytest.mark.parametrize("seed", [71, 72, 73, 74])
def test_repairs_and_proofs_do_not_go_back_to_old_near_candidates(seed):
    matrix = make_sparse(seed)
    row_passes = tw.select(matrix, "coverage", 1, method="ascent")
    for certify in (False, True):  # both repair so small a batch by the prices of a proof
        found = tw.select(matrix, "coverage", 1, certify=certify)
        assert found.expected == pytest.approx(max(found.history), rel=1e-9)
        assert found.expected > row_passes.expected * (1 - 1e-3)
        assert found.expected == pytest.approx(tw.expected_utility(matrix, "coverage", found), rel=1e-9)


@pytest.mark.parametrize("utility", ["coverage", "macro-f1"])
@pytest.mark.parametrize("stage", ["rows", "labels"])
def test_a_call_that_was_killed_ends_with_the_same_labels(tmp_path, utility, stage):
    class KilledError(BaseException):
        pass

    def kill(told):
        if told.stage == stage:
            raise KilledError

    matrix = make_sparse(5)
    with pytest.raises(KilledError):
        tw.select(matrix, utility, 2, method="global", checkpoint=tmp_path, on_pass=kill)
    resumed = tw.select(matrix, utility, 2, method="global", checkpoint=tmp_path)
    assert resumed.labels.tobytes() == tw.select(matrix, utility, 2, method="global").labels.tobytes()


class Recording(Threads):
    """Notes the groups of every pass that is shared, as a cluster is told of them."""

    def __init__(self):
        super().__init__(2)
        self.passes = []

    def shares(self, n_entries):
        return True

    def begin(self, recipe, groups):
        self.passes.append(groups)


@pytest.mark.parametrize("n_instances", [1500, 1479])
def test_instances_of_a_group_ascend(n_instances):
    """Also those of the greedy warm-up, whose groups are smaller: engines search in them."""
    engine = Recording()
    matrix = zipf_candidates(n_instances, 120, 40, seed=3)
    found = tw.select(matrix, "macro-f1", K, method="ascent", engine=engine)
    assert max(map(len, engine.passes)) > 8  # the warm-up's
    for groups in engine.passes:
        assert all((np.diff(group) > 0).all() for group in groups)
        assert np.array_equal(np.sort(np.concatenate(groups)), np.arange(n_instances))
    np.testing.assert_array_equal(found.labels, tw.select(matrix, "macro-f1", K, method="ascent").labels)
