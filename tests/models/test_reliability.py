"""Reliability: the error at k as it is defined, its table and its diagram."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from reference import calibration as reference

from tailwise.errors import InputError, MissingExtraError
from tailwise.models.reliability import Reliability, ReliabilityBin, reliability


def draw(seed, n=60, m=8, digits=2):
    """Probabilities with ties and zeros, and labels."""
    rng = np.random.default_rng(seed)
    probabilities = rng.beta(0.5, 2, size=(n, m)).round(digits) * (rng.random((n, m)) < 0.7)
    return probabilities, (rng.random((n, m)) < 0.3).astype(np.int8)


@pytest.mark.parametrize("k", [1, 3, None])
@pytest.mark.parametrize("seed", range(4))
def test_bins_of_equal_width_are_those_of_the_definition(seed, k):
    probabilities, truth = draw(seed)
    kept = probabilities if k is None else reference.most_probable(probabilities, k)
    expected = reference.calibration_error(reference.truth_of(kept, truth), np.arange(11) / 10)
    assert reliability(probabilities, truth, k, bins=10, strategy="uniform").error == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(4))
def test_bins_of_equal_size_are_those_of_the_definition(seed):
    probabilities, truth = draw(seed, digits=6)
    pairs = sorted(reference.truth_of(reference.most_probable(probabilities, 3), truth))
    found = reliability(probabilities, truth, 3, bins=7)
    edges = [pairs[b * len(pairs) // 7][0] for b in range(7)] + [1.0]
    assert found.error == pytest.approx(reference.calibration_error(pairs, edges))
    sizes = [each.n_candidates for each in found.bins]
    assert max(sizes) - min(sizes) <= 1
    assert sum(sizes) == found.n_candidates == len(pairs)


def test_equal_probabilities_share_a_bin():
    probabilities = np.array([[0.5], [0.5], [0.5], [0.5], [0.9], [0.2]])
    found = reliability(probabilities, [[1], [0], [0], [1], [1], [0]], bins=6)
    assert found.bins == (
        ReliabilityBin(0.2, 0.2, 1, 0.2, 0.0),
        ReliabilityBin(0.5, 0.5, 4, 0.5, 0.5),
        ReliabilityBin(0.9, 0.9, 1, 0.9, 1.0),
    )
    assert found.error == pytest.approx((0.2 + 0.1) / 6)
    assert found.largest_error == pytest.approx(0.2)


def test_sums_are_those_of_the_candidates():
    probabilities, truth = draw(1)
    kept = reference.most_probable(probabilities, 5)
    pairs = np.array(reference.truth_of(kept, truth))
    found = reliability(probabilities, truth)
    assert found.k == 5
    assert found.mean_probability == pytest.approx(pairs[:, 0].mean())
    assert found.share_true == pytest.approx(pairs[:, 1].mean())


def test_perfect_and_useless_probabilities():
    truth = (np.random.default_rng(0).random((50, 4)) < 0.5).astype(float)
    perfect = sp.csr_array((truth.ravel(), np.tile(np.arange(4), 50), np.arange(0, 201, 4)), shape=(50, 4))
    assert reliability(perfect, truth).error == 0
    assert reliability(np.ones((50, 4)), np.zeros((50, 4))).error == 1


def test_certain_candidates_fall_into_the_last_bin():
    assert reliability([[1.0, 0.95]], [[1, 1]], bins=10, strategy="uniform").bins[0].n_candidates == 2


def test_the_error_of_calibrated_probabilities_is_that_of_chance():
    rng = np.random.default_rng(0)
    probabilities = rng.beta(0.4, 2, size=(300, 6))
    drawn = [reliability(probabilities, rng.random((300, 6)) < probabilities, None) for _ in range(200)]
    assert np.mean([each.error for each in drawn]) == pytest.approx(drawn[0].chance_error, rel=0.1)


def test_prints_as_a_table():
    text = repr(reliability([[0.5, 0.25], [0.75, 0.25]], [[1, 0], [1, 0]], k=2, bins=2))
    assert text.split("\n") == [
        "Reliability of the 2 most probable candidates of each instance, 4 in all",
        "  expected calibration error 0.3125 (0.2587 by chance alone), largest 0.3750",
        "  predicted 0.4375, true 0.5000",
        "        probability  candidates  predicted    true",
        "    0.2500 - 0.2500           2     0.2500  0.0000",
        "    0.5000 - 0.7500           2     0.6250  1.0000",
    ]
    assert repr(reliability([[0.5]], [[1]], None)).startswith("Reliability of all candidates, 1 in all")


REFUSED = {
    "k": (([[0.5]], [[1]], 0), {}, r"k must be an integer of at least 1\. Got 0\. Use k=None for all candidates\."),
    "k fraction": (([[0.5]], [[1]], 2.5), {}, r"k must be .* Got 2\.5\."),
    "bins": (([[0.5]], [[1]]), {"bins": 0}, r"bins must be an integer of at least 1\. Got 0\."),
    "strategy": (([[0.5]], [[1]]), {"strategy": "width"}, r"strategy must be one of quantile, uniform\. Got 'width'"),
    "labels": (
        ([[0.5]], [[1, 0]]),
        {},
        r"probabilities must have 2 labels\. Got 1\. For a pair or a table, use Candidates\.of\(",
    ),
    "instances": (([[0.5]], [[1], [0]]), {}, r"probabilities must have the 2 instances of truth\. Got 1\."),
    "truth": (([[0.5]], [[0.5]]), {}, r"truth must hold only 0 and 1\. Got 0\.5\."),
    "logits": (([[-0.5]], [[1]]), {}, r"probabilities must lie in \[0, 1\]\. Got -0\.5"),
    "no candidates": (([[0.0]], [[1]]), {}, r"probabilities must hold at least one candidate\. Got none\."),
}


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        reliability(*arguments, **options)


# The diagram


@pytest.fixture
def found():
    return reliability(*draw(2), bins=5)


def test_the_diagram_shows_the_bins(found):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    axes = found.plot(figure.add_subplot(), label="tree")
    (line,) = axes.get_lines()
    np.testing.assert_allclose(line.get_xdata(), [each.mean_probability for each in found.bins])
    np.testing.assert_allclose(line.get_ydata(), [each.share_true for each in found.bins])
    assert line.get_label() == f"tree (error {100 * found.error:.2f} %)"
    assert axes.get_xlabel()
    assert axes.get_ylabel()


def test_a_diagram_of_its_own_has_the_diagonal(found):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = found.plot()
    diagonal, line = axes.get_lines()
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata()) == [0, 1]
    assert line.get_label().startswith("model (error ")
    pyplot.close(axes.figure)


def test_without_matplotlib(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"plot needs matplotlib.*pip install 'tailwise\[plot\]'"):
        found.plot()


def test_equal_input_gives_equal_results():
    assert reliability(*draw(3)) == reliability(*draw(3))
    assert isinstance(reliability(*draw(3)), Reliability)
