"""Which rows are held out while models are trained on the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_folds", "draw_held"]


def draw_folds(n: int, n_folds: int, seed: int) -> list[NDArray]:
    """Draw folds at random, as equal in size as can be; each lists its rows in ascending order."""
    return draw_held(np.arange(n), n_folds, seed)


def draw_held(groups: NDArray, n_folds: int, seed: int) -> list[NDArray]:
    """Draw folds of whole groups, which are numbered from 0; each lists its rows in ascending order."""
    n_groups = int(groups.max(initial=-1)) + 1
    fold_of_group = np.random.default_rng(seed).permutation(n_groups) % n_folds
    return [np.flatnonzero(fold_of_group[groups] == fold) for fold in range(n_folds)]
