"""Archives from anywhere, unpacked without trust: nothing outside the target, no links, no devices, no bombs."""

from __future__ import annotations

import errno
import lzma
import os
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from tailwise.errors import FileError

__all__ = ["unpack"]

MOST_MEMBERS = 10_000
MOST_BYTES = 1 << 37  # 128 GiB, several times the largest data set of the catalogue
PIECE = 1 << 20
DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
    *(EOFError, RuntimeError, NotImplementedError, ValueError, OSError),
)


class Member(NamedTuple):
    """One file of an archive."""

    name: str
    size: int
    open: Callable[[], IO[bytes]]


def unpack(archive: str | os.PathLike[str], folder: Path, *, most_bytes: int = MOST_BYTES) -> list[str]:
    """Unpack a .zip or .tar archive, compressed or not, into an empty folder; gives the names of its files.

    Raises
    ------
    FileError
        An archive that is damaged, is of no known kind, or has a member with an absolute name or ``..`` in it, a link,
        a device, a name twice or that no file can have, or more bytes than it says, than `most_bytes` or than fit.
    """
    with _members(archive) as members:
        names = [_safe_name(archive, member.name) for member in members]
        _check_sizes(archive, members, names, folder, most_bytes)
        for member, name in zip(members, names, strict=True):
            _copy(archive, member, folder / name)
    return [str(name) for name in names]


@contextmanager
def _members(archive: Any) -> Iterator[list[Member]]:
    """The files of an archive; what breaks in reading them becomes a FileError, what breaks in writing does not."""
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as packed:
                files = [entry for entry in packed.infolist() if not entry.filename.endswith("/")]
                yield [_of_zip(archive, packed, entry) for entry in files]
        else:
            with tarfile.open(archive) as tar:
                yield [_of_tar(archive, tar, entry) for entry in tar.getmembers() if not entry.isdir()]
                _read_to_end(tar)
    except FileError:
        raise
    except DAMAGED as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk, not the archive
            raise
        reason = str(error).partition("\n")[0].rstrip(":.")
        _refuse(archive, f"must be a whole and valid archive. Reading it failed: {reason}. Download it again", error)


def _read_to_end(tar: tarfile.TarFile) -> None:
    """Read on after the last member: what compressed it checks its sums only at the very end, and tarfile stops before.

    It stops as well where the next member's head is damaged, so what comes next must be the mark of the end.
    """
    assert tar.fileobj is not None
    tar.fileobj.seek(tar.offset)
    if tar.fileobj.read(tarfile.BLOCKSIZE) != tarfile.NUL * tarfile.BLOCKSIZE:
        msg = "it does not end after its last file"
        raise tarfile.ReadError(msg)
    while tar.fileobj.read(PIECE):
        pass


def _of_zip(archive: Any, packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Member:
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        _refuse(archive, f"must hold plain files. {entry.filename!r} is a link or a device. Do not trust it")
    return Member(entry.filename, entry.file_size, lambda: packed.open(entry))


def _of_tar(archive: Any, tar: tarfile.TarFile, entry: tarfile.TarInfo) -> Member:
    if not entry.isreg():
        _refuse(archive, f"must hold plain files. {entry.name!r} is a link or a device. Do not trust it")

    def opened() -> IO[bytes]:
        file = tar.extractfile(entry)
        assert file is not None
        return file

    return Member(entry.name, entry.size, opened)


def _safe_name(archive: Any, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    is_outside = path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name or "\0" in name
    if is_outside or not path.parts:
        _refuse(archive, f"must hold only files below its own folder. Got the member {name!r}. Do not trust it")
    return path


def _check_sizes(
    archive: Any, members: list[Member], names: list[PurePosixPath], folder: Path, most_bytes: int
) -> None:
    if not members:
        _refuse(archive, "must hold files. It holds none. Download it again")
    if len(members) > MOST_MEMBERS:
        _refuse(archive, f"must hold at most {MOST_MEMBERS:,} files. Got {len(members):,}. Unpack it by hand")
    twice = len(names) - len({str(name).casefold() for name in names})
    if twice:
        _refuse(archive, f"must hold each file once. {twice} come again. Do not trust it")
    total, free = sum(member.size for member in members), shutil.disk_usage(folder).free
    if total > most_bytes:
        _refuse(archive, f"must unpack to at most {most_bytes:,} bytes. It says {total:,}. Unpack it by hand")
    if total > free:
        _refuse(archive, f"needs {total:,} bytes. {folder.parent} has {free:,} free. Free the space")


def _copy(archive: Any, member: Member, target: Path) -> None:
    """Copy a member; zipfile and tarfile read as many bytes as its entry says, and fail where there are others."""
    with member.open() as source, _created(archive, member, target) as file:
        shutil.copyfileobj(source, file, PIECE)


def _created(archive: Any, member: Member, target: Path) -> IO[bytes]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return open(target, "xb")
    except (FileExistsError, NotADirectoryError) as error:
        rule = f"must hold no file that is also a folder. Got the member {member.name!r}. Do not trust it"
        return _refuse(archive, rule, error)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        came = f"Got one of {len(member.name):,} letters, {member.name[:40]!r}"
        return _refuse(archive, f"must hold names that the disk takes. {came}. Unpack it by hand", error)


def _refuse(archive: Any, rule: str, cause: BaseException | None = None) -> Any:
    msg = f"{archive} {rule}."
    raise FileError(msg) from cause
