"""The file formats. To add one, write a module with a reader and a writer, and add an entry to FORMATS."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tailwise.datasets.formats.annif import (
    read_corpus,
    read_corpus_blocks,
    read_suggestions,
    starts_corpus,
    starts_suggestions,
)
from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.csv_tables import open_csv, write_csv, write_csv_blocks
from tailwise.datasets.formats.disk import is_compressed, opened_text, without_packing
from tailwise.datasets.formats.json_arrays import read_json, write_json
from tailwise.datasets.formats.jsonl import read_jsonl, read_jsonl_blocks, starts_jsonl, write_jsonl, write_jsonl_blocks
from tailwise.datasets.formats.npy import pair_to_write, read_npy, write_npy
from tailwise.datasets.formats.npz import read_npz, read_npz_blocks, write_npz, write_smat
from tailwise.datasets.formats.parquet import open_parquet, write_parquet
from tailwise.datasets.formats.prediction_text import (
    check_names,
    read_prediction_blocks,
    read_prediction_text,
    starts_prediction_text,
    write_prediction_text,
)
from tailwise.datasets.formats.records import open_json_lines, write_records, write_records_blocks
from tailwise.datasets.formats.repository_text import (
    read_repository_blocks,
    read_repository_text,
    read_split_blocks,
    read_split_text,
    starts_repository_text,
    starts_split_text,
    write_repository_text,
    write_split_text,
)
from tailwise.datasets.formats.store_files import SUFFIX, is_store, read_store, read_store_blocks, write_store
from tailwise.datasets.formats.svmlight import (
    read_svmlight,
    read_svmlight_blocks,
    starts_svmlight,
    write_svmlight,
)
from tailwise.datasets.formats.table_entries import LongFile, read_long, read_long_blocks
from tailwise.errors import FileError, InputError
from tailwise.inputs.checks import check_choice

__all__ = ["FORMATS", "NAMES", "Format", "find_format", "find_format_to_write"]

HEAD = 1 << 16  # bytes from which a text format is recognised
FEATURES, SCORES, RANKING, NAMES = "features", "scores", "ranking", "names"


@dataclass(frozen=True)
class Format:
    """A file format for matrices with names, features and rankings.

    Attributes
    ----------
    name, title : str
        Its name as a parameter, and in error messages.
    suffixes : tuple of str
        The suffixes of its files, in lower case, with the dot.
    read, write : callable
        Reads Contents from a path, and writes them to a path; equal Contents give equal bytes.
    holds : frozenset of str
        Which of "features", "scores" (values other than 1), "ranking" and "names" a file can hold.
    blocks : callable, optional
        Reads Contents in blocks of rows, for files larger than memory.
    recognises : callable, optional
        Whether the first bytes are in this format, for suffixes that several formats share.
    targets : callable
        The files that writing to a path creates.
    check_names : callable
        Refuses label names that a file cannot hold.
    names_instances : bool
        Whether a format that holds names also holds the ids of instances.
    is_ordered : bool
        Whether the order in which a file lists the labels of an instance is always read as a ranking.
    is_text : bool
        Whether files are text, which may be compressed (.gz, .zst) and holds finite numbers only.
    open_long : callable, optional
        Opens a file with a row per entry, in columns that the caller may name.
    write_blocks : callable, optional
        Writes Contents that come in blocks of rows.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    read: Callable[[Any], Contents]
    write: Callable[[Any, Contents], None] | None
    holds: frozenset[str] = frozenset({SCORES, RANKING})
    blocks: Callable[[Any], Iterator[Contents]] | None = None
    recognises: Callable[[bytes], bool] | None = None
    targets: Callable[[Any], tuple[Any, ...]] = lambda path: (path,)
    check_names: Callable[[Sequence[str]], None] = lambda names: None
    names_instances: bool = True
    is_ordered: bool = False
    is_text: bool = False
    open_long: Callable[[Any, Any], LongFile] | None = None
    write_blocks: Callable[[Any, Iterable[Contents]], None] | None = None


def _long(name: str, title: str, suffixes: tuple[str, ...], open_long: Any, write: Any, **more: Any) -> Format:
    """A format with a row per entry."""
    return Format(
        name,
        title,
        suffixes,
        lambda path: read_long(open_long(path, None)),
        write,
        frozenset({SCORES, RANKING, NAMES}),
        lambda path: read_long_blocks(open_long(path, None)),
        open_long=open_long,
        **more,
    )


