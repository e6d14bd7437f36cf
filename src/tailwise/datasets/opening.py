"""Opening a file to read, compressed or not, so that every failure is a FileError with a reason."""

from __future__ import annotations

import codecs
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from typing import BinaryIO, cast

from tailwise.errors import FileError

__all__ = ["is_compressed", "opened", "without_gz"]


def without_gz(path: str | os.PathLike[str]) -> str:
    """The name in lower case, without .gz at its end."""
    return os.fspath(path).lower().removesuffix(".gz")


def is_compressed(path: str | os.PathLike[str]) -> bool:
    """Whether a name ends in .gz."""
    return os.fspath(path).lower().endswith(".gz")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked on the way where its name ends in .gz."""
    try:
        with _open(path) as raw:
            if is_compressed(path):
                with gzip.open(raw) as unpacked:
                    yield _without_mark(cast(BufferedReader, unpacked))
            else:
                yield _without_mark(raw)
    except FileError:
        raise
    except EOFError as error:
        msg = f"{path} must be a whole .gz file. It was cut short. Copy or download it again."
        raise FileError(msg) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        msg = (
            f"{path} must be a valid .gz file. Unpacking it failed: {error}. Copy it again, or drop .gz from its name."
        )
        raise FileError(msg) from error
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror or error}. Copy the file to another place and try again."
        raise FileError(msg) from error


def _without_mark(file: BufferedReader) -> BinaryIO:
    """The file behind the mark that some programs put before text in UTF-8."""
    if file.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
        file.read(len(codecs.BOM_UTF8))
    return file


def _open(path: str | os.PathLike[str]) -> BufferedReader:
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
