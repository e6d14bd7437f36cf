"""Machine code on disk: Numba's cache, made safe against damaged, foreign and unwritable files.

The cache only saves time. So whatever is wrong with a file, the function is compiled anew and the file written again;
and where nothing can be written, it is compiled in every process.
"""

import hashlib
import io
from contextlib import contextmanager
from pathlib import Path

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

__all__ = ["make_cache"]


def make_cache(function):
    """The cache of one function; where no folder can be written, one that keeps nothing."""
    try:
        return _SafeCache(function)
    except RuntimeError:  # Numba found no place: a read-only installation without a home folder
        return NullCache()


def _hash_sources():
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_SOURCES = _hash_sources()


class _SafeCache(FunctionCache):
    """Keeps machine code until any source file of the kernels changes.

    Numba itself looks only at the file of the function, and would run old code after a change of the parts it calls.
    """

    def __init__(self, function):
        super().__init__(function)
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, _SOURCES)

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # what another version of Numba or Python left may break in more ways than a list can name
            return None

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except OSError:  # a full disk, or a folder that may no longer be written
            return


class _CheckedFiles(IndexDataCacheFile):
    """Index and data, each followed by a checksum, which pickle does not read.

    Machine code is run as it is found, so a single wrong bit may end the process. The checksum covers the name of the
    file and the sources, too, and data say what they are the code of: when processes write at the same time, or one
    is killed between the two files, an index may point to the data of another function, version or signature.
    """

    def save(self, key, data):
        super().save(key, (key, data))

    def load(self, key):
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self):
        try:
            return super()._load_index() if self._is_whole(self._index_path) else {}
        except Exception:  # a whole index of another version may name classes that are no more
            return {}

    def _load_data(self, name):
        return super()._load_data(name) if self._is_whole(self._data_path(name)) else None

    @contextmanager
    def _open_for_write(self, filepath):
        content = io.BytesIO()
        yield content
        with super()._open_for_write(filepath) as file:
            file.write(content.getvalue() + self._checksum(filepath, content.getvalue()))

    def _is_whole(self, path):
        try:
            content = Path(path).read_bytes()
        except FileNotFoundError:
            return False
        size = hashlib.sha256().digest_size
        return content[-size:] == self._checksum(path, content[:-size])

    def _checksum(self, path, content):
        head = f"{Path(path).name}\n{self._source_stamp}\n"
        return hashlib.sha256(head.encode("utf-8") + content).digest()
