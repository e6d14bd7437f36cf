"""What every model offers, the models that have a name, and how their files are opened."""

from __future__ import annotations

import difflib
import importlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from tailwise.datasets.formats.disk import parse_json
from tailwise.errors import FileError, InputError
from tailwise.inputs.checks import check_choice
from tailwise.model_names import MODELS
from tailwise.models.model_file import BROKEN, Packed, check_version, read_model, refuse, write_model

if TYPE_CHECKING:
    import scipy.sparse as sp
    from typing_extensions import Self

    from tailwise.utilities import LabelPriors

# Where the class of each kind lives; classes are imported when they are asked for. Files also hold a kind without a
# name: models around a model with one.
KINDS = {**MODELS, "on-texts": "tailwise.models.on_texts.OnTexts"}
# What a run decides for its model; each model has these parameters.
RUN_PARAMETERS = ("n_jobs", "random_state", "progress")
WITHIN = "model__"  # options of the model within one that takes texts; users need not write it
PYTHON_WORDS = {"True": True, "False": False, "None": None}  # as users write them, besides true, false and null of JSON


@runtime_checkable
class Model(Protocol):
    r"""Estimates probabilities :math:`\eta_j(x) = P(y_j = 1 \mid x)` of many labels: what ``tailwise run`` asks for.

    A model is a scikit-learn estimator: its parameters are the arguments of its constructor, `sklearn.base.clone`
    copies it unfitted, and what it has learned has names that end with ``_``. Each has the parameters ``n_jobs``,
    ``random_state`` and ``progress``. A class derives from ``SavedModel`` and
    `sklearn.base.BaseEstimator`, has a line in ``MODELS``, and thereby a name for ``tailwise run --model NAME``,
    ``train``, ``predict`` and ``experiment``.

    X is a sparse matrix, a dense one, both as :class:`SideBySide`, or a list of texts, as the model says. Models refuse
    what they cannot take with an :class:`~tailwise.errors.InputError`, and a failed ``fit`` leaves them as they were.

    Attributes
    ----------
    kind : str
        Name of the model, as in ``MODELS``.
    n_features_in_, n_labels_ : int
        Numbers of features (1 for texts) and labels.
    priors_ : LabelPriors
        Training frequencies of the labels, with their names if Y had any.
    """

    kind: ClassVar[str]
    n_features_in_: int
    n_labels_: int
    priors_: LabelPriors

    def fit(self, X: Any, Y: Any) -> Any:
        """Learn from features of shape (n, features) and a 0/1 matrix of labels of shape (n, m); returns itself."""
        ...

    def predict_proba(self, X: Any, top: int = 100) -> sp.csr_array:
        """Estimate probabilities of at most ``top`` labels per instance: float32, ascending labels, shape (n, m)."""
        ...

    def check_parameters(self) -> None:
        """Refuse invalid parameters; ``fit`` does so, too."""
        ...

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002 - of scikit-learn
        """Return the parameters, as scikit-learn does."""
        ...

    def set_params(self, **parameters: Any) -> Any:
        """Set parameters, as scikit-learn does."""
        ...

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file."""
        ...

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that :meth:`save` wrote."""
        ...

    def pack(self) -> Packed:
        """Take the fitted model apart, for :meth:`save` and for models that contain it."""
        ...

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Put a model together again; raises a ValueError, KeyError or TypeError if the parts do not fit."""
        ...


class SavedModel:
    """`save` and `load` for classes with `kind`, `VERSION`, `pack` and `unpack`."""

    kind: ClassVar[str]
    VERSION: ClassVar[int] = 1

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :meth:`load` maps into memory."""
        write_model(path, self.pack())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote; large arrays are mapped, not copied, and nothing is unpickled."""
        writer = f"{cls.__name__}.save"
        packed = read_model(path, writer)
        if packed.kind != cls.kind:
            msg = f"{path} must be a model of the kind {cls.kind!r}. Got {packed.kind!r:.60}. Use tailwise.load_model."
            raise FileError(msg)
        return _put_together(cls, packed, path, writer)

    def pack(self) -> Packed:
        raise NotImplementedError

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        raise NotImplementedError


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a fitted model of any kind from its file.

    Parameters
    ----------
    path : path
        A file that ``save`` of a model, ``tailwise train`` or ``tailwise run`` wrote.

    Returns
    -------
    Model
        A :class:`LabelTree` or another model, as the file says.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, tailwise as tw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "small.model")
    ...     tw.LabelTree().fit(np.eye(4), np.eye(4)).save(path)
    ...     tw.load_model(path).n_labels_
    4
    """
    writer = "save of a model"
    packed = read_model(path, writer)
    if not isinstance(packed.kind, str) or packed.kind not in KINDS:
        msg = f"{path} must be a model of a kind that this tailwise knows. Got {packed.kind!r:.60}. Update tailwise."
        raise FileError(msg)
    return _put_together(model_class(packed.kind), packed, path, writer)


def _put_together(kind: Any, packed: Packed, path: str | os.PathLike[str], writer: str) -> Any:
    check_version(path, packed.version, kind.VERSION)
    try:
        return kind.unpack(packed)
    except BROKEN as error:
        refuse(path, writer, f"It is damaged ({type(error).__name__}: {error})")


def unpack_member(packed: Packed) -> Model:
    """Put together a model within another one, of any kind."""
    kind = model_class(packed.kind)
    if packed.version != kind.VERSION:
        msg = f"a model of the kind {packed.kind} has version {packed.version}, not {kind.VERSION}"
        raise InputError(msg)
    return kind.unpack(packed)


def model_class(kind: str) -> Any:
    """Return the class of a kind of model."""
    module, _, own = KINDS[kind].rpartition(".")
    return getattr(importlib.import_module(module), own)


def build_model(name: str, parameters: Mapping[str, Any] | None = None) -> Model:
    """Return an unfitted model by name; parameters of members are written as ``member__name``."""
    check_choice("model", name, tuple(MODELS))
    return set_options(model_class(name)(), name, parameters or {})


def set_options(model: Any, title: str, options: Mapping[str, Any]) -> Any:
    """Set options of a model after checking that it has them; `title` is its name in errors."""
    known = list_options(model)
    strange = next((each for each in options if each not in known), None)
    if strange is not None:
        own = sorted(each.removeprefix(WITHIN) for each in known)
        near = difflib.get_close_matches(strange, own, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"They are: {', '.join(own)}."
        msg = f"Options of the model {title!r} must be parameters that it has. Got {strange!r}. {hint}"
        raise InputError(msg)
    model.set_params(**dict(options))
    model.check_parameters()
    return model


def list_options(model: Any) -> dict[str, Any]:
    """Return all parameters of a model and of the models within it that are values, not models."""
    return {
        name: value
        for name, value in model.get_params(deep=True).items()
        if name.rpartition("__")[2] not in (*RUN_PARAMETERS, "members") and not hasattr(value, "get_params")
    }


def parse_option(text: str) -> tuple[str, Any]:
    """Parse "key=value"; a value is read as JSON if it is JSON, and is text otherwise."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        msg = f"An option of a model must be written as key=value. Got {text!r}. For instance n_trees=3."
        raise InputError(msg)
    if value in PYTHON_WORDS:
        return name.strip(), PYTHON_WORDS[value]
    try:
        return name.strip(), parse_json(value)
    except ValueError:
        return name.strip(), value


def write_option(name: str, value: Any) -> str:
    """Write a parameter as :func:`parse_option` reads it."""
    is_plain = isinstance(value, str) and parse_option(f"{name}={value}")[1] == value
    return f"{name}={value if is_plain else json.dumps(value)}"
