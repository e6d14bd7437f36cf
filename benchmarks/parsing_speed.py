"""How fast text of features and labels is read: beside scikit-learn's reader, on the same file and in the same run."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from harness import Result, time_calls
from sklearn.datasets import load_svmlight_file

from tailwise.datasets import load_contents, make_like, save

REPEATS = 3
ROWS = 15_000
ASKED = 1.0


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.svm")
        data = make_like("AmazonCat-13K", scale=ROWS / 1_186_239)
        save(path, data.train_labels, features=data.train_features)
        yield measure("svmlight, features of 9 digits", path)
        rounded = data.train_features.copy()
        rounded.data = np.round(rounded.data.astype(np.float64), 4)
        save(path, data.train_labels, features=rounded)
        yield measure("svmlight, features of 4 digits", path)
        rounded.data = np.random.default_rng(0).random(rounded.nnz)
        save(path, data.train_labels, features=rounded)
        yield measure("svmlight, features of 17 digits", path)


def measure(name: str, path: Path) -> Result:
    """Seconds of theirs over seconds of ours, taken in turns; the two must have read the same."""
    ratios, megabytes = [], path.stat().st_size / 1e6
    load_contents(path)  # the kernels are compiled
    for _ in range(REPEATS):
        ours, contents = time_calls(lambda: load_contents(path), 1)
        theirs, (features, _) = time_calls(lambda: load_svmlight_file(str(path), multilabel=True, zero_based=True), 1)
        ratios.append(theirs.best / ours.best)
        assert (features.astype(np.float32) != contents.features).nnz == 0
    return Result(
        f"{name}, {megabytes:.0f} MB: scikit-learn's seconds over ours",
        f"at least {ASKED}",
        f"{median(ratios):.1f} ({', '.join(f'{ratio:.1f}' for ratio in sorted(ratios))})",
        median(ratios) >= ASKED,
        {"ratios": ratios},
    )
