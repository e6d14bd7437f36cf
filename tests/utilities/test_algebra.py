"""Utilities print, compare, scale and add."""

import re

import numpy as np
import pytest

from tailwise.errors import UtilityError
from tailwise.utilities import (
    UTILITY_NAMES,
    Coverage,
    Hamming,
    LabelPriors,
    LogPrecision,
    MacroF1,
    MacroFBeta,
    MacroPrecision,
    PowerLawPrecision,
    Precision,
    PropensityScoredPrecision,
    Utility,
    WeightedInstance,
    as_utility,
)

PRIORS = LabelPriors([3, 1, 0], 10)
OTHER_PRIORS = LabelPriors([3, 1, 1], 10)


def shrink(t, q, p):
    return t / (q + 1.0)


PRINTED = {
    "Precision()": (Precision(), "precision"),
    "MacroF1()": (MacroF1(), "macro-f1"),
    "MacroFBeta(beta=2)": (MacroFBeta(2), "macro-fbeta(2)"),
    "Coverage()": (Coverage(), "coverage"),
    "WeightedInstance(w00=0, w01=-0.2, w10=0, w11=1)": (WeightedInstance(w11=1, w01=-0.2), "weighted-instance"),
    "WeightedInstance(w00=0, w01=0, w10=0, w11=<3 values>)": (WeightedInstance(w11=[1, 2, 3]), "weighted-instance"),
    "PowerLawPrecision(priors=LabelPriors(3 labels, 10 training instances), beta=0.5)": (
        PowerLawPrecision(PRIORS),
        "power-law",
    ),
    "0.7*Precision() + 0.3*MacroF1()": (0.7 * Precision() + 0.3 * MacroF1(), "0.7*precision + 0.3*macro-f1"),
    "2*Coverage()": (Coverage() * 2, "2*coverage"),
    "1*Precision()": (1 * Precision(), "precision"),
    "1*Precision() + 1*MacroFBeta(beta=2)": (Precision() + MacroFBeta(2), "1*precision + 1*macro-fbeta(2)"),
    "Utility.from_formula(shrink)": (Utility.from_formula(shrink, compiled=False), "shrink"),
}


@pytest.mark.parametrize("text", PRINTED)
def test_repr_and_str(text):
    utility, short = PRINTED[text]
    assert repr(utility) == text
    assert str(utility).partition("(")[0] == short.partition("(")[0]


# Pairs of objects made apart that mean the same.
EQUAL = {
    "precision": (Precision(), Precision()),
    "beta": (MacroFBeta(2), MacroFBeta(2.0)),
    "weights": (WeightedInstance(w11=[1, 2]), WeightedInstance(w11=np.array([1.0, 2.0]))),
    "priors": (PowerLawPrecision(PRIORS, 0.25), PowerLawPrecision(LabelPriors([3, 1, 0], 10), 0.25)),
    "order": (Precision() + MacroF1(), MacroF1() + Precision()),
    "scaled": (2 * Precision(), Precision() + Precision()),
    "times one": (1.0 * Precision(), Precision()),
    "formula": (Utility.from_formula(shrink, compiled=False), Utility.from_formula(shrink, compiled=False)),
    "brackets": (2 * (Precision() + MacroF1()), 2 * Precision() + 2 * MacroF1()),
}


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_equal_utilities(pair):
    first, second = pair
    assert first == second
    assert second == first


@pytest.mark.parametrize("pair", EQUAL.values(), ids=EQUAL)
def test_equal_utilities_have_equal_hashes(pair):
    first, second = pair
    assert hash(first) == hash(second)
    assert len({first, second}) == 1


DIFFERENT = {
    "type": (Precision(), Hamming()),
    "beta": (MacroFBeta(2), MacroFBeta(3)),
    "weights": (WeightedInstance(w11=[1, 2]), WeightedInstance(w11=[1, 3])),
    "priors": (LogPrecision(PRIORS), LogPrecision(OTHER_PRIORS)),
    "power": (PowerLawPrecision(PRIORS, 0.5), PowerLawPrecision(PRIORS, 0.6)),
    "propensity": (PropensityScoredPrecision(PRIORS), PropensityScoredPrecision(PRIORS, 0.6, 2.6)),
    "factor": (2 * Precision(), 3 * Precision()),
    "mixture": (Precision() + MacroF1(), Precision() + Coverage()),
    "part": (Precision() + MacroF1(), Precision()),
    "formula": (
        Utility.from_formula(shrink, compiled=False),
        Utility.from_formula(lambda t, q, p: 0.5 * t, compiled=False),
    ),
    "text": (Precision(), "precision"),
    "mixture and text": (Precision() + MacroF1(), "precision + macro-f1"),
}


