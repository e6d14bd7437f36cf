"""Calibrator: what each kind of curve does to probabilities, and that it does so for the candidates given."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from reference import calibration as reference
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tailwise as tw
from tailwise.datasets import save
from tailwise.inputs.candidates import Candidates
from tailwise.models.calibration_curves import describe_context
from tailwise.models.calibrator import Calibrator
from tailwise.models.reliability import reliability

METHODS = ("isotonic", "platt", "temperature", "context")
CURVES = METHODS[:3]  # of the probability alone


def draw(n, m, distort, seed=0):
    """Probabilities that are distorted, and labels that follow the true ones."""
    rng = np.random.default_rng(seed)
    honest = rng.beta(0.4, 2, size=(n, m))
    return distort(honest), (rng.random((n, m)) < honest).astype(np.int8)


def logit(p):
    return np.log(p / (1 - p))


def bend(slope, offset):
    return lambda p: 1 / (1 + np.exp(-(logit(p) - offset) / slope))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", ["all", "frequency"])
def test_held_out_error_falls(method, by):
    distort = bend(2.0, 0.0 if method == "temperature" else 0.7)
    probabilities, truth = draw(3000, 10, distort)
    others, their_truth = draw(3000, 10, distort, seed=1)
    calibrator = Calibrator(method, by=by, bins=(600,)).fit(probabilities, truth, priors=truth)
    before, after = reliability(others, their_truth), reliability(calibrator.transform(others), their_truth)
    assert after.error < before.error / 3


def test_platt_finds_slope_and_offset():
    probabilities, truth = draw(20_000, 5, bend(2.0, 0.7))
    (curve,) = Calibrator("platt").fit(probabilities, truth).curves_
    assert curve.slope == pytest.approx(2.0, rel=0.03)
    assert curve.offset == pytest.approx(0.7, abs=0.05)


def test_temperature_finds_the_temperature():
    probabilities, truth = draw(20_000, 5, bend(0.5, 0.0))
    (curve,) = Calibrator("temperature").fit(probabilities, truth).curves_
    assert 1 / curve.slope == pytest.approx(2.0, rel=0.03)
    assert curve.offset == 0
    assert curve(np.array([0.5])) == pytest.approx(0.5)


def test_platt_is_the_logistic_regression_it_is_said_to_be():
    probabilities, truth = draw(500, 4, bend(1.5, 0.4))
    (curve,) = Calibrator("platt").fit(probabilities, truth).curves_
    x, y = logit(probabilities).reshape(-1, 1), truth.ravel()
    n_true = y.sum()
    high, low = (n_true + 1) / (n_true + 2), 1 / (y.size - n_true + 2)
    # Platt's targets as a weighted sample: each candidate once as true, once as false.
    weights = np.concatenate([np.where(y, high, low), 1 - np.where(y, high, low)])
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000)
    model.fit(np.vstack([x, x]), np.repeat([1, 0], y.size), sample_weight=weights)
    assert (curve.slope, curve.offset) == pytest.approx((model.coef_[0, 0], model.intercept_[0]), rel=1e-4)


# Isotonic


@pytest.mark.parametrize("seed", range(5))
def test_isotonic_knots_are_the_steps_of_its_definition(seed):
    rng = np.random.default_rng(seed)
    points, targets = rng.integers(1, 12, 40) / 12, rng.integers(0, 2, 40)
    (curve,) = Calibrator("isotonic").fit(points[None, :], targets[None, :]).curves_
    steps = reference.fit_steps(points, targets)
    for value in sorted(set(steps.values())):
        members = np.array([p for p in points if steps[p] == pytest.approx(value)])
        if 0 < value < 1:
            assert curve(np.array([members.mean()])) == pytest.approx(value)


def test_isotonic_never_says_never_or_always():
    probabilities, truth = np.linspace(0.01, 0.99, 99)[None, :], (np.arange(99) > 49)[None, :]
    calibrated = Calibrator("isotonic").fit(probabilities, truth).transform(probabilities).toarray()[0]
    assert calibrated[24] == pytest.approx(1 / 52, rel=0.1)
    assert calibrated[-1] == pytest.approx(50 / 51)
    assert 0 < calibrated.min() < calibrated.max() < 1


def test_isotonic_keeps_apart_what_the_model_ranked_apart():
    probabilities, truth = draw(400, 6, bend(2.0, 0.7))
    calibrated = Calibrator("isotonic").fit(probabilities, truth).transform(probabilities).toarray()
    assert np.unique(calibrated).size > 0.9 * calibrated.size


def test_one_step_is_all_that_is_left_of_a_model_that_ranks_backwards():
    probabilities = np.linspace(0.1, 0.9, 100)[None, :]
    calibrator = Calibrator("isotonic").fit(probabilities, probabilities < 0.4)
    calibrated = calibrator.transform(probabilities).toarray()[0]
    assert (np.diff(calibrated) >= 0).all()
    assert calibrated[-1] == pytest.approx((probabilities < 0.4).mean())


# Order


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(CURVES),
    arrays.arrays(np.float32, (6, 5), elements=st.floats(0, 1, width=32)),
    arrays.arrays(bool, (6, 5)),
)
def test_the_order_never_reverses_and_values_are_probabilities(method, probabilities, truth):
    truth[0, 0], probabilities[0, 0] = True, 0.5
    calibrator = Calibrator(method).fit(probabilities, truth)
    points = np.sort(np.random.default_rng(0).random((1, 5)).astype(np.float32))
    for batch in (points, np.array([[1e-30, 1e-8, 0.5, 1 - 6e-8, 1.0]], dtype=np.float32)):
        calibrated = calibrator.transform(batch)
        assert calibrated.dtype == np.float32
        assert (np.diff(calibrated.toarray()[0]) >= 0).all()
        Candidates.of(calibrated)


@pytest.mark.parametrize("method", CURVES)
def test_the_order_within_a_frequency_bin_never_reverses(method):
    probabilities, truth = draw(500, 8, bend(2.0, 0.7))
    priors = tw.LabelPriors([1, 1, 1, 1, 50, 50, 200, 200], 1000)
    calibrator = Calibrator(method, by="frequency").fit(probabilities, truth, priors=priors)
    calibrated = calibrator.transform(probabilities).toarray()
    for own in ([0, 1, 2, 3], [4, 5], [6, 7]):
        order = np.argsort(probabilities[:, own].ravel())
        assert (np.diff(calibrated[:, own].ravel()[order]) >= 0).all()


@pytest.mark.parametrize("seed", range(10))
def test_in_context_the_order_of_equally_frequent_labels_of_an_instance_never_reverses(seed):
    rng = np.random.default_rng(seed)
    probabilities, truth = rng.random((40, 6)), rng.random((40, 6)) < 0.2  # truth that has nothing to do with them
    priors = tw.LabelPriors([3, 3, 3, 50, 50, 50], 100)
    calibrated = Calibrator("context").fit(probabilities, truth, priors=priors).transform(probabilities).toarray()
    for own in ([0, 1, 2], [3, 4, 5]):
        ordered = np.take_along_axis(calibrated[:, own], np.argsort(probabilities[:, own], axis=1), axis=1)
        assert (np.diff(ordered, axis=1) >= 0).all()


# Context


def draw_in_context(seed, n=4000, m=8):
    """A model that does not know how frequent labels are, nor which instances have few true ones."""
    rng = np.random.default_rng(seed)
    counts = np.array([1, 1, 1, 1, 300, 300, 300, 300])
    said = rng.beta(0.4, 2, size=(n, m))
    logits = logit(said) + 0.5 * np.log1p(counts) - 2 + 0.8 * np.log(said.sum(axis=1, keepdims=True))
    return said, (rng.random((n, m)) < 1 / (1 + np.exp(-logits))).astype(np.int8), tw.LabelPriors(counts, 1000)


def test_context_finds_what_it_was_drawn_with():
    said, truth, priors = draw_in_context(0, n=20_000)
    (curve,) = Calibrator("context").fit(said, truth, priors=priors).curves_
    np.testing.assert_allclose(curve.weights, [-2, 1, 0, 0.8, 0.5], atol=0.12)


def test_context_predicts_better_than_a_curve():
    said, truth, priors = draw_in_context(0)
    others, their_truth, _ = draw_in_context(1)

    def squared_error(method):
        calibrated = Calibrator(method).fit(said, truth, priors=priors).transform(others).toarray()
        return np.mean((calibrated - their_truth) ** 2)

    assert squared_error("context") < 0.95 * squared_error("isotonic")


def test_context_without_priors_makes_do_with_the_rest():
    said, truth, _ = draw_in_context(0)
    calibrator = Calibrator("context").fit(said, truth)
    assert calibrator.label_counts_ is None
    assert calibrator.curves_[0].weights[-1] == 0
    assert calibrator.curves_[0].weights[3] == pytest.approx(0.8, abs=0.4)


def test_ranks_count_from_the_most_probable_and_ties_go_to_the_smaller_label():
    rows = Candidates.of(np.array([[0.2, 0.5, 0.2], [0.0, 0.1, 0.4]])).rows
    context = describe_context(rows, np.array([0, 1, 2]))
    np.testing.assert_allclose(context[:, 0], np.log1p([1, 0, 2, 1, 0]))
    np.testing.assert_allclose(context[:, 1], np.log([0.9, 0.9, 0.9, 0.5, 0.5]))
    np.testing.assert_allclose(context[:, 2], np.log1p([0, 1, 2, 1, 2]))
    assert (describe_context(rows, None)[:, 2] == 0).all()


# Frequency bins


def test_each_frequency_bin_has_a_curve_of_its_own():
    honest, truth = draw(4000, 6, lambda p: p)
    rare = np.array([True, True, True, False, False, False])
    said = np.where(rare, honest / 4, honest)  # too little is promised for rare labels only
    priors = tw.LabelPriors(np.where(rare, 3, 500), 1000)
    calibrated = Calibrator(by="frequency").fit(said, truth, priors=priors).transform(said).toarray()
    for own in (rare, ~rare):
        assert calibrated[:, own].mean() == pytest.approx(truth[:, own].mean(), rel=0.02)
    pooled = Calibrator(by="all").fit(said, truth).transform(said).toarray()
    assert abs(pooled[:, rare].mean() - truth[:, rare].mean()) > 0.03


def test_a_bin_that_says_too_little_takes_the_curve_of_all():
    probabilities, truth = draw(300, 6, bend(2.0, 0.7))
    truth[:, 0] = 0
    priors = tw.LabelPriors([1, 50, 500, 500, 500, 500], 1000)
    calibrator = Calibrator(by="frequency").fit(probabilities, truth, priors=priors)
    (overall,) = Calibrator().fit(probabilities, truth).curves_
    np.testing.assert_array_equal(calibrator.curves_[0].knots, overall.knots)
    assert calibrator.curves_[1].knots.size != overall.knots.size
    assert calibrator.label_bins_.tolist() == [0, 1, 2, 2, 2, 2]


# Candidates


def test_only_candidates_count():
    probabilities, truth = draw(400, 10, bend(2.0, 0.7))
    is_candidate = np.random.default_rng(3).random(probabilities.shape) < 0.3
    sparse = sp.csr_array(probabilities * is_candidate)
    (curve,) = Calibrator("platt").fit(sparse, truth).curves_
    flat = probabilities[is_candidate][None, :], truth[is_candidate][None, :]
    assert curve == pytest.approx(Calibrator("platt").fit(*flat).curves_[0])
    calibrated = Calibrator("platt").fit(sparse, truth).transform(sparse)
    np.testing.assert_array_equal(calibrated.toarray() > 0, is_candidate)


FORMS = {
    "dense": lambda p: p,
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "pair": lambda p: (np.tile(np.arange(p.shape[1]), (p.shape[0], 1)), p),
    "candidates": Candidates.of,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_probabilities(form):
    probabilities, truth = draw(50, 6, bend(2.0, 0.7))
    expected = Calibrator("platt").fit(probabilities, truth).transform(probabilities)
    found = Calibrator("platt").fit(form(probabilities), truth).transform(form(probabilities))
    assert isinstance(found, sp.csr_array)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_files(tmp_path):
    probabilities, truth = draw(50, 6, bend(2.0, 0.7))
    save(tmp_path / "p.npz", probabilities)
    save(tmp_path / "y.npz", truth)
    found = Calibrator().fit(tmp_path / "p.npz", tmp_path / "y.npz").transform(str(tmp_path / "p.npz"))
    expected = Calibrator().fit(probabilities, truth).transform(probabilities)
    np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_a_candidate_of_probability_zero_stays_a_candidate():
    probabilities = sp.csr_array((np.array([0.0, 0.5, 0.2]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 3))
    calibrated = Calibrator("platt").fit(probabilities, [[0, 1, 0], [0, 0, 1]]).transform(probabilities)
    assert calibrated.nnz == 3
    assert calibrated.indices.tolist() == [0, 1, 1]


def test_inputs_stay_as_they_are_and_results_are_ones_own():
    probabilities, truth = draw(50, 6, bend(2.0, 0.7))
    sparse = sp.csr_array(probabilities)
    copies = sparse.data.copy(), sparse.indices.copy(), truth.copy()
    calibrated = Calibrator(by="frequency").fit(sparse, truth, priors=truth).transform(sparse)
    calibrated.data[:] = 0
    calibrated.eliminate_zeros()
    for array, copy in zip((sparse.data, sparse.indices, truth), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_true_labels_that_are_no_candidates_are_left_aside():
    probabilities = sp.csr_array(np.array([[0.5, 0.0], [0.25, 0.0], [0.1, 0.0]]))
    truth = np.array([[1, 0], [0, 0], [0, 0]])
    with_more = np.array([[1, 1], [0, 1], [0, 1]])
    expected = Calibrator().fit(probabilities, truth).transform(probabilities).toarray()
    np.testing.assert_array_equal(
        Calibrator().fit(probabilities, with_more).transform(probabilities).toarray(), expected
    )


# The contract of scikit-learn


def test_parameters_are_kept_and_cloned():
    calibrator = Calibrator("platt", by="frequency", bins=(5, 50), random_state=3)
    assert calibrator.get_params() == {"method": "platt", "by": "frequency", "bins": (5, 50), "random_state": 3}
    copy = clone(calibrator.fit(*draw(50, 6, bend(2.0, 0.7)), priors=np.ones((60, 6))))
    assert copy.get_params() == calibrator.get_params()
    assert not hasattr(copy, "curves_")
    assert calibrator.set_params(method="isotonic").method == "isotonic"
    assert "Calibrator(" in repr(Calibrator())


def test_fitting_again_forgets_what_was():
    first, second = draw(50, 6, bend(2.0, 0.7)), draw(60, 4, bend(0.5, 0.1), seed=2)
    calibrator = Calibrator(by="frequency").fit(*first, priors=first[1])
    calibrator.set_params(by="all").fit(*second)
    expected = Calibrator().fit(*second)
    assert calibrator.label_bins_ is None
    np.testing.assert_array_equal(calibrator.transform(second[0]).toarray(), expected.transform(second[0]).toarray())
