"""Results, utilities and models in other processes."""

import multiprocessing
import pickle

import numpy as np
import pytest

import tailwise as tw

RNG = np.random.default_rng(0)
PROBABILITIES = RNG.beta(0.3, 2.0, (40, 10))
TRUTH = (RNG.random((40, 10)) < PROBABILITIES).astype(int)


def smoothed(t, q, p):
    return (t + 0.1) / (q + p - t + 0.1)


def priced(t, q, p, a):
    return t - a[0] * (q - t)


def select_with(utility):
    return tw.select(PROBABILITIES, utility, 2).labels


@pytest.mark.parametrize("name", tw.utilities.UTILITY_NAMES)
def test_utilities_and_selections(name):
    selection = tw.select(PROBABILITIES, name, 2, priors=TRUTH)
    again = pickle.loads(pickle.dumps(selection))
    assert np.array_equal(again.labels, selection.labels)
    assert str(again) == str(selection)
    assert again.utility == selection.utility


@pytest.mark.parametrize("compiled", [True, False])
def test_formulas(compiled):
    utility = tw.utilities.Utility.from_formula(smoothed, name="mine", compiled=compiled, weights={2: 3.0})
    again = pickle.loads(pickle.dumps(utility))
    assert str(again) == str(utility)
    assert np.array_equal(select_with(again), select_with(utility))


def test_formulas_without_a_name():
    shift = 0.1
    utility = tw.utilities.Utility.from_formula(lambda t, q, p: (t + shift) / (q + p - t + shift))
    again = pickle.loads(pickle.dumps(utility))
    assert np.array_equal(select_with(again), select_with(utility))
    assert pickle.loads(pickle.dumps(again)).function(1.0, 2.0, 3.0) == pytest.approx(1.1 / 4.1)


def test_formulas_with_parameters():
    costs = np.linspace(0.1, 1.0, 10)[:, None]
    utility = tw.utilities.Utility.from_formula(priced, parameters=costs)
    assert np.array_equal(select_with(pickle.loads(pickle.dumps(utility))), select_with(utility))


def test_other_results_and_models():
    made = [
        tw.evaluate(TRUTH, select_with("macro-f1"), ["macro-f1"], probabilities=PROBABILITIES, priors=TRUTH),
        tw.certify(PROBABILITIES, "macro-f1", 2, rounds=2),
        tw.trade_off(PROBABILITIES, "precision", "macro-f1", 2, alphas=[0, 1]).points[1].selection,
        tw.select(PROBABILITIES, "macro-f1", 2).totals,
        tw.Calibrator("platt").fit(PROBABILITIES, TRUTH),
        tw.Candidates.of(PROBABILITIES),
    ]
    for each in made:
        assert str(pickle.loads(pickle.dumps(each))) == str(each)
    tree = tw.LabelTree().fit(PROBABILITIES, TRUTH)
    again = pickle.loads(pickle.dumps(tree))
    assert (again.predict_proba(PROBABILITIES) != tree.predict_proba(PROBABILITIES)).nnz == 0
    curve = tw.trade_off(PROBABILITIES, "precision", "macro-f1", 2, alphas=[0, 1])
    assert np.array_equal(pickle.loads(pickle.dumps(curve)).alphas, curve.alphas)


def test_another_process():
    """What joblib and multiprocessing do: arguments and results go through pickle."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        (found,) = pool.map(select_with, [tw.utilities.MacroF1(weights={1: 2.0})])
    assert np.array_equal(found, select_with(tw.utilities.MacroF1(weights={1: 2.0})))
