"""Failures of the operating system: whether the machine or the file is at fault, and which file system is full."""

from __future__ import annotations

import errno
import os
import shutil

from tailwise.errors import FileError, MachineError

__all__ = ["FULL", "file_error", "find_remedy", "is_of_the_machine"]

FULL = {errno.ENOSPC, errno.EDQUOT}
MACHINE = FULL | {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.EIO, errno.EBUSY, errno.ESTALE, errno.EFBIG, errno.EBADF),
    *(errno.ENOMEM, errno.EMFILE, errno.ENFILE),
}


def is_of_the_machine(error: OSError) -> bool:
    """Whether space, memory or a permission is missing, rather than that a name or a file is wrong."""
    return isinstance(error, MachineError) or error.errno in MACHINE


def file_error(message: str, error: OSError) -> FileError:
    """The exception to raise for a failure of the system."""
    return MachineError(message) if is_of_the_machine(error) else FileError(message)


def find_remedy(error: OSError, path: str | os.PathLike[str] | None = None) -> str:
    """Say what to do about a failure to write a file; a full file system is named."""
    if error.errno not in FULL:
        return "Choose another folder."
    place = error.filename if error.filename is not None else path
    if place is None:
        return "Free some space."
    mount, (total, _, free) = _find_file_system(os.fsdecode(place))
    quota = " (or a quota is used up)" if error.errno == errno.EDQUOT else ""
    return (
        f"The file system at {mount} is full{quota}: {free / 1e6:,.0f} of {total / 1e6:,.0f} MB are free. "
        "Free some space there, or choose a folder on another one."
    )


def _find_file_system(path: str) -> tuple[str, tuple[int, int, int]]:
    """Return where the file system of a path is mounted, and its total, used and free bytes."""
    folder = os.path.realpath(path)
    while not os.path.ismount(folder):
        folder = os.path.dirname(folder)
    return folder, shutil.disk_usage(folder)
