"""What may come out: room from the candidates, given labels that are none, and slots that stay empty or are filled."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from selection import semi

import tailwise as tw
from tailwise.errors import EmptySlotsWarning

pytestmark = pytest.mark.boundscheck


def test_given_labels_without_candidates_are_not_compulsory():
    probabilities = np.array([[0, 0, 0.0], [0.9, 0, 0], [0.8, 0.1, 0]])
    certificate = tw.certify(probabilities, "macro-f1", 1, [[0, -1]] * 3)
    assert certificate.upper >= tw.select(probabilities, "macro-f1", 1).expected


def test_certify_does_not_fill_what_must_stay_empty():
    probabilities, init = [[0, 0], [0.9, 0]], [[0], [0]]
    for certify in (False, True):
        found = semi.select(probabilities, "hamming", 1, init=init, fill="none", certify=certify)
        assert found.labels.tolist() == [[-1], [0]]
        assert found.expected == pytest.approx(0.975)


def test_labels_of_a_start_that_are_no_candidates_count():
    matrix, utility, given = [[0.1, 0.0]], "macro-balanced-accuracy", [[1, -1]]
    for expectation in ("semi", "exact"):
        options = {"init": given, "method": "ascent", "fill": "none", "expectation": expectation}
        history = semi.select(matrix, utility, 1, **options).history
        assert history[0] == pytest.approx(tw.expected_utility(matrix, utility, given, 1, expectation=expectation))
        assert (np.diff(history) >= 0).all()


def bought():
    """A user with three candidates left and one with none, out of 50 items."""
    matrix = sp.lil_array((3, 50))
    matrix[0, [47, 48, 49]] = [0.2, 0.3, 0.4]
    matrix[2, :10] = 0.1
    return matrix.tocsr()


def forms_of_what_was_bought():
    matrix = bought()
    rows, labels = matrix.nonzero()
    padded = np.full((3, 10), -1)
    padded[0, :3], padded[2] = [47, 48, 49], np.arange(10)
    values = np.take_along_axis(matrix.toarray(), np.maximum(padded, 0), axis=1)
    return {
        "csr": matrix,
        "csc": matrix.tocsc(),
        "pair": tw.Candidates.of((padded, values), n_labels=50),
        "table": tw.Candidates.of(
            pd.DataFrame({"instance": rows, "label": labels, "probability": matrix.data}), n_labels=50
        ),
    }


@pytest.mark.parametrize("form", forms_of_what_was_bought())
@pytest.mark.parametrize("utility", ["precision", "macro-f1", "coverage"])
def test_what_is_not_stored_does_not_come_out(form, utility):
    with pytest.warns(EmptySlotsWarning, match=r"^2 of 3 instances have fewer than k candidates; their remaining"):
        labels = semi.select(forms_of_what_was_bought()[form], utility, 5).labels
    assert sorted(labels[0, :3]) == [47, 48, 49]
    assert labels[0, 3:].tolist() == [-1, -1]
    assert labels[1].tolist() == [-1] * 5
    assert len(set(labels[2])) == 5


def test_the_warning_points_at_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tw.select(bought(), "precision", 5)
    assert [each.filename for each in caught] == [__file__]


def test_filling_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        filled = semi.select(bought(), "macro-f1", 5, fill="least-loss").labels
        empty = semi.select(bought(), "macro-f1", 5, fill="none").labels
        dense = semi.select(bought().toarray(), "macro-f1", 5).labels
    assert all(len(set(row)) == 5 for row in filled.tolist())
    assert (empty[1] == -1).all()
    np.testing.assert_array_equal(dense, filled)


def test_stored_zeros_may_come_out():
    matrix = sp.csr_array((np.array([0.5, 0.0]), np.array([0, 3]), np.array([0, 2])), shape=(1, 5))
    assert sorted(semi.select(matrix, "macro-f1", 2).labels[0]) == [0, 3]


def test_a_dense_matrix_stays_one_when_it_is_thinned_out():
    candidates = tw.Candidates.of(np.array([[0.5, 0.4, 0.3]]), top=1)
    assert sorted(semi.select(candidates, "macro-f1", 3).labels[0]) == [0, 1, 2]
