"""The reference of the fuzz against exact fractions, against the other references, and against what is plain."""

import math
from fractions import Fraction

import numpy as np
import pytest
from fuzz import feasible
from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.programs import HEADER, as_program
from fuzz.reference import (
    BY_LAWS,
    CURVED,
    LINEAR,
    Batch,
    Counts,
    Term,
    exact_by_enumeration,
    exact_by_laws,
    measure,
    semi_empirical,
)
from fuzz.shrinking import shrink
from reference import utilities

import tailwise as tw

NAMES = [name for name in (*LINEAR, *CURVED, *BY_LAWS) if name != "weighted"]
DELICATE = [1e-42, 1 - 1e-16, 1e-300, 0.3, 1.0]


def draw_columns():
    rng = np.random.default_rng(0)
    return [rng.random(5).round(3).tolist(), DELICATE, [0.0] * 5, [1.0] * 5]


@pytest.mark.parametrize("name", NAMES)
def test_measures_are_those_of_the_other_reference(name):
    batch, setting = Batch(5, 3, 7), utilities.Setting(3, 7)
    for column in draw_columns()[::3]:
        for chosen in (frozenset(), frozenset({0}), frozenset({1, 3, 4}), frozenset(range(5))):
            is_chosen = [i in chosen for i in range(5)]
            other = utilities.label_value(name, setting, 0, column, is_chosen)
            assert semi_empirical([Term(1.0, name)], batch, 0, column, chosen) == pytest.approx(other, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_two_ways_to_the_exact_expectation(name):
    terms, batch = [Term(0.7, name), Term(0.3, "macro-f1")], Batch(5, 3, 7)
    for column in draw_columns():
        for chosen in (frozenset(), frozenset({1, 3})):
            enumerated = exact_by_enumeration(terms, batch, 0, column, chosen)
            assert exact_by_laws(terms, batch, 0, column, chosen) == pytest.approx(enumerated, rel=1e-12, abs=1e-300)


def test_expectation_in_fractions():
    """Recall of the first two of five, in exact arithmetic."""
    total = Fraction(0)
    for outcome in range(2**5):
        labels = [outcome >> i & 1 for i in range(5)]
        etas = [Fraction(eta) for eta in DELICATE]
        chance = math.prod(eta if y else 1 - eta for eta, y in zip(etas, labels, strict=True))
        total += chance * Fraction(sum(labels[:2]), max(1, sum(labels)))
    found = exact_by_enumeration([Term(1.0, "macro-recall")], Batch(5, 1, 5), 0, DELICATE, frozenset({0, 1}))
    assert found == pytest.approx(float(total), rel=1e-14)


def test_weights_of_outcomes():
    term = Term(1.0, "weighted", ((1.0,), (10.0,), (100.0,), (1000.0,)))
    assert measure(term, Batch(10, 1, 1), 0, Counts(1, 2, 3, 4)) == (1000 + 20 + 300 + 4) / 10


@pytest.mark.parametrize(
    ("extras", "budget", "fills", "allowed"),
    [
        ((), 1, False, ["0", "1"]),
        ((), 3, False, ["01"]),
        ((), 3, True, ["012", "013"]),
        ((), None, False, ["", "0", "1", "01"]),
        ((2,), 1, False, ["0", "1", "2"]),
        ((2,), 2, False, ["01", "02", "12"]),
        ((2,), 3, False, ["01", "02", "12", "012"]),
        ((2,), 3, True, ["012", "013", "023", "123"]),
        ((2,), 0, True, [""]),
    ],
)
def test_what_is_feasible(extras, budget, fills, allowed):
    """Labels 0 and 1 of four are candidates."""
    found = feasible.choices_of_row({0, 1}, set(extras), budget, 4, fills=fills)
    assert {"".join(map(str, sorted(labels))) for labels in found} == set(allowed)


def test_a_fault_is_found_and_made_small(monkeypatch):
    """expected_utility is made wrong for every selection of label 0."""
    right = tw.expected_utility

    def wrong(probabilities, selection, **arguments):
        return right(probabilities, selection, **arguments) + 0.01 * (np.asarray(selection) == 0).any()

    monkeypatch.setattr(tw, "expected_utility", wrong)
    problem = draw_problem(0)
    found = [mismatch for mismatch in check(problem) if mismatch.call.function == "expected_utility"]
    assert found
    smaller, mismatch = shrink(problem, found[0])
    assert smaller.shape == (1, 1)
    assert run_program(as_program(smaller, mismatch)) == ["expected_utility"]


def run_program(text):
    """Run a program on stand-ins for the functions of tailwise; the names of those called."""
    called = []

    class Recorder:
        def __getattr__(self, name):
            return lambda *args, **kwargs: called.append(name)

    exec(f"{HEADER}\ntw = recorder\n{text}", {"recorder": Recorder()})
    return called
