"""The labels of a stream are those of the paper's greedy in plain loops, however the rows come."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import online as reference
from reference import selection, utilities

import tailwise as tw
from tailwise.inputs.totals import Totals
from tailwise.utilities import ByLabel, Coverage, MacroF1, MacroRecall, Utility, WeightedInstance, as_utility

pytestmark = pytest.mark.boundscheck

N, M = 12, 9
TRAINING = selection.random_training(3, M)
PRIORS = tw.LabelPriors(TRAINING.counts, TRAINING.n_instances)
MIXTURES = (
    {"precision": 0.7, "macro-f1": 0.3},
    {"macro-recall": 0.5, "coverage": 0.2, "hamming": 2.0},
    {"macro-balanced-accuracy": 0.4, "ps-precision": 0.1, "macro-gmean": 1.0},
    {"macro-jaccard": 0.5, "macro-precision": 0.5},
)
CHUNKS = (1, 2, 5, N)


def draw(seed, dtype=np.float64):
    return selection.random_matrix(seed, N, M, density=0.7).astype(dtype)


def decide(matrix, utility, k, chunk):
    """Labels of a stream, `chunk` rows at once; 0 for pairs of one row."""
    selector = tw.OnlineSelector(utility, k, M, priors=PRIORS)
    if chunk == 0:
        return np.array([selector.select((np.flatnonzero(row), row[row > 0])) for row in matrix])
    return np.concatenate([selector.select(matrix[i : i + chunk]).labels for i in range(0, len(matrix), chunk)])


def padded(lists, k):
    return np.array([[*labels, *[-1] * (k - len(labels))] for labels in lists])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mixture", [*({name: 1.0} for name in utilities.NAMES), *MIXTURES], ids=utilities.as_text)
def test_every_utility_as_in_plain_loops(mixture, dtype):
    for seed, k in itertools.product(range(4), (1, 3)):
        matrix = draw(seed, dtype)
        value = reference.value_of(mixture, M, k, training=TRAINING)
        expected = padded(reference.decide(reference.rows_of(matrix), k, value), k)
        for chunk in (0, *CHUNKS):
            np.testing.assert_array_equal(decide(matrix, utilities.as_text(mixture), k, chunk), expected)


def weighted(weights):
    inner = reference.value_of({"macro-f1": 1.0}, M, 2)
    return lambda j, column, is_chosen: weights[j] * inner(j, column, is_chosen)


def by_outcome(weights):
    return lambda j, column, is_chosen: utilities.weighted_value(weights[j], column, is_chosen)


def own(psi, parameters):
    def value(j, column, is_chosen):
        return psi(*utilities.counts_of(column, is_chosen), parameters[j]) / M

    return value


def grouped(j, column, is_chosen):
    name = "coverage" if j in (0, 3) else "macro-recall"
    return reference.value_of({name: 1.0}, M, 2)(j, column, is_chosen)


def cost(t, q, p, a):
    return t - a[0] * (q - t) + a[1] * t * t / (1 + p)


RNG = np.random.default_rng(8)
WEIGHTS, PARAMETERS, OUTCOMES = RNG.random(M) * 3, RNG.random((M, 2)), RNG.normal(size=(4, M))
PER_LABEL = {
    "weights": (MacroF1(weights=WEIGHTS), weighted(WEIGHTS)),
    "weights of two labels": (MacroF1(weights={1: 4.0, 2: 0.0}), weighted([1, 4, 0, *[1] * (M - 3)])),
    "outcomes": (WeightedInstance(*OUTCOMES), by_outcome(OUTCOMES.T)),
    "groups": (ByLabel([([0, 3], Coverage())], rest=MacroRecall()), grouped),
    "parameters": (Utility.from_formula(cost, parameters=PARAMETERS), own(cost, PARAMETERS)),
    "plain Python": (Utility.from_formula(cost, parameters=PARAMETERS, compiled=False), own(cost, PARAMETERS)),
}


@pytest.mark.parametrize("name", PER_LABEL)
def test_what_differs_from_label_to_label(name):
    utility, value = PER_LABEL[name]
    for seed in range(4):
        matrix = draw(seed)
        expected = padded(reference.decide(reference.rows_of(matrix), 2, value), 2)
        for chunk in (0, *CHUNKS):
            np.testing.assert_array_equal(decide(matrix, utility, 2, chunk), expected)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_of_any_kind_one_by_one_and_together(data):
    """Ties, zeros, ones, rows without candidates, labels in any order; chunks of any size."""
    m = data.draw(st.sampled_from([1, 2, 4, 8]))  # so that dividing by m rounds nothing, and ties are ties
    k = data.draw(st.integers(1, m))
    probability = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    row = st.dictionaries(st.integers(0, m - 1), probability, max_size=m)
    rows = data.draw(st.lists(row, min_size=1, max_size=8))
    name = data.draw(st.sampled_from(["macro-f1", "macro-recall", "macro-precision", "coverage"]))
    expected = padded(reference.decide(rows, k, reference.value_of({name: 1.0}, m, k)), k)
    single, several = (tw.OnlineSelector(name, k, m) for _ in range(2))
    came = [single.select((list(row), list(row.values()))) for row in rows]
    np.testing.assert_array_equal(came, expected)
    cut = data.draw(st.integers(0, len(rows)))
    parts = [several.select(as_csr(part, m)).labels for part in (rows[:cut], rows[cut:]) if part]
    np.testing.assert_array_equal(np.concatenate(parts), expected)
    assert single.totals.t.tobytes() == several.totals.t.tobytes()
    assert single.totals.log_failure.tobytes() == several.totals.log_failure.tobytes()


def as_csr(rows, m):
    """Stored zeros stay."""
    ordered = [sorted(row.items()) for row in rows]
    entries = [entry for row in ordered for entry in row]
    indptr = np.cumsum([0, *map(len, rows)])
    labels, values = np.array([j for j, _ in entries], dtype=int), np.array([e for _, e in entries], dtype=float)
    return sp.csr_array((values, labels, indptr), shape=(len(rows), m))


FORMS = {
    "dense": lambda matrix: matrix,
    "CSR": sp.csr_array,
    "candidates": tw.Candidates.of,
    "pair": lambda matrix: (np.where(matrix > 0, np.arange(M), -1), matrix),
    "table": lambda matrix: as_table(sp.coo_array(matrix)),
}


def as_table(coo):
    pandas = pytest.importorskip("pandas")
    rows, labels = coo.coords
    return pandas.DataFrame({"instance": rows, "label": labels, "probability": coo.data})


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_the_rows_does_not_matter(form):
    matrix = draw(5)
    expected = tw.OnlineSelector("macro-f1", 3, M).select(matrix).labels
    np.testing.assert_array_equal(tw.OnlineSelector("macro-f1", 3, M).select(FORMS[form](matrix)).labels, expected)


@pytest.mark.parametrize("labels", [np.int16, np.uint64, np.int64])
@pytest.mark.parametrize("values", [np.float16, np.float32, np.longdouble])
def test_a_single_row_of_any_type(labels, values):
    row = np.arange(M)[::-1].astype(labels), np.linspace(0.25, 0.75, M).astype(values)
    assert tw.OnlineSelector("macro-f1", 2, M).select(row).tolist() == [0, 1]


def test_single_rows_may_be_views_and_read_only():
    labels, values = np.arange(2 * M)[::2] // 2, np.linspace(0.1, 0.9, 2 * M)[::2]
    values.flags.writeable = False
    assert tw.OnlineSelector("macro-f1", 2, M).select((labels, values)).tolist() == [M - 1, M - 2]


def test_long_single_rows():
    m = 1000
    selector = tw.OnlineSelector("macro-precision", 3, m)
    for size in (5, 200, m, 7):
        first = selector.select((np.arange(size), np.linspace(0.1, 0.2, size)))
        assert first[0] >= 0
    assert selector.totals.p[:5].tolist() == pytest.approx([0.4, *selector.totals.p[1:5]])


def test_rounding_beyond_one_and_tiny_numbers_are_cut_off_as_in_a_batch():
    selector = tw.OnlineSelector("macro-f1", 2, 3)
    row = np.array([0, 1, 2]), np.array([1 + 1e-9, 1e-310, -1e-9])
    np.testing.assert_array_equal(selector.select(row), [0, 1])
    assert selector.totals.p.tolist() == [1.0, 0.0, 0.0]


def test_padding_in_a_single_row_is_left_out():
    selector = tw.OnlineSelector("macro-f1", 3, 4)
    assert selector.select((np.array([2, -1, 1]), np.array([0.5, 0.0, 0.4]))).tolist() == [2, 1, -1]


def test_rows_with_few_candidates_keep_empty_slots():
    selector = tw.OnlineSelector("coverage", 3, 4)
    chosen = selector.select(np.array([[0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
    assert chosen.labels.tolist() == [[1, -1, -1], [-1, -1, -1]]
    assert selector.totals.n_slots == 6
    assert selector.select((np.array([], dtype=int), np.array([]))).tolist() == [-1, -1, -1]
    assert selector.n_instances == 3


def test_a_label_never_seen_gains_all_of_its_recall():
    selector = tw.OnlineSelector("macro-recall", 1, 3)
    assert selector.select((np.array([0, 1]), np.array([0.9, 0.4]))).tolist() == [0]
    # Label 0 would gain 0.9 / 1.8, label 2 is new: 1, however improbable it is.
    assert selector.select((np.array([0, 2]), np.array([0.9, 0.001]))).tolist() == [2]


def test_ties_go_to_the_smaller_label():
    selector = tw.OnlineSelector("macro-f1", 2, 5)
    assert selector.select((np.array([4, 2, 3]), np.full(3, 0.5))).tolist() == [2, 3]


# Totals


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("utility", ["macro-f1", "coverage", "macro-recall"])
def test_totals_are_those_of_the_selection(utility, dtype):
    matrix = draw(1, dtype)
    matrix[2, 4] = matrix[5, 4] = 1.0  # certain hits, if they are chosen
    selector = tw.OnlineSelector(utility, 2, M)
    chosen = [selector.select(matrix[:5]).labels, [selector.select((np.arange(M), matrix[5]))]]
    chosen.append(selector.select(matrix[6:]).labels)
    expected = Totals.of(np.concatenate(chosen), matrix)
    came = selector.totals
    for name in ("t", "q", "p", "log_failure", "known_t", "known_p"):
        np.testing.assert_allclose(getattr(came, name), getattr(expected, name), rtol=1e-12, err_msg=name)
    assert came.n_instances == expected.n_instances == selector.n_instances == N
    assert came.n_slots == 2 * N


def test_totals_are_a_copy():
    selector = tw.OnlineSelector("macro-f1", 1, 2)
    before = selector.totals
    selector.select(np.array([[0.5, 0.2]]))
    assert before.q.tolist() == [0.0, 0.0]
    before.t[:] = 7.0
    assert selector.totals.t.tolist() == [0.5, 0.0]


def test_a_batch_on_top_of_a_stream():
    selector = tw.OnlineSelector("coverage", 1, 2)
    selector.select((np.array([0]), np.array([0.9])))
    batch = tw.select(np.array([[0.8, 0.3]]), "coverage", 1, context=selector.totals)
    assert batch.labels.tolist() == [[1]]


def test_what_select_returns_is_evaluated():
    matrix = draw(4)
    chosen = tw.OnlineSelector("macro-f1", 2, M).select(matrix)
    assert chosen.labels.dtype == np.int32
    truth = (matrix > 0.5).astype(int)
    right = truth[np.arange(N)[:, None], chosen.labels]
    assert tw.evaluate(truth, chosen, k=2)["precision"] == pytest.approx(right.mean())


def test_a_utility_as_object_or_as_text():
    assert (
        tw.OnlineSelector(as_utility("log", PRIORS), 1, M).utility
        == tw.OnlineSelector("log", 1, M, priors=PRIORS).utility
    )
