"""What a selection tells: labels in order of gain, how it was found, and what is left after Ctrl-C."""

import dataclasses

import numpy as np
import pytest
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw
from tailwise.selection import bca as ascent
from tailwise.utilities import MacroF1, Precision, as_utility

MATRIX = reference.random_matrix(7, 10, 6, density=0.8)
MIXTURES = (
    *({name: 1.0} for name in (*utilities.LINEAR, *utilities.NONLINEAR)),
    {"precision": 0.7, "macro-f1": 0.3},
    {"hamming": 0.5, "coverage": 0.5},
)


@pytest.mark.boundscheck
@pytest.mark.parametrize("mixture", MIXTURES, ids=utilities.as_text)
@pytest.mark.parametrize("k", [3, None])
def test_best_gain_first(mixture, k):
    for seed in range(4):
        matrix, training = reference.random_matrix(seed, 8, 6, 0.8), reference.random_training(seed, 6)
        priors = tw.LabelPriors(training.counts, training.n_instances)
        problem = reference.Problem(matrix, mixture, k, training=training)
        for method in ("auto",) if k is None else ("auto", "greedy"):
            found = semi.select(matrix, utilities.as_text(mixture), k, fill="none", method=method, priors=priors)
            labels = reference.as_lists(found.labels)
            for i, row in enumerate(labels):
                gains = problem.gains(i, labels)
                assert (np.diff([gains[j] for j in row]) <= 1e-12).all()


def test_to_csr_holds_the_labels():
    for k in (3, None, [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]):
        found = semi.select(MATRIX, "macro-f1", k)
        csr = found.to_csr()
        assert csr.shape == found.shape == MATRIX.shape
        assert csr.has_canonical_format
        assert set(csr.data.tolist()) == {1}
        assert [set(csr[[i]].indices.tolist()) for i in range(10)] == [set(r) for r in reference.as_lists(found.labels)]


def test_fields():
    found = semi.select(MATRIX, "macro-f1", 2)
    assert isinstance(found, tw.Selection)
    assert (found.utility, found.n_labels, found.n_instances) == (MacroF1(), 6, 10)
    assert (found.method, found.expectation) == ("global", "semi")
    assert (found.converged, found.interrupted, found.is_ranked) == (True, False, True)
    assert isinstance(found.history, tuple)
    assert len(found.history) == found.passes + 1
    assert isinstance(found.expected, float)
    assert 0 < found.seconds < 60
    assert found.labels.dtype == np.int32
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.expected = 1.0


def test_closed_form_takes_one_pass():
    found = semi.select(MATRIX, Precision(), 2)
    assert (found.method, found.passes, found.converged, found.interrupted) == ("instance", 1, True, False)
    assert found.history == (found.expected,)


def test_repr():
    found = semi.select(MATRIX, "macro-f1", 2)
    assert repr(found) == (
        f"Selection(10 instances, at most 2 of 6 labels, macro-f1 {found.expected:.6g} expected over 6 labels, global, "
        f"{found.passes} passes, converged)"
    )
    assert "0.7*precision + 0.3*macro-f1" in repr(semi.select(MATRIX, "0.7*precision + 0.3*macro-f1", 2))
    assert repr(semi.select(MATRIX, "macro-f1", 2, init="random", max_passes=1)).endswith("1 passes, not converged)")
    wide = semi.select(np.random.default_rng(0).random((1200, 3)), "precision", 1)
    assert repr(wide).startswith("Selection(1,200 instances, at most 1 of 3 labels, precision 0.")


# What "auto" takes.
AUTO = {
    "precision": ("instance", "exact"),
    "log": ("instance", "exact"),
    "hamming": ("instance", "exact"),
    "macro-accuracy": ("instance", "exact"),
    "macro-recall": ("instance", "exact"),
    "macro-balanced-accuracy": ("instance", "exact"),
    "macro-precision": ("global", "exact"),
    "coverage": ("global", "exact"),
    "macro-f1": ("global", "exact"),
    "macro-jaccard": ("global", "exact"),
    "macro-gmean": ("global", "semi"),
    "0.5*macro-f1 + 0.5*macro-auc": ("global", "semi"),
    "0.5*precision + 0.5*macro-precision": ("global", "exact"),
    "0.5*precision + 0.5*coverage": ("global", "exact"),
    "0.5*precision + 0.5*macro-recall": ("instance", "exact"),
    "0.5*macro-f1 + 0.5*coverage": ("global", "exact"),
}


