"""The exact expected utility of any selection, against all label vectors and against dynamic programs."""

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import expectations as reference
from reference import utilities
from reference.formulas import rooted

import tailwise as tw
from tailwise.errors import InputError
from tailwise.utilities import Utility

QUADRATURE = (
    "macro-f1",
    "macro-fbeta(0.5)",
    "macro-fbeta(2)",
    "macro-recall",
    "macro-jaccard",
    "macro-balanced-accuracy",
)
EXACT_ALREADY = ("macro-precision", "coverage", "precision", "hamming", "macro-accuracy")
BY_PROBABILITIES = ("macro-gmean", "macro-hmean", "macro-auc")
MIXTURES = (
    "0.7*precision + 0.3*macro-f1",
    "0.5*macro-recall + 0.2*macro-jaccard + 0.3*coverage",
    "macro-f1 + 0.5*macro-fbeta(2) + 2.0*macro-balanced-accuracy",
    "0.2*macro-gmean + 0.5*macro-f1 + 0.1*hamming + 0.1*macro-auc",
)
NAMES = (*QUADRATURE, *EXACT_ALREADY, *BY_PROBABILITIES)
every_name = pytest.mark.parametrize("name", [*NAMES, *MIXTURES])
KINDS = ("uniform", "rare", "likely", "certain", "mixed", "empty")


def near(value):
    """Quadrature promises a relative error below 1e-6, probabilities an absolute one below 1e-8."""
    return pytest.approx(value, rel=1e-6, abs=1e-8)


def near_by_quadrature(value):
    """Small values too: a relative error, down to rounding."""
    return pytest.approx(value, rel=1e-6, abs=1e-15)


def random_column(rng, n, kind):
    values = rng.random(n)
    if kind == "rare":
        return values**6
    if kind == "likely":
        return 1 - values**4
    if kind == "certain":
        return (values < 0.4).astype(float)
    if kind == "mixed":
        return np.where(values < 0.3, 0.0, np.where(values > 0.7, 1.0, values))
    return np.zeros(n) if kind == "empty" else values


def random_problem(seed, n, m):
    """Probabilities (n, m) of every kind, and a 0/1 selection of candidates: some labels never chosen, some always."""
    rng = np.random.default_rng(seed)
    matrix = np.stack([random_column(rng, n, KINDS[j % len(KINDS)]) for j in range(m)], axis=1)
    chosen = rng.random((n, m)) < rng.random(m)
    chosen[:, ::5], chosen[:, 1::7] = False, True
    return matrix, chosen & (matrix > 0)


def labels_of(chosen):
    """(n, k), -1 for an empty slot."""
    width = max(1, int(np.sum(chosen, axis=1).max()))
    rows = (np.flatnonzero(row) for row in np.asarray(chosen))
    return np.array([[*row, *[-1] * (width - row.size)] for row in rows])


def expected(matrix, chosen, name, **options):
    return tw.expected_utility(matrix, name, chosen, expectation="exact", **options)


# Against the references


@pytest.mark.boundscheck
@every_name
def test_equals_enumeration(name):
    for seed in range(4):
        matrix, chosen = random_problem(seed, 1 + 2 * seed, 14)
        slow = reference.expect(name, matrix, labels_of(chosen), enumerates=True)
        assert expected(matrix, chosen, name) == near(slow)


@every_name
def test_equals_convolution(name):
    for seed in range(2):
        matrix, chosen = random_problem(100 + seed, 20, 14)
        assert expected(matrix, chosen, name) == near(reference.expect(name, matrix, labels_of(chosen)))


@pytest.mark.parametrize("name", QUADRATURE)
def test_each_label_has_a_small_relative_error(name):
    for seed in range(3):
        matrix, chosen = random_problem(200 + seed, 9, 12)
        slow = reference.expect_labels(name, matrix, labels_of(chosen), enumerates=True)
        for j in range(12):
            assert expected(matrix[:, [j]], chosen[:, [j]], name) == near_by_quadrature(12 * slow[j])


