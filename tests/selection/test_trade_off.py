"""The trade-off between two utilities."""

import matplotlib as mpl
import numpy as np
import pytest
import scipy.sparse as sp
from reference import selection as reference
from reference import utilities
from selection import semi

import tailwise as tw
from tailwise.cli.main import main
from tailwise.errors import InputError
from tailwise.experiments.trade_off import PAPER_ALPHAS
from tailwise.utilities import WeightedInstance, as_utility

mpl.use("Agg")

MATRIX = reference.random_matrix(3, 30, 8, density=0.7)
TRUTH = (np.random.default_rng(0).random(MATRIX.shape) < MATRIX).astype(int)
PAIRS = [("precision", "macro-f1"), ("macro-precision", "macro-recall"), ("ps-precision", "coverage")]
TRAINING = reference.random_training(0, 8)
PRIORS = tw.LabelPriors(TRAINING.counts, TRAINING.n_instances)


def value_of(name, labels, matrix=MATRIX, k=2):
    setting = utilities.Setting(8, 30 * k, TRAINING)
    is_chosen = [[j in row for j in range(8)] for row in labels.tolist()]
    return utilities.value({name: 1.0}, setting, matrix.tolist(), is_chosen)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_the_ends_are_the_pure_utilities(first, second):
    curve = semi.trade_off(MATRIX, first, second, 2, alphas=[1.0, 0.5, 0.0], priors=PRIORS)
    assert curve.alphas.tolist() == [0.0, 0.5, 1.0]
    names = tuple(str(as_utility(name, PRIORS)) for name in (first, second))
    assert (curve.first, curve.second, curve.measured) == (*names, "expected")
    for name, point in ((first, curve.points[0]), (second, curve.points[-1])):
        pure = semi.select(MATRIX, name, 2, priors=PRIORS)
        np.testing.assert_array_equal(point.selection.labels, pure.labels)
        assert (point.first if name == first else point.second) == pytest.approx(pure.expected, rel=1e-12)


@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("alpha", [0.01, 0.5, 0.999])
def test_values_of_a_mixture(first, second, alpha):
    curve = semi.trade_off(MATRIX, first, second, 2, alphas=[alpha], priors=PRIORS)
    (point,) = curve.points
    assert point.alpha == alpha
    assert point.first == pytest.approx(value_of(first, point.selection.labels), rel=1e-10)
    assert point.second == pytest.approx(value_of(second, point.selection.labels), rel=1e-10)
    assert point.selection.expected == pytest.approx((1 - alpha) * point.first + alpha * point.second, rel=1e-10)
    mixture = {first: 1 - alpha, second: alpha}
    np.testing.assert_array_equal(
        point.selection.labels, semi.select(MATRIX, utilities.as_text(mixture), 2, priors=PRIORS).labels
    )


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_realised_values(first, second):
    curve = semi.trade_off(MATRIX, first, second, 2, alphas=[0.2, 0.8], truth=TRUTH, priors=PRIORS)
    blind = semi.trade_off(MATRIX, first, second, 2, alphas=[0.2, 0.8], priors=PRIORS)
    assert curve.measured == "realised"
    for point, expected in zip(curve.points, blind.points, strict=True):
        np.testing.assert_array_equal(point.selection.labels, expected.selection.labels)
        assert point.first == pytest.approx(value_of(first, point.selection.labels, TRUTH), rel=1e-10)
        assert point.second == pytest.approx(value_of(second, point.selection.labels, TRUTH), rel=1e-10)


def test_realised_values_are_those_of_evaluate():
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.3, 0.6], truth=sp.csr_matrix(TRUTH))
    for point in curve.points:
        evaluation = tw.evaluate(TRUTH, point.selection, ["precision", "macro-f1"])
        assert point.first == pytest.approx(evaluation["precision"])
        assert point.second == pytest.approx(evaluation["macro-f1"])


def test_default_alphas_run_from_one_end_to_the_other():
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2)
    assert curve.alphas.tolist() == [0.0, *PAPER_ALPHAS, 1.0]
    assert len(PAPER_ALPHAS) == 15
    # More of the one, less of the other: the ends are the extremes, up to local optima.
    assert curve.points[0].first == pytest.approx(max(point.first for point in curve.points))
    assert curve.points[-1].second == pytest.approx(max(point.second for point in curve.points), rel=0.02)


