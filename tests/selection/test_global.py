"""Row and label passes in turn: never below row passes alone, out of their local optima, near the optimum."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import expectations as exact
from reference import optimum, utilities
from reference import selection as reference
from selection import semi

import tailwise as tw
from tailwise.datasets import zipf_candidates

MIXTURES = (
    *({name: 1.0} for name in ("macro-precision", "macro-f1", "macro-jaccard", "coverage", "macro-fbeta(2)")),
    {"precision": 0.7, "macro-f1": 0.3},
    {"macro-f1": 0.5, "coverage": 0.5},
    {"macro-jaccard": 0.3, "macro-recall": 0.4, "hamming": 0.3},
)
TEXTS = tuple(utilities.as_text(mixture) for mixture in MIXTURES)
every_text = pytest.mark.parametrize("text", TEXTS)
every_expectation = pytest.mark.parametrize("expectation", ["semi", "exact"])


def select(matrix, text, k, **options):
    options = {"method": "global", "expectation": "semi", "fill": "none", **options}
    return semi.select(matrix, text, k, **options)


def value_of(matrix, text, labels, k, expectation):
    """By the references."""
    if expectation == "exact":
        return exact.expect(text, matrix, labels, k=k)
    return reference.Problem(matrix, exact.parse(text), k).value(reference.as_lists(labels))


# Honest, feasible, the same every time


@pytest.mark.boundscheck
@every_text
@every_expectation
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_expected_is_the_value_of_the_labels(text, expectation, fill):
    for seed, k in itertools.product(range(3), (1, 2, 4)):
        matrix = reference.random_matrix(seed, 7, 5, density=0.6)
        found = select(matrix, text, k, expectation=expectation, fill=fill, seed=seed)
        value = value_of(matrix, text, found.labels, k, expectation)
        rounding = 1e-10 if expectation == "semi" else 1e-6
        assert found.expected == pytest.approx(value, rel=rounding, abs=1e-12)
        assert (found.method, found.expectation) == ("global", expectation)


@pytest.mark.boundscheck
@every_text
@every_expectation
def test_history_never_falls(text, expectation):
    for seed, init in itertools.product(range(3), ("top", "random", "greedy")):
        matrix = reference.random_matrix(seed, 16, 8, density=0.7)
        found = select(matrix, text, 3, expectation=expectation, init=init, seed=seed)
        assert (np.diff(found.history) >= -1e-12).all()
        assert len(found.history) == found.passes + 1
        assert found.history[-1] == pytest.approx(found.expected, rel=1e-9)


@pytest.mark.boundscheck
@every_text
@every_expectation
def test_exactly_k_distinct_labels(text, expectation):
    for seed, k in itertools.product(range(3), (1, 3, 6)):
        matrix = reference.random_matrix(seed, 15, 6, density=0.5)
        labels = select(matrix, text, k, expectation=expectation, fill="least-loss").labels
        assert labels.shape == (15, k)
        assert labels.dtype == np.int32
        assert all(len(set(row)) == k for row in labels.tolist())
        assert labels.min() >= 0


@pytest.mark.boundscheck
@every_text
@every_expectation
@pytest.mark.parametrize("fill", ["none", "least-loss"])
def test_budgets_per_instance(text, expectation, fill):
    for seed in range(3):
        matrix = reference.random_matrix(seed, 9, 5, density=0.6)
        budgets = np.random.default_rng(seed).integers(0, 6, 9)
        found = select(matrix, text, budgets, expectation=expectation, fill=fill)
        n_candidates = (matrix > 0).sum(axis=1)
        for i, row in enumerate(reference.as_lists(found.labels)):
            n_own = min(budgets[i], n_candidates[i])
            assert len(set(row)) == len(row) == (budgets[i] if fill == "least-loss" else n_own)
            assert sum(matrix[i, j] > 0 for j in row) == n_own
        assert (np.diff((found.labels >= 0).astype(int), axis=1) <= 0).all()


@every_expectation
def test_budgets_of_zero(expectation):
    matrix = reference.random_matrix(0, 4, 3)
    found = select(matrix, "macro-f1", [0, 0, 0, 0], expectation=expectation)
    assert (found.labels == -1).all()


@every_text
def test_best_gain_first(text):
    matrix = reference.random_matrix(1, 8, 6, 0.8)
    problem = reference.Problem(matrix, exact.parse(text), 3)
    labels = reference.as_lists(select(matrix, text, 3).labels)
    for i, row in enumerate(labels):
        gains = problem.gains(i, labels)
        assert (np.diff([gains[j] for j in row]) <= 1e-12).all()


@every_expectation
@pytest.mark.parametrize("text", ["macro-f1", "macro-precision", "coverage", TEXTS[6]])
def test_same_bytes_for_every_number_of_workers(text, expectation):
    matrix = zipf_candidates(3000, 400, 40)  # enough to be worth sharing
    alone, *others = (
        select(matrix, text, 3, expectation=expectation, workers=workers, max_passes=8) for workers in (1, 2, 4)
    )
    for other in others:
        assert other.labels.tobytes() == alone.labels.tobytes()
        assert (other.history, other.expected, other.passes) == (alone.history, alone.expected, alone.passes)


def test_same_seed_same_bytes():
    matrix = reference.random_matrix(2, 40, 20, 0.5)
    first, again = (select(matrix, "macro-f1", 3, seed=5, init="random") for _ in range(2))
    assert first.labels.tobytes() == again.labels.tobytes()
    assert first.history == again.history


def test_inputs_are_not_changed():
    # Unsorted, with a stored zero.
    parts = (np.array([0.5, 0.9, 0.0, 0.3, 0.7]), np.array([2, 0, 1, 2, 1]), np.array([0, 2, 3, 5]))
    matrix = sp.csr_array(parts, shape=(3, 3))
    init, k, p = np.array([[2, 1], [0, -1], [1, 2]]), np.array([2, 1, 2]), np.array([1.0, 2.0, 2.5])
    given_arrays = (matrix.data, matrix.indices, matrix.indptr, init, k, p)
    before = [array.copy() for array in given_arrays]
    for text, expectation in itertools.product(("macro-f1", "coverage"), ("semi", "exact")):
        select(matrix, text, k, expectation=expectation, init=init, condition_positives=p)
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not matrix.has_sorted_indices


@every_expectation
def test_single_precision(expectation):
    matrix = reference.random_matrix(3, 40, 15, 0.5).astype(np.float32)
    found = select(matrix, "macro-f1", 3, expectation=expectation)
    value = value_of(matrix.astype(np.float64), "macro-f1", found.labels, 3, expectation)
    assert found.expected == pytest.approx(value, rel=1e-6)


# Never below what it starts from


@every_text
@every_expectation
def test_never_below_row_passes(text, expectation):
    for seed in range(6):
        matrix = reference.random_matrix(seed, 25, 15, density=0.5)
        options = {"expectation": expectation, "seed": seed, "init": ("top", "random", "greedy")[seed % 3]}
        rows = select(matrix, text, 3, method="ascent", **options)
        both = select(matrix, text, 3, **options)
        assert both.expected >= rows.expected * (1 - 1e-12)


@st.composite
def problems(draw):
    """Cells in steps of 1/16, so that there are ties; -1 where nothing is stored; and a budget."""
    n, m = draw(st.integers(1, 10)), draw(st.integers(1, 6))
    cells = draw(st.lists(st.integers(-1, 16), min_size=n * m, max_size=n * m))
    return np.array(cells).reshape(n, m), draw(st.integers(1, m))


def as_csr(steps):
    rows, columns = np.nonzero(steps >= 0)
    return sp.csr_array((steps[rows, columns] / 16, (rows, columns)), shape=steps.shape)


@pytest.mark.boundscheck
@given(problems(), st.sampled_from(TEXTS), st.sampled_from(["semi", "exact"]), st.integers(0, 10))
@settings(deadline=None, max_examples=150)
def test_never_worse_than_row_passes(problem, text, expectation, seed):
    steps, k = problem
    options = {"expectation": expectation, "seed": seed}
    rows = select(as_csr(steps), text, k, method="ascent", **options)
    both = select(as_csr(steps), text, k, **options)
    assert both.expected >= rows.expected - 1e-9 * abs(rows.expected) - 1e-15
    assert (np.diff(both.history) >= -1e-12).all()
    n_taken = np.minimum(k, (steps >= 0).sum(axis=1))
    np.testing.assert_array_equal((both.labels >= 0).sum(axis=1), n_taken)
    for row, stored in zip(both.labels.tolist(), steps >= 0, strict=True):
        assert len({j for j in row if j >= 0 and stored[j]}) == sum(j >= 0 for j in row)


def test_never_below_row_passes_where_slots_are_filled():
    """Passes see candidates only; what they gain may be lost again when empty slots are filled."""
    matrix = np.array(
        [
            [0.77, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.2, 0.03, 0.0, 0.85],
            [0.01, 0.15, 0.81, 0.02, 0.01],
            [0.55, 0.76, 0.45, 0.15, 0.0],
        ]
    )
    rows, both = (select(matrix, "macro-f1", 2, method=method, fill="least-loss") for method in ("ascent", "global"))
    assert both.expected >= rows.expected * (1 - 1e-12)


@every_expectation
def test_never_below_a_given_start(expectation):
    for seed in range(4):
        matrix = reference.random_matrix(seed, 12, 8)
        start = np.array([np.random.default_rng([seed, i]).permutation(8)[:3] for i in range(12)])
        found = select(matrix, "macro-f1", 3, expectation=expectation, init=start)
        assert found.expected >= value_of(matrix, "macro-f1", start, 3, expectation) * (1 - 1e-6)


# Out of local optima

# Label 0 belongs to instance 0, label 1 to instance 3, label 2 to instance 4. That instances 1 and 2, whose choices are
# all bad, have label 0 too is a local optimum: if one of them took its other label, that would lose more there than
# label 0 gains. If both do, label 0 gains much more.
STUCK, FREE = [[0], [0], [0], [1], [2]], [[0], [1], [2], [1], [2]]
CASES = (("macro-precision", "semi", 0.35), ("macro-f1", "semi", 0.35), ("macro-f1", "exact", 0.5))
every_case = pytest.mark.parametrize(("name", "expectation", "eta"), CASES)


def stuck_matrix(eta, other=0.001):
    """`other` is what those who have their label may take instead; 0 for nothing."""
    return np.array(
        [[0.9, other, 0], [0.02, 0.01, 0], [0.02, 0, 0.01], [other, eta, 0], [other, 0, eta]], dtype=np.float64
    )


@every_case
@pytest.mark.parametrize("other", [0.001, 0.0])
def test_a_label_gives_up_two_instances_at_once(name, expectation, eta, other):
    matrix = stuck_matrix(eta, other)
    options = {"expectation": expectation, "init": np.array(STUCK), "group_size": 1, "seed": 2}
    rows = select(matrix, name, 1, method="ascent", **options)
    both = select(matrix, name, 1, **options)
    assert rows.labels.tolist() == STUCK  # label 0 three times
    assert both.labels.tolist() == FREE  # once
    assert both.expected > 1.02 * rows.expected


@every_case
def test_the_example_is_a_local_optimum_of_rows(name, expectation, eta):
    matrix = stuck_matrix(eta)
    values = {
        labels: value_of(matrix, name, np.array(labels)[:, None], 1, expectation)
        for labels in itertools.product(*(np.flatnonzero(row).tolist() for row in matrix))
    }
    stuck, free = (tuple(labels for (labels,) in selection) for selection in (STUCK, FREE))
    assert max(values, key=values.get) == free
    for labels, value in values.items():
        if sum(a != b for a, b in zip(labels, stuck, strict=True)) == 1:
            assert value < values[stuck]


def test_no_row_can_improve_at_the_end():
    for seed, text in itertools.product(range(3), TEXTS):
        problem = reference.Problem(reference.random_matrix(seed, 8, 5, 0.8), exact.parse(text), 2)
        found = select(problem.matrix, text, 2, tolerance=0)
        assert found.converged
        assert reference.best_change(problem, reference.as_lists(found.labels)) < 1e-10


@every_text
@every_expectation
def test_against_the_optimum_of_tiny_problems(text, expectation):
    values, best, by_rows = [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        matrix, k = reference.random_matrix(seed, 4, 5, density=0.9), int(rng.integers(1, 4))
        values.append(select(matrix, text, k, expectation=expectation).expected)
        by_rows.append(select(matrix, text, k, expectation=expectation, method="ascent").expected)
        best.append(optimum.enumerate_optimum(matrix, text, k, expectation, "none"))
    values, best, by_rows = np.array(values), np.array(best), np.array(by_rows)
    rounding = 1e-12 if expectation == "semi" else 1e-6 * best
    assert (values <= best + rounding).all()
    assert np.mean(values >= best * (1 - 1e-6)) >= 0.8
    assert np.mean(values >= best * (1 - 1e-6)) >= np.mean(by_rows >= best * (1 - 1e-6))


def test_real_gains_on_a_long_tail():
    matrix = zipf_candidates(600, 900, 30)
    rows, both = (select(matrix, "macro-f1", 3, method=method) for method in ("ascent", "global"))
    assert both.expected > 1.0005 * rows.expected


@pytest.mark.parametrize("name", ["precision", "macro-recall", "hamming"])
@every_expectation
def test_linear_utilities_have_one_optimum(name, expectation):
    matrix = reference.random_matrix(4, 20, 8, 0.8)
    closed = semi.select(matrix, name, 2, expectation=expectation, fill="none")
    assert select(matrix, name, 2, expectation=expectation).expected == pytest.approx(closed.expected, rel=1e-9)


# Ctrl-C


def interrupt_after(n_passes, stage="labels"):
    """An observer that is interrupted after so many passes of a stage, as by Ctrl-C."""
    seen = []

    def on_pass(each):
        seen.extend([each] if each.stage == stage else [])
        if len(seen) == n_passes:
            raise KeyboardInterrupt

    return on_pass


@every_expectation
@pytest.mark.parametrize("n_passes", [1, 2])
def test_interrupt_carries_the_best_so_far(expectation, n_passes):
    matrix = reference.random_matrix(1, 40, 20, 0.5)
    options = {"expectation": expectation, "init": "random"}
    rows, whole = (select(matrix, "macro-f1", 3, method=method, **options) for method in ("ascent", "global"))
    with pytest.raises(tw.errors.Interrupted) as caught:
        select(matrix, "macro-f1", 3, **options, on_pass=interrupt_after(n_passes))
    found = caught.value.best
    assert found.interrupted
    assert found.history == whole.history[: rows.passes + 1 + n_passes]
    assert found.expected <= whole.expected * (1 + 1e-12)
    value = value_of(matrix, "macro-f1", found.labels, 3, expectation)
    assert found.expected == pytest.approx(value, rel=1e-10 if expectation == "semi" else 1e-6)
    assert all(len(set(row)) == 3 for row in found.labels.tolist())


def test_interrupt_leaves_rows_filled():
    options = {"fill": "least-loss", "on_interrupt": "return", "on_pass": interrupt_after(1)}
    labels = select(reference.random_matrix(1, 12, 8, 0.3), "macro-f1", 4, **options).labels
    assert all(len(set(row)) == 4 for row in labels.tolist())
    assert labels.min() >= 0


def test_interrupt_of_the_row_passes_before():
    options = {"on_interrupt": "return", "on_pass": interrupt_after(1, "rows")}
    found = select(stuck_matrix(0.35), "macro-f1", 1, **options)
    assert (found.interrupted, found.passes, found.method) == (True, 1, "global")


def test_few_passes():
    matrix = zipf_candidates(300, 200, 20)
    rows, whole = (select(matrix, "macro-f1", 3, method=method) for method in ("ascent", "global"))
    assert whole.passes > rows.passes
    for max_passes in (1, rows.passes, rows.passes + 1):
        found = select(matrix, "macro-f1", 3, max_passes=max_passes)
        assert found.passes == max_passes
        assert found.history == whole.history[: max_passes + 1]


def test_progress_is_shown_on_standard_error_only_when_asked_for(capsys):
    select(stuck_matrix(0.35), "macro-f1", 1)
    assert capsys.readouterr() == ("", "")
    select(stuck_matrix(0.35), "macro-f1", 1, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "rows" in err
    assert "labels" in err
