"""Which model to train: by name, given as an object, or by default according to the data."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from tailwise.errors import InputError
from tailwise.inputs.texts import are_texts
from tailwise.model_names import MODELS
from tailwise.models.embeddings import Embeddings
from tailwise.models.ensemble import Ensemble
from tailwise.models.label_tree import LabelTree
from tailwise.models.model import RUN_PARAMETERS, WITHIN, build_model, list_options, set_options
from tailwise.models.neighbours import Neighbours
from tailwise.models.on_texts import OnTexts
from tailwise.models.side_by_side import SideBySide
from tailwise.models.text_features import TextFeatures
from tailwise.models.text_model import TextModel

FEATURES, SIDE_BY_SIDE, TEXTS = "features", "side by side", "texts"
# Embeddings are closer to each other than TF-IDF features; best on held-out training rows of library records.
DENSE_NEIGHBOURS, DENSE_TEMPERATURE = 100, 0.08
LEAST_ROWS = 50  # of training; from fewer, too little can be held out to weigh members
NEEDED = ("fit", "predict_proba", "check_parameters", "get_params", "set_params", "save", "load")
OF_TREE = "tree__"


@dataclass(frozen=True, eq=False)
class Wish:
    """What a user asks for: a model or its name (None for the default), options by name, and an encoder."""

    model: Any = None
    options: Mapping[str, Any] | None = None
    embeddings: Any = None
    on_tree: bool = False  # whether labels are selected on a label tree itself


@dataclass(frozen=True, eq=False)
class Choice:
    """An unfitted model, its name, and why it was chosen."""

    name: str
    why: str
    model: Any


def kind_of_rows(X: Any) -> str:
    """Return what the rows of X are: features, two kinds of features side by side, or texts."""
    if isinstance(X, SideBySide):
        return SIDE_BY_SIDE
    return TEXTS if are_texts(X) else FEATURES


def choose_model(wish: Wish, rows: str, n_rows: int) -> Choice:
    """Return an unfitted model with checked parameters for n training rows of a kind."""
    if wish.embeddings is not None and rows != TEXTS:
        msg = "embeddings (--embeddings) are made from texts. Got features. Omit them, or pass texts."
        raise InputError(msg)
    if wish.model is None or isinstance(wish.model, str):
        name, why = (wish.model, "asked for") if wish.model else _choose_name(wish, rows, n_rows)
        return Choice(name, why, _build(name, wish, rows))
    if wish.options or wish.embeddings is not None:
        msg = (
            "model_options and embeddings need the name of a model. Got a model. Set its parameters, and use "
            "tailwise.OnTexts(model, embeddings=...)."
        )
        raise InputError(msg)
    model = _check_given(wish.model, rows)
    inner = inner_model(model)
    return Choice(getattr(inner, "kind", type(inner).__name__), "given as an object", model)


def needed_tree(
    choice: Choice,
    what: str = "method='tree' (--method tree) and beam need",
    remedy: str = "Use model='tree' (--model tree), or omit them.",
) -> Any:
    """Return the label tree that labels are to be selected on, or beams searched in; refuse other models."""
    inner = inner_model(choice.model)
    if isinstance(inner, LabelTree):
        return inner
    msg = f"{what} a label tree. Got the model {choice.name!r}. {remedy}"
    raise InputError(msg)


def inner_model(model: Any) -> Any:
    """Return the model that takes features, within one that takes texts or itself."""
    return model.inner() if isinstance(model, OnTexts) else model


def _choose_name(wish: Wish, rows: str, n_rows: int) -> tuple[str, str]:
    if wish.on_tree:
        return "tree", "default: labels are selected on a label tree itself"
    if n_rows < LEAST_ROWS:
        return "tree", f"default: fewer than {LEAST_ROWS} training rows, too few to hold some out for an ensemble"
    if wish.embeddings is not None:
        return "ensemble", "default for texts with embeddings: tree, neighbours in both spaces, and a classifier"
    return "ensemble", {
        FEATURES: "default for features: a label tree and nearest neighbours, stacked",
        TEXTS: "default for texts: a label tree and nearest neighbours on TF-IDF features, stacked",
        SIDE_BY_SIDE: "default for sparse and dense features: tree, neighbours in both spaces, and a classifier",
    }[rows]


def _build(name: str, wish: Wish, rows: str) -> Any:
    is_dense = rows == SIDE_BY_SIDE or wish.embeddings is not None
    model = Ensemble(list_dense_members()) if name == "ensemble" and is_dense else build_model(name)
    options = dict(wish.options or {})
    if name == "tree":
        options = {key.removeprefix(OF_TREE): value for key, value in options.items()}
    if rows != TEXTS:
        return set_options(model, name, options)
    if isinstance(model, TextModel):
        own = {} if wish.embeddings is None else {"embeddings": wish.embeddings}
        return set_options(model, name, {**own, **options})
    encoder = None if wish.embeddings is None else _as_encoder(wish.embeddings)
    whole = OnTexts(model, features=TextFeatures(), embeddings=encoder)
    known = list_options(whole)
    placed = {f"{WITHIN}{key}" if f"{WITHIN}{key}" in known else key: value for key, value in options.items()}
    return set_options(whole, name, placed)


def list_dense_members() -> list[tuple[str, Any, str]]:
    """Return the members of an ensemble for sparse and dense features."""
    return [
        ("tree", LabelTree(), "sparse"),
        ("neighbours", Neighbours(), "sparse"),
        ("space", Neighbours(DENSE_NEIGHBOURS, temperature=DENSE_TEMPERATURE), "dense"),
        ("classifier", TextModel(), "all"),
    ]


def _as_encoder(given: Any) -> Embeddings:
    return clone(given) if isinstance(given, Embeddings) else Embeddings(given)


def _check_given(model: Any, rows: str) -> Any:
    missing = [name for name in NEEDED if not hasattr(model, name)]
    if missing or isinstance(model, type):
        names = ", ".join(MODELS)
        came = f"{model!r:.60}, which lacks {', '.join(missing)}" if missing else f"the class {model.__name__}"
        msg = f"model must be one of {names}, or an object with the methods of tailwise.Model. Got {came}."
        raise InputError(msg)
    model = clone(model)
    model.check_parameters()
    if rows == TEXTS:
        return _filled(model if isinstance(model, (OnTexts, TextModel)) else OnTexts(model))
    if isinstance(model, OnTexts) or (isinstance(model, TextModel) and model.encoder is not None):
        msg = f"X must be texts for the model {type(model).__name__}. Got features. Pass texts, or another model."
        raise InputError(msg)
    return model


def _filled(model: Any) -> Any:
    """Return a model whose records name the parts that it would use by default."""
    if not isinstance(model, OnTexts):
        return model
    encoder = None if model.embeddings is None else _as_encoder(model.embeddings)
    features = TextFeatures() if model.features is None else model.features
    return model.set_params(model=model.inner(), features=features, embeddings=encoder)


# What a record and a configuration file say of a model


def describe_model(model: Any) -> dict[str, Any]:
    """Return all parameters as JSON values, except those that a run sets; models as their kinds."""
    return {
        name: as_plain(value)
        for name, value in model.get_params(deep=True).items()
        if name.rpartition("__")[2] not in RUN_PARAMETERS
    }


def as_plain(value: Any) -> Any:
    """Convert a parameter to JSON values; functions become their names."""
    if hasattr(value, "get_params"):
        return getattr(value, "kind", type(value).__name__)
    if isinstance(value, (list, tuple)):
        return [as_plain(each) for each in value]
    if isinstance(value, dict):
        return {str(key): as_plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return getattr(value, "__qualname__", type(value).__name__)


def state_options(choice: Choice, rows: str) -> tuple[dict[str, Any], str | None] | None:
    """Return options and encoder with which the name of a model gives the same model; None if there are none."""
    wanted, encoder = describe_model(choice.model), None
    if isinstance(choice.model, OnTexts) and choice.model.embeddings is not None:
        encoder = choice.model.embeddings.model
        if not isinstance(encoder, (str, os.PathLike)):
            return None
        encoder = os.fspath(encoder)
    try:
        usual = describe_model(_build(choice.name, Wish(embeddings=encoder), rows))
        changed = {name: value for name, value in wanted.items() if name in usual and value != usual[name]}
        options = {name.removeprefix(WITHIN): value for name, value in changed.items()}
        again = describe_model(_build(choice.name, Wish(options=options, embeddings=encoder), rows))
    except InputError:  # a model that no name stands for, or members of the user's own
        return None
    return (options, encoder) if again == wanted else None
