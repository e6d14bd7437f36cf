"""Selecting on top of what was decided elsewhere: totals as a value, and as the context of a selection."""

import dataclasses
import functools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import context as reference

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.inputs.totals import Totals

N, M, K = 4, 3, 1
EXACT = ("macro-precision", "macro-recall", "macro-f1", "macro-fbeta(2)", "macro-jaccard", "coverage")
SEMI = (*EXACT, "macro-balanced-accuracy", "macro-gmean")
METHODS = ("auto", "ascent", "global", "greedy")

pytestmark = pytest.mark.boundscheck


def random_matrix(seed, n=N, m=M):
    rng = np.random.default_rng(seed)
    return np.round(rng.beta(0.5, 1.0, (n, m)), 3)


def random_context(seed, *, observed=False):
    """The totals of another selection, observed or expected."""
    rng = np.random.default_rng(seed + 1000)
    matrix, labels = random_matrix(seed + 1, 5), rng.integers(0, M, (5, 1))
    if observed:
        return Totals.of(labels, truth=sp.csr_array((rng.random((5, M)) < 0.4).astype(int)))
    return Totals.of(labels, matrix)


def as_reference(totals):
    names = ("t", "q", "p", "known_t", "known_p")
    failure = np.exp(totals.log_failure)
    return {**{name: getattr(totals, name) for name in names}, "n": totals.n_instances, "failure": failure}


def mark(labels, m=M):
    return [[int(j in row) for j in range(m)] for row in labels.tolist()]


@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("seed", range(3))
def test_exact_value_is_that_of_the_poisson_model(seed, name, observed):
    matrix, context = random_matrix(seed), random_context(seed, observed=observed)
    if name == "coverage" and not observed:
        pytest.skip("coverage multiplies failure probabilities and needs no model")
    for method in METHODS if name != "macro-recall" else ("auto",):
        found = tw.select(matrix, name, K, method=method, expectation="exact", context=context)
        psis = [reference.PSI[name]] * M
        value = reference.expect_exactly(psis, matrix, mark(found.labels), as_reference(context))
        assert found.expected == pytest.approx(value, rel=1e-6, abs=1e-9)
        again = tw.expected_utility(matrix, name, found, K, context=context)
        assert again == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("factor", [0.5, 0.1, 0.001])
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("name", ["macro-recall", "macro-f1", "macro-fbeta(2)", "macro-jaccard"])
def test_totals_that_count_in_part(name, observed, factor):
    """Fewer than one prediction and one positive elsewhere, and none, one or many here."""
    matrix, context = random_matrix(6, 5), factor * random_context(6, observed=observed)
    psis = [reference.PSI[name]] * M
    for n_chosen in (0, 1, 4):
        labels = np.full((5, 2), -1)
        labels[:n_chosen, 0] = np.arange(n_chosen) % 2
        value = reference.expect_exactly(psis, matrix, mark(labels), as_reference(context))
        found = tw.expected_utility(matrix, name, labels, K, expectation="exact", context=context)
        assert found == pytest.approx(value, rel=1e-7)


@pytest.mark.parametrize("name", SEMI)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_semi_empirical_value_and_optimum(seed, method, name):
    matrix, context = random_matrix(seed), random_context(seed)
    psis = [reference.PSI[name]] * M
    value = functools.partial(reference.expect_semi, psis, matrix, context=as_reference(context))
    found = tw.select(matrix, name, K, method=method, expectation="semi", context=context, fill="least-loss")
    assert found.expected == pytest.approx(value(mark(found.labels)), rel=1e-9)
    best = reference.best_of_all(value, N, M, K)
    assert 0.85 * best <= found.expected <= best + 1e-12


@pytest.mark.parametrize("name", ["macro-gmean", "macro-hmean", "macro-auc"])
@pytest.mark.parametrize("observed", [False, True])
def test_laws_with_a_context(name, observed):
    matrix, context = random_matrix(5), random_context(5, observed=observed)
    found = tw.select(matrix, name, K, expectation="exact", context=context)
    assert found.expected == pytest.approx(tw.expected_utility(matrix, name, found, K, context=context), rel=1e-9)
    if name != "macro-hmean":
        psis = [reference.PSI[name]] * M
        value = reference.expect_exactly(psis, matrix, mark(found.labels), as_reference(context))
        assert found.expected == pytest.approx(value, rel=1e-6)


