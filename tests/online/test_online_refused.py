"""What a stream refuses, in words; and that it goes on as if nothing had come."""

import copy
import pickle
import threading

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import FormulaError, InputError, NumericalError, UtilityError
from tailwise.utilities import MacroF1, Utility
from tailwise.utilities.linear import LinearUtility
from tailwise.utilities.utility import Coefficients

pytestmark = pytest.mark.boundscheck

M = 4


@pytest.fixture
def selector():
    selector = tw.OnlineSelector("macro-f1", 2, M)
    selector.select(np.array([[0.5, 0.4, 0.0, 0.1], [0.2, 0.9, 0.3, 0.0]]))
    return selector


def state_of(selector):
    totals = selector.totals
    return [totals.n_instances, *(part.tobytes() for part in (totals.t, totals.q, totals.p, totals.log_failure))]


def pair(labels, values):
    return np.array(labels), np.array(values)


REFUSED = {
    "above one": (pair([0, 1], [0.5, 1.5]), r"probabilities must lie in \[0, 1\]. Got 1.5 for instance 0, label 1"),
    "below zero": (pair([0, 1], [0.5, -0.5]), r"probabilities must lie in \[0, 1\]. Got -0.5"),
    "not a number": (pair([0, 3], [0.5, np.nan]), r"must lie in \[0, 1\]. Got nan for instance 0, label 3"),
    "infinite": (pair([0, 3], [0.5, np.inf]), r"must lie in \[0, 1\]. Got inf"),
    "label too large": (pair([0, 4], [0.5, 0.5]), "label numbers must be below n_labels=4. Got 4"),
    "label beyond 63 bits": (
        pair(np.array([0, 2**64 - 1], np.uint64), [0.5, 0.5]),
        "label numbers must be below n_labels=4. Got 184467",
    ),
    "label below zero": (pair([0, -2], [0.5, 0.5]), "label numbers must be integers of at least 0. Got -2"),
    "label twice": (pair([3, 1, 3], [0.5, 0.5, 0.2]), "label 3"),
    "labels of floats": (pair([0.0, 1.0], [0.5, 0.5]), "label numbers must be integers of at least 0. Got float64"),
    "labels that are truths": (
        pair([True, False], [0.5, 0.5]),
        "label numbers must be integers of at least 0. Got bool",
    ),
    "complex": (pair([0, 1], [0.5, 0.5j]), "probabilities must hold numbers. Got an array of dtype complex128"),
    "text": (pair([0, 1], ["a", "b"]), "probabilities must hold numbers"),
    "lengths": (pair([0, 1], [0.5]), "A row must have as many labels as probabilities. Got 2 and 1"),
    "masked": ((np.array([0, 1]), np.ma.array([0.5, 0.4], mask=[0, 1])), "must not have masked entries"),
    "a row of a matrix": (
        np.array([0.5, 0.4, 0.1, 0.2]),
        r"rows must be a matrix, or a pair .*\. Got shape \(4,\)\. For a single row .* give p\[:1\], not p\[0\]\.",
    ),
    "three arrays": ((np.array([0]), np.array([0.5]), np.array([0])), "must be a pair"),
    "other labels": (np.full((2, 3), 0.5), "rows must have the 4 labels of the selector. Got 3. Create the selector"),
    "other candidates": (tw.Candidates.of(np.full((1, 5), 0.5)), "rows must have the 4 labels of the selector. Got 5"),
    "second row": (sp.csr_array([[0.5, 0.1, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]), "Got 2 for instance 1, label 1"),
    "table": ("a table", "must have the columns instance, label, probability. Missing: probability"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_row_that_is_refused_changes_nothing(selector, name):
    rows, message = REFUSED[name]
    if name == "table":
        rows = pytest.importorskip("pandas").DataFrame({"instance": [0], "label": [1]})
    before = state_of(selector)
    with pytest.raises(InputError, match=message):
        selector.select(rows)
    assert state_of(selector) == before
    # What a refused row left behind would show here: a label that comes again, and other labels.
    twin = tw.OnlineSelector("macro-f1", 2, M)
    twin.select(np.array([[0.5, 0.4, 0.0, 0.1], [0.2, 0.9, 0.3, 0.0]]))
    row = pair([0, 1, 3], [0.6, 0.7, 0.2])
    np.testing.assert_array_equal(selector.select(row), twin.select(row))
    assert state_of(selector) == state_of(twin)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k must be an integer between 1 and 4, the number of labels. Got 0"),
        ({"k": 5}, "k must be an integer between 1 and 4, the number of labels. Got 5"),
        ({"k": None}, "k must be an integer between 1 and 4, the number of labels. Got None"),
        ({"n_labels": 0}, "n_labels must be an integer of at least 1. Got 0"),
        ({"n_labels": 2**40}, "The number of labels must be at most 2147483647. Got 1099511627776"),
        ({"utility": "macro-f"}, "utility must be a known name. Got 'macro-f'. Did you mean macro-f1"),
        ({"utility": "log"}, "needs the label priors"),
        ({"utility": "log", "priors": np.eye(3)}, "one number per label, 4 in all"),
        ({"utility": MacroF1(weights=[1.0, 2.0])}, "weights must hold one number per label, 4 in all. Got 2"),
        ({"utility": MacroF1(weights={"cat": 2.0})}, "names the label 'cat', which the probabilities do not name"),
        ({"utility": Utility.from_formula(lambda t, q, p: -t, compiled=False)}, "must not decrease as t grows"),
    ],
)
def test_selectors_that_cannot_be(options, message):
    with pytest.raises(InputError, match=message):
        tw.OnlineSelector(**{"utility": "macro-f1", "k": 2, "n_labels": M, **options})


class Undeclared(LinearUtility):
    """Linear once p is known, which it never is online."""

    name = "undeclared"

    def coefficients(self, batch):
        zeros = np.zeros(batch.n_labels)
        return Coefficients(1 / (1 + batch.condition_positives), zeros, zeros)


def test_a_utility_that_declares_nothing_usable_is_refused_by_name():
    message = r"must define psi\(t, q, p, n\)\. Undeclared does not\. Use Utility\.from"
    with pytest.raises(UtilityError, match=message):
        tw.OnlineSelector(0.5 * MacroF1() + Undeclared(), 2, M)


def fails_later(t, q, p):
    """Where nobody tries it before rows come."""
    if q == 2 and 0.45 < t < 0.48:
        msg = "too often"
        raise ValueError(msg)
    return t


@pytest.mark.parametrize("form", ["single", "several"])
def test_a_formula_that_fails_on_the_way(form):
    selector = tw.OnlineSelector(Utility.from_formula(fails_later, compiled=False), 1, M)
    selector.select(pair([0, 1], [0.3, 0.2]))
    before = state_of(selector)
    rows = pair([0, 1], [0.16, 0.1]) if form == "single" else np.array([[0, 0, 0.4, 0.5], [0.16, 0.1, 0, 0]])
    with pytest.raises(FormulaError, match="The formula fails_later raised ValueError: too often"):
        selector.select(rows)
    assert state_of(selector) == before
    assert selector.select(pair([2], [0.3])).tolist() == [2]


@pytest.mark.parametrize("form", ["single", "several"])
def test_gains_that_are_not_finite(form):
    selector = tw.OnlineSelector(1e300 * MacroF1(weights=np.full(M, 1e100)), 1, M)
    rows = pair([0, 1], [0.3, 0.2]) if form == "single" else np.array([[0.3, 0.2, 0.0, 0.0]])
    with pytest.raises(NumericalError, match=r"must be finite. They are not for row 0. Use smaller factors"):
        selector.select(rows)
    assert selector.n_instances == 0
    assert selector.totals.p.sum() == 0


def test_inputs_are_not_changed(selector):
    labels, values = pair([3, 0, 1], [0.1, 0.2, 0.3])
    selector.select((labels, values))
    assert labels.tolist() == [3, 0, 1]
    assert values.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_go_their_own_ways(duplicate):
    selector = tw.OnlineSelector("macro-recall", 2, M)
    selector.select(pair([0, 1, 2], [0.7, 0.2, 0.1]))
    twin = duplicate(selector)
    before = state_of(twin)
    assert before == state_of(selector)
    row = pair([0, 1, 2], [0.3, 0.2, 0.6])
    expected = selector.select(row)
    assert state_of(twin) == before
    np.testing.assert_array_equal(twin.select(row), expected)
    assert state_of(twin) == state_of(selector)


@pytest.mark.parametrize("utility", [MacroF1(), Utility.from_formula(fails_later, compiled=False)], ids=str)
def test_formulas_are_copied(utility):
    selector = tw.OnlineSelector(utility, 2, M)
    selector.select(pair([0, 1, 2], [0.7, 0.2, 0.1]))
    row = pair([0, 1, 2], [0.3, 0.2, 0.6])
    assert copy.deepcopy(selector).select(row).tolist() == selector.select(row).tolist()


def test_threads_share_a_selector():
    selector = tw.OnlineSelector("macro-f1", 2, M)
    row = pair([0, 1, 2], [0.5, 0.25, 0.75])
    threads = [threading.Thread(target=lambda: [selector.select(row) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert selector.n_instances == 800
    assert selector.totals.q.sum() == 1600
    assert selector.totals.p[:3].tolist() == [400.0, 200.0, 600.0]


def test_it_tells_what_it_is(selector):
    assert repr(selector) == "OnlineSelector(macro-f1, k=2, 4 labels, 2 rows so far)"
    assert (selector.k, selector.n_labels, selector.utility) == (2, 4, MacroF1())
