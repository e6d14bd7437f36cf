"""Candidates and tables on their way to a file, with their ids."""

from __future__ import annotations

import os
from typing import Any

from tailwise.datasets.formats.registry import NAMES, find_format_to_write
from tailwise.errors import InputError
from tailwise.inputs.candidates import Candidates
from tailwise.inputs.id_tables import read_table

__all__ = ["take_ids"]


def take_ids(
    path: str | os.PathLike[str], given: Any, label_names: Any, instance_names: Any, format: str | None
) -> tuple[Any, Any, Any]:
    """Return the matrix, label names and instance ids to write: those given, otherwise those of candidates or a table.

    A format that cannot hold the ids is refused.
    """
    if isinstance(given, Candidates):
        matrix, names, ids = given.to_csr(), given.label_names, given.instance_ids
    else:
        found = read_table(given, name="matrix", needs_values=False)
        matrix, names, ids = found.matrix, found.label_names, found.instance_ids
    names, ids = names if label_names is None else None, ids if instance_names is None else None
    file_format = find_format_to_write(path, frozenset(), format)
    if (names is not None and NAMES not in file_format.holds) or (ids is not None and not file_format.names_instances):
        msg = (
            f"{path} must have a format that holds ids. {file_format.title} does not. Use .parquet or .jsonl, or write "
            "the numbers alone: tailwise.save(path, tailwise.Candidates.of(...).to_csr())."
        )
        raise InputError(msg)
    return matrix, label_names if names is None else names, instance_names if ids is None else ids
