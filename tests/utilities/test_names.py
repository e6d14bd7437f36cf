"""Utilities from text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwise.errors import UtilityError
from tailwise.utilities import (
    UTILITY_NAMES,
    Coverage,
    LabelPriors,
    MacroF1,
    MacroFBeta,
    PowerLawPrecision,
    Precision,
    PropensityScoredPrecision,
    as_utility,
)

PRIORS = LabelPriors([3, 1, 0], 10)

READ = {
    "precision": Precision(),
    "Macro-F1": MacroF1(),
    "  macro-f1\n": MacroF1(),
    "macro-fbeta(2)": MacroFBeta(2),
    "macro-fbeta( 0.5 )": MacroFBeta(0.5),
    "macro-fbeta(1e-1)": MacroFBeta(0.1),
    "macro-fbeta": MacroFBeta(1),
    "power-law": PowerLawPrecision(PRIORS, 0.5),
    "power-law(0.25)": PowerLawPrecision(PRIORS, 0.25),
    "power-law(-1)": PowerLawPrecision(PRIORS, -1),
    "ps-precision(0.6, 2.6)": PropensityScoredPrecision(PRIORS, 0.6, 2.6),
    "ps-precision(0.6)": PropensityScoredPrecision(PRIORS, 0.6),
    "2*coverage": 2 * Coverage(),
    "1e-3 * coverage": 0.001 * Coverage(),
    ".5*coverage": 0.5 * Coverage(),
    "5.*coverage": 5 * Coverage(),
    "2E2*COVERAGE": 200 * Coverage(),
    "1e+2*coverage": 100 * Coverage(),
    "0.7*precision + 0.3*macro-f1": 0.7 * Precision() + 0.3 * MacroF1(),
    "0.7*precision+0.3*macro-f1": 0.7 * Precision() + 0.3 * MacroF1(),
    "precision  +  0.3 *macro-fbeta(2)": Precision() + 0.3 * MacroFBeta(2),
    "precision + macro-f1 + 2*precision": 3 * Precision() + MacroF1(),
    "0.5*ps-precision(0.5, 2) + .5*Coverage": 0.5 * PropensityScoredPrecision(PRIORS, 0.5, 2) + 0.5 * Coverage(),
    "0*precision + macro-f1": MacroF1(),
}


@pytest.mark.parametrize("text", READ)
def test_text_is_read(text):
    assert as_utility(text, PRIORS) == READ[text]


@pytest.mark.parametrize("name", UTILITY_NAMES)
def test_every_name_is_read_back_from_its_print(name):
    utility = as_utility(name, PRIORS)
    assert utility.name == name
    for changed in (utility, 0.25 * utility, 1e-9 * utility, utility + 0.5 * Coverage()):
        assert as_utility(str(changed), PRIORS) == changed
    assert as_utility(name.upper(), PRIORS) == utility


PARAMETERS = {
    "macro-fbeta": MacroFBeta(2.5),
    "macro-fbeta of many digits": MacroFBeta(0.1234567),
    "power-law": PowerLawPrecision(PRIORS, 0.25),
    "ps-precision": PropensityScoredPrecision(PRIORS, 0.6, 2.6),
    "large factor": 1e20 * Precision(),
}


@pytest.mark.parametrize("utility", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_survive_printing(utility):
    assert as_utility(str(utility), PRIORS) == utility


# Factors with at most 12 digits, as many as are printed.
factors = st.integers(1, 10**9).map(lambda number: number / 10**6)


@given(st.lists(st.tuples(factors, st.sampled_from(UTILITY_NAMES)), min_size=1, max_size=4, unique_by=lambda x: x[1]))
@settings(deadline=None, max_examples=60)
def test_mixtures_survive_printing(parts):
    first, *others = (factor * as_utility(name, PRIORS) for factor, name in parts)
    mixture = sum(others, first)
    assert as_utility(str(mixture), PRIORS) == mixture


def test_objects_pass_through():
    utility = 0.5 * Precision() + MacroF1()
    assert as_utility(utility) is utility


def test_priors_may_be_the_training_matrix():
    assert as_utility("log", [[1, 0], [1, 1], [0, 0]]) == as_utility("log", LabelPriors([2, 1], 3))


ALL_NAMES = ", ".join(UTILITY_NAMES)
REFUSED = {
    "macro-f": f"utility must be a known name. Got 'macro-f'. Did you mean macro-f1? Names: {ALL_NAMES}.",
    "f1": "Got 'f1'. ",
    "precison": "Got 'precison'. Did you mean precision? ",
    "Coverag": "Got 'coverag'. Did you mean coverage? ",
    "0.3*macro-f1 + 0.7*macro-jacard": "Got 'macro-jacard'. Did you mean macro-jaccard? ",
    "xyzzy": f"utility must be a known name. Got 'xyzzy'. Names: {ALL_NAMES}.",
    "": "utility must read like macro-f1 or 0.7*precision + 0.3*macro-f1. Got ''.",
    "precision +": "must read like macro-f1 or 0.7*precision + 0.3*macro-f1. Got 'precision +'.",
    "-1*precision": "must read like macro-f1 or 0.7*precision + 0.3*macro-f1. Got '-1*precision'.",
    "precision - macro-f1": "Got 'precision - macro-f1'. Parts are added, not subtracted, with factors of at least 0.",
    "0.5*precision - 0.5*macro-f1": "Parts are added, not subtracted",
    "0.5*precision + -0.5*macro-f1": "Parts are added, not subtracted",
    "0.5 precision": "must read like",
    "precision*0.5": "must read like",
    "nan*precision": "must read like",
    "macro_f1": "utility must be a known name. Got 'macro_f1'. Did you mean macro-f1? ",
    "macro-f2": "Got 'macro-f2'. Did you mean macro-fbeta(2)? ",
    "Macro_F0.5": "Got 'macro_f0.5'. Did you mean macro-fbeta(0.5)? ",
    "precision@5": "Got 'precision@5'. Did you mean precision? The budget is a separate parameter, k (-k). ",
    "macro-fbeta(2": "must read like",
    "1.2.3*precision": "The parameters and factors of a utility must be numbers. Got '1.2.3' in '1.2.3*precision'.",
    "macro-fbeta(two)": "The parameters and factors of a utility must be numbers. Got 'two' in 'macro-fbeta(two)'.",
    "macro-fbeta()": "must be numbers. Got '' in 'macro-fbeta()'.",
    "macro-fbeta(0)": "beta must be above 0 and at most 1000. Got 0.0.",
    "macro-fbeta(nan)": "beta must be above 0 and at most 1000. Got nan.",
    "macro-fbeta(1, 2)": "macro-fbeta does not take 2 parameters. Got 'macro-fbeta(1, 2)'.",
    "precision(5)": "precision does not take 1 parameters. Got 'precision(5)'.",
    "power-law(1, 2)": "power-law does not take 2 parameters. Got 'power-law(1, 2)'.",
    "log(2)": "log does not take 1 parameters. Got 'log(2)'.",
    "power-law(nan)": "must be",
    "ps-precision(inf)": "must be",
    "0*precision": "utility must have at least one part with a factor above 0. Got none.",
    "1e999*precision": "A utility's factor must be 0, or a finite number of at least 1e-290. Got inf.",
}


@pytest.mark.parametrize("text", REFUSED)
def test_bad_text_is_refused(text):
    with pytest.raises(UtilityError, match=re.escape(REFUSED[text])):
        as_utility(text, PRIORS)


@pytest.mark.parametrize("name", ["ps-precision", "power-law", "log", "precision + log"])
def test_missing_priors_are_refused(name):
    with pytest.raises(UtilityError, match=r"needs the label priors.* Give priors=training_labels \(--priors FILE\)\."):
        as_utility(name)


@pytest.mark.parametrize("other", [None, 5, ["precision"], int])
def test_other_types_are_refused(other):
    message = rf"utility must be a Utility or a name\. Got {type(other).__name__}\. Names: precision, ps-precision, .*"
    with pytest.raises(UtilityError, match=message):
        as_utility(other)


def test_a_class_in_the_place_of_its_object():
    with pytest.raises(UtilityError, match=r"Got the class MacroF1\. Write MacroF1\(\)\."):
        as_utility(MacroF1)


def test_factors_are_printed_without_rounding_noise():
    mixture = (1 - 0.8) * Precision() + 0.8 * MacroF1()
    assert str(mixture) == "0.2*precision + 0.8*macro-f1"
    assert repr(mixture) == "0.2*Precision() + 0.8*MacroF1()"
