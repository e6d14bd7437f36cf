"""Stacked models: what the regression sees, whom it holds out, and files."""

import numpy as np
import pytest
import scipy.sparse as sp
from reference import label_tree as reference
from sklearn.linear_model import LogisticRegression

import tailwise as tw
from tailwise.errors import FileError, InputError
from tailwise.kernels.logistic import expand_loss
from tailwise.models import ready_stack
from tailwise.models.reliability import calibration_error
from tailwise.models.stacking import describe_pairs, find_true, fit_stack, pool
from tailwise.models.top_entries import keep_top

X, Y = reference.random_data(13, n=60, m=15)


def test_what_the_regression_sees():
    first, second = sp.csr_array([[0.9, 0.0, 0.2]]), sp.csr_array([[0.0, 0.5, 0.4]])
    seen = describe_pairs(pool([first, second]), np.array([1.0, 2.0, 3.0]))
    assert seen.shape == (3, 8)
    np.testing.assert_allclose(seen[:, 1], np.log1p([0, 2, 1]))
    np.testing.assert_allclose(seen[:, 4], np.log1p([2, 0, 1]))
    np.testing.assert_allclose(seen[:, 2], np.log(1.2), rtol=1e-6)
    np.testing.assert_allclose(seen[:, 6], np.log1p([1, 2, 3]))
    mean = np.array([0.45, 0.25, 0.3])
    np.testing.assert_allclose(seen[:, 7], np.log(mean / (1 - mean)), rtol=1e-5)


@pytest.mark.boundscheck
def test_pairs_of_three_members_by_plain_loops():
    random = np.random.default_rng(3)
    parts = [
        sp.random_array((9, 12), density=d, format="csr", random_state=random, dtype=np.float32) for d in (0, 0.2, 0.6)
    ]
    parts[2].data[::2] = 0.5  # ties
    pooled, counts = pool(parts), np.arange(12.0)
    seen, dense = describe_pairs(pooled, counts), np.array([part.toarray() for part in parts], np.float64)
    expected = []
    for i in range(9):
        labels = np.flatnonzero(dense[:, i].any(axis=0))
        ranks = [np.argsort(np.argsort(-row[labels], kind="stable")) for row in dense[:, i]]
        for at, j in enumerate(labels):
            of_members = [(dense[a, i, j], np.log1p(ranks[a][at]), np.log(dense[a, i].sum() + 0.1)) for a in range(3)]
            logits = [(log_odds(p), *rest) for p, *rest in of_members]
            expected.append([*np.ravel(logits), np.log1p(counts[j]), log_odds(dense[:, i, j].mean())])
    np.testing.assert_allclose(seen, expected, rtol=1e-5)


@pytest.mark.boundscheck
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64, 65, 200, 1000])
def test_ranks_of_long_rows(n):
    random = np.random.default_rng(n)
    values = random.integers(0, 50, (2, n)) / 64  # with zeros and ties
    values[0, 0] = 0.5
    pooled = pool([sp.csr_array(row[None].astype(np.float32)) for row in values])
    ranks = np.expm1(describe_pairs(pooled, np.ones(n))[:, [1, 4]])
    expected = [np.argsort(np.argsort(-row, kind="stable")) for row in values[:, values.any(axis=0)]]
    np.testing.assert_allclose(ranks.T, expected, atol=1e-9)


def log_odds(p):
    p = np.clip(p, 1e-4, 1 - 1e-4)
    return np.log(p / (1 - p))


def draw_sparse(random):
    return sp.csr_array(random.random((30, 9)) * (random.random((30, 9)) < 0.3))


def test_which_pairs_are_true():
    random = np.random.default_rng(4)
    members = [draw_sparse(random) for _ in range(2)]
    truth = draw_sparse(random)  # also labels that nobody proposes
    pooled = pool(members)
    expected = truth.toarray()[pooled.rows, pooled.labels] > 0
    assert 0 < expected.sum() < truth.nnz
    np.testing.assert_array_equal(find_true(pooled, truth), expected)
    assert not find_true(pooled, sp.csr_array((30, 9))).any()