def test_alphas_are_sorted_and_distinct():
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=np.array([0.5, 0.25, 0.5]))
    assert curve.alphas.tolist() == [0.25, 0.5]


def test_best():
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.05, 0.3, 0.6, 0.9, 0.99])
    largest = max(point.first for point in curve.points)
    for max_drop in (0, 0.02, 0.1, 1):
        allowed = [point for point in curve.points if point.first >= (1 - max_drop) * largest]
        assert curve.best(max_drop) is max(allowed, key=lambda point: point.second)
    assert curve.best(0).first == largest
    assert curve.best(max_drop=1).second == max(point.second for point in curve.points)


def test_best_of_a_utility_below_zero():
    curve = semi.trade_off(MATRIX, WeightedInstance(w01=-1.0), "macro-f1", 2, alphas=[0.2, 0.5])
    largest = max(point.first for point in curve.points)
    assert largest < 0
    assert curve.best(0).first == largest
    assert curve.best(0.05).first >= largest - 0.05 * abs(largest)


@pytest.mark.parametrize("max_drop", [-0.1, 1.5, np.nan])
def test_bad_max_drop_is_refused(max_drop):
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.5])
    message = rf"max_drop must be a fraction between 0 and 1\. Got {max_drop}\. Use 0\.05 for five percent\."
    with pytest.raises(InputError, match=message):
        curve.best(max_drop)


@pytest.mark.parametrize("alphas", [[], [-0.1], [0.5, 1.1], [np.nan]])
def test_bad_alphas_are_refused(alphas):
    with pytest.raises(InputError, match=r"alphas must hold at least one number, all between 0 and 1\. Got \["):
        semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=alphas)


def test_other_bad_input_is_refused():
    with pytest.raises(InputError, match=r"Got 'macro-f3'\. Did you mean macro-fbeta\(3\)\?"):
        semi.trade_off(MATRIX, "precision", "macro-f3", 2)
    with pytest.raises(InputError, match=r"needs the label priors"):
        semi.trade_off(MATRIX, "ps-precision", "macro-f1", 2)
    with pytest.raises(InputError, match=r"k must be an integer between 1 and 8"):
        semi.trade_off(MATRIX, "precision", "macro-f1", 9, alphas=[0.5])
    with pytest.raises(InputError, match=r"k must be"):
        semi.trade_off(MATRIX, "precision", "macro-f1", None, alphas=[0.5])
    with pytest.raises(InputError, match=r"priors covers 2 labels, probabilities has 8\."):
        semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.5], priors=tw.LabelPriors([1, 2], 9))
    with pytest.raises(InputError, match=r"selection must have the 29 instances of truth"):
        semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.5], truth=TRUTH[1:])


def test_a_budget_per_instance():
    budgets = np.arange(30) % 4
    (point,) = semi.trade_off(MATRIX, "precision", "macro-f1", budgets, alphas=[0.4]).points
    assert (point.selection.labels >= 0).sum(axis=1).tolist() == budgets.tolist()
    assert point.selection.expected == pytest.approx(0.6 * point.first + 0.4 * point.second, rel=1e-10)


def test_options_reach_select():
    options = {"method": "greedy", "seed": 5, "fill": "none"}
    (point,) = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.4], **options).points
    assert point.selection.method == "greedy"
    expected = semi.select(MATRIX, "0.6*precision + 0.4*macro-f1", 2, **options)
    np.testing.assert_array_equal(point.selection.labels, expected.labels)


@pytest.mark.parametrize("given", ["priors", "array"])
def test_condition_positives_are_those_of_the_selection(given):
    p = MATRIX.sum(axis=0) + 0.5 if given == "array" else "priors"
    curve = semi.trade_off(MATRIX, "macro-recall", "macro-f1", 2, alphas=[0.4], condition_positives=p, priors=PRIORS)
    (point,) = curve.points
    assert point.selection.expected == pytest.approx(0.6 * point.first + 0.4 * point.second, rel=1e-10)


