"""`tailwise.run`: what it gives is what its steps give one by one."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import FileError, InputError, UtilityError

QUICK = {"max_epochs": 3, "arity": 4, "leaf_size": 8}


def start(data, utility="macro-f1", k=2, **options):
    return tw.run(data, utility, k, model=tw.LabelTree(**QUICK), **options)


def test_the_steps_one_by_one(data):
    run = start(data, seed=3, top=12, certify=True, calibration="context", folds=2, condition_positives="priors")
    X, Y, X_test, truth = (data[name] for name in ("X", "Y", "X_test", "Y_test"))
    tree = tw.LabelTree(**QUICK, random_state=3)
    calibrator = tw.Calibrator("context", random_state=3).fit_cross_validated(tree, X, Y, folds=2, top=12)
    probabilities = calibrator.transform(tree.fit(X, Y).predict_proba(X_test, top=12))
    more = {"priors": Y, "condition_positives": "priors"}
    selection = tw.select(probabilities, "macro-f1", 2, seed=3, certify=True, **more)
    np.testing.assert_array_equal(run.probabilities.toarray(), probabilities.toarray())
    np.testing.assert_array_equal(run.selection.labels, selection.labels)
    assert run.selection.certificate.upper == selection.certificate.upper
    assert run.evaluation == tw.evaluate(truth, selection, priors=Y, k=2)
    assert run.evaluation.expected == tw.evaluate(truth, selection, k=2, probabilities=probabilities, **more).expected
    assert run.baseline == tw.evaluate(truth, tw.select(probabilities, "precision", 2), priors=Y, k=2)
    assert list(run.seconds) == ["load", "train", "calibrate", "predict", "select", "evaluate"]
    assert run.record["configuration"]["selection"]["condition_positives"] == "priors"
    assert str(run.selection.certificate) in run.summary()


def test_the_model_that_is_given_stays_as_it_is(data):
    model, calibrator = tw.LabelTree(**QUICK, random_state=7), tw.Calibrator("platt", random_state=7)
    run = tw.run(data, "macro-f1", 2, model=model, calibration=calibrator, folds=2, seed=1)
    assert not hasattr(model, "trees_")
    assert not hasattr(calibrator, "curves_")
    assert (run.model.random_state, run.calibrator.random_state, run.calibrator.method) == (1, 1, "platt")
    assert (model.random_state, calibrator.random_state) == (7, 7)


@pytest.mark.parametrize("form", ["sparse", "attributes", "folder"])
def test_data_in_any_form_give_the_same(data, folder, form):
    sparse = {name: sp.csr_array(matrix) for name, matrix in data.items()}
    other = {"sparse": sparse, "attributes": SimpleNamespace(**data), "folder": folder}[form]
    first, second = start(data), start(other)
    np.testing.assert_array_equal(first.selection.labels, second.selection.labels)
    assert first.evaluation == second.evaluation
    assert first.record["shapes"] == second.record["shapes"]


def test_inputs_tell_matrices_apart(data):
    first, second = start(data).record["inputs"], start(data).record["inputs"]
    assert first == second
    changed = start({**data, "Y_test": 1 - data["Y_test"]}).record["inputs"]
    assert [name for name in first if first[name] != changed[name]] == ["Y_test"]


def test_without_true_labels_nothing_is_evaluated(data):
    run = start({name: data[name] for name in ("X", "Y", "X_test")})
    assert (run.evaluation, run.baseline, run.truth, run.record["metrics"]) == (None, None, None, None)
    assert "evaluate" not in run.seconds


def test_without_a_budget_there_is_no_baseline(data):
    run = start(data, k=None)
    assert run.baseline is None
    assert run.evaluation is not None
    assert repr(run) == "Run(macro-f1 without budget, 60 test instances)"


def test_on_the_tree_itself(data):
    run = start(data, "coverage", method="tree", seed=2)
    tree = tw.LabelTree(**QUICK, random_state=2).fit(data["X"], data["Y"])
    expected = tree.select(data["X_test"], "coverage", 2, method="tree", seed=2)
    np.testing.assert_array_equal(run.selection.labels, expected.labels)
    assert (run.probabilities, run.baseline) == (None, None)


# What is refused before the training

REFUSED = {
    "top": ({"top": 0}, InputError, r"top must be an integer of at least 1\. Got 0\."),
    "beam": ({"beam": 0}, InputError, r"beam must be an integer of at least 1\. Got 0\."),
    "folds": ({"calibration": "platt", "folds": 1}, InputError, r"folds must be an integer of at least 2\. Got 1\."),
    "k": ({"k": 31}, InputError, r"k must be an integer between 1 and 30, the number of labels\. Got 31\."),
    "budgets": ({"k": [1, 2]}, InputError, r"k must be an integer between 1 and 30"),
    "utility": ({"utility": "macro-f2"}, UtilityError, r"Did you mean macro-fbeta\(2\)\?"),
    "method": ({"method": "best"}, InputError, r"method must be one of .*, tree\. Got 'best'\."),
    "expectation": ({"expectation": "best"}, InputError, r"expectation must be one of"),
    "init": ({"init": np.zeros((60, 2), dtype=int)}, InputError, r"init must be one of top, random, greedy"),
    "propensity": ({"propensity": (0, 1)}, InputError, r"propensity must be a pair \(a, b\) of numbers above 0"),
    "seed": ({"seed": -1}, InputError, r"seed must be an integer of at least 0\. Got -1\."),
    "calibration": ({"calibration": "best"}, InputError, r"method must be one of isotonic"),
    "tree certified": (
        {"method": "tree", "certify": True},
        InputError,
        r"needs a budget k, and supports neither",
    ),
    "no bound": ({"utility": "macro-gmean", "certify": True}, InputError, r"macro-gmean"),
    "strange": ({"tolerence": 1}, TypeError, r"run\(\) got an unexpected keyword argument 'tolerence'"),
    "set by the run": ({"priors": None}, TypeError, r"unexpected keyword argument 'priors'"),
}


@pytest.mark.parametrize(("options", "kind", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_options(data, monkeypatch, options, kind, message):
    monkeypatch.setattr(tw.LabelTree, "fit", lambda *arguments: pytest.fail("trained"))
    with pytest.raises(kind, match=message):
        start(data, **options)


BAD_DATA = {
    "missing": (
        lambda data: data.pop("X_test"),
        r"hold matrices named X, Y, X_test\. Got dict with X, Y, Y_test\. Use",
    ),
    "features": (
        lambda data: data.update(X_test=np.ones((60, 9))),
        r"X_test must have the 40 features of X\. Got 9\.",
    ),
    "labels": (lambda data: data.update(Y_test=np.eye(60)), r"Y_test must have the 30 labels of Y\. Got 60\."),
    "test rows": (lambda data: data.update(Y_test=np.eye(30)), r"Y_test must have the 60 instances of X_test\. Got 30"),
    "rows": (lambda data: data.update(X=np.ones((7, 40))), r"the same number of rows\. Got 7 and 240\."),
    "no labels": (lambda data: data.update(Y=data["Y"] * 0.5), r"Y must hold only 0 and 1\. Got 0\.5"),
    "names": (lambda data: data.update(label_names=["a", "b"]), r"one name for each of the 30 labels\. Got 2\."),
}


@pytest.mark.parametrize(("damage", "message"), BAD_DATA.values(), ids=BAD_DATA)
def test_bad_data(data, monkeypatch, damage, message):
    monkeypatch.setattr(tw.LabelTree, "fit", lambda *arguments: pytest.fail("trained"))
    damage(data)
    with pytest.raises(InputError, match=message):
        start(data)


def test_what_is_no_data_at_all():
    with pytest.raises(InputError, match=r"data must be a folder, or hold matrices .* Got int with none of them"):
        tw.run(3, "macro-f1", 2)


# The folder


def test_a_saved_run_is_read_back(data, tmp_path):
    names = [f"label {j}" for j in range(30)]
    run = start({**data, "label_names": names}, certify=True, calibration="platt", folds=2)
    run.save(tmp_path / "out")
    again = tw.Run.load(tmp_path / "out")
    np.testing.assert_array_equal(again.selection.labels, run.selection.labels)
    np.testing.assert_array_equal(again.probabilities.toarray(), run.probabilities.toarray())
    assert (again.evaluation, again.evaluation.expected) == (run.evaluation, run.evaluation.expected)
    assert again.baseline == run.baseline
    assert again.summary() == run.summary()
    assert again.record == json.loads(json.dumps(run.record))
    assert again.label_names.ids == tuple(names)
    assert again.priors == run.priors
    assert again.model.get_params() == run.model.get_params()
    assert again.calibrator.method == "platt"
    again.save(tmp_path / "copy")
    for path in (tmp_path / "out").iterdir():
        assert (tmp_path / "copy" / path.name).read_bytes() == path.read_bytes()


def test_saved_is_what_output_gives(data, tmp_path):
    start(data, output=tmp_path / "one")
    start(data).save(tmp_path / "two")
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in files:
        if name != "run.json":  # which holds times
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_only_an_earlier_run_is_replaced_and_only_when_asked_for(data, tmp_path):
    run = start(data)
    run.save(tmp_path / "out")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="must not exist"):
        run.save(tmp_path / "out")
    run.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "notes.txt").read_text() == "mine"
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "a.txt").write_text("mine")
    with pytest.raises(FileError, match="which holds other files"):
        run.save(tmp_path / "thesis", overwrite=True)


def test_a_utility_without_a_name_is_refused_before_the_training(data, monkeypatch):
    monkeypatch.setattr(tw.LabelTree, "fit", lambda *arguments: pytest.fail("trained"))
    with pytest.raises(UtilityError, match=r"utility must have a name"):
        tw.run(data, tw.utilities.MacroF1(weights={0: 2.0}), 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'on_pass'"):
        tw.run(data, "macro-f1", 2, on_pass=print)
