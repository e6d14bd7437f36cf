"""Input conversion: paths, tables, tensors and matrices become Candidates, Chosen and LabelPriors."""

from tailwise.inputs.candidates import Candidates
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.priors import LabelPriors

__all__ = ["Candidates", "Chosen", "LabelPriors"]
