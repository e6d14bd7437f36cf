"""What commands write: single files, and the folders of runs."""

from __future__ import annotations

from tailwise.datasets.output_files import reserved_file
from tailwise.datasets.output_folders import FolderKind, claimed_folder

__all__ = ["RECORD", "RUN", "claimed_folder", "reserved_file"]

RECORD = "run.json"
FILES = (
    *("model.tree", "calibrator.npz", "probabilities.npz", "selection.npz", "selection.tsv", "truth.npz"),
    *("priors.npz", "labels.txt", "report.html", RECORD),
)
RUN = FolderKind(RECORD, "be the folder of an earlier run", lambda folder: FILES)
