"""What holds for every selection, on random sparse matrices with stored zeros, ones, and rows short of candidates."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw

TEXTS = (
    "precision",
    "hamming",
    "macro-recall",
    "macro-balanced-accuracy",
    *utilities.NONLINEAR,
    "0.7*precision + 0.3*macro-f1",
    "0.5*macro-recall + 0.5*coverage",
)
texts = st.sampled_from(TEXTS)
ABSENT = -1
# In steps of 1/256, so that every sum is exact, in single precision too.
cells = st.one_of(st.just(ABSENT), st.sampled_from([0, 256]), st.integers(0, 256))
sizes = st.tuples(st.integers(1, 12), st.integers(1, 8))


@st.composite
def problems(draw, cells=cells):
    """Cells in steps of 1/256, ABSENT where nothing is stored; and a budget."""
    steps = draw(sizes.flatmap(lambda shape: arrays(np.int16, shape, elements=cells)))
    return steps, draw(st.integers(1, steps.shape[1]))


def as_csr(steps, dtype=np.float64):
    """With stored zeros."""
    rows, columns = np.nonzero(steps != ABSENT)
    indptr = np.concatenate([[0], np.cumsum((steps != ABSENT).sum(axis=1))])
    return sp.csr_array(((steps[rows, columns] / 256).astype(dtype), columns, indptr), shape=steps.shape)


def as_pair(steps):
    order = np.argsort(steps, axis=1)[:, ::-1]
    values = np.take_along_axis(steps, order, axis=1)
    return np.where(values == ABSENT, -1, order), np.maximum(values, 0) / 256


def as_problem(steps, text, k):
    mixture = {name: float(factor or 1) for factor, _, name in (part.rpartition("*") for part in text.split(" + "))}
    return reference.Problem(np.maximum(steps, 0) / 256, mixture, k, is_candidate=steps != ABSENT)


def assert_same(first, second):
    assert first.labels.tobytes() == second.labels.tobytes()
    assert first.history == second.history
    assert first.expected == second.expected


@pytest.mark.boundscheck
@given(problems(), texts, st.sampled_from(["auto", "greedy"]))
@settings(deadline=None, max_examples=150)
def test_exactly_k_distinct_labels(problem, text, method):
    steps, k = problem
    labels = semi.select(as_csr(steps), text, k, method=method, fill="least-loss").labels
    assert labels.shape == (len(steps), k)
    assert labels.dtype == np.int32
    assert labels.min() >= 0
    assert labels.max() < steps.shape[1]
    assert all(len(set(row)) == k for row in labels.tolist())


@pytest.mark.boundscheck
@given(problems(), texts)
@settings(deadline=None, max_examples=150)
def test_without_filling_only_candidates(problem, text):
    steps, k = problem
    labels = semi.select(as_csr(steps), text, k, fill="none").labels
    assert labels.shape == (len(steps), k)
    for row, stored in zip(labels.tolist(), steps != ABSENT, strict=True):
        n_taken = min(k, stored.sum())
        assert row[n_taken:] == [-1] * (k - n_taken)
        assert len({j for j in row if j >= 0 and stored[j]}) == n_taken


@pytest.mark.boundscheck
@given(problems(), texts, st.sampled_from([1, 3, 12]), st.sampled_from(["top", "random", "greedy"]))
@settings(deadline=None, max_examples=120)
def test_values_are_correct_and_locally_best(problem, text, batch, init):
    steps, k = problem
    found = semi.select(as_csr(steps), text, k, group_size=batch, init=init, fill="none", tolerance=0)
    expected, labels = as_problem(steps, text, k), reference.as_lists(found.labels)
    assert found.expected == pytest.approx(expected.value(labels), rel=1e-10, abs=1e-12)
    assert reference.best_change(expected, labels) < 1e-10
    assert (np.diff(found.history) >= -1e-12).all()


@given(problems(), texts)
@settings(deadline=None, max_examples=100)
def test_filled_values_are_correct(problem, text):
    steps, k = problem
    found = semi.select(as_csr(steps), text, k, fill="least-loss")
    expected = as_problem(steps, text, k).value(reference.as_lists(found.labels))
    assert found.expected == pytest.approx(expected, rel=1e-10, abs=1e-12)


@given(problems(), texts)
@settings(deadline=None, max_examples=100)
def test_the_form_of_the_input_does_not_matter(problem, text):
    steps, k = problem
    steps = np.where(steps == 0, ABSENT, steps)  # a dense matrix cannot tell stored zeros from absent ones
    dense = np.maximum(steps, 0) / 256
    labels, values = as_pair(steps)
    forms = (
        as_csr(steps),
        as_csr(steps, np.float32),
        sp.csc_matrix(as_csr(steps)),
        sp.coo_array(as_csr(steps)),
        dense.astype(np.float32),
        np.asfortranarray(dense),
        tw.Candidates.of((labels, values), n_labels=steps.shape[1]),
    )
    for fill in ("least-loss", "none"):
        expected = semi.select(dense, text, k, fill=fill)
        for form in forms:
            assert_same(semi.select(form, text, k, fill=fill), expected)


@given(problems(), texts)
@settings(deadline=None, max_examples=60)
def test_stored_zeros_are_candidates(problem, text):
    steps, k = problem
    stored = np.where(steps == ABSENT, 0, steps)
    found = semi.select(as_csr(stored), text, k, fill="none")
    assert (found.labels >= 0).all()
    expected = as_problem(stored, text, k).value(reference.as_lists(found.labels))
    assert found.expected == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("text", TEXTS)
@given(st.integers(0, 10**6), st.sampled_from([0.5, 1.0]))
@settings(deadline=None, max_examples=8)
def test_permuted_labels_give_the_permuted_selection(text, seed, density):
    matrix = reference.random_matrix(seed, 12, 8, density)  # no ties
    order = np.random.default_rng(seed).permutation(8)
    # Label passes visit the labels in an order of their own, so only row passes can promise this.
    options = {"fill": "none", "seed": seed % 7, "method": "ascent"}
    found = semi.select(matrix, text, 3, **options)
    permuted = semi.select(matrix[:, order], text, 3, **options)
    assert permuted.expected == pytest.approx(found.expected, rel=1e-10)
    back = np.where(permuted.labels >= 0, order[permuted.labels], -1)
    np.testing.assert_array_equal(np.sort(back, axis=1), np.sort(found.labels, axis=1))


@given(problems(), texts, st.integers(0, 2**32))
@settings(deadline=None, max_examples=60)
def test_same_seed_same_bytes_for_any_number_of_workers(problem, text, seed):
    steps, k = problem
    options = {"seed": seed, "init": "random", "fill": "least-loss"}
    first = semi.select(as_csr(steps), text, k, workers=1, **options)
    assert_same(first, semi.select(as_csr(steps), text, k, workers=1, **options))
    assert_same(first, semi.select(as_csr(steps), text, k, workers=2, **options))


@pytest.mark.boundscheck
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text", ["ps-precision", "macro-precision", "macro-f1", "coverage", "precision + macro-gmean"])
def test_workers_do_not_matter_where_work_is_shared(text, dtype):
    # Large enough for every loop to be split between threads.
    matrix = sp.random_array((3000, 400), density=0.07, random_state=np.random.default_rng(1), dtype=dtype).tocsr()
    priors = tw.LabelPriors(np.arange(400), 400)
    for options in (
        {"k": 3},
        {"k": 3, "group_size": 1500, "init": "random"},
        {"k": 3, "method": "greedy"},
        {"k": None},
    ):
        one, two, three = (
            semi.select(matrix, text, workers=workers, priors=priors, max_passes=3, **options) for workers in (1, 2, 3)
        )
        assert_same(one, two)
        assert_same(one, three)


def test_inputs_stay_as_they_are():
    # Unsorted, integer indices of the wrong width, a stored zero.
    parts = (np.array([0.5, 0.9, 0.0, 0.3, 0.7]), np.array([2, 0, 1, 2, 1]), np.array([0, 2, 3, 5]))
    matrix = sp.csr_array(parts, shape=(3, 3))
    init, k = np.array([[2, 1], [0, 1], [1, 2]]), np.array([2, 1, 2])
    p, training = np.array([1.0, 2.0, 2.5]), np.array([[1, 0, 1], [0, 0, 1]])
    given_arrays = (matrix.data, matrix.indices, matrix.indptr, init, k, p, training)
    before = [array.copy() for array in given_arrays]
    for text in ("log", "macro-f1", "coverage"):
        for options in ({"k": 2}, {"k": k}, {"k": None}, {"k": 2, "init": init}, {"k": 2, "condition_positives": p}):
            semi.select(matrix, text, priors=training, fill="least-loss", **options)
    for array, copy in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert not matrix.has_sorted_indices


def test_read_only_input_is_enough():
    matrix = reference.random_matrix(0, 5, 4)
    matrix.flags.writeable = False
    k = np.array([1, 2, 0, 3, 4])
    k.flags.writeable = False
    assert (semi.select(matrix, "macro-f1", k).labels >= 0).sum(axis=1).tolist() == k.tolist()


@pytest.mark.parametrize("text", ["precision", "macro-f1", "coverage", "macro-gmean"])
def test_nothing_is_a_candidate(text):
    for matrix in (np.zeros((3, 4)), sp.csr_array((3, 4))):
        assert semi.select(matrix, text, 2, fill="least-loss").labels.tolist() == [[0, 1]] * 3
        assert semi.select(matrix, text, 2, fill="none").labels.tolist() == [[-1, -1]] * 3
        assert (semi.select(matrix, text, None).labels == -1).all()


def test_one_instance_one_label():
    for text in TEXTS:
        assert semi.select([[0.5]], text, 1).labels.tolist() == [[0]]


def test_integers_and_booleans_are_probabilities():
    truth = np.array([[1, 0, 1], [0, 1, 1]])
    expected = semi.select(truth.astype(float), "macro-f1", 2)
    for form in (truth, truth.astype(bool), truth.astype(np.uint8), sp.csr_array(truth)):
        np.testing.assert_array_equal(semi.select(form, "macro-f1", 2).labels, expected.labels)
