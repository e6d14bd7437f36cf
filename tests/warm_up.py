"""Compiles what the tests need, once and on two cores, before the processes of pytest start: `python tests/warm_up.py`.

Two processes of pytest would compile the same kernels at the same time. What is forgotten here is compiled when a test
first needs it.
"""

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from reference import formulas

import tailwise as tw
from tailwise import warming
from tailwise.datasets import zipf_candidates
from tailwise.selection import bca

rng = np.random.default_rng(0)
PROBABILITIES = rng.random((40, 12)) ** 2
LABELS = np.maximum(rng.random((40, 12)) < PROBABILITIES, np.eye(40, 12)).astype(np.int8)
FEATURES = LABELS @ rng.random((12, 20)) + 0.1 * rng.random((40, 20))


def select():
    tw.select(PROBABILITIES, "macro-f1", 2, certify=True)


def select_in_single_precision():
    candidates = tw.Candidates.of(PROBABILITIES.astype(np.float32))
    tw.select(candidates, "macro-f1", 2, certify=True)
    tw.select(candidates, "macro-f1", None)
    tw.select(tw.Candidates.of((PROBABILITIES * (PROBABILITIES > 0.5)).astype(np.float32)), "macro-f1", 6)
    tw.certify(candidates, "macro-jaccard", 2, rounds=1)


def look_at_near_candidates():
    least, bca.LEAST_NEAR = bca.LEAST_NEAR, 0
    tw.select(zipf_candidates(300, 60, 40), "macro-f1", 2, method="ascent")
    bca.LEAST_NEAR = least


def share_work():
    tw.select(zipf_candidates(2000, 500, 40), "macro-f1", 3, workers=2, group_size=1000)


def train():
    tree = tw.LabelTree(leaf_size=4).fit(FEATURES, LABELS)
    tree.predict_proba(FEATURES, top=3)
    tree.select(FEATURES, "macro-precision", 2)


def stream():
    for utility in ("macro-f1", "coverage"):
        for dtype in (np.float32, np.float64):
            tw.OnlineSelector(utility, 2, 12).select(PROBABILITIES.astype(dtype))


def evaluate():
    tw.evaluate(LABELS, tw.select(PROBABILITIES, "precision", 2))


def select_without_budget():
    tw.select(PROBABILITIES, "macro-f1", None)


def fill():
    tw.select(PROBABILITIES * (PROBABILITIES > 0.5), "macro-f1", 6, fill="least-loss")


def count_positives():
    tw.select(PROBABILITIES, "macro-gmean", 2, expectation="exact")


def compile_formulas():
    for function in (formulas.smoothed, formulas.shrunk, formulas.rooted):
        formulas.compiled(function)
    tw.certify(PROBABILITIES, formulas.compiled(formulas.shrunk), 2)


# The longest first. The other process meanwhile does what needs other kernels. Names are tasks of `tailwise warm-up`.
JOBS = (
    select,
    train,
    "label tree",
    "neighbours",
    "files",
    "calibration",
    stream,
    evaluate,
    select_without_budget,
    count_positives,
    look_at_near_candidates,
    fill,
    select_in_single_precision,
    share_work,
    compile_formulas,
    "streams",
    "formula",
    "budgets",
    *(f"certify {name}" for name in ("macro-jaccard", "coverage")),
)


def run(job):
    warnings.simplefilter("ignore")
    (job if callable(job) else dict(warming._list_rare())[job])()


if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(run, JOBS))
