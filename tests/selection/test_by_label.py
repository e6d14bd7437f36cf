"""A psi of its own for every label: weights, groups of labels, and parameters of a formula; against enumeration."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from reference import context as reference

import tailwise as tw
from tailwise.errors import FormulaError, UtilityError
from tailwise.utilities import (
    ByLabel,
    Coverage,
    MacroBalancedAccuracy,
    MacroF1,
    MacroFBeta,
    MacroGMean,
    MacroJaccard,
    MacroPrecision,
    MacroRecall,
    Precision,
    Utility,
)

N, M, K = 4, 3, 1
WEIGHTS = np.array([0.5, 3.0, 0.0])
CLASSES = {
    "macro-precision": MacroPrecision,
    "macro-recall": MacroRecall,
    "macro-f1": MacroF1,
    "macro-fbeta(2)": functools.partial(MacroFBeta, 2.0),
    "macro-jaccard": MacroJaccard,
    "macro-balanced-accuracy": MacroBalancedAccuracy,
    "macro-gmean": MacroGMean,
    "coverage": Coverage,
}
every_expectation = pytest.mark.parametrize("expectation", ["semi", "exact"])

pytestmark = pytest.mark.boundscheck


def random_matrix(seed, n=N, m=M):
    return np.round(np.random.default_rng(seed).beta(0.5, 1.0, (n, m)), 3)


def mark(labels, m=M):
    return [[int(j in row) for j in range(m)] for row in labels.tolist()]


def times(weight, psi):
    if psi is reference.covered:
        return lambda t, q, p, n: weight * float(t > 0)
    return lambda t, q, p, n: weight * psi(t, q, p, n)


def value_of(psis, matrix, is_chosen, expectation):
    function = reference.expect_exactly if expectation == "exact" else reference.expect_semi
    return function(psis, matrix, is_chosen)


@every_expectation
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", range(3))
def test_weights_against_enumeration(seed, name, expectation):
    if name == "coverage" and expectation == "semi":
        pytest.skip("the same number by both expectations")
    matrix, utility = random_matrix(seed), CLASSES[name](weights=WEIGHTS)
    psis = [times(w, reference.PSI[name]) for w in WEIGHTS]
    value = functools.partial(value_of, psis, matrix, expectation=expectation)
    best = reference.best_of_all(lambda is_chosen: value(is_chosen), N, M, K)
    for method in ("auto", "greedy"):
        found = tw.select(matrix, utility, K, method=method, expectation=expectation, fill="least-loss")
        assert found.expected == pytest.approx(value(mark(found.labels)), rel=1e-6, abs=1e-9)
        assert found.expected <= best + 1e-6
    assert tw.expected_utility(matrix, utility, found, K, expectation=expectation) == pytest.approx(
        found.expected, rel=1e-6
    )
    if name not in ("macro-gmean",):
        upper = tw.certify(matrix, utility, K, expectation=expectation, fill="least-loss").upper
        assert upper >= best - 1e-9


@every_expectation
def test_groups_of_labels_against_enumeration(expectation):
    utility = ByLabel([([0], MacroPrecision()), ([2], MacroJaccard() + 0.5 * MacroRecall())], rest=MacroF1())
    psis = [
        reference.precision,
        reference.f1,
        lambda *counts: reference.jaccard(*counts) + 0.5 * reference.recall(*counts),
    ]
    for seed in range(4):
        matrix = random_matrix(seed)
        value = functools.partial(value_of, psis, matrix, expectation=expectation)
        found = tw.select(matrix, utility, K, expectation=expectation, fill="least-loss", certify=True)
        assert found.expected == pytest.approx(value(mark(found.labels)), rel=1e-6)
        best = reference.best_of_all(lambda is_chosen, value=value: value(is_chosen), N, M, K)
        assert found.expected <= best + 1e-6
        assert found.certificate.upper >= best - 1e-9


def test_labels_left_out_count_nothing():
    matrix = random_matrix(7)
    utility = ByLabel([([1], MacroF1())], rest=None)
    found = tw.select(matrix, utility, K, expectation="semi")
    psis = [lambda *counts: 0.0, reference.f1, lambda *counts: 0.0]
    best = reference.best_of_all(lambda z: reference.expect_semi(psis, matrix, z), N, M, K)
    assert found.expected == pytest.approx(best)


def test_parameters_of_each_label_against_enumeration():
    costs = np.array([[0.1, 1.0], [1.0, 2.0], [0.5, 0.0]])
    utility = Utility.from_formula(lambda t, q, p, a: a[1] * t - a[0] * (q - t), parameters=costs, name="cost")
    plain = Utility.from_formula(
        lambda t, q, p, a: a[1] * t - a[0] * (q - t), parameters=costs, name="cost", compiled=False
    )
    psis = [lambda t, q, p, n, a=a: a[1] * t - a[0] * (q - t) for a in costs]
    for seed in range(3):
        matrix = random_matrix(seed)
        for each in (utility, plain):
            for expectation in ("semi", "exact"):
                found = tw.select(matrix, each, K, expectation=expectation, fill="least-loss")
                value = value_of(psis, matrix, mark(found.labels), expectation)
                assert found.expected == pytest.approx(value, rel=1e-9)
        best = reference.best_of_all(lambda z, matrix=matrix: value_of(psis, matrix, z, "semi"), N, M, K)
        upper = tw.certify(matrix, utility, K, expectation="semi", fill="none").upper
        assert upper >= best - 1e-9


def test_parameters_and_weights_multiply():
    formula = {"parameters": np.array([[1.0], [2.0], [3.0]]), "name": "scaled"}
    weighted = Utility.from_formula(lambda t, q, p, a: a[0] * t, weights=[3.0, 2.0, 1.0], **formula)
    matrix = random_matrix(1)
    found = tw.select(matrix, weighted, K, expectation="semi")
    psis = [lambda t, q, p, n, c=c: c * t for c in (3.0, 4.0, 3.0)]
    assert found.expected == pytest.approx(reference.expect_semi(psis, matrix, mark(found.labels)), rel=1e-12)


def test_equal_weights_change_nothing():
    matrix = np.random.default_rng(3).beta(0.3, 2.0, (25, 10))
    for cls in CLASSES.values():
        all_weights = (None, np.ones(10), np.full(10, 2.0))
        plain, ones, twice = (tw.select(matrix, cls(weights=weights), 2) for weights in all_weights)
        np.testing.assert_array_equal(plain.labels, ones.labels)
        assert ones.expected == pytest.approx(plain.expected, rel=1e-12)
        assert twice.expected == pytest.approx(2 * plain.expected, rel=1e-4)


def test_weights_by_number_or_name():
    by_number = MacroF1(weights={1: 3.0, 2: 0.0})
    matrix = random_matrix(2)
    same = MacroF1(weights=[1.0, 3.0, 0.0])
    assert tw.select(matrix, by_number, K).expected == tw.select(matrix, same, K).expected
    with pytest.raises(UtilityError, match=r"names the label 'rare', which the probabilities do not name"):
        tw.select(matrix, MacroF1(weights={"rare": 2.0}), K)
    with pytest.raises(UtilityError, match=r"numbers from 0 to 2\. Got 5"):
        tw.select(matrix, MacroF1(weights={5: 2.0}), K)


def test_names_of_a_file_are_known(tmp_path):
    tw.save(tmp_path / "p.npz", sp.csr_array(random_matrix(2)))
    (tmp_path / "labels.txt").write_text("common\nrare\nother\n")
    by_name = tw.select(tmp_path / "p.npz", MacroF1(weights={"rare": 3.0}), K)
    by_array = tw.select(random_matrix(2), MacroF1(weights=[1.0, 3.0, 1.0]), K)
    np.testing.assert_array_equal(by_name.labels, by_array.labels)


def test_algebra_text_and_equality():
    assert MacroF1(weights=[1.0, 2.0]) == MacroF1(weights=[1.0, 2.0])
    assert MacroF1(weights=[1.0, 2.0]) != MacroF1(weights=[1.0, 3.0])
    assert MacroF1(weights=[1.0, 2.0]) != MacroF1()
    assert str(MacroF1(weights=[1.0, 2.0])) == "macro-f1 by label"
    assert repr(MacroF1(weights=[1.0, 2.0])) == "MacroF1(weights=<2 values>)"
    assert len((MacroF1(weights=[1.0, 2.0]) + MacroF1()).terms) == 2
    assert len((MacroF1(weights=[1.0, 2.0]) + MacroF1(weights=[1.0, 2.0])).terms) == 1


def test_psi_of_weighted_utilities():
    t, q, p = np.array([1.0, 2.0]), np.array([2.0, 2.0]), np.array([1.0, 4.0])
    for cls in CLASSES.values():
        plain = cls().psi(t, q, p, n_instances=9)
        np.testing.assert_allclose(cls(weights=[3.0, 0.5]).psi(t, q, p, n_instances=9), plain * [3.0, 0.5])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MacroF1(weights=[-1.0, 1.0]), r"weights must be numbers from 0 to 1e\+100\. Got -1"),
        (lambda: MacroF1(weights=[[1.0]]), r"weights must be one number per label\. Got shape \(1, 1\)"),
        (lambda: tw.select(random_matrix(1), MacroF1(weights=[1.0]), 1), "one number per label, 3 in all. Got 1"),
        (lambda: ByLabel([([0], MacroF1()), ([0, 1], Coverage())], rest=None), "must not share labels. Got label 0"),
        (lambda: ByLabel([([0], Precision())], rest=None), "for macro utilities and coverage. Got precision"),
        (lambda: ByLabel([([0], "macro-f1")], rest=None), "must hold utilities. Got str"),
    ],
)
def test_bad_weights_and_groups(make, message):
    with pytest.raises(UtilityError, match=message):
        make()


def test_bad_parameters():
    with pytest.raises(FormulaError, match=r"parameters must be finite numbers of shape \(m, r\)"):
        Utility.from_formula(lambda t, q, p, a: t, parameters=[1.0, 2.0])
    with pytest.raises(FormulaError, match=r"one row per label, 3 in all\. Got 2"):
        tw.select(random_matrix(1), Utility.from_formula(lambda t, q, p, a: a[0] * t, parameters=[[1.0], [2.0]]), 1)


def test_a_utility_that_declares_nothing_is_refused():
    from tailwise.utilities.utility import SingleUtility

    class Silent(SingleUtility):
        name = "silent"
        linear_in_predictions = linear_in_labels = False

        def psi_of(self, t, q, batch):
            return t

    with pytest.raises(UtilityError, match="Silent declares neither linear coefficients nor a formula nor coverage"):
        tw.select(random_matrix(1), Silent(), 1)


def test_a_label_by_number_and_by_name_is_one_label(tmp_path):
    tw.save(tmp_path / "p.npz", sp.csr_array(random_matrix(2)))
    (tmp_path / "labels.txt").write_text("a\nb\nc\n")
    for utility in (ByLabel([([0], MacroF1()), (["a"], MacroF1())], rest=MacroF1()), MacroF1(weights={"a": 1, 0: 2})):
        with pytest.raises(UtilityError, match=r"Got .* twice, by number and by name"):
            tw.select(tmp_path / "p.npz", utility, K)


def test_weights_and_parameters_are_copied():
    weights, parameters = np.ones(3), np.ones((3, 1))
    utility = MacroF1(weights=weights)
    formula = Utility.from_formula(lambda t, q, p, a: a[0] * t, parameters=parameters)
    before = [tw.select(random_matrix(1), each, K, expectation="semi").expected for each in (utility, formula)]
    weights[:] = parameters[:] = 7.0
    after = [tw.select(random_matrix(1), each, K, expectation="semi").expected for each in (utility, formula)]
    assert before == after


@pytest.mark.parametrize("name", CLASSES)
def test_utilities_and_selections_are_pickled(name):
    import pickle

    for utility in (CLASSES[name](), CLASSES[name](weights=WEIGHTS)):
        assert pickle.loads(pickle.dumps(utility)) == utility
        found = tw.select(random_matrix(1), utility, K)
        again = pickle.loads(pickle.dumps(found))
        np.testing.assert_array_equal(again.labels, found.labels)
        assert tw.select(random_matrix(1), again.utility, K).expected == found.expected


def test_a_series_gives_weights_by_its_index():
    pd = pytest.importorskip("pandas")
    series = pd.Series([3.0, 0.5], index=[2, 0])
    by_series, by_array = (MacroF1(weights=weights) for weights in (series, [0.5, 1.0, 3.0]))
    assert tw.select(random_matrix(2), by_series, K).expected == tw.select(random_matrix(2), by_array, K).expected
