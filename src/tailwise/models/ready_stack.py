"""Ready weights for stacking a label tree and nearest neighbours, where no second fit is wanted.

They are means of the weights that were fitted on held-out training rows of four data sets, as printed by
`benchmarks/ready_stack.py`, which also judges them with each set left out. The order of the inputs is that of
`stacking.list_inputs`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.errors import InputError

KINDS = ("tree", "neighbours")
WEIGHTS = (0.3331, -0.1262, -0.3278, -0.0198, -0.0409, 0.1638, -0.1203, 0.7039)
BIAS = 1.1818


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