@every_name
def test_random_sparse_problem(name):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((25, 15)) < 0.2, rng.random((25, 15)) ** 2, 0.0)
    chosen = (rng.random((25, 15)) < 0.5) & (dense > 0)
    value = expected(dense, chosen, name)
    assert value == near(reference.expect(name, dense, labels_of(chosen)))
    for form in (sp.csr_array(dense), sp.csc_matrix(dense), sp.coo_array(dense), tw.Candidates.of(dense)):
        assert expected(form, sp.csr_array(chosen), name) == value
        assert expected(form, labels_of(chosen), name) == value


@pytest.mark.parametrize("compiled", [True, False])
def test_own_formula(compiled):
    matrix, chosen = random_problem(4, 8, 12)
    utility = Utility.from_formula(rooted, compiled=compiled)
    slow = [
        reference.enumerate_label(
            lambda y, z: rooted(float(np.dot(y, z)), float(sum(z)), float(sum(y))), matrix[:, j], chosen[:, j]
        )
        for j in range(12)
    ]
    assert expected(matrix, chosen, utility) == near(np.mean(slow))
    mixture = 0.5 * utility + 0.25 * tw.utilities.MacroF1()
    f1 = reference.expect("macro-f1", matrix, labels_of(chosen), enumerates=True)
    assert expected(matrix, chosen, mixture) == near(0.5 * np.mean(slow) + 0.25 * f1)


def test_mixtures_add_their_parts():
    matrix, chosen = random_problem(5, 12, 12)
    parts = [factor * expected(matrix, chosen, name) for factor, name in enumerate(NAMES, 1)]
    text = " + ".join(f"{factor}*{name}" for factor, name in enumerate(NAMES, 1))
    assert expected(matrix, chosen, text) == pytest.approx(sum(parts), rel=1e-12)


@every_name
def test_agrees_with_draws(name):
    matrix, chosen = random_problem(6, 40, 24)
    drawn = tw.monte_carlo(matrix, name, chosen, draws=300, seed=1)
    assert drawn.standard_error > 0
    assert abs(drawn.mean - expected(matrix, chosen, name)) <= 5 * drawn.standard_error


@every_name
def test_semi_is_psi_of_the_sums(name):
    for seed in range(3):
        matrix, chosen = random_problem(seed, 9, 12)
        setting = utilities.Setting(12, max(1, int(chosen.sum())))
        slow = utilities.value(reference.parse(name), setting, matrix.tolist(), chosen.tolist())
        value = tw.expected_utility(matrix, name, chosen, expectation="semi")
        assert value == pytest.approx(slow, rel=1e-12, abs=1e-14)


# Edges


@pytest.mark.boundscheck
@every_name
def test_stored_zeros_and_ones(name):
    rng = np.random.default_rng(7)
    dense = rng.choice([0.0, 0.25, 1.0], (8, 10))
    chosen = rng.random((8, 10)) < 0.4
    stored = sp.csr_array((dense.ravel(), np.tile(np.arange(10), 8), np.arange(0, 81, 10)), shape=(8, 10))
    assert expected(stored, chosen, name) == near(reference.expect(name, dense, labels_of(chosen), enumerates=True))


@pytest.mark.boundscheck
@every_name
def test_certain_labels_give_the_utility_itself(name):
    rng = np.random.default_rng(8)
    truth = (rng.random((9, 10)) < 0.4).astype(float)
    chosen = (rng.random((9, 10)) < 0.7) & (truth > 0)
    setting = utilities.Setting(10, max(1, int(chosen.sum())))
    value = utilities.value(reference.parse(name), setting, truth.tolist(), chosen.tolist())
    assert expected(truth, chosen, name) == near(value)


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", [*NAMES, "macro-fbeta(0.1)", "macro-fbeta(10)"])
@pytest.mark.parametrize("n", [1, 2, 40])
def test_one_candidate(name, n):
    for eta, is_chosen in itertools.product((1e-6, 0.3, 0.999, 1.0), (False, True)):
        matrix, chosen = np.zeros((n, 1)), np.zeros((n, 1), dtype=bool)
        matrix[0], chosen[0] = eta, is_chosen
        slow = reference.expect(name, matrix, labels_of(chosen))
        approximate = near_by_quadrature if name not in BY_PROBABILITIES else near
        assert expected(matrix, chosen, name) == approximate(slow)