@pytest.mark.parametrize("text", AUTO)
def test_auto_is_resolved(text):
    priors = tw.LabelPriors([1, 2, 3, 4, 5, 6], 9)
    method, expectation = AUTO[text]
    found = tw.select(MATRIX, text, 2, priors=priors)
    assert (found.method, found.expectation) == (method, expectation)
    for name in ("semi", "exact"):
        assert tw.select(MATRIX, text, 2, priors=priors, expectation=name).expectation == name


@pytest.mark.parametrize(
    "text", ["precision", "hamming", "macro-precision", "coverage", "0.5*precision + 0.5*coverage"]
)
def test_what_is_exact_already_has_one_value(text):
    found = [tw.select(MATRIX, text, 2, expectation=name).expected for name in ("semi", "exact")]
    assert found[0] == found[1]


@pytest.mark.parametrize("text", ["precision", "macro-precision", "coverage", "0.5*precision + 0.5*coverage"])
def test_exact_values_come_true_on_average(text):
    found = semi.select(MATRIX, text, 2)
    is_chosen = found.to_csr().toarray()
    rng, values = np.random.default_rng(0), []
    for _ in range(3000):
        truth = rng.random(MATRIX.shape) < MATRIX
        counts = ((truth * is_chosen).sum(axis=0), is_chosen.sum(axis=0), truth.sum(axis=0))
        values.append(as_utility(text).psi(*counts, n_instances=10, k=2).sum())
    assert np.mean(values) == pytest.approx(found.expected, abs=5 * np.std(values) / np.sqrt(3000))


def interrupt_after(monkeypatch, n_passes, *, mid_pass=False):
    """Ctrl-C during the pass after `n_passes` whole ones; `mid_pass` when its moves are done, else before them."""
    original, calls = ascent.run_pass, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) > n_passes and not mid_pass:
            raise KeyboardInterrupt
        n_moved = original(*arguments)
        if len(calls) > n_passes:
            raise KeyboardInterrupt
        return n_moved

    monkeypatch.setattr(ascent, "run_pass", interrupted)


@pytest.mark.parametrize("n_passes", [0, 1])
def test_interrupt_returns_the_best_so_far(monkeypatch, n_passes):
    whole = semi.select(MATRIX, "macro-f1", 2, init="random")
    interrupt_after(monkeypatch, n_passes)
    found = semi.select(MATRIX, "macro-f1", 2, init="random", on_interrupt="return")
    assert (found.interrupted, found.converged, found.passes) == (True, False, n_passes)
    assert found.history == whole.history[: n_passes + 1]
    assert found.expected == pytest.approx(found.history[-1], rel=1e-12)
    problem = reference.Problem(MATRIX, "macro-f1", 2)
    assert found.expected == pytest.approx(problem.value(reference.as_lists(found.labels)), rel=1e-12)
    assert repr(found).endswith(f"{n_passes} passes, interrupted)")


def test_interrupt_within_a_pass_keeps_what_it_gained(monkeypatch):
    whole = semi.select(MATRIX, "macro-f1", 2, init="random")
    interrupt_after(monkeypatch, 1, mid_pass=True)
    with pytest.raises(tw.errors.Interrupted) as caught:
        semi.select(MATRIX, "macro-f1", 2, init="random")
    found = caught.value.best
    assert (found.interrupted, found.passes) == (True, 1)
    assert found.history == whole.history[:2]
    assert found.expected == pytest.approx(whole.history[2], rel=1e-12)
    assert all(len(set(row)) == 2 for row in found.labels.tolist())


def test_interrupt_leaves_rows_filled(monkeypatch):
    interrupt_after(monkeypatch, 0)
    labels = semi.select(MATRIX * (MATRIX > 0.7), "macro-f1", 4, on_interrupt="return").labels
    assert all(len(set(row)) == 4 for row in labels.tolist())
    assert labels.min() >= 0


def test_progress_is_shown_on_standard_error_only_when_asked_for(capsys):
    semi.select(MATRIX, "macro-f1", 2)
    assert capsys.readouterr() == ("", "")
    semi.select(MATRIX, "macro-f1", 2, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "rows" in err
    assert "passes" in err
