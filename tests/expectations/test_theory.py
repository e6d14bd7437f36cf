"""The paper's bounds against what is measured by enumerating label vectors and selections."""

import functools
import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from reference import utilities as reference

from tailwise.errors import InputError, UtilityError
from tailwise.expectations.regret_bounds import (
    approximation_bound,
    exact_regret_bound,
    lipschitz_constants,
    misspecification_bound,
    regret_bound,
    summed_regret_bound,
)
from tailwise.utilities import LabelPriors, MacroRecall, Precision, Utility, WeightedInstance, as_utility

REFUSED = ("macro-precision", "macro-gmean", "coverage")
MIXTURE = {"precision": 0.5, "macro-f1": 0.3, "macro-auc": 2.0}
UTILITIES = {name: {name: 1.0} for name in reference.NAMES if name not in REFUSED} | {"mixture": MIXTURE}
TRAINING = reference.Training((3, 0, 25), 40)
PRIORS = LabelPriors(TRAINING.counts, TRAINING.n_instances)
SEEDS = range(8)
ROUNDING = 1e-9


# The constants


# T, Q and P of a label with p/n = 0.2, before 1/m.
CONSTANTS = {
    "macro-recall": (5, 0, 5),
    "macro-f1": (10, 5, 5),
    "macro-fbeta(2)": (6.25, 1.25, 5),
    "macro-jaccard": (10, 5, 5),
    "macro-balanced-accuracy": (3.125, 0.625, 3.125),
    "macro-auc": (6.25, 1.25, 6.25),
    "macro-hmean": (12.5, 2.5, 12.5),
    "macro-accuracy": (2, 1, 1),
    "hamming": (2, 1, 1),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_by_hand(name):
    constants = lipschitz_constants(name, [20, 20, 20, 20], 100)
    assert np.allclose(np.transpose(constants), np.divide(CONSTANTS[name], 4))


def test_constants_follow_the_positives_of_each_label():
    assert np.allclose(lipschitz_constants("macro-recall", [1, 5, 10], 10).on_t, [10 / 3, 2 / 3, 1 / 3])


def test_constants_of_weights():
    utility = WeightedInstance(w00=0.5, w01=[-1, 0, 0], w10=-0.25, w11=[2, 1, 0])
    constants = lipschitz_constants(utility, [0, 5, 10], 10)
    assert np.allclose(constants.on_t, [3.75, 1.75, 0.75])
    assert np.allclose(constants.on_q, [1.5, 0.5, 0.5])
    assert np.allclose(constants.on_p, [0.75, 0.75, 0.75])


def test_constants_of_precision_fall_with_the_budget():
    assert np.allclose(lipschitz_constants("precision", [1, 2], 10).on_t, 1)
    assert np.allclose(lipschitz_constants(Precision(), [1, 2], 10, k=5).on_t, 1 / 5)
    weights = PRIORS.inverse_propensities()
    assert np.allclose(lipschitz_constants("ps-precision", [1, 2, 3], 10, priors=PRIORS, k=2).on_t, weights / 2)


def test_constants_of_a_mixture_add():
    p, n = [3, 8], 10
    mixed = lipschitz_constants("0.7*macro-recall + 2*macro-auc", p, n)
    parts = zip(lipschitz_constants("macro-recall", p, n), lipschitz_constants("macro-auc", p, n), strict=True)
    assert np.allclose(mixed, [0.7 * first + 2 * second for first, second in parts])


def test_constants_at_the_ends_are_infinite_where_the_formula_is():
    constants = lipschitz_constants("macro-balanced-accuracy", [0, 10], 10)
    assert np.isinf(constants.on_t).all()
    assert np.isfinite(lipschitz_constants("macro-recall", [10], 10).on_t).all()
    assert np.isfinite(lipschitz_constants("hamming", [0, 10], 10)).all()


def random_counts(rng, size, n):
    """t, q and p of random confusion matrices, sharp and flat ones, some with empty cells."""
    cells = rng.gamma(rng.choice([0.02, 0.2, 1.0, 5.0], (size, 1)), size=(size, 4)) + 1e-12
    cells *= rng.random((size, 4)) > 0.15
    cells[cells.sum(axis=1) == 0] = 1
    tp, fp, fn, _ = n * (cells / cells.sum(axis=1, keepdims=True)).T
    return tp, tp + fp, np.minimum(tp + fn, n)


def measure_changes(utility, first, second, n):
    """|psi - psi'| of many pairs, each taken for a label of its own, and what the constants allow."""
    constants = lipschitz_constants(utility, first[2], n)
    change = np.abs(utility.psi(*first, n_instances=n) - utility.psi(*second, n_instances=n))
    allowed = sum(constant * np.abs(x - y) / n for constant, x, y in zip(constants, first, second, strict=True))
    return first[2].size * change, first[2].size * allowed


NEED_NO_PRIORS = [name for name in UTILITIES if not name.startswith(("ps-", "power", "log"))]


@pytest.mark.parametrize("name", NEED_NO_PRIORS)
@pytest.mark.parametrize("step", [1.0, 1e-3])
def test_constants_hold_on_random_points(name, step):
    rng, n = np.random.default_rng(0), 50
    first, second = random_counts(rng, 6000, n), random_counts(rng, 6000, n)
    is_inside = (first[2] > 0) & (first[2] < n)
    first = [part[is_inside] for part in first]
    # Confusion matrices are a convex set: a step towards another one is one, too.
    second = [(1 - step) * x + step * y[is_inside] for x, y in zip(first, second, strict=True)]
    utility = as_utility(reference.as_text(UTILITIES[name]))
    change, allowed = measure_changes(utility, first, second, n)
    assert (change <= allowed * (1 + ROUNDING) + 1e-9).all()
    assert change.max() > 0


@pytest.mark.parametrize("name", NEED_NO_PRIORS)
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_constants_hold_where_a_draw_has_no_positives_or_no_negatives(name, end):
    rng, n = np.random.default_rng(1), 20
    first = random_counts(rng, 3000, n)
    is_inside = (first[2] > 0) & (first[2] < n)
    first = [part[is_inside] for part in first]
    q = n * rng.random(first[0].size) * (rng.random(first[0].size) > 0.1)
    utility = as_utility(reference.as_text(UTILITIES[name]))
    change, allowed = measure_changes(utility, first, (end * q, q, np.full_like(q, end * n)), n)
    assert (change <= allowed * (1 + ROUNDING) + 1e-9).all()


# Pairs (t, q, p), (t', q', p') in shares that use up one of the constants.
TIGHT = {
    "recall in t": ("macro-recall", (0.1, 0.4, 0.3), (0.2, 0.4, 0.3)),
    "recall in p": ("macro-recall", (1e-4, 0.4, 0.3), (1e-4, 0.4, 1e-4)),
    "f1 in t": ("macro-f1", (0.0, 1e-4, 0.3), (1e-4, 1e-4, 0.3)),
    "f1 in p": ("macro-f1", (1e-4, 1e-4, 0.3), (1e-4, 1e-4, 1e-4)),
    "fbeta in t": ("macro-fbeta(2)", (0.0, 1e-4, 0.3), (1e-4, 1e-4, 0.3)),
    "jaccard in t": ("macro-jaccard", (0.3, 0.3, 0.3), (0.2999, 0.3, 0.3)),
    "jaccard in p": ("macro-jaccard", (1e-4, 1e-4, 0.3), (1e-4, 1e-4, 1e-4)),
    "balanced accuracy in t": ("macro-balanced-accuracy", (0.1, 0.4, 0.3), (0.2, 0.4, 0.3)),
    "accuracy in t": ("macro-accuracy", (0.1, 0.4, 0.3), (0.2, 0.4, 0.3)),
}


@pytest.mark.parametrize("case", TIGHT)
def test_constants_are_nearly_tight(case):
    name, first, second = TIGHT[case]
    first, second = (np.array(triple)[:, None] for triple in (first, second))
    change, allowed = measure_changes(as_utility(name), first, second, 1)
    assert 0.99 * allowed <= change <= (1 + ROUNDING) * allowed


# Measured on small problems


def random_probabilities(rng, n, m):
    """Likely, unlikely and certain labels."""
    probabilities = rng.random((n, m)) ** rng.choice([0.3, 1, 4], m)
    probabilities[rng.random((n, m)) < 0.15] = 0
    probabilities[rng.random((n, m)) < 0.1] = 1
    return probabilities


class Values:
    """Exact and semi-empirical expected utility of what a label adds, by enumerating all its label vectors."""

    def __init__(self, probabilities, mixture, k=1):
        self.n, self.m = probabilities.shape
        self.columns = probabilities.T.tolist()
        self.mixture, self.setting = mixture, reference.Setting(self.m, k * self.n, TRAINING)
        self.exact, self.semi = functools.cache(self._exact), functools.cache(self._semi)

    def _semi(self, j, is_chosen):
        return reference.mixture_value(self.mixture, self.setting, j, self.columns[j], is_chosen)

    def _exact(self, j, is_chosen):
        total = 0.0
        for labels in itertools.product((0, 1), repeat=self.n):
            chance = math.prod(e if y else 1 - e for e, y in zip(self.columns[j], labels, strict=True))
            if chance > 0:
                total += chance * reference.mixture_value(self.mixture, self.setting, j, labels, is_chosen)
        return total

    def sum(self, kind, selection):
        """Of a selection given as one 0/1 tuple for each label."""
        return sum(getattr(self, kind)(j, is_chosen) for j, is_chosen in enumerate(selection))


def random_selections(rng, n, m, count):
    return [
        [tuple(column) for column in (rng.random((m, n)) < rng.random()).astype(int).tolist()] for _ in range(count)
    ]


def all_selections(n, m, k):
    """Every way to give k labels to each instance, as one 0/1 tuple for each label."""
    for rows in itertools.product(itertools.combinations(range(m), k), repeat=n):
        yield [tuple(int(j in row) for row in rows) for j in range(m)]


@pytest.mark.parametrize("name", UTILITIES)
def test_approximation_bound_holds(name):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        probabilities = random_probabilities(rng, n := int(rng.integers(1, 7)), 3)
        values = Values(probabilities, UTILITIES[name])
        bound = approximation_bound(probabilities, reference.as_text(UTILITIES[name]), priors=PRIORS)
        assert math.isfinite(bound)
        for selection in random_selections(rng, n, 3, 4):
            assert abs(values.sum("exact", selection) - values.sum("semi", selection)) <= bound + ROUNDING


@pytest.mark.parametrize("name", ["macro-recall", "macro-f1", "macro-jaccard", "macro-auc"])
def test_approximation_bound_holds_for_ten_instances(name):
    rng = np.random.default_rng(3)
    probabilities = 0.3 + 0.4 * rng.random((10, 1))
    values, selection = Values(probabilities, {name: 1.0}), [(1, 1, 1, 0, 0, 0, 1, 0, 1, 0)]
    error = abs(values.sum("exact", selection) - values.sum("semi", selection))
    assert 0 < error <= approximation_bound(probabilities, name)


def measure_regrets(truth, guess, n, m, k):
    """What the semi-empirically and the exactly best selections on estimates lose; ties are broken for the worst."""
    selections = list(all_selections(n, m, k))
    exact = np.array([truth.sum("exact", selection) for selection in selections])
    losses = []
    for kind in ("semi", "exact"):
        believed = np.array([guess.sum(kind, selection) for selection in selections])
        losses.append(exact.max() - exact[believed >= believed.max() - 1e-12].min())
    changes = [abs(truth.sum("semi", selection) - guess.sum("semi", selection)) for selection in selections]
    return *losses, max(changes)


@pytest.mark.parametrize("name", UTILITIES)
@pytest.mark.parametrize("shape", [(4, 3, 1), (3, 3, 2)])
def test_regret_bounds_hold(name, shape):
    n, m, k = shape
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        probabilities, estimates = random_probabilities(rng, n, m), random_probabilities(rng, n, m)
        probabilities[:, 0] = seed % 3 / 2 if seed < 4 else probabilities[:, 0]  # never, at times, always
        truth, guess = (Values(matrix, UTILITIES[name], k) for matrix in (probabilities, estimates))
        semi_loss, exact_loss, change = measure_regrets(truth, guess, n, m, k)
        given = probabilities, estimates, reference.as_text(UTILITIES[name])
        summed = summed_regret_bound(*given, priors=PRIORS, k=k)
        assert change <= misspecification_bound(*given, priors=PRIORS, k=k) + ROUNDING
        assert semi_loss <= summed + ROUNDING
        assert summed <= regret_bound(*given, priors=PRIORS, k=k) * (1 + ROUNDING)
        assert exact_loss <= exact_regret_bound(*given, priors=PRIORS, k=k) + ROUNDING


def test_misspecification_bound_is_reached():
    probabilities, estimates = np.array([[0.5, 0.2], [0.9, 0.4]]), np.array([[0.1, 0.1], [0.2, 0.1]])
    # Every estimate is too low, and every label selected everywhere: nothing cancels.
    change = ((probabilities - estimates) * [1, 3]).sum() / 2
    assert math.isclose(misspecification_bound(probabilities, estimates, WeightedInstance(w11=[1, 3])), change)


# The numbers themselves


def test_bounds_by_hand():
    # Recall, n = 4, m = 2, p/n = 0.5 and 0.25: T + P = 2 and 4 (with 1/m).
    probabilities = np.array([[0.5, 0.5]] * 2 + [[0.5, 0.0]] * 2)
    estimates = probabilities.copy()
    estimates[0] = [0.2, 0.1]  # by 0.3 and 0.4, a distance of 0.5
    b = math.sqrt((2**2 + 4**2) / 2)
    assert math.isclose(approximation_bound(probabilities, "macro-recall"), (2 + 4) / (2 * 2))
    misspecification = (2 * 0.3 + 4 * 0.4) / 4
    assert math.isclose(misspecification_bound(probabilities, estimates, MacroRecall()), misspecification)
    assert math.isclose(
        regret_bound(probabilities, estimates, "macro-recall"), 2 / 2 * b + 2 * math.sqrt(2) / 4 * b * 0.5
    )
    assert math.isclose(summed_regret_bound(probabilities, estimates, "macro-recall"), 2 * (1.5 + misspecification))
    at_estimates = 1 / 0.425 + 1 / 0.15
    assert math.isclose(
        exact_regret_bound(probabilities, estimates, "macro-recall"), 2 * (1.5 + at_estimates / 4 + misspecification)
    )


@pytest.mark.parametrize("name", ["macro-f1", "macro-auc"])
def test_bounds_without_estimation_error(name):
    probabilities = np.random.default_rng(0).random((9, 3))
    assert misspecification_bound(probabilities, probabilities, name) == 0
    bound = approximation_bound(probabilities, name)
    assert math.isclose(summed_regret_bound(probabilities, probabilities, name), 2 * bound)


@pytest.mark.parametrize("name", ["macro-recall", "macro-f1", "macro-auc", "macro-hmean"])
def test_certain_labels_add_nothing(name):
    certain = np.tile([0.0, 1.0], (6, 1))
    assert approximation_bound(certain, name) == 0
    assert regret_bound(certain, certain, name) == exact_regret_bound(certain, certain, name) == 0
    uncertain = np.full((6, 1), 0.5)
    both = np.hstack([uncertain, certain])
    assert math.isclose(3 * approximation_bound(both, name), approximation_bound(uncertain, name))


def test_estimates_stand_in_where_the_truth_is_certain():
    nothing, guess = np.zeros((4, 1)), np.full((4, 1), 0.5)
    # At the estimated p/n = 0.5, T + P = 4.
    assert misspecification_bound(nothing, guess, "macro-recall") == 2
    assert regret_bound(nothing, guess, "macro-recall") == 4 / 2 + 2 / 4 * 4 * 4 * 0.5


def test_certain_of_the_opposite_has_no_bound():
    nothing, everything = np.zeros((4, 1)), np.ones((4, 1))
    for bound in (misspecification_bound, regret_bound, summed_regret_bound, exact_regret_bound):
        assert bound(nothing, everything, "macro-auc") == math.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_is_dense(dtype):
    rng = np.random.default_rng(0)
    dense, estimates = (random_probabilities(rng, 6, 4).astype(dtype) for _ in range(2))
    expected = regret_bound(dense, estimates, "macro-f1")
    assert math.isclose(regret_bound(sp.csc_array(dense), sp.coo_array(estimates), "macro-f1"), expected)
    assert approximation_bound(sp.csr_array(dense), "macro-f1") == approximation_bound(dense, "macro-f1")


# What is refused


def shrink(t, q, p):
    return t / (q + 1.0)


NOT_LIPSCHITZ = {
    "macro-precision": ("macro-precision", "its slope is unbounded near q = 0"),
    "coverage": ("0.5*precision + 0.5*coverage", "it jumps at t = 0"),
    "macro-gmean": ("macro-gmean", "the slope of its square root is infinite at t = 0"),
    "shrink": (Utility.from_formula(shrink, compiled=False), "the slopes of a user-defined formula are unknown"),
}


@pytest.mark.parametrize("name", NOT_LIPSCHITZ)
def test_utilities_without_constants_are_refused(name):
    utility, reason = NOT_LIPSCHITZ[name]
    expected = f"utility must be p-Lipschitz to have this bound. Got {name}: {reason}"
    with pytest.raises(UtilityError) as caught:
        lipschitz_constants(utility, [1, 2], 10)
    assert str(caught.value).startswith(expected)
    assert str(caught.value).endswith("Compute its exact expectation instead.")
    with pytest.raises(UtilityError, match="utility must be p-Lipschitz"):
        approximation_bound(np.array([[0.5, 0.5]]), utility)
    with pytest.raises(UtilityError, match="utility must be p-Lipschitz"):
        regret_bound(np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]]), utility)


