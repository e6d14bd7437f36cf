"""HOW labels are selected: closed form, ascent, greedy, without budget; and the Selection they return."""

from tailwise.selection.expected import expected_utility
from tailwise.selection.result import Selection
from tailwise.selection.selecting import select

__all__ = ["Selection", "expected_utility", "select"]