@pytest.mark.boundscheck
@every_name
def test_everything_or_nothing_selected(name):
    for seed in range(3):
        matrix, _ = random_problem(seed, 8, 12)
        for chosen in (matrix > 0, np.zeros_like(matrix, dtype=bool)):
            slow = reference.expect(name, matrix, labels_of(chosen), enumerates=True)
            assert expected(matrix, chosen, name) == near(slow)


@pytest.mark.boundscheck
@every_name
def test_labels_without_candidates(name):
    matrix, chosen = np.zeros((6, 4)), np.zeros((6, 4), dtype=bool)
    assert expected(matrix, chosen, name) == near(reference.expect(name, matrix, labels_of(chosen)))
    matrix[:2, 1], chosen[0, 1] = 0.5, True
    chosen[:3, 2] = True  # selected, though nobody has it
    assert expected(matrix, chosen, name) == near(reference.expect(name, matrix, labels_of(chosen)))


@pytest.mark.boundscheck
@every_name
@pytest.mark.parametrize("eta", [0.5, 0.9, 0.999, 1.0])
def test_possibly_no_negatives(name, eta):
    """Every instance is a candidate, and all of them may well be positive: specificity is then 0/0."""
    for n in (1, 2, 7):
        matrix = np.full((n, 2), eta)
        matrix[0, 1] = 0.2
        for q in range(n + 1):
            chosen = np.zeros((n, 2), dtype=bool)
            chosen[:q] = True
            slow = reference.expect(name, matrix, labels_of(chosen), enumerates=True)
            assert expected(matrix, chosen, name) == near(slow)


@pytest.mark.boundscheck
@every_name
def test_a_few_selected_that_are_no_candidates(name):
    """As many as candidates at most."""
    rng = np.random.default_rng(9)
    matrix, chosen = np.zeros((12, 6)), np.zeros((12, 6), dtype=bool)
    matrix[:6] = rng.random((6, 6))
    chosen[:4], chosen[6:8] = True, True
    chosen[:, 5] = False
    assert expected(matrix, chosen, name) == near(reference.expect(name, matrix, labels_of(chosen), enumerates=True))


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", [*NAMES, MIXTURES[0]])
@pytest.mark.parametrize("n_candidates", [1, 5])
def test_many_selected_that_are_no_candidates(name, n_candidates):
    """Another tool selects a label for everybody, though few can have it."""
    for n, n_others in ((30, 10), (60, 50)):
        matrix, chosen = np.zeros((n, 1)), np.zeros((n, 1), dtype=bool)
        matrix[:n_candidates, 0] = np.linspace(0.9, 0.1, n_candidates)
        chosen[:1], chosen[n_candidates : n_candidates + n_others] = True, True
        slow = reference.expect(name, matrix, labels_of(chosen))
        assert expected(matrix, chosen, name) == near(slow), (n, n_others)


def test_single_precision():
    matrix, chosen = random_problem(10, 12, 12)
    single = matrix.astype(np.float32)
    for name in NAMES:
        double = expected(single.astype(np.float64), chosen & (single > 0), name)
        assert expected(single, chosen & (single > 0), name) == near(double)


@pytest.mark.parametrize(("eta", "n"), [(0.9999, 20), (0.9999, 300), (0.5, 10)])
def test_possibly_no_negatives_in_single_precision(eta, n):
    column, nothing = np.full((n, 1), eta, dtype=np.float32), np.zeros((n, 1), dtype=bool)
    value = (1 - float(column[0, 0]) ** n) / 2
    assert expected(column, nothing, "macro-balanced-accuracy") == near_by_quadrature(value)


