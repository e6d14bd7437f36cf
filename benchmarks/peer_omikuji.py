"""A forest of Omikuji, trained and searched with a beam of 10, timed; runs with the tree peers' interpreter.

python peer_omikuji.py data-folder returned.npz number-of-trees
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import omikuji
from peer_candidates import as_arrays
from scipy.sparse import load_npz
from stopwatch import Stopwatch


def write_data(path, features, labels):
    """The text format that Omikuji reads."""
    with open(path, "w") as file:
        file.write(f"{features.shape[0]} {features.shape[1]} {labels.shape[1]}\n")
        for i in range(features.shape[0]):
            file.write(",".join(map(str, labels.indices[labels.indptr[i] : labels.indptr[i + 1]])))
            row = slice(features.indptr[i], features.indptr[i + 1])
            pairs = zip(features.indices[row], features.data[row], strict=True)
            file.write(" " + " ".join(f"{column}:{value:.8g}" for column, value in pairs) + "\n")


def main(folder, returned, n_trees):
    train, truth, test = (load_npz(Path(folder, name)).tocsr() for name in ("X.trn.npz", "Y.trn.npz", "X.tst.npz"))
    write_data("train.txt", train, truth)
    settings = omikuji.Model.default_hyper_param()
    settings.n_trees = int(n_trees)
    results = {}
    with Stopwatch(results, "train"):
        model = omikuji.Model.train_on_data("train.txt", hyper_param=settings, n_threads=2)
    rows = [
        list(zip(test.indices[first:last].tolist(), test.data[first:last].tolist(), strict=True))
        for first, last in pairwise(test.indptr)
    ]
    with Stopwatch(results, "beam_10"):
        found = [model.predict(row, beam_size=10, top_k=5) for row in rows]
    results["labels"] = [[label for label, _ in row] for row in found]
    many = [model.predict(row, beam_size=10, top_k=100) for row in rows]
    results |= as_arrays([dict(row) for row in many])
    np.savez(returned, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