@pytest.mark.parametrize("pair", DIFFERENT.values(), ids=DIFFERENT)
def test_different_utilities(pair):
    first, second = pair
    assert first != second
    assert second != first


def test_every_name_differs_from_every_other():
    utilities = [as_utility(name, PRIORS) for name in UTILITY_NAMES]
    assert len(set(utilities)) == len(utilities)


def test_terms_merge():
    mixture = 0.5 * Precision() + 0.2 * MacroF1() + 0.25 * Precision()
    assert mixture.terms == ((0.75, Precision()), (0.2, MacroF1()))
    assert (MacroFBeta(2) + MacroFBeta(3)).terms == ((1.0, MacroFBeta(2)), (1.0, MacroFBeta(3)))
    assert Precision().terms == ((1.0, Precision()),)


def test_scaling_reaches_every_term():
    assert (2 * (0.5 * Precision() + MacroF1())).terms == ((1.0, Precision()), (2.0, MacroF1()))
    assert (Precision() * np.float32(0.5)).terms == ((0.5, Precision()),)
    assert (np.int64(3) * Precision()).terms == ((3.0, Precision()),)


def test_a_part_of_factor_zero_vanishes():
    assert 0 * Precision() + MacroF1() == MacroF1()
    assert MacroF1() + 0.0 * Precision() == MacroF1()


@pytest.mark.parametrize("factor", [-0.5, np.nan, np.inf, -np.inf])
def test_bad_factors_are_refused(factor):
    message = rf"A utility's factor must be 0, or a finite number of at least 1e-290\. Got {factor}\."
    with pytest.raises(UtilityError, match=message):
        factor * Precision()
    with pytest.raises(UtilityError, match=message):
        (Precision() + MacroF1()) * factor


def test_only_utilities_add_and_only_numbers_scale():
    for other in (1, "macro-f1", None):
        with pytest.raises(TypeError):
            Precision() + other
    for other in ("x", None, [1.0], MacroF1()):
        with pytest.raises(TypeError):
            Precision() * other


def test_a_mixture_of_nothing_is_refused_where_it_is_used():
    nothing = 0 * (Precision() + MacroF1())
    assert nothing.terms == ()
    assert nothing + Coverage() == Coverage()
    with pytest.raises(UtilityError, match=r"utility must have at least one part with a factor above 0\. Got none\."):
        as_utility(nothing)


@pytest.mark.parametrize("beta", [0, -1, np.nan, np.inf, 1001, 1e155])
def test_bad_beta_is_refused(beta):
    message = f"beta must be above 0 and at most 1000. Got {beta}. Use MacroPrecision (macro-precision) for 0, Macro"
    with pytest.raises(UtilityError, match=re.escape(message)):
        MacroFBeta(beta)


@pytest.mark.parametrize("name", ["w00", "w01", "w10", "w11"])
def test_weights_must_be_finite(name):
    with pytest.raises(UtilityError, match=rf"{name} must be finite\. Got nan\."):
        WeightedInstance(**{name: np.nan})
    with pytest.raises(UtilityError, match=rf"{name} must be finite\. Got inf\."):
        WeightedInstance(**{name: [1.0, np.inf]})


@pytest.mark.parametrize("utility", [PropensityScoredPrecision, PowerLawPrecision, LogPrecision])
def test_missing_priors_are_refused(utility):
    message = rf"{utility.__name__} needs the label priors of the training set\. Got none\. Give priors=training_labels"
    with pytest.raises(UtilityError, match=message):
        utility()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_parameters_that_are_no_numbers_are_refused(bad):
    for make in (
        lambda: PowerLawPrecision(PRIORS, bad),
        lambda: PropensityScoredPrecision(PRIORS, a=bad),
        lambda: PropensityScoredPrecision(PRIORS, b=bad),
    ):
        with pytest.raises(UtilityError, match=r"must be"):
            make()


def test_priors_may_be_the_training_matrix():
    training = np.array([[1, 0], [1, 1], [1, 0], [0, 0]])
    assert LogPrecision(training) == LogPrecision(LabelPriors([3, 1], 4))


def test_precision_is_power_law_of_zero():
    counts = {"t": [1.0, 2.0, 0.5], "q": [2, 2, 2], "p": [1.5, 2.5, 1.0]}
    flat = PowerLawPrecision(PRIORS, 0).psi(**counts, n_instances=3, k=2)
    np.testing.assert_allclose(flat, Precision().psi(**counts, n_instances=3, k=2))


def test_f1_is_f_of_beta_one():
    counts = {"t": [1.0, 0.0], "q": [2, 0], "p": [1.5, 0.0]}
    np.testing.assert_array_equal(MacroFBeta(1).psi(**counts, n_instances=4), MacroF1().psi(**counts, n_instances=4))
    assert MacroPrecision().psi(**counts, n_instances=4).tolist() == [0.25, 0.0]
