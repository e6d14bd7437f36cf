"""From psi to the expected utility of a selection."""

from tailwise.expectations.semi_empirical import SemiEmpirical

__all__ = ["SemiEmpirical"]
