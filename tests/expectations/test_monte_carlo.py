"""Utilities on drawn labels, against their exact expectation."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import expectations as reference
from reference import utilities
from reference.formulas import smoothed

import tailwise as tw
from tailwise.errors import FormulaError, InputError, UtilityError
from tailwise.expectations import drawn as module
from tailwise.expectations.drawn import MonteCarlo, monte_carlo
from tailwise.utilities import LabelPriors, Utility

N, M, K = 12, 7, 2
TRAINING = utilities.Training((20, 0, 3, 7, 1, 12, 39), 40)
PRIORS = LabelPriors(np.array(TRAINING.counts), TRAINING.n_instances)


def random_problem(seed):
    """Probabilities (N, M), some of them 0 or 1, and labels (N, K), some of them no candidates, some slots empty."""
    rng = np.random.default_rng(seed)
    matrix = rng.random((N, M)) ** 2
    matrix[rng.random((N, M)) < 0.3] = 0
    matrix[rng.random((N, M)) < 0.1] = 1
    labels = np.array([rng.permutation(M)[:K] for _ in range(N)])
    labels[rng.random(N) < 0.2, 0] = -1
    return matrix, labels


def of(seed, utility):
    """A random problem as the arguments of monte_carlo."""
    matrix, labels = random_problem(seed)
    return matrix, utility, labels


@pytest.mark.parametrize("name", [*utilities.NAMES, "0.7*precision + 0.3*macro-f1 + 0.1*coverage"])
def test_mean_agrees_with_the_exact_expectation(name):
    matrix, labels = random_problem(1)
    result = monte_carlo(matrix, name, labels, draws=400, seed=3, priors=PRIORS)
    exact = reference.expect(name, matrix, labels, training=TRAINING)
    assert result.standard_error > 0
    assert abs(result.mean - exact) <= 5 * result.standard_error


def test_own_formula():
    matrix, labels = random_problem(2)
    is_chosen = [[j in row for j in range(M)] for row in labels]
    columns = zip(matrix.T, np.transpose(is_chosen), strict=True)
    exact = np.mean([reference.convolve_label(lambda t, q, p, n: smoothed(t, q, p), *pair) for pair in columns])
    for compiled in (True, False):
        utility = Utility.from_formula(smoothed, compiled=compiled)
        result = monte_carlo(matrix, utility, labels, draws=400)
        assert abs(result.mean - exact) <= 5 * result.standard_error


@pytest.mark.parametrize("name", ["macro-f1", "coverage", "precision", "hamming", "macro-balanced-accuracy"])
def test_certain_labels_give_the_utility_itself(name):
    rng = np.random.default_rng(4)
    truth = (rng.random((N, M)) < 0.4).astype(float)
    labels = np.array([rng.permutation(M)[:K] for _ in range(N)])
    result = monte_carlo(truth, name, labels, draws=3)
    is_chosen = [[int(j in row) for j in range(M)] for row in labels]
    value = utilities.value({name: 1.0}, utilities.Setting(M, N * K), truth.tolist(), is_chosen)
    np.testing.assert_allclose(result.values, value, rtol=1e-12)
    assert repr(result) == f"{value:.6g} +- 0 (3 draws)"


def test_values_are_those_of_psi():
    matrix, labels = random_problem(5)
    result = monte_carlo(matrix, "macro-f1 + 0.5*precision", labels, draws=10, k=K)
    rng = np.random.default_rng(0)
    rows, columns = np.nonzero(matrix)
    is_chosen = np.array([[j in row for j in range(M)] for row in labels])
    for value in result.values:
        drawn = np.zeros((N, M))
        drawn[rows, columns] = rng.random(rows.size) < matrix[rows, columns]
        counts = (drawn * is_chosen).sum(axis=0), is_chosen.sum(axis=0), drawn.sum(axis=0)
        utility = tw.utilities.MacroF1() + 0.5 * tw.utilities.Precision()
        assert value == pytest.approx(utility.psi(*counts, n_instances=N, k=K).sum(), rel=1e-12)


def test_same_seed_same_draws(monkeypatch):
    matrix, labels = random_problem(6)
    first = monte_carlo(matrix, "macro-f1", labels, draws=20, seed=7)
    np.testing.assert_array_equal(first.values, monte_carlo(matrix, "macro-f1", labels, draws=20, seed=7).values)
    assert (first.values != monte_carlo(matrix, "macro-f1", labels, draws=20, seed=8).values).any()
    longer = monte_carlo(matrix, "macro-f1", labels, draws=30, seed=7)
    np.testing.assert_array_equal(first.values, longer.values[:20])
    monkeypatch.setattr(module, "CHUNK", 5)
    np.testing.assert_array_equal(first.values, monte_carlo(matrix, "macro-f1", labels, draws=20, seed=7).values)


def test_forms_of_input():
    matrix, labels = random_problem(7)
    indicator = np.array([[j in row for j in range(M)] for row in labels])
    values = monte_carlo(matrix, "macro-f1", labels, draws=5).values
    for probabilities in (sp.csr_array(matrix), sp.csc_matrix(matrix), tw.Candidates.of(matrix)):
        for selection in (indicator, sp.csr_array(indicator)):
            result = monte_carlo(probabilities, tw.utilities.MacroF1(), selection, draws=5)
            np.testing.assert_array_equal(result.values, values)
    selection = tw.select(matrix, "macro-f1", K)
    result = monte_carlo(matrix, "macro-f1", selection, draws=5)
    np.testing.assert_array_equal(result.values, monte_carlo(matrix, "macro-f1", selection.labels, draws=5).values)


def test_inputs_are_not_changed():
    matrix, labels = random_problem(8)
    copies = matrix.copy(), labels.copy()
    monte_carlo(matrix, "macro-f1", labels, draws=5)
    np.testing.assert_array_equal(matrix, copies[0])
    np.testing.assert_array_equal(labels, copies[1])


def test_k_divides_precision():
    matrix, labels = random_problem(9)
    n_chosen = (labels >= 0).sum()
    own = monte_carlo(matrix, "precision", labels, draws=5)
    given = monte_carlo(matrix, "precision", labels, draws=5, k=K)
    np.testing.assert_allclose(own.values * n_chosen, given.values * (N * K), rtol=1e-12)


def test_nothing_selected_and_nothing_to_draw():
    empty = np.full((N, 1), -1)
    assert monte_carlo(np.zeros((N, M)), "macro-f1 + precision", empty, draws=2).values.tolist() == [0, 0]
    assert monte_carlo(np.ones((N, M)), "macro-f1 + precision", empty, draws=2).values.tolist() == [0, 0]


def test_result():
    values = np.array([0.1, 0.3, 0.2, 0.2])
    result = MonteCarlo(0.123456, 0.00023, values)
    assert result.n_draws == 4
    assert repr(result) == "0.1235 +- 0.0002 (4 draws)"
    assert repr(MonteCarlo(1234.5, 12.3, values)) == "1234 +- 12 (4 draws)"
    with pytest.raises(AttributeError):
        result.mean = 1.0
    matrix, labels = random_problem(10)
    result = monte_carlo(matrix, "macro-f1", labels, draws=50)
    assert result.mean == pytest.approx(result.values.mean())
    assert result.standard_error == pytest.approx(result.values.std(ddof=1) / np.sqrt(50))
    assert not result.values.flags.writeable


# What is refused


@pytest.mark.parametrize("draws", [0, 1, -5, 2.0, "many", None, True])
def test_draws(draws):
    with pytest.raises(InputError, match=r"draws must be an integer of at least 2, as one draw .* Got "):
        monte_carlo(*of(0, "macro-f1"), draws=draws)


@pytest.mark.parametrize("seed", [-1, 0.5, None])
def test_seed(seed):
    with pytest.raises(InputError, match=r"seed must be an integer of at least 0. Got "):
        monte_carlo(*of(0, "macro-f1"), seed=seed)


@pytest.mark.parametrize("k", [0, -1, np.nan, np.inf, "3", True])
def test_k(k):
    with pytest.raises(InputError, match=r"k must be a finite number above 0. Got .* Omit it"):
        monte_carlo(*of(0, "precision"), k=k)


def test_selection_of_another_size():
    matrix, labels = random_problem(0)
    with pytest.raises(InputError, match=r"selection must have the 12 instances and 7 labels .* Got 11 instances"):
        monte_carlo(matrix, "macro-f1", labels[1:])


def test_utilities():
    matrix, labels = random_problem(0)
    with pytest.raises(UtilityError, match="needs the label priors"):
        monte_carlo(matrix, "ps-precision", labels)
    with pytest.raises(FormulaError, match="must be finite"):
        monte_carlo(matrix, Utility.from_formula(lambda t, q, p: t / p), labels)