@every_name
def test_order_does_not_matter(name):
    rng = np.random.default_rng(11)
    matrix, chosen = random_problem(11, 14, 12)
    # By probabilities, what is left out of sums depends on the order.
    value = pytest.approx(expected(matrix, chosen, name), rel=1e-12, abs=1e-9 if "mean" in name else 0)
    rows, columns = rng.permutation(14), rng.permutation(12)
    assert expected(matrix[rows], chosen[rows], name) == value
    assert expected(matrix[:, columns], chosen[:, columns], name) == value


def test_inputs_are_not_changed():
    matrix, chosen = random_problem(12, 9, 12)
    labels, p = labels_of(chosen), matrix.sum(axis=0) + 0.5
    copies = [array.copy() for array in (matrix, labels, p)]
    expected(matrix, labels, MIXTURES[2], condition_positives=p)
    for before, after in zip(copies, (matrix, labels, p), strict=True):
        np.testing.assert_array_equal(before, after)


# The budget


@pytest.mark.parametrize("name", ["precision", "0.7*precision + 0.3*macro-f1", "macro-f1"])
def test_k(name):
    matrix, chosen = random_problem(13, 9, 12)
    labels, budgets = labels_of(chosen), np.arange(9) % 4
    for k, n_slots in ((None, None), (3, 27), (np.full(9, 3), 27), (budgets, budgets.sum())):
        slow = reference.expect(name, matrix, labels, k=None if n_slots is None else n_slots / 9)
        assert expected(matrix, labels, name, k=k) == near(slow)


def test_what_is_refused():
    matrix, chosen = random_problem(14, 9, 12)
    with pytest.raises(InputError, match=r"expectation must be one of .*exact.*semi.* Got 'auto'"):
        tw.expected_utility(matrix, "macro-f1", chosen, expectation="auto")
    with pytest.raises(InputError, match=r"selection must have the 9 instances of probabilities. Got 8"):
        expected(matrix, labels_of(chosen)[1:], "macro-f1")
    with pytest.raises(InputError, match=r"k must be an integer between 1 and 12, the number of labels. Got 13"):
        expected(matrix, chosen, "macro-f1", k=13)


# Positives outside the candidates


@pytest.mark.boundscheck
@pytest.mark.parametrize("name", [name for name in NAMES if name != "macro-balanced-accuracy"])
def test_more_positives_than_the_candidates_expect(name):
    # Twelve instances have candidates, and there is room for more positives than will ever be.
    matrix, chosen = (np.vstack([part, np.zeros((48, 12), part.dtype)]) for part in random_problem(15, 12, 12))
    extra = np.resize([0.0, 1e-3, 0.4, 2.0, 5.0], 12)
    slow = reference.expect(name, matrix, labels_of(chosen), extra=extra)
    value = expected(matrix, chosen, name, condition_positives=matrix.sum(axis=0) + extra)
    assert value == near(slow)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "macro-balanced-accuracy"])
def test_far_more_positives_than_the_candidates_expect(name):
    matrix, chosen = np.zeros((60, 2)), np.zeros((60, 2), dtype=bool)
    matrix[:4] = np.linspace(0.05, 0.95, 8).reshape(4, 2)
    chosen[:2] = True
    extra = np.array([12.0, 25.0])
    slow = reference.expect(name, matrix, labels_of(chosen), extra=extra)
    assert expected(matrix, chosen, name, condition_positives=matrix.sum(axis=0) + extra) == near(slow)


def test_balanced_accuracy_with_more_positives_than_the_candidates_expect():
    matrix, chosen = np.zeros((60, 2)), np.zeros((60, 2), dtype=bool)
    matrix[:4] = np.linspace(0.05, 0.95, 8).reshape(4, 2)
    chosen[:2] = True
    extra = np.array([0.3, 4.0])
    slow = reference.expect("macro-balanced-accuracy", matrix, labels_of(chosen), extra=extra)
    p = matrix.sum(axis=0) + extra
    # Among the negatives, the positives outside the candidates are taken at their mean.
    assert expected(matrix, chosen, "macro-balanced-accuracy", condition_positives=p) == pytest.approx(slow, rel=1e-3)


