"""Formulas of the user's own: compiled, plain, and refused."""

import math
import statistics

import numpy as np
import pytest
from reference import selection as reference
from reference.formulas import smoothed

import tailwise as tw
from tailwise.errors import FormulaError
from tailwise.utilities import Custom, MacroF1, Precision, Utility

PROBABILITIES = reference.random_matrix(5, 12, 6, density=0.8)


def f1(t, q, p):
    return 2 * t / (q + p) if q + p > 0 else 0.0


def root(t, q, p):
    return math.sqrt(t) if q > 0 else 0.0


FORMULAS = (f1, smoothed, root)


@pytest.mark.boundscheck
@pytest.mark.parametrize("function", FORMULAS)
def test_compiled_and_plain_select_the_same(function):
    compiled = tw.select(PROBABILITIES, Utility.from_formula(function), k=2, method="ascent")
    plain = tw.select(PROBABILITIES, Utility.from_formula(function, compiled=False), k=2, method="ascent")
    np.testing.assert_array_equal(compiled.labels, plain.labels)
    assert compiled.history == pytest.approx(plain.history, rel=1e-12)
    assert compiled.expected == pytest.approx(mean_of(function, compiled), rel=1e-12)


def mean_of(function, selection):
    counts = tw.Candidates.of(PROBABILITIES)
    is_chosen = selection.to_csr().toarray()
    t, q, p = (PROBABILITIES * is_chosen).sum(axis=0), is_chosen.sum(axis=0), counts.condition_positives()
    return statistics.fmean(function(*numbers) for numbers in zip(t.tolist(), q.tolist(), p.tolist(), strict=True))


@pytest.mark.parametrize("method", ["ascent", "greedy"])
def test_own_f1_selects_as_the_built_in(method):
    own = tw.select(PROBABILITIES, Utility.from_formula(f1), k=2, method=method)
    built_in = tw.select(PROBABILITIES, MacroF1(), k=2, method=method, expectation="semi")
    assert own.expected == pytest.approx(built_in.expected, rel=1e-12)
    np.testing.assert_array_equal(own.labels, built_in.labels)


def test_without_budget():
    own = tw.select(PROBABILITIES, Utility.from_formula(f1), k=None)
    np.testing.assert_array_equal(own.labels, tw.select(PROBABILITIES, MacroF1(), k=None, expectation="semi").labels)


def test_formulas_mix():
    own = 0.5 * Utility.from_formula(f1) + 0.5 * Precision()
    built_in = 0.5 * MacroF1() + 0.5 * Precision()
    found = tw.select(PROBABILITIES, own, k=2)
    np.testing.assert_array_equal(found.labels, tw.select(PROBABILITIES, built_in, k=2, expectation="semi").labels)
    assert str(own) == "0.5*f1 + 0.5*precision"


def test_two_formulas_in_one_mixture():
    mixture = Utility.from_formula(f1) + Utility.from_formula(smoothed)
    found = tw.select(PROBABILITIES, mixture, k=2)
    assert found.expected == pytest.approx(mean_of(f1, found) + mean_of(smoothed, found), rel=1e-12)


def test_psi_and_names():
    utility = Utility.from_formula(f1)
    counts = ([1.0, 0.0], [2, 0], [1.5, 0.0])
    np.testing.assert_allclose(utility.psi(*counts, n_instances=4), MacroF1().psi(*counts, n_instances=4))
    assert isinstance(utility, Custom)
    assert (str(utility), repr(utility)) == ("f1", "Utility.from_formula(f1)")
    assert str(Utility.from_formula(f1, name="mine", compiled=False)) == "mine"
    assert utility.kind is MacroF1().kind


def refused_by_select(function, probabilities=PROBABILITIES, *, compiled=True):
    with pytest.raises(FormulaError) as caught:
        tw.select(probabilities, Utility.from_formula(function, name="bad", compiled=compiled), k=1)
    return str(caught.value)


@pytest.mark.parametrize("compiled", [True, False])
def test_division_by_zero_names_the_point(compiled):
    assert refused_by_select(lambda t, q, p: t / q, compiled=compiled) == (
        "The formula bad must be finite. It is not at t=0, q=0, p=0. "
        "Say what 0/0 should be, for instance `t / q if q > 0 else 0.0`."
    )


