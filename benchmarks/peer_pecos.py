"""XR-Linear of PECOS, trained and searched with a beam of 10, timed; runs with the tree peers' interpreter.

python peer_pecos.py data-folder returned.npz
"""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from pecos.xmc import Indexer, LabelEmbeddingFactory
from pecos.xmc.xlinear.model import XLinearModel
from peer_candidates import as_arrays
from scipy.sparse import csr_matrix, load_npz
from stopwatch import Stopwatch


def main(folder, returned):
    train, truth, test = (
        csr_matrix(load_npz(Path(folder, name)), dtype=np.float32) for name in ("X.trn.npz", "Y.trn.npz", "X.tst.npz")
    )
    results = {}
    with Stopwatch(results, "train"):
        vectors = LabelEmbeddingFactory.create(truth, train, method="pifa", threads=2)
        clusters = Indexer.gen(vectors, indexer_type="hierarchicalkmeans", threads=2, seed=0)
        model = XLinearModel.train(train, truth, C=clusters, threads=2)
    with Stopwatch(results, "beam_10"):
        found = model.predict(test, beam_size=10, only_topk=5, threads=2)
    order = [np.argsort(-found.data[first:last]) for first, last in pairwise(found.indptr)]
    results["labels"] = [found.indices[first:][ranks] for first, ranks in zip(found.indptr[:-1], order, strict=True)]
    many = model.predict(test, beam_size=10, only_topk=100, threads=2)
    parts = [slice(first, last) for first, last in pairwise(many.indptr)]
    results |= as_arrays([dict(zip(many.indices[part], many.data[part], strict=True)) for part in parts])
    np.savez(returned, **results)


if __name__ == "__main__":
    main(*sys.argv[1:])
