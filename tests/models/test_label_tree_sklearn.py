"""scikit-learn's own checks of an estimator.

Most of them hand over a vector of targets, which a multi-label estimator refuses. The class below turns such a vector
into a 0/1 matrix with a column for each value, so that all else that these checks look at is that of LabelTree.
"""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.utils import estimator_checks

import tailwise as tw

NOT_APPLICABLE = {
    "check_classifiers_multilabel_output_format_predict_proba": "probabilities are sparse rows of the top labels",
    "check_classifiers_multilabel_output_format_decision_function": "there is no decision_function",
}
MULTI_LABEL = (
    "check_classifiers_multilabel_representation_invariance",
    "check_classifiers_multilabel_output_format_predict",
)
GENERAL = (
    "check_complex_data",
    "check_dict_unchanged",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_dont_overwrite_attributes",
    "check_dtype_object",
    "check_estimator_get_tags_default_keys",
    "check_estimator_repr",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_empty_data_messages",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit1d",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_get_params_invariance",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_mixin_order",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_requires_y_none",
    "check_set_params",
    "check_valid_tag_types",
)


class OneHot(tw.LabelTree):
    """A label tree that takes a vector of targets for the 0/1 matrix of its values, and predicts one of them."""

    def fit(self, X, y):
        if y is None or np.ndim(y) == 0:
            return super().fit(X, y)
        self.values_ = np.unique(y)
        return super().fit(X, (np.ravel(y)[:, None] == self.values_).astype(np.int64))

    def predict(self, X):
        most_probable = self.search(X, 1).labels
        return self.values_[most_probable]

    def predict_proba(self, X):
        return super().predict_proba(X).toarray()


def run_check(name, estimator):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this version of scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("name", MULTI_LABEL)
def test_multi_label_checks(name):
    run_check(name, tw.LabelTree(max_epochs=5))


@pytest.mark.parametrize("name", GENERAL)
@pytest.mark.filterwarnings("ignore")
def test_general_checks(name):
    run_check(name, OneHot(max_epochs=5))


def test_no_check_of_multi_label_estimators_is_forgotten():
    named = {name for name, _ in inspect.getmembers(estimator_checks, callable) if "multilabel" in name}
    assert {name for name in named if name.startswith("check_")} == {*MULTI_LABEL, *NOT_APPLICABLE}


# What people do with estimators


def problem():
    random = np.random.default_rng(0)
    group = random.integers(0, 6, 120)
    return np.eye(6)[group] + 0.1 * random.random((120, 6)), np.eye(6, dtype=int)[group]


def test_clone_and_pipeline():
    features, truth = problem()
    model = tw.LabelTree(arity=2, leaf_size=3, C=5.0)
    assert clone(model).get_params() == model.get_params()
    pipeline = make_pipeline(MaxAbsScaler(), model).fit(features, truth)
    assert pipeline.predict_proba(features).shape == (120, 6)
    assert (pipeline.predict(features, k=1) == truth).all()


def test_search_for_parameters():
    features, truth = problem()
    search = GridSearchCV(tw.LabelTree(leaf_size=3), {"C": [1e-3, 10.0]}, scoring="f1_micro", cv=3)
    assert search.fit(features, truth).best_params_ == {"C": 10.0}


def test_representation():
    assert repr(tw.LabelTree(loss="squared-hinge", n_trees=3)) == "LabelTree(loss='squared-hinge', n_trees=3)"
