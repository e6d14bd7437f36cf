"""CSV and TSV with a header: a row per entry, in columns for the instance, the label, its probability and its rank.

pyarrow reads and writes such files if it is installed. Files that it cannot read are left to Python's csv module,
whose errors name the row and the column. A row without a label and a probability is an instance without labels.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import is_compressed, opened, opened_text, without_packing, written_text
from tailwise.datasets.formats.ordered_rows import refuse_empty
from tailwise.datasets.formats.table_entries import LongFile, Unreadable, find_columns
from tailwise.datasets.formats.table_rows import ROWS, list_rows
from tailwise.errors import FileError, InputError
from tailwise.inputs.table_columns import PARTS, USUAL
from tailwise.inputs.tags import LABEL_COLUMNS, split_names
from tailwise.inputs.value_numbers import text_buffers
from tailwise.kernels.text_numbers import parse_integers

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decode_line", "list_fields", "open_csv", "read_header", "write_csv", "write_csv_blocks"]

BLOCK = 1 << 23  # bytes that pyarrow converts at a time
INTEGER = "^(0|-?[1-9][0-9]{0,18})$"  # as Python writes it, so that ids such as 007 stay text
FIELD = 1 << 24  # characters of the longest field
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
USUAL_NAMES = frozenset(name for names in PARTS.values() for name in names)
DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")


def read_header(path: Any) -> tuple[list[str], str]:
    """Return the names of the columns, and the delimiter."""
    with opened_text(path) as file:
        line = decode_line(path, file.readline(FIELD)).rstrip("\n")
    mark = "\t" if without_packing(path).endswith(".tsv") else max(",;\t", key=line.count)
    names = next(list_fields(path, [line], mark), [])
    return [name.strip() for name in names], mark


def open_csv(path: Any, columns: Any = None) -> LongFile:
    """Open a file with a row per entry."""
    names, mark = read_header(path)
    header = mark.join(tuple(USUAL.values())[: max(2, len(names))])
    remedy = f"Add a line before it: {header!r}, for instance."
    if _is_entry(names, columns):
        _refuse_entry(path, mark.join(names), remedy)
    if not names:
        _refuse_nothing(path)
    columns = _with_label_column(names, columns)
    hint = f" If the first line is an entry, the file has no header. {remedy}"
    found, is_plain, messages = find_columns(path, names, columns, hint)

    if found["label"] in LABEL_COLUMNS and found.keys() <= {"instance", "label"}:
        return LongFile(path, found, is_plain, {}, lambda as_text: _read_lists(path, found, mark), None, messages)

    def read_batches(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        return _read_by_arrow(path, found, mark, names, as_text) if _has_arrow() else read_plainly(as_text)

    def read_plainly(as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
        return _read_plainly(path, found, mark, as_text)

    return LongFile(path, found, is_plain, {}, read_batches, read_plainly, messages)


def _with_label_column(names: list[str], columns: Any) -> Any:
    """Name the column of several labels that a file of documents has in place of one label in each row."""
    several = next((name for name in names if name in LABEL_COLUMNS), None)
    if columns is not None or several is None or any(name.lower() in PARTS["label"] for name in names):
        return columns
    return {"label": several}


def _read_lists(path: Any, columns: dict[str, str], mark: str) -> Iterator[dict[str, Any]]:
    """Read rows of a document and its labels, as entries with ids."""
    for parts in _read_plainly(path, columns, mark, frozenset(("instance", "label"))):
        is_empty = parts.get("is_empty", np.zeros(len(parts["instance"]), dtype=bool))
        fields = iter(parts["label"])
        lists = [[] if nothing else split_names(next(fields)) for nothing in is_empty.tolist()]
        rows = [(i, name) for i, names in zip(parts["instance"], lists, strict=True) for name in names or [""]]
        yield {
            "instance": [instance for instance, _ in rows],
            "label": [name for _, name in rows if name],
            "is_empty": np.array([not name for _, name in rows], dtype=bool),
        }


def _is_entry(names: list[str], columns: Any) -> bool:
    """Whether the first line looks like an entry: a column that is read is a number, and not that of its place."""
    given = columns.values() if isinstance(columns, Mapping) else columns
    if given is None:
        is_usual = not {name.lower() for name in names}.isdisjoint(USUAL_NAMES)
        given = () if is_usual else names
    return any(name in names and _is_number(name) and name != str(names.index(name)) for name in given)


def _refuse_entry(path: Any, line: str, remedy: str) -> NoReturn:
    msg = f"{path} must begin with a header, the names of its columns. Got {line!r:.80}, which looks like an entry. "
    raise FileError(msg + remedy)


def _refuse_nothing(path: Any) -> None:
    with opened_text(path) as file:
        if not file.read(1):
            refuse_empty(path)


def _has_arrow() -> bool:
    try:
        import pyarrow.csv  # noqa: F401
    except ImportError:
        return False
    return True


def _read_by_arrow(
    path: Any, columns: dict[str, str], mark: str, names: list[str], as_text: frozenset[str]
) -> Iterator[dict[str, Any]]:
    import pyarrow as arrow
    from pyarrow import csv as arrow_csv

    kinds = {"probability": arrow.float32(), "rank": arrow.float64()}
    types = {column: kinds.get(part, arrow.string()) for part, column in columns.items()}
    options = {
        "read_options": arrow_csv.ReadOptions(block_size=BLOCK, column_names=names, skip_rows=1),
        "parse_options": arrow_csv.ParseOptions(delimiter=mark),
        "convert_options": arrow_csv.ConvertOptions(
            column_types=types, include_columns=list(types), null_values=[""], strings_can_be_null=False
        ),
    }
    with opened(path) as packed:
        try:
            # If the file is not compressed, pyarrow reads the next block while this one is converted.
            for batch in arrow_csv.open_csv(packed if is_compressed(path) else os.fspath(path), **options):
                yield _parts_of(batch, columns, as_text)
        except (arrow.ArrowException, UnicodeDecodeError) as error:
            raise Unreadable(str(error).split("\n")[0]) from error


def _parts_of(batch: Any, columns: dict[str, str], as_text: frozenset[str]) -> dict[str, Any]:
    """Return the parts of a batch; ids become integers if all of them are."""
    parts: dict[str, Any] = {}
    is_empty = _are_empty(batch[columns["label"]])
    if is_empty.any():
        parts["is_empty"] = is_empty
    kept = batch.filter(~is_empty) if is_empty.any() else batch
    for part, column in columns.items():
        values = (batch if part == "instance" else kept)[column]
        if not _is_right(part, values) or (is_empty.any() and not _is_left_out(part, batch[column], is_empty)):
            msg = f"A value in the column {column} is missing or wrong"
            raise Unreadable(msg)
        parts[part] = _as_integers(values) if part in ("instance", "label") and part not in as_text else values
    return parts


def _is_right(part: str, values: Any) -> bool:
    """Whether numbers are finite, and no instance is left out."""
    if part in ("instance", "label"):
        return part == "label" or not _are_empty(values).any()
    return values.null_count == 0 and bool(np.isfinite(values.to_numpy(zero_copy_only=False)).all())


def _is_left_out(part: str, values: Any, is_empty: Any) -> bool:
    """Whether rows without a label have no numbers either."""
    import pyarrow as arrow

    return part in ("instance", "label") or values.filter(arrow.array(is_empty)).null_count == is_empty.sum()


def _are_empty(texts: Any) -> NDArray:
    return np.diff(text_buffers(texts)[0]) == 0


def _as_integers(texts: Any) -> Any:
    """Convert texts to integers, if all of them are."""
    import pyarrow as arrow

    integers = np.empty(len(texts), dtype=np.int64)
    return arrow.array(integers) if parse_integers(*text_buffers(texts), integers) == integers.size else texts


# Without pyarrow


def _read_plainly(path: Any, columns: dict[str, str], mark: str, as_text: frozenset[str]) -> Iterator[dict[str, Any]]:
    rows: list[dict[str, str]] = []
    for number, row in _list_records(path, mark):
        rows.append(_check_row(path, number, row, columns))
        if len(rows) == ROWS:
            yield _columns_of(rows, columns, as_text)
            rows = []
    yield _columns_of(rows, columns, as_text)


def _list_records(path: Any, mark: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows with the number of their last line."""
    csv.field_size_limit(FIELD)
    with opened_text(path) as file:
        reader = csv.reader((decode_line(path, line) for line in file), delimiter=mark, strict=True)
        try:
            names = [name.strip() for name in next(reader, [])]
            for row in reader:
                if row and len(row) != len(names):
                    _refuse(path, reader.line_num, f"{len(names)} fields ({mark.join(names)})", f"{len(row)} fields")
                if row:
                    yield reader.line_num, dict(zip(names, row, strict=True))
        except csv.Error as error:
            _refuse(path, reader.line_num, "valid CSV", str(error))


