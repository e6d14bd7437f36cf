"""Files in the place of matrices and selections."""

from __future__ import annotations

import os
from typing import Any

from tailwise.datasets import load, load_selection

__all__ = ["load_if_path", "load_selection_if_path"]


def load_if_path(source: Any) -> Any:
    """The matrix in a file where a path is given; anything else as it is."""
    return load(source) if isinstance(source, (str, os.PathLike)) else source


def load_selection_if_path(source: Any) -> Any:
    """The selection in a file where a path is given; anything else as it is."""
    return load_selection(source) if isinstance(source, (str, os.PathLike)) else source
