"""How fast text of features and labels is read, compared with scikit-learn's reader on the same file."""

from __future__ import annotations

import subprocess
import sys
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
COPIES = 40
READ_BLOCKS = """
import resource, sys
from tailwise.datasets import read_blocks
sizes = []
for block in read_blocks(sys.argv[1], 2000):  # after the first, compiled code and buffers are there
    sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print((sizes[-1] - sizes[0]) * 1024 / 1e6)
"""


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
        yield measure_blocks(path, Path(folder, "long.svm"))


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


def measure_blocks(path: Path, long: Path) -> Result:
    """Peak memory of reading a long text in pieces, beyond what the first piece took."""
    text = path.read_bytes()
    with open(long, "wb") as file:
        for _ in range(COPIES):
            file.write(text)
    done = subprocess.run([sys.executable, "-c", READ_BLOCKS, str(long)], capture_output=True, text=True, check=True)
    more = float(done.stdout)
    name = f"svmlight of {long.stat().st_size / 1e6:.0f} MB in pieces of 2,000 rows: memory beyond the first piece"
    return Result(name, "for information", f"{more:.0f} MB", is_met=True, figures={"megabytes": more})