def test_nan_names_the_point():
    message = refused_by_select(lambda t, q, p: math.nan if q == 2 and p == 1 else 0.0)
    assert "must be finite. It is not at t=0, q=2, p=1." in message


def test_infinity_names_the_point():
    message = refused_by_select(lambda t, q, p: math.inf if p == 3 and t > 0 else 0.0)
    assert "must be finite. It is not at t=0.01, q=1, p=3." in message


def test_a_formula_that_falls_in_t_names_the_point():
    message = refused_by_select(lambda t, q, p: q - t)
    assert "formula bad must not decrease as t grows. It decreases from 1 to 0.99 at t=0.01, q=1, p=1." in message
    assert message.endswith("Give a formula that rewards true positives.")


def test_a_formula_that_raises_at_the_door_names_the_point():
    def strict(t, q, p):
        if q > 2:
            raise ValueError("too many")  # noqa: EM101
        return t

    message = refused_by_select(strict, compiled=False)
    assert message == "The formula bad raised ValueError at t=0, q=3, p=0: too many."


@pytest.mark.parametrize(
    "function", [lambda t, q, p: statistics.mean((t, q)), lambda t, q, p: None, lambda t, q, p: "high"]
)
def test_what_numba_cannot_compile_is_refused(function):
    with pytest.raises(
        FormulaError, match=r"function must be .* that Numba can compile\. Compiling failed: .* or compiled=False"
    ):
        Utility.from_formula(function)


def test_what_numba_cannot_compile_runs_as_plain_python():
    def odd(t, q, p):
        return statistics.fmean([f1(t, q, p)])

    plain = Utility.from_formula(odd, compiled=False)
    np.testing.assert_array_equal(
        tw.select(PROBABILITIES, plain, k=2).labels, tw.select(PROBABILITIES, MacroF1(), k=2).labels
    )


@pytest.mark.parametrize("compiled", [True, False])
def test_a_formula_of_two_numbers_is_refused(compiled):
    with pytest.raises(FormulaError, match=r"formula|function"):
        tw.select(PROBABILITIES, Utility.from_formula(lambda t, q: t, compiled=compiled), k=1)


@pytest.mark.parametrize("other", [5, "t / q", None])
def test_what_cannot_be_called_is_refused(other):
    message = rf"function must be callable as psi\(t, q, p\)\. Got {type(other).__name__}\."
    with pytest.raises(FormulaError, match=message):
        Utility.from_formula(other)


def fragile(t, q, p):
    """Fails where one of the probabilities below is alone, never on whole numbers."""
    if t == 0.625:
        raise KeyError("0.625")  # noqa: EM101
    return t


@pytest.mark.parametrize("options", [{"k": 1}, {"k": None}, {"k": 1, "method": "greedy"}])
def test_a_plain_formula_that_raises_later_is_reported(options):
    utility = Utility.from_formula(fragile, compiled=False)
    with pytest.raises(FormulaError, match=r"The formula fragile raised KeyError: '0\.625'\.") as caught:
        tw.select(np.array([[0.625, 0.25], [0.125, 0.5]]), utility, **options)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_formula_that_failed_once_works_where_it_does_not_fail():
    utility = Utility.from_formula(fragile, compiled=False)
    with pytest.raises(FormulaError, match="KeyError"):
        tw.select(np.array([[0.625, 0.25], [0.125, 0.5]]), utility, k=1)
    assert tw.select(np.array([[0.75, 0.25], [0.125, 0.5]]), utility, k=1).labels.ravel().tolist() == [0, 1]


def test_plain_formulas_work_with_any_number_of_workers():
    plain = Utility.from_formula(smoothed, compiled=False)
    one, two = (tw.select(PROBABILITIES, plain, k=2, workers=workers).labels for workers in (1, 2))
    assert one.tobytes() == two.tobytes()


def test_ctrl_c_in_a_plain_formula_is_heard():
    calls = []

    def interrupted(t, q, p):
        calls.append(t)
        if len(calls) == 3_000:
            raise KeyboardInterrupt
        return t / (q + 1.0)

    utility = Utility.from_formula(interrupted, compiled=False)
    found = tw.select(np.random.default_rng(0).random((60, 12)), utility, 3, expectation="semi", on_interrupt="return")
    assert found.interrupted
