"""What commands write: single files, and the folders of runs."""

from __future__ import annotations

import os
from pathlib import Path

from tailwise.datasets.formats.disk import parse_json
from tailwise.datasets.formats.output_files import reserved_file, reserved_files
from tailwise.datasets.formats.output_folders import FolderKind, claimed_folder
from tailwise.errors import FileError

__all__ = ["RECORD", "RUN", "check_not_input", "claimed_folder", "reserved_file", "reserved_files"]

RECORD, REPORT = "run.json", "report.html"
FILES = (
    *("model.tree", "calibrator.npz", "probabilities.npz", "selection.npz", "selection.tsv", "truth.npz"),
    *("priors.npz", "labels.txt", RECORD),
)


def check_not_input(output: str, *inputs: str | None) -> None:
    """Refuse to replace what a command reads."""
    for source in filter(None, inputs):
        if os.path.exists(output) and os.path.exists(source) and os.path.samefile(output, source):
            msg = f"The output must be another file than the input. Got {output} for both. Choose another name."
            raise FileError(msg)


def _list_files(folder: Path) -> list[str]:
    """What the run in a folder wrote, as its record lists it, and the report about it."""
    try:
        names = parse_json((folder / RECORD).read_text(encoding="utf-8")).get("files")
    except (OSError, ValueError, AttributeError):
        names = None
    known = [name for name in names if name in FILES] if isinstance(names, list) else [RECORD]
    return [*known, REPORT]


RUN = FolderKind(RECORD, "be the folder of an earlier run", _list_files)
