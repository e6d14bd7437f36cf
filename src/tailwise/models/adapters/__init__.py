"""Adapters that convert the output of other models to a CSR matrix of probabilities.

Pass the result to ``select``; calibrate it with ``Calibrator`` first if the scores of the model are not probabilities.
"""

from tailwise.models.adapters.lightxml import from_lightxml
from tailwise.models.adapters.logits import from_logits
from tailwise.models.adapters.napkinxc import from_napkinxc
from tailwise.models.adapters.omikuji import from_omikuji
from tailwise.models.adapters.pecos import from_pecos
from tailwise.models.adapters.scikit_learn import from_sklearn

__all__ = ["from_lightxml", "from_logits", "from_napkinxc", "from_omikuji", "from_pecos", "from_sklearn"]
