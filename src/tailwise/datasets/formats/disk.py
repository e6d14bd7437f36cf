"""Reading files with clear errors, and writing them atomically.

Only failures of the disk and of decompression become FileErrors here; an error in the code that uses the bytes is not
the file's fault. Files are written to a draft next to the target, which then replaces the target in one step.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, cast

from tailwise.datasets.formats.disk_failures import file_error, find_remedy
from tailwise.datasets.formats.drafts import drafted
from tailwise.errors import FileError, InputError, MachineError, extra_needed

__all__ = [
    "check_name",
    "check_place",
    "digest_of",
    "file_errors_of",
    "input_errors_of",
    "is_compressed",
    "opened",
    "opened_text",
    "parse_json",
    "real",
    "without_packing",
    "written_beside",
    "written_text",
]

BUFFER = 1 << 17
PIECE = 1 << 20
MOST_LISTED = 10_000  # names among which similar ones are looked for
SIMILAR = 0.8  # less would suggest one half of a pair of files for the other

AnyPath = str | os.PathLike[str]

# Names


def check_name(path: AnyPath) -> None:
    """Refuse what cannot be a file name; `open` would take a number for the descriptor of an open file."""
    if not isinstance(path, (str, os.PathLike)):
        msg = f"path must be a str or a PathLike, the name of a file. Got {path!r:.80}."
        raise InputError(msg)
    if "\0" in os.fsdecode(path):
        msg = f"path must not contain the NUL character. Got {os.fsdecode(path)!r}. Remove it."
        raise FileError(msg)


def real(path: AnyPath) -> Path:
    """Resolve links, so that replacing the file or folder leaves the link in place."""
    check_name(path)
    return Path(os.path.realpath(path))


def without_packing(path: AnyPath) -> str:
    """Return the name in lower case without a final .gz or .zst."""
    return os.fspath(path).lower().removesuffix(".gz").removesuffix(".zst")


def is_compressed(path: AnyPath) -> bool:
    """Whether a name ends in .gz or .zst."""
    return os.fspath(path).lower().endswith((".gz", ".zst"))


def _is_zstd(path: AnyPath) -> bool:
    return os.fspath(path).lower().endswith(".zst")


def _import_zstandard() -> Any:
    with extra_needed("Files that end in .zst need zstandard", "'tailwise[zstd]'"):
        import zstandard
    return zstandard


# Reading


@contextmanager
def opened(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, decompressed if its name ends in .gz or .zst."""
    with _open(path) as raw:
        source = _unpacked(raw, path) if is_compressed(path) else raw
        with io.BufferedReader(_Reading(source, path), BUFFER) as file:
            yield _without_mark(file)


def _unpacked(raw: Any, path: AnyPath) -> Any:
    if _is_zstd(path):
        return _import_zstandard().ZstdDecompressor().stream_reader(raw, read_across_frames=True)
    return gzip.GzipFile(fileobj=raw, mode="rb")


