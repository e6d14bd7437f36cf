"""Shared parts of the text formats: parsing blocks of lines with compiled code, and writing matrices as lines."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import scipy.sparse as sp

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.disk import is_compressed
from tailwise.datasets.formats.ordered_rows import refuse_line
from tailwise.engines.engine import Threads
from tailwise.inputs.matrices import build_csr
from tailwise.kernels.parsing import ERRORS, HARD, LineRules, ParsedLines, count_marks, parse_lines

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "COMMAS",
    "EXCERPT",
    "LARGEST",
    "SPACES",
    "TextRows",
    "join_lines",
    "label_words",
    "labelled_contents",
    "pair_words",
    "parse_blocks",
]

BLOCK = 1 << 24  # bytes read at a time
SHARED = 1 << 20  # for fewer bytes, threads cost more than they save
EXCERPT = 40  # characters of an invalid line shown in an error
ROWS = 10_000  # lines written at a time
LARGEST = float(np.finfo(np.float32).max)  # numbers in text become single precision
SPACES = "pairs number:value separated by spaces, not commas"
COMMAS = re.compile(rb":[-+.0-9eE]+,")  # a value and a comma, with which other programs separate pairs
WORD = re.compile(rb"[^\s#]+")


class TextRows(NamedTuple):
    """Rows of a file: the numbers of labels and pairs of each row, and all labels and pairs in order."""

    label_counts: NDArray
    labels: NDArray
    pair_counts: NDArray
    columns: NDArray
    values: NDArray

    @classmethod
    def joined(cls, parts: Iterable[TextRows]) -> TextRows:
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def slice(self, first: int, last: int) -> TextRows:
        """Return the rows from first to last - 1."""
        sizes = self.label_counts, self.pair_counts
        (a, b), (c, d) = ((int(size[:first].sum()), int(size[:last].sum())) for size in sizes)
        counts = (size[first:last] for size in sizes)
        return TextRows(next(counts), self.labels[a:b], next(counts), self.columns[c:d], self.values[c:d])


def parse_blocks(file: BinaryIO, path: Any, rules: LineRules, first_line: int = 1) -> Iterator[TextRows]:
    """Parse the rest of an open file block by block; `first_line` is the number of its next line."""
    is_small = not is_compressed(path) and os.path.getsize(path) < SHARED
    with Threads(None, needs_one=is_small) as threads:
        for text in _line_blocks(file):
            yield _parse_block(text, path, rules, first_line, threads)
            first_line += text.count(b"\n")


def _line_blocks(file: BinaryIO) -> Iterator[bytes]:
    """Yield the text in blocks of whole lines."""
    rest = b""
    while block := file.read(BLOCK):
        whole, mark, rest_of_block = block.rpartition(b"\n")
        if mark:
            yield rest + whole + mark
            rest = rest_of_block
        else:
            rest += block
    if rest:
        yield rest + b"\n"


def _parse_block(text: bytes, path: Any, rules: LineRules, first_line: int, threads: Threads) -> TextRows:
    letters = np.frombuffer(text, dtype=np.uint8)
    edges = _edges_of_lines(text, threads.workers)
    parts: list[tuple[int, int, TextRows]] = [None] * threads.workers  # type: ignore[list-item]

    def parse(part: int, start: int, stop: int) -> None:
        parts[part] = _parse_part(letters, start, stop, rules)

    threads.share(edges, parse)
    for code, position, _ in parts:
        if code:
            expected = ERRORS[code].format(**rules._asdict())
            came = text[position : position + EXCERPT].split(b"\n")[0]
            has_commas = COMMAS.search(came.split(b" ")[0]) is not None
            rule = SPACES if has_commas else expected
            refuse_line(path, first_line + text.count(b"\n", 0, position), rule, came.decode(errors="replace"))
    rows = TextRows.joined(part for _, _, part in parts)
    _finish_hard_values(text, rows.values, path, first_line)
    return rows


def _edges_of_lines(text: bytes, n_parts: int) -> list[int]:
    edges = [0]
    for part in range(1, n_parts):
        edges.append(text.find(b"\n", max(edges[-1], len(text) * part // n_parts - 1)) + 1 or len(text))
    return [*edges, len(text)]


def _parse_part(letters: NDArray, start: int, stop: int, rules: LineRules) -> tuple[int, int, TextRows]:
    lines, commas, colons = count_marks(letters, start, stop)
    values = np.empty(colons)
    out = ParsedLines(
        np.empty(lines, dtype=np.int32),
        np.empty(lines + commas if rules.has_labels else 0, dtype=np.int32),
        np.empty(lines, dtype=np.int32),
        np.empty(colons, dtype=np.int32),
        values,
        values.view(np.uint64),
        np.zeros(3, dtype=np.int64),
    )
    code, position = parse_lines(letters, start, stop, rules, out)
    n, n_labels, n_pairs = out.totals
    rows = TextRows(out.label_counts[:n], out.labels[:n_labels], out.pair_counts[:n], out.columns[:n_pairs], values)
    return code, position, rows._replace(values=values[:n_pairs])


def _finish_hard_values(text: bytes, values: NDArray, path: Any, first_line: int) -> None:
    """Convert the few numbers that are too long or too large for the compiled parser."""
    bits = values.view(np.uint64)
    is_hard = bits >> np.uint64(48) == HARD
    starts = (bits[is_hard] & np.uint64((1 << 48) - 1)).tolist()
    words = [WORD.match(text, start)[0] for start in starts]  # type: ignore[index]
    values[is_hard] = numbers = np.array(list(map(float, words)))
    is_wrong = np.abs(numbers) > LARGEST
    if is_wrong.any():
        x = int(np.argmax(is_wrong))
        line = first_line + text.count(b"\n", 0, starts[x])
        refuse_line(path, line, f"a number of at most {LARGEST:.4g}", words[x][:EXCERPT].decode())


def labelled_contents(rows: TextRows, n_features: int, n_labels: int, *, is_open: bool = False) -> Contents:
    """Build contents from labels and features; repeated labels count once, values of repeated features add up."""
    labels = _matrix(rows.label_counts, rows.labels, np.ones(rows.labels.size, dtype=np.int8), n_labels)
    labels.data.fill(1)
    features = _matrix(rows.pair_counts, rows.columns, rows.values.astype(np.float32), n_features)
    return Contents(labels, features=features, is_open=is_open)


def _matrix(counts: NDArray, columns: NDArray, values: NDArray, width: int) -> sp.csr_array:
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    matrix = build_csr(values, columns, indptr, (counts.size, width))
    matrix.sum_duplicates()
    return matrix


# Writing, in blocks, so that a large matrix needs little additional memory


def join_lines(n: int, *fields: Iterator[str]) -> Iterator[bytes]:
    """Join the fields of each row to a line, and yield blocks of lines."""
    lines = []
    for i, words in enumerate(zip(*fields, strict=True)):
        lines.append(" ".join(words))
        if len(lines) == ROWS or i == n - 1:
            yield ("\n".join(lines) + "\n").encode()
            lines.clear()


def label_words(matrix: sp.csr_array) -> Iterator[str]:
    """Yield the labels of each row, separated by commas."""
    for i in range(matrix.shape[0]):
        yield ",".join(map(str, matrix.indices[matrix.indptr[i] : matrix.indptr[i + 1]].tolist()))


def pair_words(matrix: sp.csr_array, order: NDArray | None = None, names: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the pairs column:value of each row, in the given order and with names for columns if given.

    Values have as few digits as their type needs to be read back exactly.
    """
    for start in range(0, matrix.shape[0], ROWS):
        indptr = matrix.indptr[start : start + ROWS + 1]
        where = slice(indptr[0], indptr[-1]) if order is None else order[indptr[0] : indptr[-1]]
        columns = matrix.indices[where].tolist()
        values = _as_text(matrix.data[where])
        words = columns if names is None else [names[j] for j in columns]
        pairs = [f"{word}:{value}" for word, value in zip(words, values, strict=True)]
        offsets = (indptr - indptr[0]).tolist()
        for a, b in pairwise(offsets):
            yield " ".join(pairs[a:b])


def _as_text(values: NDArray) -> list[str]:
    if values.dtype.kind != "f":
        return [str(int(value)) for value in values.tolist()]
    return [text.removesuffix(".0") for text in values.astype(np.str_).tolist()]
