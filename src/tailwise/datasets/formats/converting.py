"""From one format to another, block by block where both sides can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.file_sets import is_file_set
from tailwise.datasets.formats.read_write import load_contents, write_contents
from tailwise.datasets.formats.registry import Format, find_format, find_format_to_write
from tailwise.datasets.formats.table_entries import read_long_blocks
from tailwise.errors import FileError, MachineError
from tailwise.inputs.label_names import LabelNames

__all__ = ["convert"]


def convert(
    source: Any, target: Any, *, columns: Any = None, label_names: Any = None, format: str | None = None
) -> int:
    """Write what one file, or several as one, hold to a file of another format; return the number of instances.

    Parameters
    ----------
    source : path or list of paths
        What to read, in any form that :func:`tailwise.load` takes.
    target : path
        The file to write; its suffix determines the format. CSV, TSV and JSON lines are written block by block if the
        source can be read so: prediction text, JSON lines, and CSV and Parquet that are sorted by instance.
    columns, label_names : optional
        As for :func:`tailwise.load`.
    format : str, optional
        The format to write, if the suffix is ambiguous.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> import numpy as np, tailwise as tw
    >>> from tailwise.datasets import convert
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first, second = os.path.join(folder, "a.npz"), os.path.join(folder, "a.csv")
    ...     tw.save(first, np.eye(2))
    ...     convert(first, second)
    ...     print(Path(second).read_text(), end="")
    2
    instance,label,probability
    0,0,1.0
    1,1,1.0
    """
    writer, names = find_format_to_write(target, frozenset(), format), LabelNames.of(label_names)
    if names is None and writer.write_blocks is not None and not is_file_set(source):
        reader = find_format(source)
        if reader.blocks is not None and (columns is None or reader.open_long is not None):
            n_rows = _stream(source, target, reader, writer, columns)
            if n_rows is not None:
                return n_rows
    contents = load_contents(source, label_names=names, columns=columns)
    write_contents(target, contents, format)
    return contents.matrix.shape[0]


def _stream(source: Any, target: Any, reader: Format, writer: Format, columns: Any) -> int | None:
    """Convert block by block; None if that cannot be done, because the source is not sorted or not right."""
    assert reader.blocks is not None
    assert writer.write_blocks is not None
    n_rows = 0

    def counted() -> Iterator[Contents]:
        nonlocal n_rows
        long = reader.open_long
        for block in reader.blocks(source) if long is None else read_long_blocks(long(source, columns)):  # type: ignore[misc]
            n_rows += block.matrix.shape[0]
            yield replace(block, features=None)

    try:
        writer.write_blocks(target, counted())
    except MachineError:  # a full disk, for instance, which a second attempt would not fix
        raise
    except FileError:
        return None
    return n_rows or None