@every_name
def test_fewer_positives_than_the_candidates_expect_change_nothing(name):
    matrix, chosen = random_problem(16, 9, 12)
    value = expected(matrix, chosen, name)
    if name in ("hamming", "macro-accuracy"):
        # Linear in p as well: a smaller p is what it says, as in the semi-empirical value.
        p = matrix.sum(axis=0) * 0.5
        semi = tw.expected_utility(matrix, name, labels_of(chosen), expectation="semi", condition_positives=p)
        assert expected(matrix, chosen, name, condition_positives=p) == pytest.approx(semi, rel=1e-12)
        return
    for p in (matrix.sum(axis=0) * 0.5, np.zeros(12), matrix.sum(axis=0) * (1 - 1e-12)):
        assert expected(matrix, chosen, name, condition_positives=p) == pytest.approx(value, rel=1e-9)


def test_positives_from_priors():
    matrix, chosen = random_problem(17, 12, 12)
    priors = tw.LabelPriors(np.arange(12) * 4, 48)
    p = priors.probabilities * 12
    by_name = expected(matrix, chosen, "macro-f1", priors=priors, condition_positives="priors")
    assert by_name == expected(matrix, chosen, "macro-f1", condition_positives=p)
    extra = np.maximum(0.0, p - matrix.sum(axis=0))
    assert by_name == near(reference.expect("macro-f1", matrix, labels_of(chosen), extra=extra))


# Labels with many candidates


def divide(a, b):
    a, b = np.broadcast_arrays(a, b)
    return np.divide(a, b, out=np.zeros(a.shape), where=b > 0)


def f_beta(beta):
    return lambda t, q, p, n: divide((1 + beta**2) * t, q + beta**2 * p)


def recall(t, q, p, n):
    return divide(t, p)


def specificity(t, q, p, n):
    return divide(np.maximum(n - q - p + t, 0), n - p)


ON_ARRAYS = {
    "macro-f1": f_beta(1.0),
    "macro-fbeta(0.5)": f_beta(0.5),
    "macro-fbeta(2)": f_beta(2.0),
    "macro-recall": recall,
    "macro-jaccard": lambda t, q, p, n: divide(t, q + p - t),
    "macro-balanced-accuracy": lambda *counts: (recall(*counts) + specificity(*counts)) / 2,
    "macro-gmean": lambda *counts: np.sqrt(recall(*counts) * specificity(*counts)),
}


def convolve_quickly(column, is_chosen, extra=0.0):
    """Expectations of all of ON_ARRAYS, with whole arrays of counts at a time."""
    q, n = float(is_chosen.sum()), float(column.size)
    hits = reference.poisson_binomial(column[is_chosen])
    others = reference.poisson_binomial(column[~is_chosen & (column > 0)])
    if extra > 0:
        others = np.convolve(others, scipy.stats.poisson.pmf(np.arange(int(extra + 40 * math.sqrt(extra) + 60)), extra))
    a, b = np.flatnonzero(hits > 1e-24), np.flatnonzero(others > 1e-24)
    chances, t = hits[a, None] * others[b], a[:, None].astype(float)
    return {name: float((chances * psi(t, q, t + b, n)).sum()) for name, psi in ON_ARRAYS.items()}


def column_of(rng, n_candidates, p, spread):
    """Probabilities that sum to p, their logits normal about a common mean: nearly equal, or from 0 to 1."""
    logits = spread * rng.standard_normal(n_candidates)
    low, high = -60.0, 60.0
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if scipy.special.expit(logits + middle).sum() < p else (low, middle)
    return np.sort(scipy.special.expit(logits + low))[::-1]


def assert_small_errors(column, is_chosen, extra=0.0):
    p = None if extra == 0 else [column.sum() + extra]
    for name, slow in convolve_quickly(column, is_chosen, extra).items():
        if extra and name == "macro-balanced-accuracy":
            continue  # has a test of its own
        value = expected(column[:, None], is_chosen[:, None], name, condition_positives=p)
        approximate = near_by_quadrature if name in QUADRATURE else near
        assert value == approximate(slow), (name, column.size, column.sum(), is_chosen.sum())