def test_probabilities_from_a_file(tmp_path):
    sp.save_npz(tmp_path / "probabilities.npz", sp.csr_matrix(MATRIX))
    (found,) = semi.trade_off(tmp_path / "probabilities.npz", "precision", "macro-f1", 2, alphas=[0.4]).points
    (expected,) = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.4]).points
    assert (found.first, found.second) == (expected.first, expected.second)


@pytest.mark.parametrize("truth", [None, TRUTH], ids=["expected", "realised"])
def test_plot_returns_axes(truth):
    from matplotlib import pyplot

    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[0.1, 0.5, 0.9], truth=truth)
    axes = curve.plot()
    (line,) = axes.get_lines()
    np.testing.assert_array_equal(line.get_xdata(), [point.first for point in curve.points])
    np.testing.assert_array_equal(line.get_ydata(), [point.second for point in curve.points])
    assert axes.get_xlabel() == f"precision ({curve.measured})"
    assert axes.get_ylabel() == f"macro-f1 ({curve.measured})"
    assert curve.plot(axes) is axes
    assert len(axes.get_lines()) == 2
    pyplot.close("all")


def test_each_point_is_reported_when_it_is_done():
    told = []
    curve = semi.trade_off(MATRIX, "precision", "macro-f1", 2, alphas=[1, 0, 0.5], on_done=told.append)
    assert tuple(told) == curve.points


def test_truth_in_a_file_is_matched_by_name(tmp_path):
    names, instances = list("abcdefgh"), [f"i{i}" for i in range(30)]
    options = {"label_names": names, "instance_names": instances}
    tw.save(tmp_path / "p.jsonl", MATRIX, **options)
    order = np.arange(29, -1, -1)
    options["instance_names"] = [instances[i] for i in order]
    tw.save(tmp_path / "y.jsonl", sp.csr_array(TRUTH[order]), **options)
    by_file = semi.trade_off(tmp_path / "p.jsonl", "precision", "macro-f1", 2, alphas=[0.5], truth=tmp_path / "y.jsonl")
    by_array = semi.trade_off(
        tw.load(tmp_path / "p.jsonl", label_names=names), "precision", "macro-f1", 2, alphas=[0.5], truth=TRUTH
    )
    assert by_file.points[0].first == pytest.approx(by_array.points[0].first)


def test_exclusions_hold_at_every_point(tmp_path, capsys):
    pandas = pytest.importorskip("pandas")
    matrix = np.random.default_rng(5).random((12, 6))
    rows, labels = np.nonzero(matrix)
    scores = pandas.DataFrame({"who": rows + 100, "what": [f"i{j}" for j in labels], "score": matrix[rows, labels]})
    bought = scores[scores["score"] > 0.7][["who", "what"]]
    scores.to_csv(tmp_path / "scores.csv", index=False)
    bought.to_csv(tmp_path / "bought.csv", index=False)
    options = {"alphas": [0, 0.5, 1], "instance": "who", "label": "what"}
    curve = tw.trade_off(scores, "precision", "macro-f1", 2, exclude=bought, **options)
    for point in curve.points:
        found = point.selection.to_frame("pandas")
        chosen = set(zip(found["instance"], found["label"], strict=True))
        assert not chosen & set(zip(bought["who"], bought["what"], strict=True))
        options = {"exclude": bought, "instance": "who", "label": "what"}
        alone = tw.select(scores, f"{1 - point.alpha}*precision + {point.alpha}*macro-f1", 2, **options)
        np.testing.assert_array_equal(point.selection.labels, alone.labels)
        assert alone.expected == pytest.approx((1 - point.alpha) * point.first + point.alpha * point.second)
    files = [str(tmp_path / name) for name in ("scores.csv", "bought.csv")]
    words = [
        "trade-off",
        files[0],
        "-k",
        "2",
        "--alphas",
        "0,0.5,1",
        "--columns",
        "who,what,score",
        "--max-drop",
        "0.1",
    ]
    assert main([*words, "--max-drop", "0.1", "--exclude", files[1]]) == 0
    printed = capsys.readouterr().out
    assert str(curve) in printed
    assert f"--columns who,what,score --exclude {files[1]} -o chosen.csv" in printed
