"""Files of matrices, labels and selections; the catalogue of benchmarks; synthetic data with a long tail.

Public names are imported on first use: modules of this folder and of ``tailwise.inputs`` import each other, and
commands that need none of them start faster.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tailwise.datasets.catalogue.benchmarks import CATALOGUE, DataSet, find_data_set
    from tailwise.datasets.catalogue.data_folder import DataFolder, open_folder
    from tailwise.datasets.catalogue.fetch import get_data, write_synthetic
    from tailwise.datasets.catalogue.filters import load_filter
    from tailwise.datasets.formats.contents import Contents
    from tailwise.datasets.formats.converting import convert
    from tailwise.datasets.formats.prior_files import load_priors, save_priors
    from tailwise.datasets.formats.read_write import (
        load,
        load_contents,
        load_features,
        load_labels,
        read_blocks,
        save,
    )
    from tailwise.datasets.formats.selection_files import check_writable_target, load_selection, save_selection
    from tailwise.datasets.synthetic.long_tail import LongTail, make_long_tail
    from tailwise.datasets.synthetic.shapes import SyntheticData, make_like
    from tailwise.datasets.synthetic.zipf import zipf_candidates
    from tailwise.inputs.ids import Ids
    from tailwise.inputs.label_names import LabelNames, find_label_names, load_label_names, save_label_names
    from tailwise.inputs.paths import load_all_labels, load_like, names_for

__all__ = [
    "CATALOGUE",
    "Contents",
    "DataFolder",
    "DataSet",
    "Ids",
    "LabelNames",
    "LongTail",
    "SyntheticData",
    "check_writable_target",
    "convert",
    "find_data_set",
    "find_label_names",
    "get_data",
    "load",
    "load_all_labels",
    "load_contents",
    "load_features",
    "load_filter",
    "load_label_names",
    "load_labels",
    "load_like",
    "load_priors",
    "load_selection",
    "make_like",
    "make_long_tail",
    "names_for",
    "open_folder",
    "read_blocks",
    "save",
    "save_label_names",
    "save_priors",
    "save_selection",
    "write_synthetic",
    "zipf_candidates",
]

_HOMES = {
    "datasets.catalogue.benchmarks": ("CATALOGUE", "DataSet", "find_data_set"),
    "datasets.catalogue.data_folder": ("DataFolder", "open_folder"),
    "datasets.catalogue.fetch": ("get_data", "write_synthetic"),
    "datasets.catalogue.filters": ("load_filter",),
    "datasets.formats.contents": ("Contents",),
    "datasets.formats.converting": ("convert",),
    "datasets.formats.prior_files": ("load_priors", "save_priors"),
    "datasets.formats.read_write": ("load", "load_contents", "load_features", "load_labels", "read_blocks", "save"),
    "datasets.formats.selection_files": ("check_writable_target", "load_selection", "save_selection"),
    "datasets.synthetic.long_tail": ("LongTail", "make_long_tail"),
    "datasets.synthetic.shapes": ("SyntheticData", "make_like"),
    "datasets.synthetic.zipf": ("zipf_candidates",),
    "inputs.ids": ("Ids",),
    "inputs.label_names": ("LabelNames", "find_label_names", "load_label_names", "save_label_names"),
    "inputs.paths": ("load_all_labels", "load_like", "names_for"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            value = globals()[name] = getattr(import_module(f"tailwise.{module}"), name)
            return value
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return __all__
