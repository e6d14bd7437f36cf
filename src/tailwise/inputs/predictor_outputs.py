"""Inputs that scikit-learn users tend to pass: what its forests return, and models in place of their outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tailwise.errors import InputError

__all__ = ["read_predictor_output"]


def read_predictor_output(probabilities: Any, name: str) -> Any:
    """Convert what ``forest.predict_proba(X)`` returns; refuse a model; return anything else unchanged."""
    if hasattr(probabilities, "predict_proba") or (hasattr(probabilities, "fit") and hasattr(probabilities, "predict")):
        kind = type(probabilities).__name__
        msg = f"{name} must be numbers, not a model. Got a {kind}. Give what it predicts: model.predict_proba(X)."
        raise InputError(msg)
    if not isinstance(probabilities, list) or not probabilities:
        return probabilities
    if not all(isinstance(each, np.ndarray) and each.ndim == 2 for each in probabilities):
        return probabilities
    return _stack(probabilities, name)


def _stack(parts: list[Any], name: str) -> Any:
    """Stack a list with an array of shape (n, 2) for each label, the probabilities of no and yes."""
    odd = next((number for number, part in enumerate(parts) if part.shape != (len(parts[0]), 2)), None)
    if odd is not None or not all(np.allclose(part.sum(axis=1), 1.0, atol=1e-4) for part in parts):
        came = "other arrays" if odd is None else f"shape {parts[odd].shape} for label {odd}"
        msg = (
            f"{name} as a list must hold an array of shape (n, 2) for each label, the probabilities of no and yes, as "
            f"predict_proba of a forest returns them. Got {came}. Give a matrix (n, m): np.column_stack of the "
            "probabilities of yes, with 0 for a label that has one class only."
        )
        raise InputError(msg)
    return np.column_stack([part[:, 1] for part in parts])
