"""Models that estimate label probabilities, their calibration, and reliability diagrams."""

from tailwise.models.calibrator import Calibrator
from tailwise.models.embeddings import Embeddings
from tailwise.models.ensemble import Ensemble
from tailwise.models.label_tree import LabelTree
from tailwise.models.model import Model, load_model
from tailwise.models.neighbours import Neighbours
from tailwise.models.on_texts import OnTexts
from tailwise.models.plt_greedy import TreeSelection
from tailwise.models.plt_search import Found
from tailwise.models.predicting import predict
from tailwise.models.prior_shift import shift_to_priors
from tailwise.models.reliability import reliability
from tailwise.models.side_by_side import SideBySide
from tailwise.models.text_features import TextFeatures
from tailwise.models.text_model import TextModel
from tailwise.models.tree import Tree

__all__ = [
    "Calibrator",
    "Embeddings",
    "Ensemble",
    "Found",
    "LabelTree",
    "Model",
    "Neighbours",
    "OnTexts",
    "SideBySide",
    "TextFeatures",
    "TextModel",
    "Tree",
    "TreeSelection",
    "load_model",
    "predict",
    "reliability",
    "shift_to_priors",
]
