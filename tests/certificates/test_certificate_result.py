"""What a certificate tells, in fields, in words and in JSON; and what is left of it after Ctrl-C."""

import dataclasses
import json
import math

import numpy as np
import pytest
from reference import optimum
from reference import selection as reference
from reference.formulas import compiled, shrunk

import tailwise as tw
from tailwise.datasets import zipf_candidates

MATRIX = reference.random_matrix(7, 30, 12, density=0.6)
LOOSE = zipf_candidates(300, 200, 15)  # has a gap in the first rounds
TEXTS = ("macro-f1", "macro-precision", "coverage", "precision", "0.5*macro-f1 + 0.5*coverage")
every_text = pytest.mark.parametrize("text", TEXTS)


@every_text
@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_fields(text, expectation):
    certificate = tw.certify(MATRIX, text, 2, expectation=expectation, rounds=7, target_gap=0.0)
    assert isinstance(certificate, tw.Certificate)
    assert certificate.gap == certificate.upper - certificate.value
    assert certificate.relative_gap == pytest.approx(certificate.gap / certificate.value)
    assert certificate.prices.shape == (30,)
    assert np.isfinite(certificate.prices).all()
    assert isinstance(certificate.history, tuple)
    assert certificate.history[-1] == certificate.upper
    assert 0 <= certificate.rounds <= 7
    assert 0 < certificate.seconds < 60
    assert (str(certificate.utility), certificate.expectation, certificate.interrupted) == (text, expectation, False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        certificate.upper = 1.0


@every_text
def test_without_a_selection_it_is_that_of_select(text):
    selection = tw.select(MATRIX, text, 2)
    found, own = tw.certify(MATRIX, text, 2, rounds=5), tw.certify(MATRIX, text, 2, selection, rounds=5)
    assert found.value == pytest.approx(selection.expected, rel=1e-9)
    assert (found.value, found.expectation) == (own.value, own.expectation)
    assert found.expectation == selection.expectation


def test_auto_is_resolved():
    assert tw.certify(MATRIX, "macro-f1", 2, rounds=1).expectation == "exact"
    assert tw.certify(MATRIX, compiled(shrunk), 2, rounds=1).expectation == "semi"


def test_it_stops_at_the_gap_asked_for():
    options = {"expectation": "semi", "rounds": 200}
    whole, rough = (tw.certify(LOOSE, "macro-f1", 3, target_gap=gap, **options) for gap in (0.0, 0.01))
    assert rough.relative_gap <= 0.01
    assert rough.rounds < whole.rounds
    assert rough.upper >= whole.upper


def test_more_rounds_are_no_worse():
    uppers = [tw.certify(LOOSE, "macro-f1", 3, rounds=rounds, target_gap=0.0).upper for rounds in (1, 10, 100)]
    assert uppers[0] > uppers[1] > uppers[2]


def test_same_seed_same_certificate_for_any_number_of_workers():
    first, *others = (
        tw.certify(MATRIX, "macro-f1", 2, rounds=20, seed=3, workers=workers, target_gap=0.0)
        for workers in (1, 1, 2, 4)
    )
    for other in others:
        assert (other.value, other.upper, other.history) == (first.value, first.upper, first.history)
        np.testing.assert_array_equal(other.prices, first.prices)


def test_workers_do_not_matter_where_work_is_shared():
    matrix = zipf_candidates(3000, 400, 20)
    selection = tw.select(matrix, "macro-f1", 3, expectation="semi", max_passes=5)
    for text, expectation in (("macro-f1", "semi"), ("macro-f1", "exact"), ("0.5*macro-f1 + 0.5*coverage", "semi")):
        one, two, four = (
            tw.certify(matrix, text, 3, selection, expectation=expectation, rounds=2, target_gap=0.0, workers=workers)
            for workers in (1, 2, 4)
        )
        assert one.history == two.history == four.history
        assert one.prices.tobytes() == two.prices.tobytes() == four.prices.tobytes()


# In words


@every_text
def test_the_words_say_what_is_proven(text):
    certificate = tw.certify(MATRIX, text, 2)
    for words in (str(certificate), repr(certificate)):
        assert text in words
        assert "; the optimum is at most " in words
        assert " % above this selection" in words
        assert "\n" not in words
        assert len(words) < 200


def test_the_percentage_is_that_of_the_relative_gap():
    certificate = tw.certify(LOOSE, "macro-f1", 3, rounds=1, target_gap=0.0)
    number = float(str(certificate).split("the optimum is at most ")[1].split(" %")[0])
    assert certificate.relative_gap > 1e-4
    # Rounded up, if at all: less must not be claimed than is proven.
    assert 100 * certificate.relative_gap - 1e-12 <= number <= 120 * certificate.relative_gap


@every_text
def test_to_dict_is_ready_for_json(text):
    certificate = tw.certify(MATRIX, text, 2, rounds=3)
    plain = certificate.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert "prices" not in plain
    names = ("value", "upper", "gap", "relative_gap", "rounds", "seconds", "expectation", "interrupted")
    for name in names:
        assert plain[name] == getattr(certificate, name)
        assert type(plain[name]) in (float, int, str, bool)
    assert plain["utility"] == text
    assert plain["history"] == list(certificate.history)


# A value of 0


def test_nothing_to_gain():
    """No label has a chance, and the bound says so: nothing is left to prove."""
    certificate = tw.certify(np.zeros((3, 4)), "macro-f1", 2)
    assert (certificate.value, certificate.upper) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert certificate.relative_gap == 0.0
    assert str(certificate)


def test_a_selection_worth_nothing():
    """There is something to gain, and the given selection has none of it."""
    empty = np.full((30, 2), -1)
    certificate = tw.certify(MATRIX, "macro-f1", 2, empty, rounds=3)
    assert certificate.value == 0.0
    assert certificate.upper > 0
    assert certificate.relative_gap == math.inf
    assert str(certificate)
    # JSON has no infinity.
    plain = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert plain["relative_gap"] is None


# With a selection


@every_text
def test_select_can_bring_its_certificate(text):
    assert tw.select(MATRIX, text, 2).certificate is None
    for method in ("auto", "global"):
        found = tw.select(MATRIX, text, 2, method=method, certify=True)
        assert isinstance(found.certificate, tw.Certificate)
        assert found.certificate.value == pytest.approx(found.expected, rel=1e-9)
        assert found.certificate.expectation == found.expectation
        assert found.certificate.upper >= found.expected * (1 - 1e-9)


@pytest.mark.parametrize("options", [{"k": None}, {"k": np.arange(30) % 4}, {"k": 2, "fill": "none"}], ids=str)
def test_select_certifies_every_kind_of_budget(options):
    found = tw.select(MATRIX, "macro-f1", certify=True, **options)
    assert found.certificate.value == pytest.approx(found.expected, rel=1e-9)
    assert found.certificate.upper >= found.expected * (1 - 1e-9)


def test_a_certificate_of_real_size_is_tight():
    matrix = zipf_candidates(1000, 600, 20)
    found = tw.select(matrix, "macro-f1", 3, method="global", expectation="semi", certify=True)
    assert found.certificate.relative_gap < 0.01


def test_labels_without_candidates_become_candidates():
    """A given selection with labels that are no candidates is bounded, too."""
    matrix = np.array([[0.9, 0.0, 0.0], [0.0, 0.8, 0.0]])
    given = [[0, 2], [1, 2]]
    certificate = tw.certify(matrix, "macro-precision", 2, np.array(given), rounds=5)
    best = optimum.enumerate_optimum(matrix, "macro-precision", 2, "exact", "least-loss", given=given)
    assert certificate.value == pytest.approx(1.7 / 3)
    assert certificate.upper >= best - 1e-12


def test_progress_is_shown_on_standard_error_only_when_asked_for(capsys):
    selection = tw.select(MATRIX, "macro-f1", 2)
    tw.certify(MATRIX, "macro-f1", 2, selection)
    assert capsys.readouterr() == ("", "")
    tw.certify(MATRIX, "macro-f1", 2, selection, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert err


# Ctrl-C


def interrupt_after(n_passes, stage="proof"):
    """An observer that is interrupted after so many passes of a stage, as by Ctrl-C."""
    seen = []

    def on_pass(each):
        seen.extend([each] if each.stage == stage else [])
        if len(seen) == n_passes:
            raise KeyboardInterrupt

    return on_pass


@pytest.mark.parametrize("n_rounds", [1, 3])
def test_interrupt_carries_the_bound_so_far(n_rounds):
    selection = tw.select(LOOSE, "macro-f1", 3)
    options = {"rounds": 17, "target_gap": 0.0, "workers": 1}
    whole = tw.certify(LOOSE, "macro-f1", 3, selection, **options)
    with pytest.raises(tw.errors.Interrupted) as caught:
        tw.certify(LOOSE, "macro-f1", 3, selection, **options, on_pass=interrupt_after(n_rounds))
    found = caught.value.best
    assert (found.interrupted, found.rounds) == (True, n_rounds)
    assert found.history == whole.history[:n_rounds]
    assert found.upper == found.history[-1] >= whole.upper
    assert found.value == whole.value
    assert "interrupted" in repr(found)
    assert found.to_dict()["interrupted"] is True


@pytest.mark.parametrize("expectation", ["semi", "exact"])
def test_interrupt_while_a_better_selection_is_looked_for(expectation):
    """What comes out is worth what it says, though the totals were those of another selection."""
    n_label_passes = []
    options = {"expectation": expectation, "tolerance": 0.0}
    tw.select(LOOSE, "macro-f1", 3, **options, on_pass=lambda each: n_label_passes.append(each.stage == "labels"))
    n_passes = sum(n_label_passes) - 1  # the last one but one, which the prices led to
    found = tw.select(
        LOOSE, "macro-f1", 3, **options, on_pass=interrupt_after(n_passes, "labels"), on_interrupt="return"
    )
    assert found.interrupted
    value = tw.expected_utility(LOOSE, "macro-f1", found, 3, expectation=expectation)
    assert found.expected == pytest.approx(value, rel=1e-9)


def test_an_interrupted_bound_is_returned_where_that_is_asked_for():
    options = {"rounds": 17, "target_gap": 0.0, "workers": 1, "on_interrupt": "return"}
    found = tw.certify(LOOSE, "macro-f1", 3, **options, on_pass=interrupt_after(2))
    assert (found.interrupted, found.rounds) == (True, 2)


def test_interrupt_before_there_is_a_bound():
    """While tailwise makes a selection of its own there is nothing to return."""
    with pytest.raises(KeyboardInterrupt):
        tw.certify(LOOSE, "macro-f1", 3, rounds=17, on_pass=interrupt_after(1, "rows"))
