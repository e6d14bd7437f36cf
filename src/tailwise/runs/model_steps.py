"""Steps of a run that depend on the model: its calibration, its label names, and its description in the record."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp
from sklearn.base import clone

from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.priors import LabelPriors
from tailwise.models.calibrator import Calibrator
from tailwise.models.choosing import Choice
from tailwise.models.ensemble import Ensemble
from tailwise.models.model import RUN_PARAMETERS
from tailwise.models.on_texts import OnTexts


def describe_fitted(choice: Choice, model: Any) -> dict[str, Any]:
    """Return the name of a model, why it was chosen and, for an ensemble, its members with their shares."""
    facts: dict[str, Any] = {"name": choice.name, "why": choice.why}
    inner = model
    if isinstance(model, OnTexts):
        inner = model.model_
        facts["terms"] = model.features_.n_features_out_
    if isinstance(inner, Ensemble):
        shares = inner.shares_
        facts["members"] = {
            name: {"model": member.kind, "features": inner.parts_[name], "share": shares[name]}
            for name, member in inner.members_.items()
        }
        facts |= {"weights": inner.weights_, "calibration_error": inner.calibration_error_}
    return facts


def name_labels(model: Any, names: LabelNames | None) -> None:
    """Give a fitted model the names of its labels, which are saved with it; models of others may lack priors."""
    if names is None:
        return
    for each in (model, model.model_) if isinstance(model, OnTexts) else (model,):
        priors = getattr(each, "priors_", None)
        if isinstance(priors, LabelPriors):
            each.priors_ = priors.with_names(names)


def fit_calibrator(calibrator: Calibrator, model: Any, X: Any, Y: sp.csr_array, *, folds: int, top: int) -> Calibrator:
    """Fit a calibrator by cross-validation of a fitted model, with one progress bar for all folds.

    The features of texts are computed once, by the fitted model.
    """
    if isinstance(model, OnTexts):
        X, model = model.transform(X), clone(model.inner()).set_params(**_take_settings(model))
    quiet = clone(model).set_params(progress=False)
    return calibrator.fit_cross_validated(quiet, X, Y, folds=folds, top=top, progress=bool(model.progress))


def _take_settings(model: Any) -> dict[str, Any]:
    """Return the settings that a run makes for a model, for the models inside it."""
    return {name: getattr(model, name) for name in RUN_PARAMETERS}
