"""Arguments that make no sense are refused in words at every door, never by an error from the depths."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.errors import TailwiseError
from tailwise.models import adapters

RNG = np.random.default_rng(0)
P, X = RNG.random((12, 6)), RNG.random((12, 5))
T = (RNG.random((12, 6)) < 0.4).astype(int)
PAIR = (np.array([[0]]), np.array([[0.5]]))
LISTS = [[(0, 0.5)]]
ODD = {
    "None": None,
    "text": "x",
    "half a character": "\udcff",
    "bytes": b"b",
    "empty list": [],
    "ragged list": [[1], [2, 3]],
    "list with None": [None, 1],
    "dict": {},
    "set": {1, 2},
    "object": object(),
    "function": len,
    "array": np.array([1, 2]),
    "array of no dimension": np.array(3),
    "array of text": np.array(["a"]),
    "array of three dimensions": np.array([[["a"]]]),
    "empty array": np.zeros((0, 0)),
    "masked": np.ma.masked,
    "sparse": sp.eye_array(3).tocsr(),
    "sparse without columns": sp.csr_array((3, 0)),
    "nan": float("nan"),
    "huge": 10**30,
    "negative": -1,
    "half": 1.5,
    "complex": 1j,
    "True": True,
    "date": np.datetime64("2020"),
}


@pytest.fixture(scope="module")
def known():
    """What doors need beside the odd argument."""
    return {
        "selection": tw.select(P, "macro-f1", 2),
        "model": tw.LabelTree().fit(X, T),
        "calibrator": tw.Calibrator().fit(P, T),
    }


SELECT = ("k", "method", "expectation", "init", "tolerance", "max_passes", "group_size", "fill", "workers", "seed")
EVALUATE = ("k", "labels", "zero_division", "priors", "propensity", "probabilities", "filter", "bins")
TREE = ("tree", "arity", "leaf_size", "n_trees", "loss", "normalise", "C", "positive_weight", "threshold", "tolerance")
DOORS = {
    "probabilities": lambda odd, known: tw.select(odd, "macro-f1", 2),
    "utility": lambda odd, known: tw.select(P, odd, 2),
    "condition_positives": lambda odd, known: tw.select(P, "macro-f1", 2, condition_positives=odd),
    "priors": lambda odd, known: tw.select(P, "macro-f1", 2, priors=odd),
    **{name: lambda odd, known, name=name: tw.select(P, "macro-f1", **{"k": 2, name: odd}) for name in SELECT},
    "online utility": lambda odd, known: tw.OnlineSelector(odd, 2, 6),
    "online k": lambda odd, known: tw.OnlineSelector("macro-f1", odd, 6),
    "online n_labels": lambda odd, known: tw.OnlineSelector("macro-f1", 2, odd),
    "online priors": lambda odd, known: tw.OnlineSelector("log", 2, 6, priors=odd),
    "online rows": lambda odd, known: tw.OnlineSelector("macro-f1", 2, 6).select(odd),
    "online labels of a row": lambda odd, known: tw.OnlineSelector("macro-f1", 2, 6).select((odd, [0.5, 0.5])),
    "online values of a row": lambda odd, known: tw.OnlineSelector("macro-f1", 2, 6).select(([0, 1], odd)),
    "online load": lambda odd, known: tw.OnlineSelector.load(odd),
    "certify rounds": lambda odd, known: tw.certify(P, "macro-f1", 2, known["selection"], rounds=odd),
    "certify gap": lambda odd, known: tw.certify(P, "macro-f1", 2, known["selection"], target_gap=odd),
    "certify selection": lambda odd, known: tw.certify(P, "macro-f1", 2, odd),
    "truth": lambda odd, known: tw.evaluate(odd, known["selection"]),
    "evaluate selection": lambda odd, known: tw.evaluate(T, odd),
    **{
        f"evaluate {name}": lambda odd, known, name=name: tw.evaluate(T, known["selection"], **{name: odd})
        for name in EVALUATE
    },
    "Y": lambda odd, known: tw.LabelTree().fit(X, odd),
    **{f"tree {name}": lambda odd, known, name=name: tw.LabelTree(**{name: odd}).fit(X, T) for name in TREE},
    "tree max_epochs": lambda odd, known: tw.LabelTree(max_epochs=odd).fit(X, T),
    "tree n_jobs": lambda odd, known: tw.LabelTree(n_jobs=odd).fit(X, T),
    "tree random_state": lambda odd, known: tw.LabelTree(random_state=odd).fit(X, T),
    "predict_proba top": lambda odd, known: known["model"].predict_proba(X, top=odd),
    "predict_proba beam": lambda odd, known: known["model"].predict_proba(X, beam=odd),
    "predict k": lambda odd, known: known["model"].predict(X, k=odd),
    "search k": lambda odd, known: known["model"].search(X, odd),
    "search weights": lambda odd, known: known["model"].search(X, 2, weights=odd),
    "tree select utility": lambda odd, known: known["model"].select(X, odd, 2),
    "tree select method": lambda odd, known: known["model"].select(X, "coverage", 2, method=odd),
    "tree select top": lambda odd, known: known["model"].select(X, "coverage", 2, top=odd),
    "tree select seed": lambda odd, known: known["model"].select(X, "coverage", 2, method="tree", seed=odd),
    "tree select p": lambda odd, known: known["model"].select(X, "coverage", 2, method="tree", condition_positives=odd),
    "load": lambda odd, known: tw.LabelTree.load(odd),
    "load calibrator": lambda odd, known: tw.Calibrator.load(odd),
    "calibrator method": lambda odd, known: tw.Calibrator(odd).fit(P, T),
    "calibrator by": lambda odd, known: tw.Calibrator(by=odd).fit(P, T),
    "calibrator bins": lambda odd, known: tw.Calibrator(bins=odd, by="frequency").fit(P, T, priors=T),
    "calibrator random_state": lambda odd, known: tw.Calibrator(random_state=odd).fit(P, T),
    "calibrated": lambda odd, known: known["calibrator"].transform(odd),
    "cross-validated X": lambda odd, known: tw.Calibrator().fit_cross_validated(tw.LabelTree(), odd, T),
    "cross-validated Y": lambda odd, known: tw.Calibrator().fit_cross_validated(tw.LabelTree(), X, odd),
    "folds": lambda odd, known: tw.Calibrator().fit_cross_validated(tw.LabelTree(), X, T, folds=odd),
    "reliability k": lambda odd, known: tw.reliability(P, T, k=odd),
    "reliability bins": lambda odd, known: tw.reliability(P, T, bins=odd),
    "reliability strategy": lambda odd, known: tw.reliability(P, T, strategy=odd),
    "shift": lambda odd, known: tw.shift_to_priors(odd, T),
    "shift priors": lambda odd, known: tw.shift_to_priors(P, odd),
    "top": lambda odd, known: tw.Candidates.of(P, top=odd),
    "n_labels": lambda odd, known: tw.Candidates.of(PAIR, n_labels=odd),
    "labels of a pair": lambda odd, known: tw.Candidates.of((odd, PAIR[1])),
    "values of a pair": lambda odd, known: tw.Candidates.of((PAIR[0], odd)),
    "counts": lambda odd, known: tw.LabelPriors(odd, 4),
    "n_instances": lambda odd, known: tw.LabelPriors([1], odd),
    "training labels": lambda odd, known: tw.LabelPriors.from_labels(odd),
    "napkinxc": lambda odd, known: adapters.from_napkinxc(LISTS, n_labels=odd),
    "omikuji": lambda odd, known: adapters.from_omikuji(odd, n_labels=3),
    "pecos": lambda odd, known: adapters.from_pecos(odd),
    "logits": lambda odd, known: adapters.from_logits(odd),
    "logits top": lambda odd, known: adapters.from_logits(P, top=odd),
}


@pytest.mark.filterwarnings("ignore")  # numpy's on the way to a refusal
@pytest.mark.parametrize("door", DOORS)
def test_what_makes_no_sense_is_refused_in_words(known, door, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # text is the name of a file
    taken, refused = [], []
    for name, odd in ODD.items():
        try:
            DOORS[door](odd, known)
            taken.append(name)
        except TailwiseError as error:
            refused.append(str(error))
    assert all(len(message.split()) > 5 for message in refused)
    assert len(refused) >= len(ODD) // 2, taken