def test_auc_is_never_negative():
    """By the model there may be more positives than instances beside the false positives."""
    matrix, chosen = np.array([[1.0, 0.0], [0.0, 1e-9]]), [[-1, -1, -1], [1, 0, -1]]
    context = 0.5 * Totals.of([[1, -1]], np.array([[1.0, 1e-20]]))
    value = reference.expect_exactly([reference.auc] * 2, matrix, mark(np.array(chosen), 2), as_reference(context))
    assert value == pytest.approx(np.exp(-0.5) / 6)  # of label 0, if it has no positive elsewhere: 1 - 1/1.5
    found = tw.expected_utility(matrix, "macro-auc", chosen, 2, expectation="exact", context=context)
    assert found == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("name", ["macro-gmean", "macro-auc"])
def test_more_hits_than_predictions_elsewhere_are_no_more_than_all_correct(name):
    """By the model a tenth of a prediction can have a whole hit; G-mean was 1.005 then, and refused."""
    matrix, chosen = np.array([[0.999, 0.0], [0.0, 1.0]]), [[0, -1], [1, -1]]
    context = 0.1 * Totals.of([[0, 1], [-1, -1]], np.array([[0.0, 0.999], [0.0, 0.0]]))
    context = context + 0.1 * Totals.of([[1], [0]], truth=np.array([[0, 1], [1, 0]]))
    psis = [reference.PSI[name]] * 2
    value = reference.expect_exactly(psis, matrix, mark(np.array(chosen), 2), as_reference(context))
    found = tw.expected_utility(matrix, name, chosen, 1, expectation="exact", context=context)
    assert found == pytest.approx(value, abs=1e-8)
    assert found <= 1


@pytest.mark.parametrize("name", [*SEMI, "precision", "hamming", "0.5*precision + 0.5*coverage"])
@pytest.mark.parametrize("seed", range(2))
def test_two_halves_have_the_value_of_the_union(seed, name):
    matrix = np.random.default_rng(seed).beta(0.3, 2.0, (40, 12))
    first = tw.select(matrix[:20], name, 2, expectation="semi")
    second = tw.select(matrix[20:], name, 2, expectation="semi", context=Totals.of(first, matrix[:20]))
    both = np.concatenate([first.labels, second.labels])
    union = tw.expected_utility(matrix, name, both, 2, expectation="semi")
    assert second.expected == pytest.approx(union, rel=1e-9)
    total = first.totals + second.totals
    whole = Totals.of(both, matrix)
    for part in ("t", "q", "p", "n_instances", "n_slots"):
        np.testing.assert_allclose(getattr(total, part), getattr(whole, part), rtol=1e-9, atol=1e-12)


def test_the_exact_model_is_not_the_union_and_how_far_off_it_can_be():
    """One certain hit elsewhere: the union knows its F1 to be 1, a Poisson variable of mean 1 does not."""
    nothing, hit = np.array([[0.0, 0.0]]), np.array([[1.0, 0.0]])
    labels, none = [[0, -1, -1]], [[-1, -1, -1]]
    expected = tw.expected_utility(nothing, "macro-f1", none, 1, context=Totals.of(labels, hit))
    assert expected == pytest.approx(0.7358 / 2, abs=1e-4)
    known = Totals.of(labels, truth=sp.csr_array(hit.astype(int)))
    assert tw.expected_utility(nothing, "macro-f1", none, 1, context=known) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("expectation", ["semi", "exact"])
