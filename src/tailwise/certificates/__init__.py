"""How far from the optimum: upper bounds for every selection, by prices for the slots of the instances."""

from tailwise.certificates.certificate import Certificate
from tailwise.certificates.prices import Prices, prove

__all__ = ["Certificate", "Prices", "prove"]
