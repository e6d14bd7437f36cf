"""Safe unpacking of untrusted archives: no files outside the target, no links, no devices, no decompression bombs."""

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

MOST_MEMBERS = 10_000
MOST_BYTES = 1 << 37  # 128 GiB, several times the size of the largest data set in the catalogue
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


def unpack(archive: str | os.PathLike[str], folder: Path) -> list[str]:
    """Unpack a .zip or .tar archive, compressed or not, into an empty folder; return the names of its files.

    Raises
    ------
    FileError
        If the archive is damaged or of an unknown kind; has a member with an absolute name or ``..``, a link, a device,
        a repeated or invalid name; or has more bytes than stated, than ``MOST_BYTES``, or than fit on the disk.
    """
    with _members(archive) as members:
        names = [_safe_name(archive, member.name) for member in members]
        _check_sizes(archive, members, names, folder)
        for member, name in zip(members, names, strict=True):
            _copy(archive, member, folder / name)
    return [str(name) for name in names]


@contextmanager
def _members(archive: Any) -> Iterator[list[Member]]:
    """Yield the files of an archive; failures to read them become FileErrors, failures to write do not."""
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
        _refuse(archive, f"must be a complete and valid archive. Reading it failed: {reason}. Download it again", error)


def _read_to_end(tar: tarfile.TarFile) -> None:
    """Read to the end of the archive, where compressed files are checked; tarfile stops after the last member.

    tarfile also stops at a damaged header, so the next block must be the end marker.
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
        _refuse(archive, f"must hold only files inside its own folder. Got the member {name!r}. Do not trust it")
    return path


def _check_sizes(archive: Any, members: list[Member], names: list[PurePosixPath], folder: Path) -> None:
    if not members:
        _refuse(archive, "must hold files. It is empty. Download it again")
    if len(members) > MOST_MEMBERS:
        _refuse(archive, f"must hold at most {MOST_MEMBERS:,} files. Got {len(members):,}. Unpack it by hand")
    twice = len(names) - len({str(name).casefold() for name in names})
    if twice:
        _refuse(archive, f"must hold each file once. Got {twice} repeated names. Do not trust it")
    total, free = sum(member.size for member in members), shutil.disk_usage(folder).free
    if total > MOST_BYTES:
        _refuse(archive, f"must unpack to at most {MOST_BYTES:,} bytes. Got {total:,}. Unpack it by hand")
    if total > free:
        _refuse(archive, f"needs {total:,} bytes. {folder.parent} has {free:,} free. Free some space")


def _copy(archive: Any, member: Member, target: Path) -> None:
    """Copy a member; zipfile and tarfile read the number of bytes stated in its entry, and fail on a mismatch."""
    with member.open() as source, _created(archive, member, target) as file:
        shutil.copyfileobj(source, file, PIECE)


def _created(archive: Any, member: Member, target: Path) -> IO[bytes]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return open(target, "xb")
    except (FileExistsError, NotADirectoryError) as error:
        rule = f"must not use a name for both a file and a folder. Got the member {member.name!r}. Do not trust it"
        return _refuse(archive, rule, error)
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        came = f"Got a name of {len(member.name):,} characters, {member.name[:40]!r}"
        return _refuse(archive, f"must hold file names that the disk accepts. {came}. Unpack it by hand", error)


def _refuse(archive: Any, rule: str, cause: BaseException | None = None) -> Any:
    msg = f"{archive} {rule}."
    raise FileError(msg) from cause
