"""Doors for the models that people already have: each turns what a model gives into a CSR of probabilities.

Pass the result to ``select``, and to ``Calibrator`` first where the scores of a model are no honest probabilities.
"""

from tailwise.estimators.adapters.lightxml import from_lightxml
from tailwise.estimators.adapters.logits import from_logits
from tailwise.estimators.adapters.napkinxc import from_napkinxc
from tailwise.estimators.adapters.omikuji import from_omikuji
from tailwise.estimators.adapters.pecos import from_pecos
from tailwise.estimators.adapters.sklearn import from_sklearn

__all__ = ["from_lightxml", "from_logits", "from_napkinxc", "from_omikuji", "from_pecos", "from_sklearn"]
