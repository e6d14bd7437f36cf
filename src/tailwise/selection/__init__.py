"""HOW labels are selected: resolve a request, solve the problem, prove, present; a file for each method."""

from tailwise.selection.certify import certify
from tailwise.selection.expected_utility import expected_utility
from tailwise.selection.observer import Pass
from tailwise.selection.present import Selection
from tailwise.selection.select import select

__all__ = ["Pass", "Selection", "certify", "expected_utility", "select"]
