"""Opening a file to read, compressed or not, so that every failure to read it is a FileError with a reason.

Only the reading is looked at: what breaks in whoever uses the bytes is no fault of the file.
"""

from __future__ import annotations

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from tailwise.datasets.formats.writing import check_name
from tailwise.errors import FileError

__all__ = ["is_compressed", "opened", "opened_text", "without_gz"]

BUFFER = 1 << 17


def without_gz(path: str | os.PathLike[str]) -> str:
    """The name in lower case, without .gz at its end."""
    return os.fspath(path).lower().removesuffix(".gz")


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Whether a name ends in .gz."""
    return os.fspath(path).lower().endswith(".gz")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked on the way where its name ends in .gz."""
    with _open(path) as raw:
        source = gzip.GzipFile(fileobj=raw, mode="rb") if is_compressed(path) else raw
        with io.BufferedReader(_Reading(source, path), BUFFER) as file:
            yield _without_mark(file)


@contextmanager
def opened_text(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The same for text, whose lines end with LF, CR or both: here they all end with LF."""
    with opened(path) as file, io.BufferedReader(_LineEnds(file), BUFFER) as text:
        yield cast(BinaryIO, text)


class _Reading(io.RawIOBase):
    """Passes on what it reads, and says what is wrong where that fails."""

    def __init__(self, source: io.BufferedIOBase, path: str | os.PathLike[str]) -> None:
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
            msg = f"{self._path} must be a whole .gz file. It was cut short. Copy or download it again."
            raise FileError(msg) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            remedy = "Copy it again, or drop .gz from its name."
            msg = f"{self._path} must be a valid .gz file. Unpacking it failed: {error}. {remedy}"
            raise FileError(msg) from error
        except OSError as error:
            reason = error.strerror or error
            msg = f"{self._path} could not be read: {reason}. Copy the file to another place and try again."
            raise FileError(msg) from error


class _LineEnds(io.RawIOBase):
    """Text with every line end, CR, LF or both, as LF."""

    def __init__(self, source: BinaryIO) -> None:
        self._source, self._is_after_return = source, False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        text = b""
        while not text:  # a line end may be all that there is, and belong to the one before
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
    """The file behind the mark that some programs put before text in UTF-8."""
    if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return file


def _open(path: str | os.PathLike[str]) -> io.BufferedReader:
    check_name(path)
    try:
        return open(path, "rb")
    except (FileNotFoundError, NotADirectoryError) as error:
        msg = f"path must name a file that exists. Got {path}. Check the spelling and the folder."
        raise FileError(msg) from error
    except IsADirectoryError as error:
        msg = f"path must name a file. Got the directory {path}. Give the name of a file in it."
        raise FileError(msg) from error
    except OSError as error:
        msg = f"path must name a file that may be read. Got {path}: {error.strerror}. Check its name and permissions."
        raise FileError(msg) from error