@pytest.mark.parametrize(
    "name", ["macro-precision", "macro-f1", "macro-recall", "macro-jaccard", "coverage", "precision"]
)
@pytest.mark.parametrize("observed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_bounds_hold_with_a_context(seed, observed, name, expectation):
    matrix, context = random_matrix(seed), random_context(seed, observed=observed)
    best = max(
        tw.expected_utility(matrix, name, np.array(labels)[:, None], K, expectation=expectation, context=context)
        for labels in np.ndindex(*[M] * N)
    )
    given = np.random.default_rng(seed).integers(0, M, (N, 1))
    options = {"expectation": expectation, "context": context, "fill": "least-loss"}
    judged = tw.certify(matrix, name, K, given, **options)
    assert judged.upper >= best - 1e-9
    assert judged.value == pytest.approx(
        tw.expected_utility(matrix, name, given, K, expectation=expectation, context=context), rel=1e-9
    )
    found = tw.select(matrix, name, K, certify=True, **options)
    assert found.certificate.upper >= best - 1e-9
    assert found.expected <= best + 1e-9
    assert found.expected >= 0.97 * best


def test_no_budget_with_a_context():
    matrix, context = random_matrix(3), random_context(3)
    found = tw.select(matrix, "macro-f1", None, expectation="semi", context=context)
    values = []
    for marks in np.ndindex(*[2] * (N * M)):
        is_chosen = np.reshape(marks, (N, M)).tolist()
        values.append(reference.expect_semi([reference.f1] * M, matrix, is_chosen, as_reference(context)))
    assert found.expected == pytest.approx(max(values), rel=1e-9)


def test_an_empty_context_changes_nothing():
    matrix = random_matrix(8, 30, 9)
    for expectation in ("semi", "exact"):
        with_, without = (
            tw.select(matrix, "0.5*macro-f1 + 0.5*coverage", 2, expectation=expectation, context=context)
            for context in (Totals.nothing(9), None)
        )
        np.testing.assert_array_equal(with_.labels, without.labels)
        assert with_.expected == without.expected


# Totals as a value


def test_totals_add_subtract_and_scale():
    first, second = random_context(1), random_context(2)
    total = first + second
    np.testing.assert_allclose(total.t, first.t + second.t)
    np.testing.assert_allclose((total - second).t, first.t)
    np.testing.assert_allclose((total - second).log_failure, first.log_failure)
    half = 0.5 * total
    np.testing.assert_allclose(half.q, total.q / 2)
    assert half.n_instances == 5
    assert (0 * total).q.sum() == 0
    mixed = first + random_context(3, observed=True)
    assert not mixed.is_observed
    np.testing.assert_array_equal(mixed.known_t, random_context(3, observed=True).t)
    with pytest.raises(InputError, match="can only be subtracted from totals that include them"):
        first - total
    with pytest.raises(InputError, match="finite number of at least 0"):
        -1 * first
    with pytest.raises(InputError, match="Got 3 and 4 labels"):
        first + Totals.nothing(4)


def test_totals_of_a_selection_equal_a_recount():
    matrix = random_matrix(4, 30, 7)
    for name in ("macro-f1", "coverage"):
        found = tw.select(matrix, name, 2)
        counted = Totals.of(found, matrix)
        for part in ("t", "q", "p"):
            np.testing.assert_allclose(getattr(found.totals, part), getattr(counted, part), atol=1e-12)
        assert (found.totals.log_failure is None) == (name == "macro-f1")


def test_totals_are_saved_and_loaded(tmp_path):
    for totals in (
        random_context(1),
        random_context(2, observed=True),
        tw.select(random_matrix(1), "macro-f1", 1).totals,
    ):
        totals.save(tmp_path / "totals.npz")
        again = Totals.load(tmp_path / "totals.npz")
        for part in ("t", "q", "p", "known_t", "known_p", "n_instances", "n_slots", "log_failure"):
            np.testing.assert_array_equal(getattr(again, part), getattr(totals, part))
    np.savez(tmp_path / "other.npz", t=np.zeros(3))
    with pytest.raises(FileError, match=r"must be a file that Totals\.save wrote"):
        Totals.load(tmp_path / "other.npz")
    content = bytearray((tmp_path / "totals.npz").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "totals.npz").write_bytes(bytes(content))
    with pytest.raises(FileError, match=r"totals\.npz must"):
        Totals.load(tmp_path / "totals.npz")


def test_bad_contexts_are_refused():
    matrix = random_matrix(1)
    with pytest.raises(InputError, match=r"context must be Totals, such as selection\.totals\. Got dict"):
        tw.select(matrix, "macro-f1", 1, context={})
    with pytest.raises(InputError, match=r"context covers 4 labels, probabilities has 3"):
        tw.select(matrix, "macro-f1", 1, context=Totals.nothing(4))
    with pytest.raises(InputError, match=r"context must hold failure probabilities, which coverage needs"):
        tw.select(matrix, "coverage", 1, context=tw.select(matrix, "macro-f1", 1).totals)
    with pytest.raises(InputError, match=r"needs either probabilities or truth"):
        Totals.of([[0]])


@pytest.mark.parametrize("probability", [0.836, 0.99, 1.0])
def test_balanced_accuracy_with_hardly_a_negative_elsewhere(probability):
    """Negatives elsewhere count at their mean, of which there may be less than one, or none."""
    context = Totals.of([[0, -1, -1]], np.array([[probability, 0.0]]))
    matrix, chosen = np.array([[0.5, 0.3]]), [[0, -1, -1]]
    found = tw.expected_utility(matrix, "macro-balanced-accuracy", chosen, 1, context=context)
    total = 0.0
    for j, (eta, elsewhere, q) in enumerate([(0.5, probability, 1), (0.3, 0.0, 0)]):
        for y in (0, 1):
            weight = eta if y else 1 - eta
            recall = sum(w * (y * q + a) / (y + a) for a, w in reference._poisson(elsewhere) if y + a > 0)
            negatives = (1 - y) + 1 - elsewhere
            false_positives = q * (1 - y) + (1 - elsewhere if j == 0 else 0.0)
            specificity = (negatives - false_positives) / negatives if negatives > 1e-12 else 0.0
            total += weight * (recall + specificity) / 2
    assert found == pytest.approx(total / 2, rel=1e-6)


def test_contexts_know_their_labels(tmp_path):
    tw.save(tmp_path / "p.npz", sp.csr_array(random_matrix(2)))
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    totals = tw.select(tmp_path / "p.npz", "macro-f1", 1).totals
    assert totals.label_names == ("a", "b", "c")
    assert tw.select(tmp_path / "p.npz", "macro-f1", 1, context=totals).totals.label_names == ("a", "b", "c")
    (tmp_path / "labels.txt").write_text("c\nb\na\n")
    by_name = tw.select(tmp_path / "p.npz", "macro-f1", 1, context=totals)
    reversed_totals = totals.at_labels(np.array([2, 1, 0]), None)
    by_hand = tw.select(sp.csr_array(random_matrix(2)), "macro-f1", 1, context=reversed_totals)
    assert np.array_equal(by_name.labels, by_hand.labels)
    assert by_name.expected == by_hand.expected


def test_a_candidate_that_fills_a_slot_counts_as_one():
    """A given label that is no candidate takes a slot, and the candidate that it kept out fills the other."""
    weights = ((0.82, 1.5), (-0.48, -0.26), (-0.15, -0.16), (0.38, 1.75))
    utility = tw.utilities.WeightedInstance(*weights)
    options = {"expectation": "semi", "fill": "least-loss", "init": np.array([[0, -1]])}
    found = tw.select(np.array([[0.0, 0.068]]), utility, 2, method="ascent", **options)
    assert found.expected == pytest.approx(-0.60332)
    assert found.totals.t.tolist() == [0.0, 0.068]


@pytest.mark.parametrize("method", ["instance", "ascent"])
def test_a_candidate_that_was_left_out_fills_a_slot_if_it_costs_least(method):
    """Label 1 is given and costs less than candidate 0; then the slot that is left is for candidate 0, not label 2."""
    weights = ((1.69, 0.33, 0.87), (-0.39, 0.07, -0.03), (-0.05, -0.46, -0.1), (1.48, 0.68, 0.76))
    utility = tw.utilities.WeightedInstance(*weights)
    options = {"expectation": "semi", "fill": "least-loss", "init": np.array([[1, -1]])}
    found = tw.select(np.array([[0.5, 0.0, 0.0]]), utility, 2, method=method, **options)
    assert sorted(found.labels[0].tolist()) == [0, 1]
    assert found.expected == pytest.approx(1.485)
    assert found.totals.t.tolist() == [0.5, 0.0, 0.0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"t": np.array([np.nan, 0, 0])},
        {"t": np.array([-1.0, 0, 0])},
        {"t": np.array([9.0, 0, 0])},
        {"q": np.zeros(2)},
        {"n_instances": -5.0},
        {"n_instances": np.inf},
        {"known_t": np.full(3, 9.0)},
        {"log_failure": np.full(3, 1.0)},
    ],
    ids=str,
)
def test_totals_that_no_selection_has_are_refused(wrong):
    context = dataclasses.replace(random_context(1), **wrong)
    with pytest.raises(InputError, match=r"context must hold the totals of a selection"):
        tw.select(random_matrix(1), "macro-f1", 1, context=context)


def test_factors_of_any_precision():
    totals = random_context(1)
    for factor in (np.float16(0.5), np.float32(0.5), np.int8(2)):
        scaled = factor * totals if isinstance(factor, float) else totals * factor
        assert scaled.n_instances == float(factor) * totals.n_instances
    with pytest.raises(TypeError):
        totals * 1j


@pytest.mark.parametrize("k", [2, None], ids=["budget", "no budget"])
def test_precision_of_a_selection_is_its_own_with_a_context(k):
    rng = np.random.default_rng(3)
    context = tw.select(rng.random((6, 8)), "precision", 2).totals
    probabilities = rng.random((4, 8))
    found = tw.select(probabilities, "precision", k, context=context)
    judged = tw.expected_utility(probabilities, "precision", found, context=context)
    assert judged == pytest.approx(found.expected, rel=1e-12)
