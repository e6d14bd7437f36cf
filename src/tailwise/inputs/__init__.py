"""The one door: paths, tables, tensors and matrices in; Candidates, Chosen and LabelPriors out."""

from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.priors import LabelPriors

__all__ = ["Candidates", "Chosen", "LabelPriors"]
