"""What evaluate accepts and refuses, and that it leaves its input alone."""

import numpy as np
import pytest
import scipy.sparse as sp

from tailwise.datasets import save_selection
from tailwise.errors import InputError
from tailwise.inputs.chosen import Chosen
from tailwise.inputs.priors import LabelPriors
from tailwise.metrics import METRIC_NAMES, evaluate

TRUTH = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]])
CHOSEN = np.array([[0, 1], [0, 1], [0, 2]])
MATRIX = sp.csr_array([[1, 1, 0], [1, 1, 0], [1, 0, 1]])

REFUSED = {
    "probabilities": ((TRUTH * 0.5, CHOSEN), {}, r"truth must hold only 0 and 1\. Got 0\.5\. Give true labels"),
    "nan": ((np.where(TRUTH, np.nan, 0), CHOSEN), {}, r"truth must hold only 0 and 1\. Got nan\."),
    "flat truth": ((TRUTH[0], CHOSEN), {}, r"truth must be a matrix"),
    "instances": ((TRUTH, CHOSEN[:2]), {}, r"selection must have the 3 instances of truth\. Got 2\."),
    "labels of selection": ((TRUTH, MATRIX[:, :2]), {}, r"selection must have the 3 labels of truth\. Got 2\."),
    "transposed": (
        (TRUTH[:2].T, MATRIX[:2]),
        {},
        r"selection must have the 3 instances and 2 labels of truth\. Got 2 and 3\. One of the two is transposed",
    ),
    "swapped": (
        (Chosen.of(CHOSEN, 3), TRUTH),
        {},
        r"truth must be a 0/1 matrix of true labels\. Got a Chosen\. Pass truth before selection\.",
    ),
    "labels of priors": (
        (TRUTH, CHOSEN),
        {"priors": TRUTH[:, :2]},
        r"priors covers 2 labels, truth has 3\.",
    ),
    "labels": ((TRUTH, CHOSEN), {"labels": "some"}, r"labels must be 'all' or 'present'\. Got 'some'\."),
    "zero_division": ((TRUTH, CHOSEN), {"zero_division": 0.5}, r"zero_division must be 0\.0, 1\.0 or nan\. Got 0\.5\."),
    "zero_division word": ((TRUTH, CHOSEN), {"zero_division": "warn"}, r"zero_division must be .* Got 'warn'\."),
    "propensity": ((TRUTH, CHOSEN), {"propensity": 0.55}, r"propensity must be a pair .* Got 0\.55\. The default is"),
    "propensity sign": ((TRUTH, CHOSEN), {"propensity": (0.5, 0)}, r"propensity must be .* above 0\. Got \(0\.5, 0\)"),
    "k zero": ((TRUTH, CHOSEN), {"k": 0}, r"k must be an integer between 1 and 2.*Got 0\. Use k=None"),
    "k large": ((TRUTH, CHOSEN), {"k": 3}, r"k must be an integer between 1 and 2.*Got 3\."),
    "k fraction": ((TRUTH, CHOSEN), {"k": 1.5}, r"k must be an integer.*Got 1\.5\."),
    "k boolean": ((TRUTH, CHOSEN), {"k": True}, r"k must be an integer.*Got True\."),
    "k unranked": ((TRUTH, MATRIX), {"k": 1}, r"k=1 needs a ranked selection\..*up to 2 labels.*or use k=None"),
    "no priors": ((TRUTH, CHOSEN, "ps-ndcg"), {}, r"ps-ndcg needs label priors\. Got priors=None\. Use priors="),
    "no ranking": ((TRUTH, MATRIX, ["ndcg"]), {}, r"ndcg needs a ranked selection\. Got a 0/1 matrix.*best first"),
    "misspelt": ((TRUTH, CHOSEN, ["macro-f"]), {}, r"Got 'macro-f'\. Did you mean 'macro-f1'\?"),
    "capitals": ((TRUTH, CHOSEN, ["Micro_F1"]), {}, r"Got 'Micro_F1'\. Did you mean 'micro-f1'\?"),
    "numbered": ((TRUTH, CHOSEN, ["macro-f2"]), {}, r"Got 'macro-f2'\. Did you mean 'macro-fbeta\(2\)'\?"),
    "no beta": ((TRUTH, CHOSEN, "macro-fbeta"), {}, r"Got 'macro-fbeta'\. Did you mean 'macro-fbeta\(2\)'\?"),
    "unknown": ((TRUTH, CHOSEN, "xyz"), {}, r"Got 'xyz'\. Choose from precision, recall, .* and macro-fbeta\(B\)\."),
    "no name": ((TRUTH, CHOSEN, [5]), {}, r"metrics must be known names\. Got 5\."),
    "no list": ((TRUTH, CHOSEN, 5), {}, r"metrics must be known names\. Got 5\."),
    "beta word": ((TRUTH, CHOSEN, "macro-fbeta(two)"), {}, r"B in macro-fbeta\(B\) must be .* Got 'two'\. Write"),
    "beta zero": ((TRUTH, CHOSEN, "macro-fbeta(0)"), {}, r"B in macro-fbeta\(B\) must be .* above 0\. Got '0'\."),
    "bins alone": ((TRUTH, CHOSEN), {"bins": (1, 2)}, r"bins needs label priors\. Got bins=\(1, 2\) and priors=None\."),
    "bins empty": ((TRUTH, CHOSEN), {"priors": TRUTH, "bins": ()}, r"bins must be one or more .* Got \(\)\. Use bins="),
    "bins order": ((TRUTH, CHOSEN), {"priors": TRUTH, "bins": (5, 2)}, r"bins must be .* ascending .* Got \(5, 2\)"),
    "bins scalar": ((TRUTH, CHOSEN), {"priors": TRUTH, "bins": 5}, r"bins must be one or more .* Got 5\."),
    "bins words": ((TRUTH, CHOSEN), {"priors": TRUTH, "bins": ["few"]}, r"bins must be one or more .* Got \['few'\]"),
}