FORMATS = [
    Format("smat", "PECOS matrix", (".smat.npz",), read_npz, write_smat, frozenset({SCORES})),
    Format("npz", "scipy sparse matrix", (".npz",), read_npz, write_npz, blocks=read_npz_blocks),
    Format(
        "npy",
        "LightXML pair or dense array",
        (".npy",),
        read_npy,
        write_npy,
        targets=pair_to_write,
        is_ordered=True,
    ),
    Format(
        "predictions",
        "prediction text label:score",
        (".txt",),
        read_prediction_text,
        write_prediction_text,
        frozenset({SCORES, RANKING, NAMES}),
        read_prediction_blocks,
        starts_prediction_text,
        check_names=check_names,
        names_instances=False,
        is_ordered=True,
        is_text=True,
    ),
    Format(
        "repository",
        "Extreme Classification Repository text",
        (".txt",),
        read_repository_text,
        write_repository_text,
        frozenset({FEATURES}),
        read_repository_blocks,
        starts_repository_text,
        is_text=True,
    ),
    Format(
        "split",
        "Extreme Classification Repository text, one matrix",
        (".txt",),
        read_split_text,
        write_split_text,
        frozenset({SCORES}),
        read_split_blocks,
        starts_split_text,
        is_text=True,
    ),
    Format(
        "svmlight",
        "svmlight text",
        (".svm", ".svmlight", ".libsvm", ".txt"),
        read_svmlight,
        write_svmlight,
        frozenset({FEATURES}),
        read_svmlight_blocks,
        starts_svmlight,
        is_text=True,
    ),
    Format(
        "jsonl",
        "JSON lines",
        (".jsonl",),
        read_jsonl,
        write_jsonl,
        frozenset({SCORES, RANKING, NAMES}),
        read_jsonl_blocks,
        starts_jsonl,
        is_ordered=True,
        write_blocks=write_jsonl_blocks,
        is_text=True,
    ),
    _long(
        "records",
        "JSON lines, a record per entry",
        (".jsonl",),
        open_json_lines,
        write_records,
        write_blocks=write_records_blocks,
        is_text=True,
        recognises=lambda head: True,
    ),
    Format(
        "json",
        "JSON array of records",
        (".json",),
        read_json,
        write_json,
        frozenset({SCORES, RANKING, NAMES}),
        is_text=True,
    ),
    Format(
        "annif-corpus",
        "Annif's corpus of short texts",
        (".tsv",),
        read_corpus,
        None,
        blocks=read_corpus_blocks,
        recognises=starts_corpus,
        is_text=True,
    ),
    Format(
        "annif",
        "Annif's suggestions for a document",
        (".annif", ".tsv"),
        read_suggestions,
        None,
        recognises=starts_suggestions,
        is_text=True,
    ),
    _long(
        "csv", "CSV with a row per entry", (".csv",), open_csv, write_csv, write_blocks=write_csv_blocks, is_text=True
    ),
    _long(
        "tsv",
        "TSV with a row per entry",
        (".tsv",),
        open_csv,
        write_csv,
        write_blocks=write_csv_blocks,
        is_text=True,
        recognises=lambda head: True,
    ),
    _long("parquet", "Parquet in long form", (".parquet",), open_parquet, write_parquet),
    Format(
        "store",
        "store, a folder of arrays",
        (SUFFIX,),
        read_store,
        write_store,
        frozenset({SCORES, NAMES}),
        read_store_blocks,
    ),
]


def find_format(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """Find the format of a file to read by name, by suffix or, if that is ambiguous, by its first bytes."""
    if is_store(path) and name in (None, "store"):
        return FORMATS[-1]
    with opened_text(path) as file:  # before anything else, the file must be readable
        formats = _formats_of(path, name)
        if len(formats) == 1:
            return formats[0]
        head = file.read(HEAD)
    if len(head) == HEAD:  # the last line may be incomplete
        head = head.rpartition(b"\n")[0] or head
    for each in formats:
        if each.recognises is not None and each.recognises(head):
            return each
    came = head[:40].split(b"\n")[0].decode(errors="replace")
    forms = "; ".join(each.title for each in formats)
    msg = f"{path}, line 1: expected one of the text formats ({forms}). Got {came!r}. Check how it was written."
    raise FileError(msg)


def find_format_to_write(path: str | os.PathLike[str], parts: frozenset[str], name: str | None = None) -> Format:
    """Find the first format for a path that can hold the given parts; label names are dropped if necessary."""
    formats = _formats_of(path, name, to_write=True)
    needed = parts - {NAMES}
    for each in formats:
        if needed <= each.holds and each.write and (FEATURES in needed or FEATURES not in each.holds):
            return each
    title, lacks = formats[0].title, ", ".join(sorted(needed - formats[0].holds)) or "labels without features"
    able = [
        each
        for each in FORMATS
        if needed <= each.holds and each.write and (FEATURES in needed or FEATURES not in each.holds)
    ]
    known = ", ".join(f"{each.suffixes[0]} ({each.title})" for each in able) or "separate files"
    msg = f"{path} must have a format that can hold what is saved. {title} cannot hold {lacks}. Use {known}."
    raise InputError(msg)


def _formats_of(path: str | os.PathLike[str], name: str | None, *, to_write: bool = False) -> list[Format]:
    if name is not None:
        check_choice("format", name, tuple(each.name for each in FORMATS))
        return [each for each in FORMATS if each.name == name]
    ending, is_packed = without_packing(path), is_compressed(path)
    able = [each for each in FORMATS if (each.is_text or not is_packed) and (each.write is not None or not to_write)]
    matches = [
        (max(map(len, fits)), each) for each in able if (fits := [s for s in each.suffixes if ending.endswith(s)])
    ]
    if not matches:
        titles = {each.suffixes[0]: each.title for each in reversed(able)}  # the first one of each suffix
        known = ", ".join(f"{suffix} ({titles[suffix]})" for suffix in dict.fromkeys(each.suffixes[0] for each in able))
        where = f" before {os.path.splitext(path)[1]}" if is_packed else ""
        remedy = "Choose one of these." if to_write else "Rename or convert the file; of a folder, give a pattern."
        msg = f"path must end in a known suffix{where}: {known}. Got {path}. {remedy}"
        raise FileError(msg)
    longest = max(length for length, _ in matches)
    return [each for length, each in matches if length == longest]
