"""The file of fitted text features: parameters, counts, and the terms as text."""

from __future__ import annotations

import json
import os
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.disk import parse_json
from tailwise.datasets.formats.saved_object import read_object, write_object
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.text_features import TextFeatures

KIND, VERSION = "tailwise text features", 1
RULE = "be a complete file that TextFeatures.save wrote"
REMEDY = "Copy it again, or fit and save again."
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


def save_features_file(features: TextFeatures, path: str | os.PathLike[str]) -> None:
    """Write fitted features; equal ones give equal bytes."""
    header, arrays = pack_features(features)
    write_object(path, KIND, VERSION, {**header, "checksums": _checksums(arrays)}, arrays)


def load_features_file(kind: type[TextFeatures], path: str | os.PathLike[str]) -> TextFeatures:
    """Read what :func:`save_features_file` wrote."""
    header, arrays = read_object(path, KIND, VERSION, RULE, REMEDY)
    try:
        features = unpack_features(header, arrays, kind)
        is_whole = _checksums(arrays) == header["checksums"]
    except BROKEN as error:
        msg = f"{path} must {RULE}. Got another file, or a damaged one. {REMEDY}"
        raise FileError(msg) from error
    if not is_whole:
        msg = f"{path} must {RULE}. Its checksums differ. {REMEDY}"
        raise FileError(msg)
    return features


def pack_features(features: TextFeatures) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Take fitted features apart, for files of their own and of models that contain them."""
    parameters = dict(features.settings_)
    if parameters["stop_words"] is not None and not isinstance(parameters["stop_words"], str):
        parameters["stop_words"] = sorted(parameters["stop_words"])
    plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
    terms = np.frombuffer(json.dumps(features.terms_, ensure_ascii=False).encode(errors="surrogatepass"), np.uint8)
    arrays: dict[str, NDArray] = {"document_counts": features.document_counts_, "terms": terms}
    return {"parameters": plain, "n_texts": features.n_texts_}, arrays


def unpack_features(
    header: dict[str, Any], arrays: dict[str, NDArray], kind: type[TextFeatures] | None = None
) -> TextFeatures:
    """Put features together again; raises one of BROKEN if the parts do not fit."""
    from tailwise.models.text_features import TextFeatures, check_parameters

    features = (kind or TextFeatures)(**{**header["parameters"], **_pairs(header["parameters"])})
    check_parameters(features)
    features.settings_ = features.get_params()
    features.terms_ = parse_json(arrays["terms"].tobytes().decode(errors="surrogatepass"))
    features.n_texts_, features.document_counts_ = header["n_texts"], arrays["document_counts"]
    features.n_features_out_ = _check_size(features)
    return features


def _pairs(parameters: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    names = ("words", "characters")
    return {name: None if parameters[name] is None else tuple(parameters[name]) for name in names}


def _check_size(features: TextFeatures) -> int:
    """Return the number of columns; ValueError if terms and counts differ."""
    kinds = sum(lengths is not None for lengths in (features.words, features.characters))
    n_terms = sum(map(len, features.terms_.values())) if features.hashing is None else kinds * features.hashing
    if features.document_counts_.shape != (n_terms,) or type(features.n_texts_) is not int:
        msg = "terms and counts differ"
        raise ValueError(msg)
    return n_terms


def _checksums(arrays: dict[str, NDArray]) -> dict[str, int]:
    return {name: zlib.crc32(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()}
