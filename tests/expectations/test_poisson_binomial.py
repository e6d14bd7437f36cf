"""The expectation of formulas by their positives' distributions, against enumeration and plain convolutions."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from reference import expectations as reference
from reference import utilities
from reference.formulas import compiled, rooted

from tailwise.errors import InputError
from tailwise.expectations import distributions
from tailwise.expectations.distributions import expect_by_probabilities
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.totals import Totals
from tailwise.utilities import Utility, as_utility
from tailwise.utilities.utility import Batch

NAMES = (
    "macro-precision",
    "macro-fbeta(0.5)",
    "macro-f1",
    "macro-fbeta(2)",
    "macro-jaccard",
    "macro-gmean",
    "macro-hmean",
    "macro-auc",
)
KINDS = ("uniform", "rare", "likely", "certain", "mixed", "empty")


def f1(t, q, p, n):
    return 2 * t / (q + p) if q + p > 0 else 0.0


def gmean(t, q, p, n):
    return math.sqrt(max(0.0, t * (n - q - p + t) / (p * (n - p)))) if 0 < p < n else 0.0


OWN = compiled(rooted)


def random_column(rng, n, kind):
    values = rng.random(n)
    if kind == "rare":
        return values**6
    if kind == "likely":
        return 1 - values**4
    if kind == "certain":
        return (values < 0.4).astype(float)
    if kind == "mixed":
        return np.where(values < 0.3, 0.0, np.where(values > 0.7, 1.0, values))
    return np.zeros(n) if kind == "empty" else values


def random_problem(seed, n, m):
    """Probabilities (n, m) of every kind, and a 0/1 selection: some labels never chosen, some always."""
    rng = np.random.default_rng(seed)
    matrix = np.stack([random_column(rng, n, KINDS[j % len(KINDS)]) for j in range(m)], axis=1)
    chosen = rng.random((n, m)) < rng.random(m)
    chosen[:, ::5], chosen[:, 1::7] = False, True
    return matrix, chosen


def labels_of(chosen):
    return Chosen.of(np.asarray(chosen, dtype=bool)).labels


def batch_of(candidates, extra=0.0):
    p = candidates.condition_positives() + extra
    return Batch(candidates.n_instances, candidates.n_labels, candidates.n_instances, p)


def expected_by_library(terms, matrix, chosen, *, extra=0.0):
    candidates = Candidates.of(matrix)
    chosen = Chosen.of(np.asarray(chosen, dtype=bool))
    m = candidates.n_labels
    terms = [(m * factor, term) for factor, term in terms]  # sums over labels, not means
    return expect_by_probabilities(terms, candidates, chosen, batch_of(candidates, extra), Totals.nothing(m))


def terms_of(utility):
    utility = as_utility(utility)
    return list(utility.terms)


# Against the references


@pytest.mark.parametrize("name", [*utilities.NAMES, "0.7*precision + 0.3*macro-f1"])
def test_references_agree(name):
    matrix, chosen = random_problem(16, 7, 6)
    training = utilities.Training((4, 0, 30, 12, 1, 7), 40)
    for k in (None, 2.0):
        values = [
            reference.expect(name, matrix, labels_of(chosen), k=k, training=training, enumerates=enumerates)
            for enumerates in (False, True)
        ]
        assert values[0] == pytest.approx(values[1], abs=1e-13)


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", NAMES)
def test_equals_enumeration(name):
    for seed in range(4):
        matrix, chosen = random_problem(seed, 1 + 2 * seed, 14)
        expected, errors = expected_by_library(terms_of(name), matrix, chosen)
        slow = np.array(reference.expect_labels(name, matrix, labels_of(chosen), enumerates=True)) * 14
        np.testing.assert_allclose(expected, slow, rtol=0, atol=1e-9)
        assert (abs(expected - slow) <= errors).all()


@pytest.mark.parametrize("name", NAMES)
def test_equals_convolution(name):
    for seed in range(5):
        matrix, chosen = random_problem(100 + seed, 30, 28)
        expected, errors = expected_by_library(terms_of(name), matrix, chosen)
        slow = np.array(reference.expect_labels(name, matrix, labels_of(chosen))) * 28
        assert (abs(expected - slow) <= errors).all()
        assert errors.max() <= 4.1e-10


@pytest.mark.boundscheck
@pytest.mark.parametrize("seed", range(6))
def test_own_formula(seed):
    matrix, chosen = random_problem(seed, 8, 12)
    expected, errors = expected_by_library(terms_of(OWN), matrix, chosen)
    for j in range(12):
        slow = reference.enumerate_label(
            lambda y, z: rooted(float(np.dot(y, z)), float(sum(z)), float(sum(y))), matrix[:, j], chosen[:, j]
        )
        assert abs(expected[j] - slow) <= errors[j]


def test_plain_python_formula():
    matrix, chosen = random_problem(3, 8, 12)
    compiled = expected_by_library(terms_of(OWN), matrix, chosen)
    plain = expected_by_library(terms_of(Utility.from_formula(rooted, compiled=False)), matrix, chosen)
    np.testing.assert_allclose(plain, compiled, rtol=1e-12)


def test_terms_add_with_their_coefficients():
    matrix, chosen = random_problem(5, 10, 12)
    together, error = expected_by_library(terms_of("0.7*macro-f1 + 0.2*macro-gmean"), matrix, chosen)
    parts = [expected_by_library(terms_of(name), matrix, chosen)[0] for name in ("macro-f1", "macro-gmean")]
    np.testing.assert_allclose(together, 0.7 * parts[0] + 0.2 * parts[1], rtol=1e-12)
    assert error.max() <= 0.9 * 4.1e-10
    np.testing.assert_array_equal(expected_by_library([], matrix, chosen), np.zeros((2, 12)))


def test_precision_is_psi_of_the_expectations():
    matrix, chosen = random_problem(6, 40, 12)
    expected, _ = expected_by_library(terms_of("macro-precision"), matrix, chosen)
    q = chosen.sum(axis=0)
    np.testing.assert_allclose(expected, (matrix * chosen).sum(axis=0) / np.maximum(q, 1), atol=1e-9)


# Positives outside the candidates


@pytest.mark.boundscheck
@pytest.mark.parametrize(("utility", "psi"), [("macro-f1", f1), ("macro-gmean", gmean)])
def test_extra_positives(utility, psi):
    matrix, chosen = random_problem(7, 9, 18)
    extra = np.resize([0.01, 0.3, 2.0, 7.5, 0.0, 40.0, 1200.0], 18)
    expected, errors = expected_by_library(terms_of(utility), matrix, chosen, extra=extra)
    for j in range(18):
        slow = reference.convolve_label(psi, matrix[:, j], chosen[:, j], extra[j])
        assert abs(expected[j] - slow) <= errors[j], (j, extra[j])


@pytest.mark.boundscheck
@pytest.mark.parametrize("extra", [0.0, 1e-6, 0.5, 30.0])
def test_label_without_candidates(extra):
    matrix, chosen = np.zeros((6, 2)), np.zeros((6, 2), dtype=bool)
    matrix[:, 1], chosen[:4, 0] = 0.5, True  # label 0 is chosen four times, with probability 0
    own_terms = [(1.0, OWN)]
    expected, errors = expected_by_library(own_terms, matrix, chosen, extra=np.array([extra, 0.0]))
    slow = reference.convolve_label(lambda t, q, p, n: rooted(t, q, p), matrix[:, 0], chosen[:, 0], extra)
    assert abs(expected[0] - slow) <= errors[0]
    assert expected_by_library(terms_of("macro-f1"), matrix, chosen)[0][0] == 0


def test_fewer_positives_than_the_candidates_expect_and_rounding_are_no_extra():
    matrix, chosen = random_problem(8, 9, 12)
    expected, errors = expected_by_library(terms_of("macro-f1"), matrix, chosen)
    for extra in (-0.5, 1e-10, -1e-10):
        again = expected_by_library(terms_of("macro-f1"), matrix, chosen, extra=extra)
        np.testing.assert_array_equal(again, (expected, errors))


# Edges


@pytest.mark.boundscheck
@pytest.mark.parametrize(
    ("column", "chosen", "value"),
    [
        ([0.3], [1], 0.3),
        ([0.3], [0], 0.0),
        ([1.0], [1], 1.0),
        ([0.0], [1], 0.0),
        ([1.0, 1.0], [1, 0], 2 / 3),
        ([0.5, 0.5], [1, 0], 0.25 * 2 / 3 + 0.25),
        ([0.5, 0.5], [1, 1], 0.25 + 0.5 * 2 / 3),
        ([1.0, 0.0, 1.0], [1, 1, 1], 0.8),
    ],
)
def test_f1_by_hand(column, chosen, value):
    matrix, chosen = np.array(column)[:, None], np.array(chosen)[:, None]
    # Zeros stay in the matrix as candidates of probability 0, and leave no trace.
    rows, columns = np.divmod(np.arange(matrix.size), 1)
    stored = sp.csr_array((matrix.ravel(), (rows, columns)), shape=matrix.shape)
    for given in (matrix, stored):
        expected, errors = expected_by_library(terms_of("macro-f1"), given, chosen)
        assert expected[0] == pytest.approx(value, abs=1e-9)
        assert errors[0] <= 4.1e-10


def test_single_precision_probabilities():
    matrix, chosen = random_problem(9, 12, 12)
    matrix = matrix.astype(np.float32)
    expected, _ = expected_by_library(terms_of("macro-f1"), matrix, chosen)
    np.testing.assert_array_equal(expected, expected_by_library(terms_of("macro-f1"), matrix.astype(float), chosen)[0])


# Truncation


def head_label(n=4000):
    rng = np.random.default_rng(1)
    column = rng.beta(0.9, 1.5, n)
    return column[:, None], (column > 0.5)[:, None]


@pytest.mark.parametrize(("utility", "psi"), [("macro-f1", f1), ("macro-gmean", gmean)])
def test_head_label(utility, psi):
    matrix, chosen = head_label()
    assert 1450 < matrix.sum() < 1550
    expected, errors = expected_by_library(terms_of(utility), matrix, chosen)
    slow = convolve_quickly(psi, matrix[:, 0], chosen[:, 0])
    assert abs(expected[0] - slow) <= errors[0] <= 4.1e-10


def convolve_quickly(psi, column, chosen):
    """The reference without the numbers of positives that a billionth of a billionth of all draws have."""
    hits, others = reference.poisson_binomial(column[chosen]), reference.poisson_binomial(column[~chosen])
    q, n = int(chosen.sum()), column.size
    return math.fsum(
        hits[a] * others[b] * psi(a, q, a + b, n)
        for a in np.flatnonzero(hits > 1e-18).tolist()
        for b in np.flatnonzero(others > 1e-18).tolist()
    )


@pytest.mark.parametrize("tolerance", [0.0, 1e-14, 1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("utility", ["macro-f1", "macro-auc", OWN])
def test_error_bound_holds_at_any_tolerance(tolerance, utility, monkeypatch):
    monkeypatch.setattr(distributions, "TOLERANCE", tolerance)
    matrix, chosen = random_problem(11, 200, 18)
    extra = np.resize([0.0, 0.0, 3.0], 18)
    terms = terms_of(utility)
    ((_, term),) = terms
    formula = term.formula
    expected, errors = expected_by_library(terms, matrix, chosen, extra=extra)
    for j in range(18):
        slow = reference.convolve_label(
            lambda *counts: formula.function(*counts, formula.parameters), matrix[:, j], chosen[:, j], extra[j]
        )
        assert abs(expected[j] - slow) <= errors[j]


def test_error_grows_with_the_tolerance_and_is_small_without(monkeypatch):
    matrix, chosen = head_label(1000)
    errors = []
    for tolerance in (0.0, 1e-10, 1e-5):
        monkeypatch.setattr(distributions, "TOLERANCE", tolerance)
        errors.append(expected_by_library(terms_of("macro-f1"), matrix, chosen)[1][0])
    assert errors[0] < 1e-12 < errors[1] <= 4.1e-10 < errors[2] <= 4.1e-5


# Input


def test_order_of_labels_does_not_matter():
    matrix, chosen = random_problem(13, 20, 12)
    order = np.random.default_rng(0).permutation(12)
    expected, _ = expected_by_library(terms_of("macro-f1"), matrix, chosen)
    again, _ = expected_by_library(terms_of("macro-f1"), matrix[:, order], chosen[:, order])
    np.testing.assert_array_equal(again, expected[order])


def test_inputs_are_not_changed():
    matrix, chosen = random_problem(14, 20, 12)
    candidates, selection = Candidates.of(matrix), Chosen.of(chosen)
    batch = batch_of(candidates, 0.5)
    before = [array.copy() for array in (matrix, selection.labels, batch.condition_positives)]
    expect_by_probabilities(terms_of("macro-f1"), candidates, selection, batch, Totals.nothing(candidates.n_labels))
    for old, new in zip(before, (matrix, selection.labels, batch.condition_positives), strict=True):
        np.testing.assert_array_equal(old, new)


def test_shape_of_the_selection_is_checked():
    candidates = Candidates.of(np.full((4, 3), 0.5))
    for labels, n_labels in ((np.zeros((5, 1), dtype=int), 3), (np.zeros((4, 1), dtype=int), 2)):
        with pytest.raises(InputError, match=r"selection must have the 4 instances and 3 labels of the probabilities"):
            expect_by_probabilities(
                [], candidates, Chosen.of(labels, n_labels), batch_of(candidates), Totals.nothing(candidates.n_labels)
            )