def list_fields(path: Any, lines: Iterable[str], mark: str) -> Iterator[list[str]]:
    """Yield the fields of each row; quotes that are wrong are text, as spreadsheets take them."""
    csv.field_size_limit(FIELD)
    reader = csv.reader(lines, delimiter=mark)
    try:
        yield from reader
    except csv.Error as error:  # a field that is too long; a zero byte, which Python 3.10 refuses
        _refuse(path, reader.line_num, "valid CSV", str(error))


def decode_line(path: Any, line: bytes) -> str:
    """Decode UTF-8; refuse invalid bytes."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        came = repr(line[max(0, error.start - 20) : error.start + 20].decode("latin-1"))
        guess, name = "If it has another encoding, Latin-1 for instance, convert it", "latin1"
        if line.startswith(UTF_16):
            came, guess, name = "UTF-16", "Convert it", "utf-16"
        target = f"utf8{os.path.splitext(without_packing(path))[1]}"
        msg = (
            f"{path} must be UTF-8 text. Got {came}, which is not. {guess}: iconv -f {name} -t utf-8 {path} > {target}"
        )
        raise FileError(msg) from error


def _check_row(path: Any, number: int, row: dict[str, str], columns: dict[str, str]) -> dict[str, str]:
    is_empty = row[columns["label"]] == "" and all(row[columns[part]] == "" for part in columns if part != "instance")
    for part, column in columns.items():
        value = row[column]
        if part in ("instance", "label"):
            if value == "" and (part == "instance" or not is_empty):
                _refuse(path, number, f"an id in the column {column}", "nothing")
        elif not is_empty and not _is_number(value):
            came = repr(value)
            if DECIMAL_COMMA.fullmatch(value):
                came += (
                    f", with a decimal comma. Write points in the whole column, {value.replace(',', '.')} for instance"
                )
            _refuse(path, number, f"a number in the column {column}", came)
    return row


def _is_number(text: str) -> bool:
    try:
        return "_" not in text and np.isfinite(float(text))
    except ValueError:
        return False


def _is_integer(text: str) -> bool:
    return re.match(INTEGER, text) is not None and -(2**63) <= int(text) < 2**63


def _columns_of(rows: list[dict[str, str]], columns: dict[str, str], as_text: frozenset[str]) -> dict[str, Any]:
    is_empty = np.array([row[columns["label"]] == "" for row in rows], dtype=bool)
    parts: dict[str, Any] = {"is_empty": is_empty} if is_empty.any() else {}
    kept = [row for row in rows if row[columns["label"]] != ""]
    for part, column in columns.items():
        values: Any = [row[column] for row in (rows if part == "instance" else kept)]
        if part == "probability":
            values = np.array(values, dtype=np.float32)
        elif part == "rank":
            values = np.array(values, dtype=np.float64)
        elif part not in as_text and all(map(_is_integer, values)):
            values = [int(value) for value in values]
        parts[part] = values
    return parts


def _refuse(path: Any, line: int, expected: str, came: str) -> NoReturn:
    msg = f"{path}, line {line}: expected {expected}. Got {came}. Fix the line, or write the file again."
    raise FileError(msg)


# Writing


def write_csv(path: Any, contents: Contents) -> None:
    """Write a row per entry, best first; an instance without labels has a row without a label."""
    write_csv_blocks(path, [contents])


def write_csv_blocks(path: Any, blocks: Iterable[Contents]) -> None:
    """Like `write_csv`, block by block."""
    mark = "\t" if without_packing(path).endswith(".tsv") else ","
    with written_text(path) as file:
        for number, rows in enumerate(list_rows(blocks)):
            _refuse_empty_ids(path, rows.records)
            records = [rows.names, *rows.records] if number == 0 else rows.records
            text = _as_text(records, mark, csv.QUOTE_MINIMAL)
            if "\r" in text:  # which is quoted only if all text is
                text = _as_text(records, mark, csv.QUOTE_NONNUMERIC)
            file.write(text.encode())


def _as_text(records: list[Any], mark: str, quoting: Any) -> str:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=mark, lineterminator="\n", quoting=quoting).writerows(records)
    return text.getvalue()


def _refuse_empty_ids(path: Any, records: list[Any]) -> None:
    odd = next((record for record in records if record[0] == "" or record[1] == ""), None)
    if odd is not None:
        part = "an instance" if odd[0] == "" else "a label"
        msg = f"{path} must have an id in every row. Got '' for {part}. Rename it, or use .jsonl."
        raise InputError(msg)
