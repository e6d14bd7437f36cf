"""Checkpoints of LightXML. Imported only where torch is needed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailwise.datasets.formats.disk import check_name
from tailwise.errors import FileError, InputError
from tailwise.models.new_encoder import open_transformer
from tailwise.models.text_model_fitting import build_network
from tailwise.utilities import LabelPriors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.text_model import TextModel

SKIPPED = ("bert.embeddings.position_ids", "embeddings.position_ids")  # of older transformers; not weights


def load_lightxml(
    kind: type[TextModel],
    path: str | os.PathLike[str],
    encoder: Any,
    groups: Any,
    priors: Any,
    parameters: dict[str, Any],
) -> TextModel:
    """Build a text model from the weights of LightXML."""
    weights = _read_weights(path)
    n_labels = weights["embed.weight" if groups is not None else "l0.bias"].shape[0]
    if groups is not None:
        parameters = {**parameters, "bottleneck": int(weights["l1.bias"].shape[0])}
    model = kind(encoder, **parameters)
    model.check_parameters()
    model.tokenizer_, network = open_transformer(encoder, [])
    model.groups_ = None if groups is None else _as_clusters(groups, n_labels)
    model.network_ = build_network(model, network, n_labels)
    try:
        model.network_.load_state_dict(weights)
    except RuntimeError as error:
        reason = str(error).split("\n")[-1].strip()[:200]
        msg = f"checkpoint must fit the encoder and the groups. Got {path}: {reason} Check both."
        raise InputError(msg) from error
    model.network_.eval()
    model.n_features_in_, model.n_labels_, model.features_, model.history_ = 1, n_labels, None, []
    model._output_type = None
    if priors is not None:
        model.priors_ = _check_priors(priors, n_labels)
    return model


def _check_priors(priors: Any, n_labels: int) -> LabelPriors:
    found = priors if isinstance(priors, LabelPriors) else LabelPriors.from_labels(priors)
    if found.n_labels != n_labels:
        msg = f"priors must be those of the {n_labels} labels of the checkpoint. Got {found.n_labels}."
        raise InputError(msg)
    return found


def _read_weights(path: str | os.PathLike[str]) -> dict[str, Any]:
    check_name(path)
    if not os.path.isfile(path):
        msg = f"checkpoint must be a file that exists. Got {path}. Check the spelling."
        raise FileError(msg)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
        weights = {name: value for name, value in found.items() if not name.endswith(SKIPPED)}
        is_whole = "l0.bias" in weights
    except Exception as error:  # torch has no error of its own for damaged files, or for those with code
        msg = f"checkpoint must be a state_dict that torch saved, of tensors only. Got {path}: {str(error)[:120]}."
        raise FileError(msg) from error
    if not is_whole:
        msg = f"checkpoint must be that of LightXML, with l0.weight and l0.bias. Got {path} without. Give its file."
        raise FileError(msg)
    return weights


def _as_clusters(groups: Any, n_labels: int) -> NDArray:
    """Return the cluster of each label; each label must be in one."""
    lists = [np.asarray(group, dtype=np.int64).ravel() for group in groups]
    labels = np.concatenate(lists)
    if not np.array_equal(np.sort(labels), np.arange(n_labels)):
        msg = f"groups must hold each of the {n_labels} labels once. Got {labels.size} labels. Use those of LightXML."
        raise InputError(msg)
    clusters = np.empty(n_labels, np.int64)
    clusters[labels] = np.repeat(np.arange(len(lists)), [each.size for each in lists])
    return clusters
