"""tailwise chooses which k labels to predict, so that a whole batch scores best on the utility you care about.

>>> import numpy as np, tailwise as tw
>>> probabilities = np.array([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7], [0.9, 0.2, 0.1]])
>>> tw.select(probabilities, "macro-f1", k=1).labels.ravel()
array([1, 2, 0], dtype=int32)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwise import datasets, engines, utilities
    from tailwise.certificates import Certificate
    from tailwise.datasets import load, save
    from tailwise.datasets.store import open_store
    from tailwise.expectations.drawn import monte_carlo
    from tailwise.experiments import Curve, trade_off
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.totals import Totals
    from tailwise.metrics import Evaluation, evaluate
    from tailwise.models import (
        Calibrator,
        Embeddings,
        Ensemble,
        LabelTree,
        Model,
        Neighbours,
        OnTexts,
        SideBySide,
        TextFeatures,
        TextModel,
        load_model,
        predict,
        reliability,
        shift_to_priors,
    )
    from tailwise.online import OnlineSelector
    from tailwise.reports.records_page import report
    from tailwise.runs.run import Run, run
    from tailwise.selection import Selection, certify, expected_utility, select
    from tailwise.utilities import LabelPriors
    from tailwise.warming import warm_up

__version__ = "0.1.0"

# Names are imported when first used, so that `import tailwise` does not wait for the compiler.
_HOMES = {
    "Calibrator": "tailwise.models",
    "Candidates": "tailwise.inputs.candidates",
    "Certificate": "tailwise.certificates",
    "Curve": "tailwise.experiments",
    "Embeddings": "tailwise.models",
    "Evaluation": "tailwise.metrics",
    "Ensemble": "tailwise.models",
    "LabelPriors": "tailwise.utilities",
    "LabelTree": "tailwise.models",
    "Model": "tailwise.models",
    "Neighbours": "tailwise.models",
    "OnTexts": "tailwise.models",
    "OnlineSelector": "tailwise.online",
    "Run": "tailwise.runs.run",
    "Selection": "tailwise.selection",
    "SideBySide": "tailwise.models",
    "TextFeatures": "tailwise.models",
    "TextModel": "tailwise.models",
    "Totals": "tailwise.inputs.totals",
    "certify": "tailwise.selection",
    "datasets": "tailwise",
    "engines": "tailwise",
    "evaluate": "tailwise.metrics",
    "expected_utility": "tailwise.selection",
    "load": "tailwise.datasets",
    "load_model": "tailwise.models",
    "open_store": "tailwise.datasets.store",
    "monte_carlo": "tailwise.expectations.drawn",
    "predict": "tailwise.models",
    "reliability": "tailwise.models",
    "report": "tailwise.reports.records_page",
    "run": "tailwise.runs.run",
    "save": "tailwise.datasets",
    "select": "tailwise.selection",
    "shift_to_priors": "tailwise.models",
    "trade_off": "tailwise.experiments",
    "utilities": "tailwise",
    "warm_up": "tailwise.warming",
}

__all__ = [
    "Calibrator",
    "Candidates",
    "Certificate",
    "Curve",
    "Embeddings",
    "Ensemble",
    "Evaluation",
    "LabelPriors",
    "LabelTree",
    "Model",
    "Neighbours",
    "OnTexts",
    "OnlineSelector",
    "Run",
    "Selection",
    "SideBySide",
    "TextFeatures",
    "TextModel",
    "Totals",
    "certify",
    "datasets",
    "engines",
    "evaluate",
    "expected_utility",
    "load",
    "load_model",
    "monte_carlo",
    "open_store",
    "predict",
    "reliability",
    "report",
    "run",
    "save",
    "select",
    "shift_to_priors",
    "trade_off",
    "utilities",
    "warm_up",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'tailwise' has no attribute {name!r}"
        raise AttributeError(msg)
    home = _HOMES[name]
    value = (
        importlib.import_module(f"tailwise.{name}")
        if home == "tailwise"
        else getattr(importlib.import_module(home), name)
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
