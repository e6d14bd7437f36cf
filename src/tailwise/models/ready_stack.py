"""Ready weights for stacking a label tree and nearest neighbours, where no second fit is wanted.

They are means of the weights that were fitted on held-out training rows of four data sets, and were judged on two other
ones, where they reached most of the gain of fitted weights. The order of the inputs is that of `stacking.list_inputs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError

KINDS = ("tree", "neighbours")
WEIGHTS = (0.25, -0.225, -0.23, 0.0, -0.08, 0.3175, -0.2175, 0.6625)
BIAS = 1.152


def ready_weights(members: list[tuple[str, Any, str]]) -> tuple[NDArray, float]:
    """Return weights and bias for a label tree followed by neighbours; refuse other members."""
    check_ready(members)
    return np.array(WEIGHTS), BIAS


def check_ready(members: list[tuple[str, Any, str]]) -> None:
    """Refuse members that there are no ready weights for."""
    kinds = tuple(getattr(model, "kind", type(model).__name__) for _, model, _ in members)
    if kinds != KINDS:
        msg = (
            f"stacking='ready' needs the members {', '.join(KINDS)}, in this order. Got {', '.join(kinds)}. "
            "Use stacking='fit'."
        )
        raise InputError(msg)
