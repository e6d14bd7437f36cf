"""Vectors of texts on disk, by the encoder and the SHA-256 of each text.

A folder for each encoder holds files with some thousand vectors; each is written at once, and a damaged one counts as
missing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tailwise.datasets.formats.disk import check_name, file_errors_of
from tailwise.datasets.formats.saved_object import read_object, write_object
from tailwise.errors import FileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOG = logging.getLogger("tailwise.models")
KIND, VERSION = "tailwise embeddings", 1
RULE = "be a complete file of vectors"
REMEDY = "Delete it; its texts are then encoded again."


class EmbeddingCache:
    """The vectors of one encoder.

    Parameters
    ----------
    folder : path
        The folder of the cache, created if missing.
    identity : str
        What tells encoders and their settings apart.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: str) -> None:
        check_name(folder)
        self.folder = Path(folder) / hashlib.sha256(identity.encode()).hexdigest()[:16]
        with file_errors_of(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        self._vectors: list[NDArray] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        for path in sorted(self.folder.glob("*.npz")):
            self._read(path)

    def list_missing(self, texts: list[str]) -> list[str]:
        """List the texts without a vector, each once."""
        return [text for text in dict.fromkeys(texts) if _key(text) not in self._places]

    def add(self, texts: list[str], vectors: NDArray) -> None:
        """Keep the vectors of texts, in a file of their own."""
        keys = np.frombuffer(b"".join(map(_key, texts)), np.uint8).reshape(len(texts), -1)
        name = hashlib.sha256(keys.tobytes()).hexdigest()[:24]
        header = {"checksum": zlib.crc32(vectors.tobytes(), zlib.crc32(keys.tobytes()))}
        write_object(self.folder / f"{name}.npz", KIND, VERSION, header, {"keys": keys, "vectors": vectors})
        self._place(keys, vectors)

    def look_up(self, texts: list[str]) -> NDArray:
        """Return the vectors of texts that all have one."""
        places = [self._places[_key(text)] for text in texts]
        return np.stack([self._vectors[part][row] for part, row in places])

    def _read(self, path: Path) -> None:
        try:
            header, arrays = read_object(path, KIND, VERSION, RULE, REMEDY)
            keys, vectors = arrays["keys"], arrays["vectors"]
            is_whole = zlib.crc32(vectors.tobytes(), zlib.crc32(keys.tobytes())) == header["checksum"]
        except (FileError, KeyError):
            is_whole = False
        if is_whole:
            self._place(keys, vectors)
        else:
            LOG.warning("%s is damaged and not used; its texts are encoded again", path)

    def _place(self, keys: NDArray, vectors: NDArray) -> None:
        part = len(self._vectors)
        self._vectors.append(vectors)
        self._places |= {key.tobytes(): (part, row) for row, key in enumerate(keys)}


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()