@pytest.mark.parametrize(("arguments", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(arguments, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(*arguments, **options)


def test_inputs_stay_as_they_are():
    # Unsorted, with a stored zero, not of the kernel's types.
    truth = sp.csr_array((np.array([1.0, 1, 0, 1, 1]), np.array([1, 0, 2, 0, 2]), np.array([0, 3, 4, 5])), shape=(3, 3))
    chosen = np.array([[-1, 1], [0, 1], [0, 2]], dtype=np.int16)
    training = sp.coo_array(TRUTH)
    inputs = [truth.data, truth.indices, truth.indptr, chosen, training.data, training.row, training.col]
    copies = [array.copy() for array in inputs]
    found = evaluate(truth, chosen, priors=training, k=1)
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
    assert found == evaluate(TRUTH, chosen, priors=training, k=1)


def test_read_only_input_is_accepted():
    truth, chosen = TRUTH.copy(), Chosen.of(CHOSEN, 3)
    truth.flags.writeable = False
    chosen.labels.flags.writeable = False
    assert evaluate(truth, chosen) == evaluate(TRUTH, CHOSEN)


def test_priors_may_be_labels_or_what_was_counted_from_them():
    assert evaluate(TRUTH, CHOSEN, priors=TRUTH) == evaluate(TRUTH, CHOSEN, priors=LabelPriors.from_labels(TRUTH))


def test_every_name_can_be_asked_for():
    for name in METRIC_NAMES:
        assert list(evaluate(TRUTH, CHOSEN, name, priors=TRUTH)) == [name]


def test_paths_give_what_their_contents_give(tmp_path):
    sp.save_npz(tmp_path / "truth.npz", sp.csr_array(TRUTH))
    save_selection(tmp_path / "ranked.npz", Chosen.of(CHOSEN, 3))
    sp.save_npz(tmp_path / "unranked.npz", MATRIX)
    truth = tmp_path / "truth.npz"
    expected = evaluate(TRUTH, CHOSEN, priors=TRUTH, k=1)
    assert evaluate(truth, tmp_path / "ranked.npz", priors=truth, k=1) == expected
    assert evaluate(str(truth), str(tmp_path / "unranked.npz")) == evaluate(TRUTH, MATRIX)
