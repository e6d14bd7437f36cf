"""Conversion from one format to another, block by block if both formats support it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.file_sets import is_file_set, read_file_blocks
from tailwise.datasets.formats.output_folders import claimed_folder
from tailwise.datasets.formats.read_write import fit_contents, load_contents, write_contents
from tailwise.datasets.formats.registry import NAMES, RANKING, Format, find_format, find_format_to_write
from tailwise.datasets.formats.store_files import fill_store, store_folder
from tailwise.datasets.formats.table_entries import read_long_blocks
from tailwise.errors import FileError, InputError, MachineError, UnknownIdsWarning
from tailwise.inputs.label_names import LabelNames, find_label_names
from tailwise.progress import track

__all__ = ["check_by_label_option", "convert", "convert_to_store"]


def convert(
    source: Any,
    target: Any,
    *,
    columns: Any = None,
    label_names: Any = None,
    format: str | None = None,
    by_label: bool = False,
) -> int:
    """Convert one file, or several as one, to another format; return the number of instances.

    Parameters
    ----------
    source : path or list of paths
        What to read, in any form that :func:`tailwise.load` takes.
    target : path
        The file to write; its suffix determines the format. CSV, TSV, JSON lines and a store are written block by
        block if the source can be read so: text, JSON lines, .npz, and CSV and Parquet that are sorted by instance.
    columns, label_names : optional
        As for :func:`tailwise.load`. A file that numbers its labels and states how many there are takes their names
        from a ``labels.txt`` next to it that has a line for each.
    format : str, optional
        The format to write, if the suffix is ambiguous.
    by_label : bool
        Whether a store also holds its candidates by label (10 bytes each), so that label passes and certificates need
        no temporary file for them.

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
    if writer.name == "store":
        with claimed_folder(target, store_folder(), overwrite=True) as draft:
            return convert_to_store(source, draft, columns=columns, label_names=names, by_label=by_label)
    check_by_label_option(by_label=by_label, target=target)
    if names is None and writer.write_blocks is not None and not is_file_set(source):
        reader = find_format(source)
        if reader.blocks is not None and (columns is None or reader.open_long is not None):
            n_rows = _stream(source, target, reader, writer, columns)
            if n_rows is not None:
                return n_rows
    contents = load_contents(source, label_names=names, columns=columns)
    if RANKING in writer.holds:
        contents = contents.ranked(source)
    if not is_file_set(source):
        contents = _with_names_beside(contents, writer, partial(find_label_names, source))
    write_contents(target, contents, format)
    _warn_of_lost_ids(contents, target, writer)
    return contents.matrix.shape[0]


def check_by_label_option(*, by_label: bool, target: Any) -> None:
    """Refuse candidates by label in a file that is not a store."""
    if by_label:
        msg = f"by_label needs a store as output, NAME.store. Got {target}. Omit it."
        raise InputError(msg)


def convert_to_store(
    source: Any,
    folder: Path,
    *,
    columns: Any = None,
    label_names: LabelNames | None = None,
    by_label: bool = False,
    progress: bool = False,
) -> int:
    """Write a store to an empty folder, block by block if the source allows; return the number of instances.

    Files that are not sorted by instance, and formats without blocks, are read as a whole.
    """
    try:
        blocks = _list_blocks(source, columns)
        if blocks is not None:
            return _fill(source, folder, blocks, label_names, by_label=by_label, progress=progress)
    except MachineError:
        raise
    except FileError:  # it is not sorted, or it is invalid; reading it as a whole shows which
        for file in folder.iterdir():
            file.unlink()
    contents = load_contents(source, label_names=label_names, columns=columns)
    return _fill(source, folder, [contents], None, by_label=by_label, progress=progress)


def _list_blocks(source: Any, columns: Any) -> Iterator[Contents] | None:
    if is_file_set(source):
        return read_file_blocks(source, columns)
    reader = find_format(source)
    if columns is not None:
        return None if reader.open_long is None else read_long_blocks(reader.open_long(source, columns))
    return None if reader.blocks is None else reader.blocks(source)


def _fill(
    source: Any,
    folder: Path,
    blocks: Iterable[Contents],
    names: LabelNames | None,
    *,
    by_label: bool,
    progress: bool,
) -> int:
    with track(title="convert", unit="instances", shown=progress) as bar:

        def watched() -> Iterator[Contents]:
            for block in blocks:
                yield block if names is None else fit_contents(block, source, names)
                bar.update(block.matrix.shape[0])

        return fill_store(folder, watched(), source, by_label=by_label, progress=progress)


def _with_names_beside(contents: Contents, writer: Format, find_names: Callable[[int], LabelNames | None]) -> Contents:
    """Name the labels after a labels.txt next to the source, as select does, if the source has no names of its own."""
    if contents.label_names is not None or contents.is_open or NAMES not in writer.holds:
        return contents
    names = find_names(contents.matrix.shape[1])
    try:
        writer.check_names(() if names is None else names.texts)
    except InputError:  # nobody asked for these names, so numbers are enough
        return contents
    return replace(contents, label_names=names)


def _warn_of_lost_ids(contents: Contents, target: Any, writer: Format) -> None:
    """Warn of ids that a format cannot hold."""
    lost = []
    if contents.instance_names is not None and not (NAMES in writer.holds and writer.names_instances):
        lost.append(f"the ids of {len(contents.instance_names):,} instances")
    if contents.label_names is not None and NAMES not in writer.holds:
        lost.append(f"the names of {len(contents.label_names):,} labels")
    if lost:
        name = os.path.basename(target)  # the name of the draft, for the command
        msg = (
            f"{writer.title} cannot hold {' and '.join(lost)}: {name} numbers them from 0, in order. "
            "Use .csv, .jsonl or .parquet to keep them."
        )
        warnings.warn(msg, UnknownIdsWarning, stacklevel=3)


def _stream(source: Any, target: Any, reader: Format, writer: Format, columns: Any) -> int | None:
    """Convert block by block; None if that is impossible because the source is not sorted or not valid."""
    assert reader.blocks is not None
    assert writer.write_blocks is not None
    n_rows, find_names = 0, cache(partial(find_label_names, source))  # read once, not for each block

    def counted() -> Iterator[Contents]:
        nonlocal n_rows
        long = reader.open_long
        for block in reader.blocks(source) if long is None else read_long_blocks(long(source, columns)):  # type: ignore[misc]
            n_rows += block.matrix.shape[0]
            yield replace(_with_names_beside(block.ranked(source), writer, find_names), features=None)

    try:
        writer.write_blocks(target, counted())
    except MachineError:  # a full disk, for instance, which a second attempt would not fix
        raise
    except FileError:
        return None
    return n_rows or None
