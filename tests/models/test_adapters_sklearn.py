"""scikit-learn's classifiers: every form of predict_proba becomes the same CSR."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tailwise.errors import InputError
from tailwise.models.adapters import from_sklearn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6))
Y = (RNG.random((80, 4)) < 1 / (1 + np.exp(1 - 2 * X[:, :4]))).astype(int)
LOGISTIC = LogisticRegression()

ARRAYS = {
    "one vs rest": OneVsRestClassifier(LOGISTIC),
    "chain": ClassifierChain(LOGISTIC),
    "neural network": MLPClassifier((4,), max_iter=5, random_state=0),
    "pipeline": make_pipeline(MaxAbsScaler(), OneVsRestClassifier(LOGISTIC)),
}
LISTS = {
    "multi output": MultiOutputClassifier(LOGISTIC),
    "forest": RandomForestClassifier(5, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=3),
    "neighbours": KNeighborsClassifier(),
    "pipeline": make_pipeline(MaxAbsScaler(), MultiOutputClassifier(LOGISTIC)),
    "search": GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [3]}, cv=2),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", ARRAYS.values(), ids=ARRAYS)
def test_models_that_give_an_array(model):
    model.fit(X, Y)
    found = from_sklearn(model, X[:9])
    assert isinstance(found, sp.csr_array)
    np.testing.assert_array_equal(found.toarray(), model.predict_proba(X[:9]))


@pytest.mark.parametrize("model", LISTS.values(), ids=LISTS)
def test_models_that_give_a_list(model):
    model.fit(X, Y)
    expected = np.array([probabilities[:, 1] for probabilities in model.predict_proba(X[:9])]).T
    assert expected.shape == (9, 4)
    np.testing.assert_array_equal(from_sklearn(model, X[:9]).toarray(), expected)


def test_one_model_both_ways():
    as_array = from_sklearn(OneVsRestClassifier(LOGISTIC).fit(X, Y), X)
    as_list = from_sklearn(MultiOutputClassifier(LOGISTIC).fit(X, Y), X)
    np.testing.assert_allclose(as_array.toarray(), as_list.toarray())


def test_labels_with_a_single_class():
    labels = Y.copy()
    labels[:, 1], labels[:, 2] = 0, 1
    found = from_sklearn(KNeighborsClassifier().fit(X, labels), X[:9])
    assert found.shape == (9, 4)
    assert (found.toarray()[:, 1] == 0).all()
    assert (found.toarray()[:, 2] == 1).all()


@pytest.mark.filterwarnings("ignore:Label not 1 is present in all training examples")
def test_a_constant_label_of_one_vs_rest():
    labels = Y.copy()
    labels[:, 1] = 0
    found = from_sklearn(OneVsRestClassifier(LOGISTIC).fit(X, labels), X[:9])
    assert found.shape == (9, 4)
    assert (found.toarray()[:, 1] == 0).all()


class Fake:
    """Gives what it is told to."""

    def __init__(self, predicted, classes=None):
        self.predicted = predicted
        if classes is not None:
            self.classes_ = classes

    def predict_proba(self, X, top=None, **options):
        self.options = {"top": top, **options}
        return self.predicted


def test_classes_in_any_order():
    two = [np.array([[0.7, 0.3], [0.6, 0.4]]), np.array([[0.2, 0.8], [0.1, 0.9]])]
    found = from_sklearn(Fake(two, [np.array([1, 0]), np.array([0, 1])]), X)
    np.testing.assert_array_equal(found.toarray(), [[0.7, 0.8], [0.6, 0.9]])


@pytest.mark.parametrize("classes", [[np.array([False, True])], [np.array([0.0, 1.0])]])
def test_classes_of_any_type(classes):
    assert from_sklearn(Fake([np.array([[0.75, 0.25]])], classes), X)[0, 0] == 0.25


def test_a_sparse_matrix():
    matrix = sp.csr_matrix(np.array([[0.5, 0.0, 0.25]]))
    np.testing.assert_array_equal(from_sklearn(Fake(matrix), X).toarray(), matrix.toarray())


def test_top_is_kept_here_and_passed_on_to_models_that_know_it():
    model = Fake(np.array([[0.5, 0.1, 0.25]]))
    assert from_sklearn(model, X, top=2, beam=10).toarray().tolist() == [[0.5, 0.0, 0.25]]
    assert model.options == {"top": 2, "beam": 10}
    forest = RandomForestClassifier(5, random_state=0).fit(X, Y)
    assert np.diff(from_sklearn(forest, X, top=2).indptr).max() == 2


def test_large_predictions_are_read_part_by_part(monkeypatch):
    predicted = RNG.random((50, 7))
    whole = from_sklearn(Fake(predicted), X, top=3)
    monkeypatch.setattr("tailwise.models.adapters.shortlists.SCORES_AT_A_TIME", 20)
    parts = from_sklearn(Fake(predicted), X, top=3)
    np.testing.assert_array_equal(parts.toarray(), whole.toarray())


def test_the_result_is_ones_own():
    matrix = sp.csr_array(np.array([[0.5, 0.0, 0.25]]))
    found = from_sklearn(Fake(matrix), X)
    found.data[:] = 0
    found.eliminate_zeros()
    assert matrix.data.tolist() == [0.5, 0.25]


REFUSED = {
    "no probabilities": (LinearSVC(), r"model must have predict_proba\. Got LinearSVC, which has not\. Choose a base"),
    "no classes": (Fake([np.ones((1, 1))]), r"model must have classes_, one array of classes for each of its 1 labels"),
    "few classes": (Fake([np.ones((1, 1))] * 2, [np.array([1])]), r"model must have classes_.* its 2 labels\. Got"),
    "other classes": (
        Fake([np.ones((1, 2))], [np.array(["no", "yes"])]),
        r"model must be fitted on labels of 0 and 1\. Got class .*no.* of label 0\.",
    ),
    "logits": (Fake(np.array([[2.0, -1.0]])), r"probabilities must lie in \[0, 1\]\. Got 2"),
}


@pytest.mark.parametrize(("model", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused(model, message):
    with pytest.raises(InputError, match=message):
        from_sklearn(model, X[:1])
