"""HOW labels are selected: closed form, ascent, label moves, greedy, without budget; the Selection, and its proof."""

from tailwise.selection.certify import certify
from tailwise.selection.expected_utility import expected_utility
from tailwise.selection.select import select
from tailwise.selection.selection import Selection

__all__ = ["Selection", "certify", "expected_utility", "select"]