@pytest.mark.parametrize("few", [50_000, 100])
def test_the_regression_is_that_of_scikit_learn(few, monkeypatch):
    monkeypatch.setattr("tailwise.models.stacking.FEW", few)
    random = np.random.default_rng(5)
    inputs = random.normal(size=(5000, 3)) * [1.0, 5.0, 0.1] + [0.0, 3.0, 0.0]
    is_true = random.random(5000) < 1 / (1 + np.exp(4 - inputs @ [2.0, 0.1, -3.0]))
    mean, scale = inputs.mean(axis=0), inputs.std(axis=0)
    expected = LogisticRegression(C=1.0, tol=1e-10).fit((inputs - mean) / scale, is_true)
    weights, bias, scales = fit_stack(inputs, is_true)
    np.testing.assert_allclose(scales, scale)
    np.testing.assert_allclose(weights * scale, expected.coef_[0], atol=1e-4)
    assert bias + weights @ mean == pytest.approx(expected.intercept_[0], abs=1e-4)


@pytest.mark.boundscheck
@pytest.mark.parametrize("stride", [1, 3])
def test_the_loss_and_its_derivatives(stride):
    random = np.random.default_rng(6)
    inputs, is_true, weights = 9 * random.normal(size=(3000, 3)), random.random(3000) < 0.3, random.normal(size=4)
    means, factors = np.array([1.0, 2.0, -3.0]), np.array([0.5, 1.0, 2.0])
    slope, curvature = np.empty(4), np.empty((4, 4))
    loss = expand_loss(inputs, is_true, stride, means, factors, weights, np.empty(4), slope, curvature)
    rows = np.column_stack([(inputs - means) * factors, np.ones(3000)])[::stride]
    signs = np.where(is_true[::stride], 1.0, -1.0)
    shares = 1 / (1 + np.exp(-rows @ weights))
    assert loss == pytest.approx(np.logaddexp(0.0, -signs * (rows @ weights)).sum(), rel=1e-9)
    np.testing.assert_allclose(slope, rows.T @ (shares - (signs > 0)), rtol=1e-8)
    np.testing.assert_allclose(curvature, rows.T @ (rows * (shares * (1 - shares))[:, None]), rtol=1e-8)


def test_members_are_what_they_are_alone():
    members = tw.Ensemble(random_state=3).fit(X, Y).members_
    for name, alone in (("tree", tw.LabelTree(random_state=3)), ("neighbours", tw.Neighbours())):
        assert (members[name].predict_proba(X, top=9) != alone.fit(X, Y).predict_proba(X, top=9)).nnz == 0


def test_the_regression_where_hits_are_certain():
    inputs = np.repeat([[0.0], [1.0]], 2000, axis=0)
    weights, bias, _ = fit_stack(inputs, inputs[:, 0] > 0)
    assert 1 / (1 + np.exp(-bias)) < 0.01
    assert 1 / (1 + np.exp(-bias - weights[0])) > 0.99


@pytest.mark.boundscheck
@pytest.mark.parametrize("top", [1, 3, 50])
def test_the_largest_entries_of_rows(top):
    matrix = sp.random_array((20, 9), density=0.6, format="csr", random_state=np.random.default_rng(1))
    matrix.data = np.round(matrix.data, 1) + 0.1  # ties
    kept = keep_top(matrix, top).toarray()
    for row, found in zip(matrix.toarray(), kept, strict=True):
        best = np.argsort(-row, kind="stable")[:top]
        expected = np.zeros(9)
        expected[best] = row[best]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_blocks_of_rows_do_not_matter(monkeypatch):
    model = tw.Ensemble().fit(X, Y)
    whole = model.predict_proba(X, top=4)
    monkeypatch.setattr("tailwise.models.ensemble.ROWS", 7)
    assert (model.predict_proba(X, top=4) != whole).nnz == 0


