"""Numbers at the ends of what floating point can hold: k distinct labels, and a value that is one or is refused."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from reference import utilities
from selection import semi

import tailwise as tw
from tailwise.errors import InputError, NumericalError, UtilityError

pytestmark = pytest.mark.boundscheck

TEXTS = ("precision", "hamming", "macro-recall", "macro-balanced-accuracy", *utilities.NONLINEAR)


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tiny", [1e-42, 1e-30, 0.0])
def test_labels_of_tiny_probability_in_single_precision(text, tiny):
    values = np.array([tiny, 0.5, 0.5] + [0.0, 0.5, 0.3] * 50, np.float32)
    matrix = sp.csr_array((values, np.array([0, 1, 2] * 51), np.arange(0, 154, 3)), shape=(51, 3))
    for k in (2, 3):
        labels = semi.select(tw.Candidates.of(matrix), text, k, init="greedy").labels
        assert all(len(set(row)) == k and min(row) >= 0 and max(row) < 3 for row in labels.tolist())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-200])
@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_labels_of_tiny_probability(text, tiny, expectation):
    matrix = np.array([[tiny, 0.5, 0.2], [0.3, tiny, 0.4], [tiny, tiny, tiny]])
    found = semi.select(matrix, text, 2, init="greedy", expectation=expectation)
    assert all(len(set(row)) == 2 for row in found.labels.tolist())
    assert math.isfinite(found.expected)
    assert (np.diff(found.history) >= -1e-12).all()


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("p", [1e-320, 1e-3, 0.5])
def test_fewer_positives_than_the_candidates_expect(text, p):
    matrix = np.array([[0.5, 0.2], [0.9, 0.8]])
    found = semi.select(matrix, text, 1, expectation="semi", condition_positives=[p, p])
    plain = semi.select(matrix, text, 1, expectation="semi")
    assert found.expected == plain.expected
    assert -1e-9 <= found.expected <= 1 + 1e-9


def test_almost_no_negatives():
    certain = 1 - 1e-16
    for text in ("macro-balanced-accuracy", "3*macro-balanced-accuracy + 0.6*macro-gmean + macro-auc"):
        value = semi.select([[certain]], text, 1, expectation="semi").expected
        assert value == pytest.approx(semi.select([[1.0]], text, 1, expectation="semi").expected, rel=1e-9)


def test_weights_that_are_not_finite():
    priors, matrix = tw.LabelPriors([1, 0, 2000], 10**6), np.full((2, 3), 0.5)
    with pytest.raises(UtilityError, match=r"power-law\(1000\) must give every label a finite weight. Got inf"):
        semi.select(matrix, "power-law(1000)", 1, priors=priors)
    with pytest.raises(UtilityError, match=r"Got inf for label 1. Use a smaller a, and a b above 0."):
        semi.select(matrix, "ps-precision(1, 0)", 1, priors=priors)
    assert math.isfinite(semi.select(matrix, "ps-precision(1e9, 1e9)", 1, priors=priors).expected)


def test_a_value_that_is_not_finite():
    with pytest.raises(NumericalError, match=r"Got inf: the input is too extreme"):
        semi.select(np.ones((2, 2)), "1.7e308*precision + 1.7e308*hamming", 2)


def test_positives_beyond_the_instances():
    rule = r"condition_positives must be at most 1, the number of instances: .* Got 100. Give expected counts in this"
    with pytest.raises(InputError, match=rule):
        tw.expected_utility([[0.0]], "hamming", [[-1, -1]], condition_positives=[100.0])


def test_positives_that_contradict_the_probabilities():
    with pytest.raises(NumericalError, match=r"between 0 and 1. Got -1: .* condition_positives contradict"):
        tw.expected_utility([[0.0]], "hamming", [[0, -1]], condition_positives=[1.0])


@pytest.mark.parametrize("given", ["three", [["a"]], [None], [object()]])
def test_condition_positives_that_are_no_numbers(given):
    with pytest.raises(InputError, match="condition_positives must"):
        semi.select([[0.5]], "macro-f1", 1, condition_positives=given)


def test_weights_that_are_no_numbers():
    with pytest.raises(InputError, match=r"w11 must hold numbers. Got an array of dtype <U4"):
        tw.utilities.WeightedInstance(w11="much")


def test_a_group_size_that_is_an_array():
    with pytest.raises(InputError, match="group_size must be an integer of at least 1, or 'auto'"):
        semi.select([[0.5]], "macro-f1", 1, group_size=np.array([1, 2]))


def test_tiny_sums_do_not_hide_what_gains():
    """At t = 1e-42 a slope is nothing but rounding: no candidate may be passed over for it."""
    matrix = np.array([[0.4, 1e-20], [1e-42, 1e-42], [0.4, 1e-42], [1e-300, 1e-9]])
    budgets = np.array([0, 2, 2, 1])
    found = semi.select(matrix, "macro-auc", budgets, method="ascent", expectation="semi", init="random", seed=986)
    best = max(
        tw.expected_utility(matrix, "macro-auc", [[-1, -1], [0, 1], [0, 1], [j, -1]], budgets, expectation="semi")
        for j in (0, 1)
    )
    assert found.expected == pytest.approx(best, rel=1e-9)


def test_a_line_covers_what_rounding_hides_in_a_difference_of_ones():
    """At t = 1e-42 macro-AUC, 1 less a ratio of 1, shows no rise in t; 1e-20 more gains a quarter all the same."""
    matrix = np.array([[0.0, 1e-42], [0.0, 1e-20]])
    found = semi.select(matrix, "macro-auc", 1, method="ascent", fill="none", init=np.array([[-1, -1], [0, -1]]))
    assert found.labels.tolist() == [[1], [1]]
    assert found.expected == pytest.approx(0.5)


def test_a_tie_is_no_reason_to_move():
    """A move that gains only what rounding makes of it must not use up the pass that says there is no more to gain."""
    sure = float(np.float32(0.999))
    matrix = np.array([[1, sure, sure], [1, 1, 0.5], [sure] * 3, [1, 1, 1], [sure, 1, 1]], dtype=np.float32)
    utility = "0.7*precision + 0.3*macro-fbeta(0.5)"
    found = tw.select(tw.Candidates.of(matrix), utility, 2, method="ascent", init="greedy", seed=418)
    for i, row in enumerate(found.labels):
        for other in itertools.combinations(range(3), 2):
            labels = found.labels.copy()
            labels[i] = other
            assert tw.expected_utility(matrix, utility, labels, 2) <= found.expected + 1e-7, (i, row, other)
