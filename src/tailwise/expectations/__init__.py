"""From psi to the expected utility of a selection."""

from tailwise.expectations.exact import Exact
from tailwise.expectations.semi_empirical import SemiEmpirical

__all__ = ["Exact", "SemiEmpirical"]