@contextmanager
def opened_text(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a text file for reading bytes, with every line end (LF, CR or both) converted to LF."""
    with opened(path) as file, io.BufferedReader(_LineEnds(file), BUFFER) as text:
        yield cast(BinaryIO, text)


class _Reading(io.RawIOBase):
    """Passes data through; failures become FileErrors."""

    def __init__(self, source: io.BufferedIOBase, path: AnyPath) -> None:
        self._source, self._path = source, path
        self.name = path

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        return self._read(lambda: self._source.readinto(buffer))

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._read(lambda: self._source.seek(offset, whence))

    def tell(self) -> int:
        return self._source.tell()

    def _read(self, read: Callable[[], int]) -> int:
        try:
            return read()
        except EOFError as error:
            msg = f"{self._path} must be a complete .gz file. It is truncated. Copy or download it again."
            raise FileError(msg) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            remedy = "Copy it again, or remove .gz from its name."
            msg = f"{self._path} must be a valid .gz file. Unpacking it failed: {error}. {remedy}"
            raise FileError(msg) from error
        except OSError as error:
            reason = error.strerror or error
            msg = f"{self._path} could not be read: {reason}. Copy the file to another disk and try again."
            raise file_error(msg, error) from error
        except Exception as error:
            if not _is_zstd(self._path) or type(error).__name__ != "ZstdError":
                raise
            msg = f"{self._path} must be a valid .zst file. Unpacking it failed: {error}. Copy it again."
            raise FileError(msg) from error


class _LineEnds(io.RawIOBase):
    """Text with every line end (LF, CR or both) converted to LF."""

    def __init__(self, source: BinaryIO) -> None:
        self._source, self._is_after_return = source, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        text = b""
        while not text:  # a block may consist of the LF of a CR LF only
            came = self._source.read(len(buffer))
            if not came:
                return 0
            text = came[1:] if self._is_after_return and came.startswith(b"\n") else came
            self._is_after_return = came.endswith(b"\r")
        if b"\r" in text:
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        buffer[: len(text)] = text
        return len(text)


def _without_mark(file: Any) -> BinaryIO:
    """Skip the byte order mark that some programs put before UTF-8 text."""
    if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return file


def _open(path: AnyPath) -> io.BufferedReader:
    check_name(path)
    try:
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        msg = f"{path} does not exist. {_find_similar(os.fsdecode(path))}"
        raise FileError(msg) from error
    except IsADirectoryError as error:
        msg = f"path must name a file. Got the directory {path}. Give the name of a file in it."
        raise FileError(msg) from error
    except OSError as error:
        msg = f"path must name a readable file. Got {path}: {error.strerror}. Check its name and permissions."
        raise file_error(msg, error) from error


def _find_similar(path: str) -> str:
    """Suggest a file beside a missing one: of a similar name, apart from the suffix."""
    folder, name = os.path.split(path)
    with suppress(OSError):
        by_stem = {each.partition(".")[0]: each for each in sorted(os.listdir(folder or "."))[:MOST_LISTED]}
        near = get_close_matches(name.partition(".")[0], by_stem, n=1, cutoff=SIMILAR)
        if near:
            return f"Did you mean {os.path.join(folder, by_stem[near[0]])}?"
    return "Check the spelling and the folder."


@contextmanager
def input_errors_of(path: AnyPath | None = None) -> Iterator[None]:
    """Convert InputErrors about values from a file to FileErrors; the path is prepended to the message."""
    try:
        yield
    except InputError as error:
        msg = str(error) if path is None else f"{path}: {error}"
        raise FileError(msg) from error


def parse_json(text: str | bytes, **options: Any) -> Any:
    """Parse JSON; raise ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(text, **options)
    except RecursionError as error:
        msg = "it is nested too deeply"
        raise ValueError(msg) from error


def digest_of(path: AnyPath, kind: str = "sha256") -> str:
    """Return the checksum of a file in hexadecimal."""
    check_name(path)
    digest = hashlib.new(kind, usedforsecurity=False)
    try:
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                digest.update(piece)
    except OSError as error:
        msg = f"{path} must be a readable file. Reading it failed: {error.strerror}. Check its permissions."
        raise file_error(msg, error) from error
    return digest.hexdigest()


# Writing


def check_place(path: AnyPath) -> None:
    """Refuse a path to which no file can be written: not a file, or in a missing or read-only folder."""
    target = real(path)
    if os.path.exists(target) and not os.path.isfile(target):
        came = "a directory" if target.is_dir() else "not a regular file"
        msg = f"path must name a file. Got {path}, which is {came}. Give the name of a file."
        raise FileError(msg)
    if not os.path.isdir(target.parent):
        msg = (
            f"path must lie in a folder that exists. Got {path}, but {target.parent} is not a folder. Create it first."
        )
        raise FileError(msg)
    if not os.access(target.parent, os.W_OK | os.X_OK):
        msg = f"path must lie in a writable folder. Got {path}: permission denied. Choose another folder."
        raise MachineError(msg)


@contextmanager
def written_beside(path: AnyPath) -> Iterator[BinaryIO]:
    """Open a draft in the target's folder; move it into place at the end, or remove it after a failure."""
    check_place(path)
    target = real(path)
    with file_errors_of(path), drafted(target.parent) as draft:
        with open(draft / "file", "xb") as file:
            yield file
        os.replace(draft / "file", target)


@contextmanager
def written_text(path: AnyPath) -> Iterator[BinaryIO]:
    """Like `written_beside`, compressed if the name ends in .gz or .zst; equal text gives equal bytes."""
    with written_beside(path) as file:
        if _is_zstd(path):
            packed = _import_zstandard().ZstdCompressor().stream_writer(file, closefd=False)
            with packed, io.BufferedWriter(packed, BUFFER) as text:
                yield cast(BinaryIO, text)
        elif is_compressed(path):
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                yield cast(BinaryIO, packed)
        else:
            yield file


@contextmanager
def file_errors_of(path: AnyPath) -> Iterator[None]:
    """Convert OSErrors while writing to FileErrors."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        msg = f"{path} could not be written: {error.strerror or error}. {find_remedy(error, path)}"
        raise file_error(msg, error) from error