def test_probabilities_are_the_regression():
    model = tw.Ensemble().fit(X, Y)
    pooled = pool([member.predict_proba(X, top=100) for member in model.members_.values()])
    seen = describe_pairs(pooled, model.priors_.counts)
    weights = list(model.weights_.values())
    expected = 1 / (1 + np.exp(-seen @ weights[:-1] - weights[-1]))
    np.testing.assert_allclose(model.predict_proba(X).data, expected, rtol=1e-4)
    assert 0 <= model.calibration_error_ < 0.2


@pytest.mark.parametrize("options", [{}, {"folds": 3}, {"split": "time"}], ids=str)
def test_files_and_threads(options, tmp_path):
    one, two = (tw.Ensemble(n_jobs=n, **options).fit(X, Y) for n in (1, 2))
    one.save(tmp_path / "e.model")
    for other in (two, tw.load_model(tmp_path / "e.model")):
        assert (other.predict_proba(X, top=5) != one.predict_proba(X, top=5)).nnz == 0
        assert other.weights_ == one.weights_


def test_parts_of_features():
    both = tw.SideBySide(sp.csr_array(X), X[:, :4])
    members = [
        ("words", tw.Neighbours(), "sparse"),
        ("space", tw.Neighbours(), "dense"),
        ("tree", tw.LabelTree(), "sparse"),
    ]
    model = tw.Ensemble(members).fit(both, Y)
    assert model.members_["space"].n_features_in_ == 4
    assert len(model.weights_) == 12


def test_groups_are_held_out_together():
    groups = np.arange(60) // 6
    for held in tw.Ensemble(folds=3)._list_held(60, groups, 0):
        assert not set(groups[held]) & set(np.delete(groups, held))
    np.testing.assert_array_equal(tw.Ensemble(split="time")._list_held(60, None, 0)[0], np.arange(48, 60))
    assert sum(each.size for each in tw.Ensemble(folds=3)._list_held(60, None, 0)) == 60


@pytest.mark.parametrize("groups", [[None] * 40, ["a", 1.5, None, "b"] * 10])
def test_strange_groups_are_refused(groups):
    X = np.eye(4).repeat(10, axis=0)
    with pytest.raises(InputError, match="groups must "):
        tw.Ensemble().fit(X, X, groups=np.array(groups, dtype=object))


def test_the_error_of_calibration():
    assert calibration_error(np.full(30, 0.5), np.arange(30) % 2 == 0) == pytest.approx(1 / 30, abs=0.05)
    assert calibration_error(np.full(30, 0.9), np.zeros(30, bool)) == pytest.approx(0.9)


def test_without_a_single_hit():
    weights, bias, _ = fit_stack(np.ones((8, 2)), np.zeros(8, bool))
    assert not weights.any()
    assert 1 / (1 + np.exp(-bias)) == pytest.approx(0.1)


