"""These tests hold selection by the semi-empirical expectation against its references.

The exact expectation, the default where it is available, has tests of its own in tests/expectations.
"""

import pytest

from tailwise.selection import solve as running
from tailwise.utilities import Coverage


@pytest.fixture(autouse=True)
def semi_empirical_by_default(monkeypatch):
    def is_exact_already(utility):
        return all(term.linear_in_labels or isinstance(term, Coverage) for _, term in utility.terms)

    monkeypatch.setattr(running, "supports_exact", is_exact_already)
