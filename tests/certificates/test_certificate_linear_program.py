"""Between value and upper bound lies the optimum of a linear program, on problems of 60 to 100 instances."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import expectations, optimum
from reference import selection as reference

import tailwise as tw
from tailwise.datasets import zipf_candidates

# Rows, candidates of each, k, seed.
SIZES = ((60, 15, 5, 0), (80, 10, 3, 1), (100, 12, 1, 2), (100, 8, 4, 3))
UTILITIES = (("macro-f1", "semi"), ("macro-f1", "exact"), ("macro-precision", "exact"))
every_size = pytest.mark.parametrize("size", SIZES, ids=str)
every_utility = pytest.mark.parametrize(("utility", "expectation"), UTILITIES)
every_source = pytest.mark.parametrize(
    "source",
    ["zipf", pytest.param("real", marks=pytest.mark.skipif(not optimum.REAL.exists(), reason="data not present"))],
)
TOLERATED = 0.0015


@functools.cache
def read_real():
    return sp.csr_array(sp.load_npz(optimum.REAL))


@functools.cache
def draw(source, size):
    n, top, k, seed = size
    matrix = read_real() if source == "real" else zipf_candidates(2000, 400, 30, seed=seed)
    return optimum.draw_rows(matrix, n, top, seed), k


@functools.cache
def solve(source, size, utility, expectation):
    matrix, k = draw(source, size)
    return optimum.linear_program_optimum(matrix, utility, k, expectation)


@functools.cache
def select(source, size, utility, expectation):
    matrix, k = draw(source, size)
    return tw.select(matrix, utility, k, method="global", expectation=expectation)


@every_source
@every_size
@every_utility
def test_the_optimum_lies_between_value_and_upper(source, size, utility, expectation):
    (matrix, k), best = draw(source, size), solve(source, size, utility, expectation)
    selection = select(source, size, utility, expectation)
    certificate = tw.certify(matrix, utility, k, selection, expectation=expectation)
    rounding = 1e-12 if expectation == "semi" else 1e-6 * best.value
    assert certificate.value == pytest.approx(selection.expected, rel=1e-9)
    assert certificate.value <= best.upper + rounding
    assert best.value <= certificate.upper + 1e-12
    assert certificate.relative_gap < 0.02


@every_source
@every_size
@every_utility
def test_row_and_label_passes_come_near_the_optimum(source, size, utility, expectation):
    selection, best = (find(source, size, utility, expectation) for find in (select, solve))
    assert selection.expected >= (1 - TOLERATED) * best.value


@every_source
@every_utility
def test_the_optimum_itself_is_certified(source, utility, expectation):
    (matrix, k), best = draw(source, SIZES[0]), solve(source, SIZES[0], utility, expectation)
    assert best.is_integral
    certificate = tw.certify(matrix, utility, k, best.labels, expectation=expectation, target_gap=1e-4)
    assert certificate.value == pytest.approx(best.value, rel=1e-6)
    assert best.value <= certificate.upper + 1e-12
    assert certificate.relative_gap < 0.02


@every_source
def test_prices_of_the_certificate_prove_its_bound(source):
    """The bound is a plain sum at these prices, so anyone can check it."""
    matrix, k = draw(source, SIZES[1])
    for utility, expectation in UTILITIES:
        certificate = tw.certify(matrix, utility, k, expectation=expectation, rounds=20)
        problem = optimum.LinearProblem(matrix, utility, k, expectation)
        bound = problem.bound(certificate.prices * problem.m) / problem.m
        # Counts are grouped in the certificate, and what is not exact is rounded up.
        assert bound <= certificate.upper * (1 + 1e-9)
        assert bound >= solve(source, SIZES[1], utility, expectation).value - 1e-12


# The program itself


@pytest.mark.parametrize(("utility", "expectation"), [*UTILITIES, ("macro-precision", "semi")])
def test_the_program_agrees_with_enumeration(utility, expectation):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        matrix = reference.random_matrix(seed, int(rng.integers(1, 5)), int(rng.integers(2, 6)), density=0.8)
        matrix[0, 0] = 0.5  # a program has at least one candidate
        k = int(rng.integers(1, 3))
        found = optimum.linear_program_optimum(matrix, utility, k, expectation)
        best = optimum.enumerate_optimum(matrix, utility, k, expectation, "none")
        assert found.upper >= best - 1e-12
        if found.is_integral:
            assert found.value == pytest.approx(best, rel=1e-9)


@every_utility
def test_few_counts_are_as_good_as_all(utility, expectation):
    matrix, k = draw("zipf", SIZES[0])
    few = solve("zipf", SIZES[0], utility, expectation)
    every = optimum.linear_program_optimum(matrix, utility, k, expectation, all_counts=True)
    assert few.value == pytest.approx(every.value, rel=1e-9)
    assert few.upper == pytest.approx(few.value, rel=1e-9)
    assert few.n_variables < every.n_variables


@every_utility
def test_the_program_values_its_selection_correctly(utility, expectation):
    matrix, _ = draw("zipf", SIZES[0])
    found = solve("zipf", SIZES[0], utility, expectation)
    assert found.is_integral
    assert all(len(set(row)) == SIZES[0][2] for row in found.labels.tolist())
    value = tw.expected_utility(matrix, utility, found.labels, expectation=expectation)
    assert found.value == pytest.approx(value, rel=1e-6)


def test_exact_coefficients():
    """The sum of the coefficients of the selected is the exact expectation."""
    etas = np.array([0.9, 0.5, 1e-7, 1.0, 0.2])
    for number in range(1, 32):
        is_chosen = np.array([bool(number >> x & 1) for x in range(5)])
        value = optimum.exact_f1_coefficients(etas)[is_chosen, is_chosen.sum() - 1].sum()
        labels = np.where(is_chosen, 0, -1)[:, None]
        assert value == pytest.approx(expectations.expect("macro-f1", etas[:, None], labels), rel=1e-12)
