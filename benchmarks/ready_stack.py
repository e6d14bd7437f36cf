"""The ready weights of `tailwise/models/ready_stack.py`: means over data sets, each judged on a set left out.

    python benchmarks/ready_stack.py       prints a table and the weights to ship; takes minutes

On each set, a fifth of the training rows is set aside, and an ensemble of a label tree and neighbours is fitted on the
others. The weights to ship are means over all sets. They are judged on the rows set aside, with the means over the
other sets only. Test rows are not read.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import find_data
from models import ASKED, as_text, score

import tailwise as tw
from tailwise.models.folds import draw_folds
from tailwise.models.stacking import list_inputs

__all__ = ["main"]

SEED, FIFTHS, TOP = 1, 5, 100


class Fitted(NamedTuple):
    """An ensemble, and the rows set aside."""

    model: tw.Ensemble
    features: sp.csr_array
    truth: sp.csr_array

    def judge(self, weights: np.ndarray, bias: float) -> dict[str, float]:
        """Score the members with other weights."""
        self.model.coefficients_, self.model.bias_ = weights, bias
        return score(self.model.predict_proba(self.features, top=TOP), self.truth)


def fit(name: str) -> Fitted:
    features, labels = (sp.load_npz(find_data() / name / f"{part}.trn.npz").tocsr() for part in "XY")
    aside, *others = draw_folds(features.shape[0], FIFTHS, SEED)
    rows = np.sort(np.concatenate(others))
    return Fitted(tw.Ensemble().fit(features[rows], labels[rows]), features[aside], labels[aside])


def mean_of(weights: list[tuple[np.ndarray, float]]) -> tuple[np.ndarray, float]:
    return np.mean([each for each, _ in weights], axis=0), float(np.mean([bias for _, bias in weights]))


def main(names: list[str]) -> None:
    fitted = {name: fit(name) for name in names}
    weights = {name: (each.model.coefficients_, each.model.bias_) for name, each in fitted.items()}
    print("set | P@5 / macro-F1@5 with its own weights | with those of the other sets | tree alone")
    for name, each in fitted.items():
        tree = score(each.model.members_["tree"].predict_proba(each.features, top=TOP), each.truth)
        others = mean_of([own for other, own in weights.items() if other != name])
        parts: list[Any] = [each.judge(*weights[name]), each.judge(*others), tree]
        print(" | ".join([name, *map(as_text, parts)]), flush=True)
    shipped, bias = mean_of(list(weights.values()))
    print("inputs:", ", ".join(list_inputs(["tree", "neighbours"])))
    print(f"WEIGHTS = {tuple(np.round(shipped, 4).tolist())}")
    print(f"BIAS = {bias:.4f}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(ASKED))
