"""A fitted calibrator as one .npz file of numbers and text, with checksums."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailwise.datasets.formats.saved_object import read_object, write_object
from tailwise.errors import FileError
from tailwise.inputs.label_names import LabelNames, plain_names
from tailwise.models.calibration_curves import CURVES, CalibrationCurve, InContext, Logistic

KIND, VERSION = "tailwise calibrator", 2
FITTED = ("n_labels_", "curves_", "label_bins_", "label_counts_", "label_names_")
BY_LABEL = ("label_bins_", "label_counts_")
RULE = "be a complete file that Calibrator.save (tailwise train --calibrator) wrote"
REMEDY = "Copy it again, or fit and save again."
# Errors that a manipulated file can cause; any other error is not the file's fault.
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)


def save_fitted(path: str | os.PathLike[str], parameters: dict[str, Any], fitted: dict[str, Any]) -> None:
    """Write parameters and fitted attributes; equal calibrators give equal bytes."""
    curves = fitted["curves_"]
    bins = np.asarray(parameters["bins"], dtype=float).tolist()
    arrays = {name: fitted[name] for name in BY_LABEL if fitted[name] is not None}
    arrays |= {
        f"{part} {b}": np.asarray(value) for b, curve in enumerate(curves) for part, value in curve._asdict().items()
    }
    header = {
        "n_labels": fitted["n_labels_"],
        "label_names": plain_names(fitted["label_names_"]),
        "curve": type(curves[0]).__name__,
        "n_curves": len(curves),
        "parameters": {**parameters, "bins": bins, "random_state": int(parameters["random_state"])},
        "checksums": {name: _checksum(array) for name, array in arrays.items()},
    }
    write_object(path, KIND, VERSION, header, arrays)


def load_fitted(
    path: str | os.PathLike[str], check: Callable[[dict[str, Any]], None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what :func:`save_fitted` wrote; `check` refuses invalid parameters."""
    header, arrays = read_object(path, KIND, VERSION, RULE, REMEDY)
    try:
        if {name: _checksum(array) for name, array in arrays.items()} != header["checksums"]:
            msg = "its checksums differ"
            raise ValueError(msg)
        parameters, fitted = _unpack(header, arrays)
        check(parameters)
    except BROKEN as error:
        msg = f"{path} must {RULE}. Got another file, or a damaged one. {REMEDY}"
        raise FileError(msg) from error
    return parameters, fitted


def _unpack(header: dict[str, Any], arrays: dict[str, NDArray]) -> tuple[dict[str, Any], dict[str, Any]]:
    parameters, n_labels, n_curves = header["parameters"], header["n_labels"], header["n_curves"]
    curve = CURVES[header["curve"]]
    curves = tuple(curve(*(_as_stored(arrays[f"{part} {b}"]) for part in curve._fields)) for b in range(n_curves))
    by_label = {name: arrays.get(name) for name in BY_LABEL}
    bins = by_label["label_bins_"]
    names = LabelNames.of(header.get("label_names"))  # which older files lack
    is_whole = all(each is None or each.shape == (n_labels,) for each in by_label.values())
    is_whole = is_whole and (names is None or len(names) == n_labels)
    is_fit = bins is None or (bins.dtype.kind in "iu" and bins.min() >= 0 and bins.max() < n_curves)
    if not (is_whole and is_fit and curves and all(map(_gives_probabilities, curves))):
        msg = "its arrays do not fit together"
        raise ValueError(msg)
    fitted = {"n_labels_": n_labels, "curves_": curves, **by_label, "label_names_": names}
    return {**parameters, "bins": tuple(parameters["bins"])}, fitted


def _gives_probabilities(curve: CalibrationCurve) -> bool:
    """Whether a curve maps finite numbers to probabilities, as a fitted one does."""
    if isinstance(curve, Logistic):
        return bool(np.isfinite(curve).all())
    if isinstance(curve, InContext) and not (curve.weights.ndim == 1 and np.isfinite(curve.weights).all()):
        return False
    knots, values = curve.knots, curve.values
    is_curve = knots.ndim == 1 and knots.size > 0 and knots.shape == values.shape and bool(np.isfinite(knots).all())
    return is_curve and bool((np.diff(knots) >= 0).all() and ((values >= 0) & (values <= 1)).all())


def _checksum(array: NDArray) -> int:
    return zlib.crc32(f"{array.dtype} {array.shape}".encode() + array.tobytes())


def _as_stored(array: NDArray) -> Any:
    return array.item() if array.ndim == 0 else array
