"""Explanations of a run, from its folder."""

from __future__ import annotations

import os

from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.runs.run_folder import read_run_folder
from tailwise.selection.explain import Explainer, explainer_of
from tailwise.utilities import LabelPriors, as_utility


def explainer_of_run(folder: str | os.PathLike[str]) -> tuple[Explainer, LabelPriors]:
    """Return the explainer for the selection of a run, and its training frequencies."""
    run = read_run_folder(folder)
    if run.probabilities is None:
        msg = (
            f"{folder} must hold probabilities to be explained. A run with method='tree' (--method tree) keeps none. "
            "Run it again with another method."
        )
        raise InputError(msg)
    utility = as_utility(run.utility, run.priors, run.propensity)
    candidates = Candidates.of(run.probabilities).with_names(run.names, run.instances)
    return explainer_of(candidates, utility, run.selection, run.k, **run.basis), run.priors