REFUSED = {
    "split must be one of random, time": lambda: tw.Ensemble(split="x").fit(X, Y),
    "folds must be an integer of at least 2": lambda: tw.Ensemble(folds=1).fit(X, Y),
    "folds must be None for split='time'": lambda: tw.Ensemble(folds=3, split="time").fit(X, Y),
    "members must have different names": lambda: tw.Ensemble([("a", tw.Neighbours()), ("a", tw.LabelTree())]).fit(X, Y),
    "the part of a member must be one of": lambda: tw.Ensemble([("a", tw.Neighbours(), "x")]).fit(X, Y),
    "X must have dense features": lambda: tw.Ensemble([("a", tw.Neighbours(), "dense")]).fit(sp.csr_array(X), Y),
    "groups must have one entry for each of the 60 rows. Got 2": lambda: tw.Ensemble().fit(X, Y, groups=[0, 1]),
    "An ensemble needs at least 5 rows, to hold some out. Got 3": lambda: tw.Ensemble().fit(X[:3], Y[:3]),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_refused(words):
    with pytest.raises(InputError, match=words):
        REFUSED[words]()


def test_shares_are_the_spread_of_what_members_say():
    model = tw.Ensemble().fit(X, Y)
    parts = np.abs(model.coefficients_ * model.scales_)[:6]
    whole = parts.sum()
    np.testing.assert_allclose(list(model.shares_.values()), [parts[:3].sum() / whole, parts[3:].sum() / whole])


def test_ready_weights_need_no_second_fit(monkeypatch, tmp_path):
    monkeypatch.setattr(tw.Ensemble, "_fit_stack", lambda *arguments: pytest.fail("fitted twice"))
    model = tw.Ensemble(stacking="ready").fit(X[:3], Y[:3])  # too few rows to hold some out
    assert list(model.weights_.values())[:2] == list(ready_stack.WEIGHTS[:2])
    assert np.isnan(model.calibration_error_)
    model.save(tmp_path / "e.model")
    loaded = tw.load_model(tmp_path / "e.model")
    assert (loaded.predict_proba(X) != model.predict_proba(X)).nnz == 0
    assert np.isnan(loaded.calibration_error_)
    with pytest.raises(
        InputError, match=r"stacking='ready' needs the members tree, neighbours, in this order\. Got nei"
    ):
        tw.Ensemble([("one", tw.Neighbours()), ("two", tw.LabelTree())], stacking="ready").fit(X, Y)


@pytest.mark.parametrize("kind", [tw.Ensemble, tw.Neighbours])
def test_names_of_features(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[f"word {j}" for j in range(X.shape[1])])
    model = kind().fit(table, Y)
    assert model.feature_names_in_.tolist() == list(table.columns)
    model.save(tmp_path / "named.model")
    for each in (model, tw.load_model(tmp_path / "named.model")):
        with pytest.raises(InputError, match="feature names should match"):
            each.predict_proba(table.rename(columns={"word 0": "other"}))
    assert (model.predict_proba(table) != kind().fit(X, Y).predict_proba(X)).nnz == 0


def test_parameters_of_members():
    model = tw.Ensemble().set_params(tree__C=3.0, neighbours=tw.Neighbours(7), folds=2)
    assert model.get_params()["tree__C"] == 3.0
    assert model.get_params()["neighbours__n_neighbours"] == 7
    assert tw.Ensemble().get_params(deep=False)["members"] is None
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(forest__C=1)


def test_members_and_their_parameters_are_set_together():
    model = tw.Ensemble().set_params(members=[("tree", tw.LabelTree()), ("other", tw.Neighbours())], tree__C=3)
    assert [name for name, _, _ in model.members] == ["tree", "other"]
    assert model.get_params()["tree__C"] == 3


@pytest.mark.parametrize("members", [[1], [("a", object())], [("a",)], [("a", tw.LabelTree)], 3])
def test_strange_members_are_refused(members):
    with pytest.raises(InputError, match="members must be a list of"):
        tw.Ensemble(members).check_parameters()


@pytest.mark.parametrize(
    ("attribute", "value", "words"),
    [
        ("scales_", -np.ones(8), "scales of the regression must not be negative, but one is -1"),
        ("scales_", np.full(8, np.nan), "scales of the regression do not fit"),
        ("coefficients_", np.ones(7), "weights of the regression do not fit"),
        ("bias_", np.inf, "the bias is inf"),
        ("calibration_error_", -0.5, "calibration error -0.5"),
        ("parts_", {"tree": "all", "neighbours": "none"}, "parts of the members"),
    ],
)
def test_files_with_impossible_weights_are_refused(tmp_path, attribute, value, words):
    model = tw.Ensemble(stacking="ready").fit(np.eye(4).repeat(3, axis=0), np.eye(4).repeat(3, axis=0))
    setattr(model, attribute, value)
    model.save(tmp_path / "altered.model")  # with checksums that are right
    with pytest.raises(FileError, match=words):
        tw.load_model(tmp_path / "altered.model")


def test_extreme_scores_do_not_overflow():
    X = np.eye(4).repeat(10, axis=0)
    model = tw.Ensemble().fit(X, X)
    model.bias_ = -1e4
    with np.errstate(all="raise", under="ignore"):
        assert model.predict_proba(X[:1]).data.max() <= 1e-6
