"""The arrays of a store: plain .npy files that are written piece by piece, mapped, and checked by checksums."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailwise.datasets.formats.disk_failures import file_error
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ArrayWriter", "check_sums", "count_pieces", "map_array", "pack_texts", "unpack_texts"]

HEADER = 128  # bytes before the numbers; a number of entries of any length fits
PIECE = 1 << 26  # bytes that have one checksum
MAGIC = b"\x93NUMPY\x01\x00"
AGAIN = "Make the store again with tailwise convert."


class ArrayWriter:
    """Writes a one-dimensional array whose length is known only at the end."""

    def __init__(self, path: Path, dtype: Any) -> None:
        self._file = open(path, "wb")  # noqa: SIM115 - closed by `close` or `abandon`
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._sums, self._sum, self._filled = list[int](), 0, 0
        self.size = 0
        self._file.write(bytes(HEADER))

    def append(self, values: NDArray) -> None:
        """Add numbers at the end."""
        data = np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8).data
        self._file.write(data)
        self.size += len(values)
        while len(data):
            part = data[: PIECE - self._filled]
            self._sum, self._filled = zlib.crc32(part, self._sum), self._filled + len(part)
            data = data[len(part) :]
            if self._filled == PIECE:
                self._end_piece()

    def close(self) -> dict[str, Any]:
        """Finish the file, and return what the header of the store says about it."""
        if self._filled:
            self._end_piece()
        words = {"descr": self._dtype.str, "fortran_order": False, "shape": (self.size,)}
        text = repr(words).encode()
        room = HEADER - len(MAGIC) - 2
        self._file.seek(0)
        self._file.write(MAGIC + room.to_bytes(2, "little") + text.ljust(room - 1) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return {"dtype": self._dtype.str, "size": self.size, "crc32": self._sums}

    def abandon(self) -> None:
        """Close the file as it is, after a failure."""
        self._file.close()

    def _end_piece(self) -> None:
        self._sums.append(self._sum)
        self._sum, self._filled = 0, 0


def count_pieces(n_bytes: int) -> int:
    """How many checksums an array of this size has."""
    return -(-n_bytes // PIECE)


def map_array(path: Path, known: dict[str, Any]) -> NDArray:
    """Map an array that the header of a store describes; nothing of it is read yet."""
    try:
        if not known["size"]:
            return np.load(path, allow_pickle=False)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError as error:
        msg = f"{path} must exist: the header of the store lists it. It is missing. {AGAIN}"
        raise FileError(msg) from error
    except OSError as error:
        msg = f"{path} could not be read: {error.strerror or error}. Check its permissions."
        raise file_error(msg, error) from error
    except (ValueError, EOFError) as error:  # no header, or fewer bytes than it promises
        msg = f"{path} must be a whole .npy file. It is damaged or was cut short: {error}. {AGAIN}"
        raise FileError(msg) from error
    if array.shape != (known["size"],) or array.dtype.str != known["dtype"]:
        msg = (
            f"{path} must hold {known['size']:,} numbers of type {known['dtype']}, as the header of the store says. "
            f"Got {array.size:,} of type {array.dtype.str}. {AGAIN}"
        )
        raise FileError(msg)
    return array


def check_sums(arrays: Iterable[tuple[Path, NDArray, list[int]]]) -> None:
    """Compare mapped arrays with their checksums, on two threads; reading a file once is what it costs."""
    pieces = [(path, array, number, wanted) for path, array, sums in arrays for number, wanted in enumerate(sums)]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda piece: _sum_piece(piece[1], piece[2]), pieces)
        for (path, _, number, wanted), came in zip(pieces, found, strict=True):
            if came != wanted:
                msg = (
                    f"{path} must have the checksums in the header of the store. Those of the bytes from "
                    f"{number * PIECE:,} on differ: the file was changed or is damaged. {AGAIN}"
                )
                raise FileError(msg)


def _sum_piece(array: NDArray, number: int) -> int:
    step = PIECE // array.itemsize
    return zlib.crc32(array[number * step : (number + 1) * step].view(np.uint8).data)


def pack_texts(texts: Iterable[str]) -> tuple[NDArray, NDArray]:
    """The bytes of texts one after another, and the length of each."""
    coded = [text.encode() for text in texts]
    return np.frombuffer(b"".join(coded), np.uint8), np.fromiter(map(len, coded), np.int64, len(coded))


def unpack_texts(data: NDArray, lengths: NDArray) -> list[str]:
    """The inverse."""
    text, ends = data.tobytes(), np.cumsum(lengths).tolist()
    return [text[first:last].decode() for first, last in zip([0, *ends], ends, strict=False)]
