"""Standard input and output in place of files: `-`."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tailwise.errors import FileError, InputError

STREAM = "-"
# Formats that can be recognised by the first bytes of a stream; other text formats need a file with a suffix.
PACKED = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
KINDS = {b"PK": ".npz", b"PAR1": ".parquet", b"[": ".json", b"{": ".jsonl"}

_FOLDERS: set[str] = set()  # of temporary files, in use


@contextmanager
def inputs_in_files(*sources: Any) -> Iterator[list[Any]]:
    """Replace `-` by a file with the content of standard input, whose suffix tells its format."""
    if STREAM not in sources:
        yield [*sources]
        return
    from tailwise.datasets.formats.output_files import errors_naming

    if sources.count(STREAM) > 1:
        msg = "- must be given once, because standard input can be read once. Give files for the other inputs."
        raise InputError(msg)
    with _temporary_folder() as folder:
        path = _spool(folder)
        with errors_naming("standard input", Path(path)):
            yield [path if source == STREAM else source for source in sources]


@contextmanager
def _temporary_folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tailwise-") as folder:
        _FOLDERS.add(folder)
        try:
            yield folder
        finally:
            _FOLDERS.discard(folder)


def remove_temporary_folders() -> None:
    """Remove the folders that are in use, for a process that ends without leaving its `with` blocks."""
    for folder in [*_FOLDERS]:
        shutil.rmtree(folder, ignore_errors=True)


def _spool(folder: str) -> str:
    path = os.path.join(folder, "standard-input")
    with open(path, "wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    if os.path.getsize(path) == 0:
        msg = "standard input must hold the file that - stands for. It is empty. Check the command before the pipe."
        raise FileError(msg)
    named = path + _guess_suffix(path)
    os.rename(path, named)
    return named


def _guess_suffix(path: str) -> str:
    import gzip

    with open(path, "rb") as file:
        head = file.read(1 << 16)
    packing = next((suffix for mark, suffix in PACKED.items() if head.startswith(mark)), "")
    if packing == ".gz":
        with gzip.open(path) as unpacked:
            head = unpacked.read(1 << 16)
    elif packing:
        return ".jsonl.zst"
    kind = next((suffix for mark, suffix in KINDS.items() if head.lstrip().startswith(mark)), None)
    line = head.split(b"\n")[0]
    return (kind or (".tsv" if b"\t" in line else ".csv" if b"," in line else ".txt")) + packing


@contextmanager
def output_in_file(output: str, kind: str = "csv") -> Iterator[str]:
    """Replace `-` by a file that is copied to standard output at the end."""
    if output != STREAM:
        yield output
        return
    with _temporary_folder() as folder:
        path = os.path.join(folder, f"standard-output.{kind}")
        yield path
        if os.path.exists(path):
            with open(path, "rb") as file:
                sys.stdout.flush()
                if not hasattr(sys.stdout, "buffer"):
                    raise OSError(errno.EBADF, "standard output is closed")
                shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