def test_gmean_has_no_constant():
    """The nearer to t = 0, the steeper its root, without end."""
    gmean = as_utility("macro-gmean")
    slopes = [gmean.psi([t], [0.3], [0.4], n_instances=1)[0] / t for t in (1e-2, 1e-4, 1e-6)]
    assert slopes[1] > 9 * slopes[0]
    assert slopes[2] > 9 * slopes[1]


BAD_POSITIVES = {
    "shape": ([[1, 2]], "shape (1, 2)"),
    "empty": ([], "shape (0,)"),
    "negative": ([-1, 2], "values from -1 to 2"),
    "too many": ([1, 11], "values from 1 to 11"),
    "nan": ([1, math.nan], "values from nan to nan"),
}


@pytest.mark.parametrize("case", BAD_POSITIVES)
def test_bad_condition_positives(case):
    positives, came = BAD_POSITIVES[case]
    with pytest.raises(InputError) as caught:
        lipschitz_constants("macro-f1", positives, 10)
    rule = "condition_positives must be one count per label, from 0 to n_instances=10."
    assert str(caught.value) == f"{rule} Got {came}."


@pytest.mark.parametrize("n_instances", [0, 2.5, True])
def test_bad_n_instances(n_instances):
    with pytest.raises(InputError) as caught:
        lipschitz_constants("macro-f1", [1], n_instances)
    assert str(caught.value) == f"n_instances must be an integer of at least 1. Got {n_instances!r}."


@pytest.mark.parametrize("k", [0, -1, math.inf, math.nan, "5"])
def test_bad_budget(k):
    with pytest.raises(InputError) as caught:
        lipschitz_constants("macro-f1", [1], 10, k=k)
    assert str(caught.value) == f"k must be a finite number above 0, the mean budget per instance. Got {k!r}."


@pytest.mark.parametrize(
    "bound", [misspecification_bound, regret_bound, summed_regret_bound, exact_regret_bound], ids=lambda f: f.__name__
)
def test_estimates_of_another_shape(bound):
    with pytest.raises(InputError) as caught:
        bound(np.full((2, 3), 0.5), np.full((2, 4), 0.5), "macro-f1")
    rule = "estimates must have the same instances and labels as probabilities, 2 and 3."
    assert str(caught.value) == f"{rule} Got 2 and 4."


def test_names_that_need_priors_say_so():
    with pytest.raises(UtilityError, match="needs the label priors"):
        approximation_bound(np.array([[0.5, 0.5]]), "ps-precision")
