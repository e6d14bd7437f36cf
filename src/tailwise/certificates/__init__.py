"""How far from the optimum: upper bounds for every selection, by prices for the slots of the instances."""

from tailwise.certificates.certificate import Certificate
from tailwise.certificates.prices import Bound, Prices, descend

__all__ = ["Bound", "Certificate", "Prices", "descend"]
