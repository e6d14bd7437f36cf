"""Nodes take memory only where they count, and the result does not depend on where they are kept."""

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.engines import Threads
from tailwise.expectations import Exact
from tailwise.expectations.quadrature import Quadrature
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.totals import Totals
from tailwise.utilities import as_utility
from tailwise.utilities.utility import Batch

pytestmark = pytest.mark.boundscheck

UTILITIES = ("macro-f1", "macro-recall", "macro-jaccard", "macro-balanced-accuracy", "0.6*macro-jaccard + 0.4*macro-f1")
N, M, K = 30, 40, 3
USED = np.arange(1, M, 4)  # the labels that have candidates


def draw_matrix(seed=0):
    rng = np.random.default_rng(seed)
    matrix = np.zeros((N, M))
    matrix[:, USED] = rng.beta(0.4, 2.0, (N, USED.size)) * (rng.random((N, USED.size)) < 0.4)
    return matrix


def list_places(utility, context=None):
    candidates = Candidates.of(sp.csr_array(draw_matrix()))
    batch = Batch(N, M, N * K, candidates.condition_positives())
    expectation = Exact(as_utility(utility), candidates, batch, context or Totals.nothing(M), Threads(1))
    return expectation.start(np.ones(M)).nodes


def draw_context():
    """Totals of a selection of other labels, some of which have no candidates in the batch."""
    matrix = np.random.default_rng(1).beta(0.4, 2.0, (5, M)) * (np.arange(M) < M // 2)
    return tw.select(matrix, "macro-f1", K, fill="none").totals


@pytest.mark.parametrize("utility", ["macro-f1", "macro-recall", "macro-jaccard"])
def test_labels_without_candidates_have_no_nodes(utility):
    nodes = list_places(utility)
    np.testing.assert_array_equal(np.flatnonzero(nodes.places >= 0), USED)
    assert len(nodes.linear) == len(nodes.product) == len(nodes.blank) == USED.size


def test_labels_have_nodes_where_a_false_positive_or_the_context_counts():
    assert len(list_places("macro-balanced-accuracy").linear) == M
    context = draw_context()
    expected = np.union1d(USED, np.flatnonzero(context.t))
    np.testing.assert_array_equal(np.flatnonzero(list_places("macro-f1", context).places >= 0), expected)


def test_bases_that_are_decays_are_kept_once():
    assert [list_places(utility).linear.shape[1] for utility in ("macro-f1", "macro-fbeta(2)", "macro-recall")] == [
        3,
        4,
        4,
    ]


@pytest.mark.parametrize("context", [None, draw_context()], ids=["alone", "context"])
@pytest.mark.parametrize("fill", ["none", "least-loss"])
@pytest.mark.parametrize("utility", UTILITIES)
def test_same_bytes_wherever_nodes_are_kept(monkeypatch, utility, fill, context):
    """As with nodes for every label, and with a row for every base."""

    certifies = "balanced" not in utility or context is None

    def select():
        found = tw.select(draw_matrix(), utility, K, expectation="exact", fill=fill, context=context, certify=certifies)
        bound = found.certificate.upper if certifies else None
        return found.labels.tolist(), found.expected, found.history, bound

    compact, prepare = select(), Quadrature.__init__

    def with_all_bases(self, *arguments):
        prepare(self, *arguments)
        self._bases_are_decays = False

    monkeypatch.setattr(Quadrature, "__init__", with_all_bases)
    monkeypatch.setattr(Quadrature, "number_places", lambda self: np.arange(M, dtype=np.int32))
    assert select() == compact
