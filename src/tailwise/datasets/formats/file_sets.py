"""A directory, a pattern or several files as one input, in the order of their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.annif import ONE_DOCUMENT, read_documents
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import without_packing
from tailwise.datasets.formats.registry import NAMES, Format, find_format
from tailwise.datasets.formats.store_files import is_store
from tailwise.datasets.formats.table_entries import joined, read_long, read_long_blocks
from tailwise.errors import FileError
from tailwise.inputs.ids import Ids
from tailwise.inputs.label_names import LabelNames
from tailwise.inputs.matrices import build_csr

__all__ = ["find_files", "is_file_set", "read_file_blocks", "read_files"]

SHOWN = 5


def is_file_set(path: Any) -> bool:
    """Whether a path stands for several files: a list, a directory, or a pattern that is not itself a file."""
    if isinstance(path, (list, tuple)):
        return True
    text = os.fspath(path)
    return (os.path.isdir(text) and not is_store(text)) or (not os.path.exists(text) and glob.has_magic(text))


def find_files(path: Any) -> list[str]:
    """List the files that a path stands for, in the order of their names, without hidden files and marker files."""
    if isinstance(path, (list, tuple)):
        return [file for each in path for file in (find_files(each) if is_file_set(each) else [os.fspath(each)])]
    text = os.fspath(path)
    found = glob.glob(os.path.join(glob.escape(text), "*")) if os.path.isdir(text) else glob.glob(text)
    files = sorted(each for each in found if os.path.isfile(each) and os.path.basename(each)[0] not in "._")
    if not files:
        msg = f"{text} must contain or match at least one file. It does not. Check the spelling and the folder."
        raise FileError(msg)
    return files


def read_files(path: Any, columns: Any = None, format: str | None = None) -> Contents:
    """Read several files as one."""
    files = _without_texts(path, find_files(path))
    if all(_kind(file) in ONE_DOCUMENT for file in files) or _is_key_folder(path, files):
        return read_documents(_call(path), files)
    formats = [find_format(file, format) for file in files]
    _check_kinds(path, files, formats)
    first = formats[0]
    if first.open_long is not None:
        return read_long(joined(_call(path), [first.open_long(file, columns) for file in files]))
    return _stack(path, files, [first.read(file).ranked(file) for file in files])


def read_file_blocks(path: Any, columns: Any = None) -> Iterator[Contents] | None:
    """Read several files as one, some instances at a time; None where that needs them all."""
    files = _without_texts(path, find_files(path))
    formats = [find_format(file) for file in files] if _kind(files[0]) not in ONE_DOCUMENT else []
    if not formats or len({each.name for each in formats}) > 1 or _is_key_folder(path, files):
        return None
    first = formats[0]
    if first.open_long is not None:
        return read_long_blocks(joined(_call(path), [first.open_long(file, columns) for file in files]))
    if first.blocks is None or NAMES in first.holds:  # labels have other names in each file
        return None
    return (block for file in files for block in first.blocks(file))


def _call(path: Any) -> str:
    return ", ".join(map(str, path)) if isinstance(path, (list, tuple)) else str(path)


def _kind(file: str) -> str:
    return os.path.splitext(without_packing(file))[1]


def _without_texts(path: Any, files: list[str]) -> list[str]:
    """Omit the texts from an Annif folder, in which other files hold the subjects."""
    kinds = {_kind(file) for file in files}
    subjects = kinds & {*ONE_DOCUMENT, ".tsv"}
    if isinstance(path, (list, tuple)) or kinds - subjects - {".txt"}:
        return files
    if not (".txt" in kinds and subjects) and not {*ONE_DOCUMENT} <= kinds:
        return files
    if len(subjects) > 1:
        msg = (
            f"{_call(path)} must hold one kind of subjects. It has {', '.join(sorted(subjects))}. Choose one: "
            f"{os.path.join(str(path), '*' + sorted(subjects)[0])}"
        )
        raise FileError(msg)
    return [file for file in files if _kind(file) in subjects]


def _is_key_folder(path: Any, files: list[str]) -> bool:
    """Whether subjects are in a .tsv next to the text of each document."""
    return all(_kind(file) == ".tsv" and os.path.exists(f"{os.path.splitext(file)[0]}.txt") for file in files)


def _check_kinds(path: Any, files: Sequence[str], formats: Sequence[Format]) -> None:
    kinds: dict[str, str] = {}
    for file, each in zip(files, formats, strict=True):
        kinds.setdefault(each.name, os.path.basename(file))
    if len(kinds) > 1:
        came = ", ".join(f"{name} ({file})" for name, file in list(kinds.items())[:SHOWN])
        msg = f"The files of {_call(path)} must be of one kind. Got {came}. Give a pattern, such as '*.parquet'."
        raise FileError(msg)


def _stack(path: Any, files: Sequence[str], parts: Sequence[Contents]) -> Contents:
    """Stack the instances of all files, one file after the other; labels are matched by name if they have names."""
    names = _join_names(path, files, parts)
    if names is not None:
        parts = [part.renumbered(names, file) for part, file in zip(parts, files, strict=True)]
    width = max(part.matrix.shape[1] for part in parts)
    matrices = [build_csr(m.data, m.indices, m.indptr, (m.shape[0], width)) for m in (part.matrix for part in parts)]
    matrix = sp.vstack(matrices, format="csr") if len(matrices) > 1 else matrices[0]
    has_ranks = all(part.ranks is not None for part in parts)
    has_ids = all(part.instance_names is not None for part in parts)
    if not has_ids and any(part.instance_names is not None for part in parts):
        msg = f"The files of {_call(path)} must all name or all number their instances. Some name them."
        raise FileError(msg)
    ids = Ids([name for part in parts for name in part.instance_names or ()]).check_unique() if has_ids else None
    return replace(
        parts[0],
        matrix=sp.csr_array(matrix),
        features=None,
        ranking=None,
        ranks=np.concatenate([part.ranks for part in parts if part.ranks is not None]) if has_ranks else None,
        label_names=names,
        instance_names=ids,
        is_open=any(part.is_open for part in parts),
    )


def _join_names(path: Any, files: Sequence[str], parts: Sequence[Contents]) -> LabelNames | None:
    named = [part.label_names for part in parts if part.label_names is not None]
    if not named:
        return None
    if len(named) < len(parts):
        msg = f"The files of {_call(path)} must all name or all number their labels. Some do one, some the other."
        raise FileError(msg)
    names = named[0]
    for each in named[1:]:
        names = names.extended(each)
    return names
