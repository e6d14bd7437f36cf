"""A probabilistic label tree of napkinXC, trained and searched exactly, timed; runs with the tree peers' interpreter.

python peer_napkinxc.py data-folder returned.npz
"""

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
from napkinxc.models import PLT
from peer_candidates import as_arrays
from scipy.sparse import load_npz
from stopwatch import Stopwatch


def main(folder, returned):
    train, truth, test = (load_npz(Path(folder, name)).tocsr() for name in ("X.trn.npz", "Y.trn.npz", "X.tst.npz"))
    labels = [truth.indices[first:last].tolist() for first, last in pairwise(truth.indptr)]
    with tempfile.TemporaryDirectory() as place:
        model = PLT(place, seed=1, verbose=False, threads=2)
        results = {}
        with Stopwatch(results, "train"):
            model.fit(train, labels)
        results["model_bytes"] = sum(path.stat().st_size for path in Path(place).rglob("*") if path.is_file())
        for top in (5, 100):
            with Stopwatch(results, f"top_{top}"):
                found = model.predict_proba(test, top_k=top)
    results["labels"] = [[label for label, _ in row[:5]] for row in found]
    results |= as_arrays([dict(row) for row in found])
    np.savez(returned, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
