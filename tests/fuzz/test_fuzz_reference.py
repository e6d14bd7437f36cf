"""The reference of the fuzz against exact fractions, against the other references, and against what is plain."""

import math
from dataclasses import replace
from fractions import Fraction

import fuzz.reference
import numpy as np
import pytest
from fuzz import feasible
from fuzz.asking import ask
from fuzz.checks import check
from fuzz.drawing import draw_problem
from fuzz.elsewhere import Context, Elsewhere, Part, elsewhere_of
from fuzz.problems import MACRO_CLASSES
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
from reference import context as other_reference
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


OTHERS = (((0.3, 0.8, 0.0), (0.6, 0.1, 1.0)), ((0, 1), (2,)))
OBSERVED = (((1, 0, 0), (0, 1, 0), (1, 1, 0)), ((0,), (), (0, 2)))


@pytest.mark.parametrize("scale", [1.0, 0.5])
@pytest.mark.parametrize("kinds", [(False,), (True,), (False, True)])
@pytest.mark.parametrize("name", ["macro-precision", "macro-recall", "macro-f1", "macro-jaccard", "macro-gmean"])
def test_what_is_elsewhere_is_that_of_the_other_reference(name, kinds, scale):
    context = Context(tuple(Part(*(OBSERVED if known else OTHERS), known) for known in kinds), scale)
    batch, psis = Batch(3 + context.n_instances, 3, 5 + context.n_slots), [other_reference.PSI[name]] * 3
    matrix = [[0.3, 0.9, 0.2], [0.5, 0.0, 1.0], [0.7, 0.4, 0.1]]
    is_chosen, labels = [[1, 0, 0], [0, 1, 1], [1, 0, 1]], [elsewhere_of(context, j) for j in range(3)]
    other = {"t": [e.t for e in labels], "q": [e.q for e in labels], "p": [e.p for e in labels]}
    other |= {"known_t": [e.known_hits for e in labels], "known_p": [e.known_hits + e.known_misses for e in labels]}
    other |= {"n": context.n_instances, "failure": [e.failure for e in labels]}
    for expect, expect_other in (
        (semi_empirical, other_reference.expect_semi),
        (exact_by_enumeration, other_reference.expect_exactly),
        (exact_by_laws, other_reference.expect_exactly),
    ):
        found = 0.0
        for j in range(3):
            column, chosen = [row[j] for row in matrix], frozenset(i for i in range(3) if is_chosen[i][j])
            found += expect([Term(1.0, name)], batch, j, column, chosen, labels[j])
        assert found == pytest.approx(expect_other(psis, matrix, is_chosen, other), rel=1e-12)


def test_what_is_elsewhere_by_hand():
    """Half of a label with a hit of 0.3 and a miss of 0.6, and observed: two hits, a miss."""
    parts = Part(*OTHERS, is_observed=False), Part(*OBSERVED, is_observed=True)
    found = elsewhere_of(Context(parts, 0.5), 0)
    assert found == pytest.approx(Elsewhere(0.15, 0.3, 1.0, 0.0, 1.5, 2.5, 0.0))
    assert elsewhere_of(Context(parts[:1], 0.5), 0).failure == pytest.approx(0.7**0.5)


def test_specificity_and_coverage_with_what_is_elsewhere():
    """Specificity counts false positives and negatives elsewhere at their mean, coverage the chance of no hit."""
    elsewhere = Elsewhere(hits=0.3, misses=0.6, q=2.0, n=4.0, failure=0.7)
    batch, weights = Batch(5.0, 2, 3), (0.0, 2.0)
    balanced = Term(1.0, "macro-balanced-accuracy", (), weights)
    # One instance of probability 0.25, selected. Elsewhere 3.1 negatives, of which 1.7 are predicted.
    specificity = 0.25 * 1.4 / 3.1 + 0.75 * 1.4 / 4.1
    recall = exact_by_enumeration([Term(1.0, "macro-recall")], batch, 1, [0.25], frozenset([0]), elsewhere) * 2
    found = exact_by_enumeration([balanced], batch, 1, [0.25], frozenset([0]), elsewhere)
    assert found == pytest.approx(2 * (recall + specificity) / 4)
    assert exact_by_enumeration([balanced], batch, 0, [0.25], frozenset([0]), elsewhere) == 0
    coverage = Term(0.5, "coverage", (), weights)
    for expect in (semi_empirical, exact_by_enumeration, exact_by_laws):
        covered = expect([coverage], batch, 1, [0.25], frozenset([0]), elsewhere)
        assert covered == pytest.approx(0.5 * 2 * (1 - 0.7 * 0.75) / 2)


def test_weights_of_outcomes():
    term = Term(1.0, "weighted", ((1.0,), (10.0,), (100.0,), (1000.0,)))
    assert measure(term.of_label(0), Batch(10, 1, 1), Counts(1, 2, 3, 4)) == (1000 + 20 + 300 + 4) / 10


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


@pytest.mark.parametrize("seed", range(40))
def test_a_program_asks_what_was_asked(seed):
    """With weights and a context, which few problems have both."""
    problem = draw_problem(seed)
    weights = tuple(float(j % 3) for j in range(problem.shape[1]))
    terms = tuple(
        term._replace(weights=term.weights or weights) if term.name in MACRO_CLASSES else term for term in problem.terms
    )
    part = Part(((0.5,) * problem.shape[1],), ((0,),), is_observed=False)
    problem = replace(problem, terms=terms, context=problem.context or Context((part,)))
    answer = ask(problem, "expected_utility", k=1, selection=problem.given_labels(), expectation="semi")
    *lines, call, _ = as_program(problem, answer.mismatch("value", "any")).splitlines()
    names = {"fuzz": fuzz}
    exec("\n".join((HEADER, *lines)), names)
    assert eval(call, names) == answer.result
