"""Small problems that cover utilities, methods, expectations and budgets, and what is recorded of each."""

import hashlib
import itertools
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import tailwise as tw

FILE = Path(__file__).with_name("selections.json")

UTILITIES = (
    "precision",
    "hamming",
    "log",
    "macro-recall",
    "macro-balanced-accuracy",
    "macro-precision",
    "macro-f1",
    "macro-fbeta(2)",
    "macro-jaccard",
    "macro-gmean",
    "macro-hmean",
    "macro-auc",
    "coverage",
    "0.7*precision + 0.3*macro-f1",
    "0.4*macro-jaccard + 0.3*macro-recall + 0.3*coverage",
)
METHODS = ("auto", "ascent", "greedy", "global")
EXPECTATIONS = ("semi", "exact")


def make_matrices():
    """A dense matrix with short rows, and sparse ones in single and double precision."""
    rng = np.random.default_rng(20231)
    dense = rng.beta(0.4, 1.2, (30, 9)) * (rng.random((30, 9)) < 0.5)
    sparse = sp.random_array(
        (80, 40), density=0.25, random_state=rng, data_sampler=lambda size: rng.beta(0.3, 2.0, size)
    ).tocsr()
    return {"dense": dense, "sparse": sparse, "single": sparse.astype(np.float32)}


def make_budgets(n_instances):
    return {"3": 3, "each": np.random.default_rng(n_instances).integers(0, 4, n_instances), "none": None}


def list_problems():
    """Name and call of every problem."""
    for (name, matrix), utility, expectation in itertools.product(make_matrices().items(), UTILITIES, EXPECTATIONS):
        priors = tw.LabelPriors(np.arange(matrix.shape[1]) + 1, matrix.shape[1] + 5)
        for (budget, k), method in itertools.product(make_budgets(matrix.shape[0]).items(), METHODS):
            if k is not None or method == "auto":
                options = {"method": method, "expectation": expectation, "priors": priors, "fill": "least-loss"}
                yield f"{name} {utility} {expectation} {budget} {method}", (matrix, utility, k), options


def describe(selection):
    """The labels by their digest, and the value that they have."""
    return [hashlib.sha256(selection.labels.tobytes()).hexdigest()[:16], round(selection.expected, 12)]


def read_golden():
    return json.loads(FILE.read_text(encoding="utf-8"))
