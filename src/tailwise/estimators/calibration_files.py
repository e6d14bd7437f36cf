"""A fitted calibrator as one .npz file: numbers and text only, with a version."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.writing import written_beside
from tailwise.errors import FileError
from tailwise.estimators.calibration_curves import CURVES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FITTED", "load_fitted", "save_fitted"]

KIND, VERSION = "tailwise calibrator", 1
FITTED = ("n_labels_", "curves_", "label_bins_", "label_counts_")
BY_LABEL = ("label_bins_", "label_counts_")


def save_fitted(path: str | os.PathLike[str], parameters: dict[str, Any], fitted: dict[str, Any]) -> None:
    """Write parameters and fitted attributes; equal calibrators give equal bytes."""
    curves = fitted["curves_"]
    bins = np.asarray(parameters["bins"], dtype=float).tolist()
    header = {
        "kind": KIND,
        "version": VERSION,
        "n_labels": fitted["n_labels_"],
        "curve": type(curves[0]).__name__,
        "n_curves": len(curves),
        "parameters": {**parameters, "bins": bins, "random_state": int(parameters["random_state"])},
    }
    arrays: dict[str, Any] = {"header": np.array(json.dumps(header, sort_keys=True))}
    arrays |= {name: fitted[name] for name in BY_LABEL if fitted[name] is not None}
    arrays |= {f"{part} {b}": value for b, curve in enumerate(curves) for part, value in curve._asdict().items()}
    with written_beside(path) as file:
        np.savez(file, **arrays)


def load_fitted(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read what :func:`save_fitted` wrote, and refuse anything else."""
    try:
        # Opened here, since numpy would leave a damaged file open.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
            header = _check_header(json.loads(str(archive["header"])), path)
            arrays = {name: archive[name] for name in archive.files if name != "header"}
        return _take_apart(header, arrays)
    except FileError:
        raise
    except FileNotFoundError as error:
        msg = f"path must name a file that exists. Got {path}. Check the spelling and the folder."
        raise FileError(msg) from error
    except Exception as error:  # foreign and damaged bytes break zipfile, numpy and json in more ways than can be named
        msg = (
            f"{path} must be a whole file that Calibrator.save (tailwise train --calibrator) wrote. "
            "Got another file, or a damaged one. Copy it again, or fit and save again."
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


def _take_apart(header: dict[str, Any], arrays: dict[str, NDArray]) -> tuple[dict[str, Any], dict[str, Any]]:
    parameters, n_labels, n_curves = header["parameters"], header["n_labels"], header["n_curves"]
    curve = CURVES[header["curve"]]
    curves = tuple(curve(*(_as_stored(arrays[f"{part} {b}"]) for part in curve._fields)) for b in range(n_curves))
    by_label = {name: arrays.get(name) for name in BY_LABEL}
    bins = by_label["label_bins_"]
    is_whole = all(each is None or each.shape == (n_labels,) for each in by_label.values())
    if not is_whole or (bins is not None and not (bins.min() >= 0 and bins.max() < n_curves)):
        msg = "its arrays do not fit together"
        raise ValueError(msg)
    fitted = {"n_labels_": n_labels, "curves_": curves, **by_label}
    return {**parameters, "bins": tuple(parameters["bins"])}, fitted


def _as_stored(array: NDArray) -> Any:
    return array.item() if array.ndim == 0 else array
