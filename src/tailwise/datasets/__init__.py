"""Matrices, labels and selections in files, and synthetic data with a long tail."""

from tailwise.datasets.files import (
    check_writable_target,
    load,
    load_labels,
    load_selection,
    save,
    save_selection,
)
from tailwise.datasets.long_tail import LongTail, make_long_tail
from tailwise.datasets.zipf import zipf_candidates

__all__ = [
    "LongTail",
    "check_writable_target",
    "load",
    "load_labels",
    "load_selection",
    "make_long_tail",
    "save",
    "save_selection",
    "zipf_candidates",
]
