"""The models that have a name, and where the class of each is defined; importing this imports none of them."""

from __future__ import annotations

__all__ = ["MODELS"]

MODELS = {
    "tree": "tailwise.models.label_tree.LabelTree",
    "ensemble": "tailwise.models.ensemble.Ensemble",
    "neighbours": "tailwise.models.neighbours.Neighbours",
    "text": "tailwise.models.text_model.TextModel",
}
