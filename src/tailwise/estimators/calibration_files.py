"""A fitted calibrator as one .npz file: numbers and text only, with a version."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError
from tailwise.estimators.calibration_curves import CalibrationCurve, Logistic, PiecewiseLinear

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["load_curves", "save_curves"]

KIND, VERSION = "tailwise calibrator", 1
Parts = tuple[dict[str, Any], int, tuple[CalibrationCurve, ...], "NDArray | None"]


def save_curves(
    path: str | os.PathLike[str],
    parameters: dict[str, Any],
    n_labels: int,
    curves: tuple[CalibrationCurve, ...],
    label_bins: NDArray | None,
) -> None:
    """Write parameters and curves; equal calibrators give equal bytes."""
    first, second = zip(*(curve.arrays for curve in curves), strict=True)
    parameters = {**parameters, "bins": np.asarray(parameters["bins"], dtype=float).tolist()}
    header = {"kind": KIND, "version": VERSION, "n_labels": n_labels, "parameters": parameters}
    arrays: dict[str, Any] = {
        "header": np.array(json.dumps(header, sort_keys=True)),
        "sizes": np.array([part.size for part in first]),
        "first": np.concatenate(first),
        "second": np.concatenate(second),
    }
    if label_bins is not None:
        arrays["label_bins"] = label_bins
    with written_beside(path) as file:
        np.savez(file, **arrays)


def load_curves(path: str | os.PathLike[str]) -> Parts:
    """Read what :func:`save_curves` wrote, and refuse anything else."""
    try:
        # Opened here, since numpy would leave a damaged file open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            header = _check_header(json.loads(str(archive["header"])), path)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
        return _check_parts(header, arrays)
    except FileError:
        raise
    except FileNotFoundError as error:
        msg = f"path must name a file that exists. Got {path}. Check the spelling and the folder."
        raise FileError(msg) from error
    except Exception as error:  # foreign and damaged bytes break zipfile, numpy and json in more ways than can be named
        msg = (
            f"{path} must be a whole file that Calibrator.save wrote. Reading it failed with "
            f"{type(error).__name__}: {error}. Copy it again, or fit and save again."
        )
        raise FileError(msg) from error


def _check_header(header: dict[str, Any], path: str | os.PathLike[str]) -> dict[str, Any]:
    if header["kind"] != KIND:
        msg = f"{path} must hold a calibrator. Got a {header['kind']}. Load it with what wrote it."
        raise FileError(msg)
    if header["version"] != VERSION:
        msg = f"{path} must be of version {VERSION}. Got version {header['version']}. Update tailwise to read it."
        raise FileError(msg)
    return header


def _check_parts(header: dict[str, Any], arrays: dict[str, NDArray]) -> Parts:
    parameters, n_labels = header["parameters"], header["n_labels"]
    label_bins = arrays.get("label_bins")
    edges = np.cumsum(arrays["sizes"])[:-1]
    pairs = zip(np.split(arrays["first"], edges), np.split(arrays["second"], edges), strict=True)
    if parameters["method"] == "isotonic":
        curves: tuple[CalibrationCurve, ...] = tuple(PiecewiseLinear(*pair) for pair in pairs)
    else:
        curves = tuple(Logistic(float(slope[0]), float(offset[0])) for slope, offset in pairs)
    is_whole = arrays["sizes"].sum() == arrays["first"].size == arrays["second"].size
    if label_bins is not None:
        is_whole &= label_bins.shape == (n_labels,) and label_bins.min() >= 0 and label_bins.max() < len(curves)
    if not is_whole:
        msg = "its arrays do not fit together"
        raise ValueError(msg)
    return {**parameters, "bins": tuple(parameters["bins"])}, n_labels, curves, label_bins
