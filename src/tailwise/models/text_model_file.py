"""The file of a fitted text model: weights as arrays, and the text features or the tokenizer."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.models.model_file import Packed
from tailwise.models.text_feature_file import pack_features, unpack_features
from tailwise.models.tree_file import describe_fit, plain_parameters, restore_fit

if TYPE_CHECKING:
    from tailwise.models.text_model import TextModel

NOT_SAVED = ("checkpoint", "cache", "device")
SPECIAL = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token", "bos_token", "eos_token")


def pack_text_model(model: TextModel) -> Packed:
    """Take a fitted text model apart."""
    weights = {f"weights/{name}": value.cpu().numpy() for name, value in model.network_.state_dict().items()}
    arrays = {"counts": model.priors_.counts, **weights}
    header = {
        "parameters": _plain(model),
        **describe_fit(model),
        "history": model.history_,
        "widths": getattr(model, "widths_", None),
        "curve": getattr(model, "curve_", None),
        "mean_labels": getattr(model, "mean_labels_", None),
        "features": None,
        "encoder": None,
    }
    if model.features_ is not None:
        header["features"], words = pack_features(model.features_)
        arrays |= {f"features/{name}": array for name, array in words.items()}
    if model.tokenizer_ is not None:
        special = {name: getattr(model.tokenizer_, name, None) for name in SPECIAL}
        config = json.loads(model.network_.bert.config.to_json_string(use_diff=False))
        header["encoder"] = {"config": config, "special": special}
        arrays["tokenizer"] = np.frombuffer(model.tokenizer_.backend_tokenizer.to_str().encode(), np.uint8)
    if model.groups_ is not None:
        arrays["groups"] = model.groups_
    return Packed(model.kind, model.VERSION, header, arrays)


def unpack_text_model(kind: type[TextModel], packed: Packed) -> TextModel:
    """Put a text model together again."""
    import torch

    header, arrays = packed.header, packed.arrays
    model = kind(**header["parameters"])
    kind(**{**header["parameters"], "n_jobs": None}).check_parameters()  # n_jobs may be from a larger machine
    restore_fit(model, header, arrays["counts"])
    model.history_, model.groups_ = header["history"], arrays.get("groups")
    model.tokenizer_ = model.features_ = None
    (_restore_bag if header["encoder"] is None else _restore_transformer)(model, header, arrays)
    weights = {name.removeprefix("weights/"): array for name, array in arrays.items() if name.startswith("weights/")}
    found = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}
    try:
        model.network_.load_state_dict(found)
    except RuntimeError as error:
        msg = f"its weights do not fit together: {str(error)[:200]}"
        raise ValueError(msg) from error
    model.network_.eval()
    return model


def _plain(model: TextModel) -> dict[str, Any]:
    """Convert parameters to JSON types; functions, and names of files of this machine, are left out."""
    parameters = plain_parameters({**model.get_params(deep=False), **dict.fromkeys(NOT_SAVED)})
    for name in ("encoder", "embeddings"):
        value = parameters[name]
        if isinstance(value, os.PathLike):
            parameters[name] = os.fspath(value)
        elif value is not None and not isinstance(value, (str, dict)):
            parameters[name] = None
    return parameters


def _restore_bag(model: TextModel, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    from tailwise.models.bag_network import BagNetwork

    model.widths_ = [int(width) for width in header["widths"]]
    slope, shift = header["curve"]
    model.curve_, model.mean_labels_ = (float(slope), float(shift)), float(header["mean_labels"])
    if header["features"] is not None:
        words = {name: arrays[f"features/{name}"] for name in ("document_counts", "terms")}
        model.features_ = unpack_features(header["features"], words)
    model.network_ = BagNetwork(model.widths_[0], model.widths_[1], model.n_labels_, model.size, 0.0)


def _restore_transformer(model: TextModel, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    from tokenizers import Tokenizer

    from tailwise.models.encoders import import_transformers
    from tailwise.models.text_model_fitting import build_network

    transformers = import_transformers()
    config = dict(header["encoder"]["config"])
    kind = config.pop("model_type")
    encoder = transformers.AutoModel.from_config(transformers.AutoConfig.for_model(kind, **config))
    model.network_ = build_network(model, encoder, model.n_labels_)
    special = {name: value for name, value in header["encoder"]["special"].items() if value is not None}
    tokenizer = Tokenizer.from_str(arrays["tokenizer"].tobytes().decode())
    model.tokenizer_ = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
