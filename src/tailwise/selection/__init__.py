"""HOW labels are selected: closed form, ascent, label moves, greedy, without budget; the Selection, and its proof."""

from tailwise.selection.certifying import certify
from tailwise.selection.expected import expected_utility
from tailwise.selection.result import Selection
from tailwise.selection.selecting import select

__all__ = ["Selection", "certify", "expected_utility", "select"]
