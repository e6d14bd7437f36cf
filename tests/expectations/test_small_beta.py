"""F-beta that hardly counts positives: nodes are placed again where many more instances are selected than before."""

import numpy as np
import pytest

import tailwise as tw


@pytest.mark.parametrize("beta", [0.1, 0.2, 0.5, 2.0])
@pytest.mark.parametrize("eta", [1.0, 0.25, 0.01])
@pytest.mark.parametrize("n", [3, 4])
def test_filling_keeps_the_value_exact(beta, eta, n):
    probabilities = np.zeros((n, 1))
    probabilities[1] = eta
    utility = f"macro-fbeta({beta})"
    selection = tw.select(probabilities, utility, 1, expectation="exact", certify=True)
    true = eta * (1 + beta**2) / (n + beta**2)  # one possible positive, and all instances selected
    assert selection.expected == pytest.approx(true, rel=1e-6)
    assert selection.certificate.value == pytest.approx(true, rel=1e-6)