def test_the_quick_reference_agrees_with_the_plain_one():
    matrix, chosen = random_problem(18, 9, 12)
    for j, extra in itertools.product(range(12), (0.0, 1.5)):
        quick = convolve_quickly(matrix[:, j], chosen[:, j], extra)
        for name in ON_ARRAYS:
            if extra and name in ("macro-gmean", "macro-balanced-accuracy"):
                continue  # with more positives than instances there is nothing to agree on
            options = {"extra": [extra]} if extra else {"enumerates": True}
            slow = reference.expect(name, matrix[:, [j]], labels_of(chosen[:, [j]]), **options)
            assert quick[name] == pytest.approx(slow, rel=1e-10, abs=1e-14)


@pytest.mark.parametrize("n_candidates", [300, 1000])
@pytest.mark.parametrize("spread", [0.01, 4.0])
@pytest.mark.parametrize("p", [0.001, 0.3, 1.0, 20.0, 295.0])
def test_many_candidates(n_candidates, spread, p):
    rng = np.random.default_rng(19)
    column = column_of(rng, n_candidates, p, spread)
    column = np.append(column, np.zeros(n_candidates if spread > 1 else 0))
    assert column.sum() == pytest.approx(p, rel=1e-6)
    for q in sorted({0, 1, 3, round(p) + 1, n_candidates // 2, n_candidates}):
        is_chosen = np.zeros(column.size, dtype=bool)
        is_chosen[np.arange(q) if q % 2 else rng.permutation(n_candidates)[:q]] = True
        assert_small_errors(column, is_chosen)


@pytest.mark.parametrize("order", ["best", "worst"])
@pytest.mark.parametrize("n_certain", [1, 300, 1000])
def test_many_certain_candidates(order, n_certain):
    column = np.concatenate([np.ones(n_certain), np.full(200, 1e-3), np.zeros(50)])
    for q in (0, 1, 150, n_certain + 200):
        is_chosen = np.zeros(column.size, dtype=bool)
        is_chosen[np.arange(n_certain + 200)[:: 1 if order == "best" else -1][:q]] = True
        assert_small_errors(column, is_chosen)


@pytest.mark.parametrize("extra", [0.01, 1.0, 60.0])
def test_many_candidates_and_more_positives(extra):
    rng = np.random.default_rng(20)
    column = np.append(column_of(rng, 300, 4.0, 2.0), np.zeros(1200))
    for q in (0, 1, 20, 300):
        is_chosen = np.zeros(column.size, dtype=bool)
        is_chosen[:q] = True
        assert_small_errors(column, is_chosen, extra)


# Whatever comes


@st.composite
def problems(draw):
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 4)))
    matrix = draw(arrays(np.float64, shape, elements=st.sampled_from([0.0, 0.001, 0.5, 0.999, 1.0])))
    return matrix, draw(arrays(np.bool_, shape))


@settings(max_examples=150, deadline=None)
@given(problem=problems(), name=st.sampled_from([*NAMES, *MIXTURES]))
def test_equals_enumeration_for_any_input(problem, name):
    matrix, chosen = problem
    chosen = chosen & (matrix > 0)
    slow = reference.expect(name, matrix, labels_of(chosen), enumerates=True)
    assert expected(matrix, chosen, name) == near(slow)


@pytest.mark.boundscheck
@settings(max_examples=150, deadline=None)
@given(problem=problems(), name=st.sampled_from(NAMES), extra=st.sampled_from([0.0, 1e-9, 0.5, 100.0]))
def test_always_a_number_between_0_and_1(problem, name, extra):
    matrix, chosen = problem
    p = np.minimum(matrix.sum(axis=0) + extra, len(matrix))
    for expectation in ("exact", "semi"):
        try:
            value = tw.expected_utility(matrix, name, chosen, expectation=expectation, condition_positives=p)
        except tw.errors.NumericalError:
            assert extra, "only where there may be more positives than instances"
        else:
            assert -1e-6 <= value <= 1 + 1e-6
