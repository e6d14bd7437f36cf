"""The folders where machine code is kept, and which of them are trusted.

A file of machine code is a program. So a folder is read only if nobody can write there who could not change the sources
of tailwise, or anything else of this user, as well.
"""

import contextlib
import os
import shutil
import stat
import sys
import uuid
from pathlib import Path

from numba.core import config

__all__ = ["SOURCES", "find_writable", "list_folders", "read_files", "write_file"]

SOURCES = Path(__file__).resolve().parent
# Machine code that came with the wheel. It is read like the others, and never written.
SHIPPED = SOURCES / "compiled"
# Versions of the sources, Numba and Python that a folder keeps: the latest ones.
VERSIONS_KEPT = 4
# The number of the user, on systems that number them.
USER = getattr(os, "geteuid", None)
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def list_folders():
    """Where machine code may be, in the order of preference: the shipped one, then those to be written, too."""
    if config.CACHE_DIR:
        return [SHIPPED, Path(config.CACHE_DIR) / "tailwise"]
    folders = [SHIPPED, SOURCES / "__pycache__" / "compiled"]
    user = _find_user_cache()
    if user is not None:
        folders.append(user / "tailwise" / "compiled")
    if USER is not None:
        folders.append(Path(os.environ.get("TMPDIR") or "/tmp") / f"tailwise-{USER()}")
    return folders


def read_files(version, name):
    """The content of each file of this name in a trusted folder, in the order of the folders."""
    for folder in list_folders():
        try:
            content = _read_trusted(folder, version, name)
        except OSError:
            continue
        if content is not None:
            yield content


def _read_trusted(folder, version, name):
    if not _is_trusted(folder, (folder / version).lstat()):
        return None
    with open(folder / version / name, "rb") as file:
        return file.read() if _is_trusted(folder, os.fstat(file.fileno())) else None


def write_file(version, name, content):
    """Write a file to the first folder that can be written; where none can, nothing is kept."""
    for folder in list_folders():
        if folder == SHIPPED:
            continue
        try:
            _make_folder(folder, version)
            if _is_trusted(folder, (folder / version).lstat()):
                _write_beside(folder / version / name, content)
                return
        except OSError:  # read-only, full, or not a folder
            continue


def find_writable():
    """The folder that `write_file` would write to, or None; its nearest parent that exists tells."""
    for folder in list_folders():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if folder != SHIPPED and existing.is_dir() and os.access(existing, os.W_OK):
            return folder
    return None


def _find_user_cache():
    """The folder for caches of this user, or None where he has none."""
    if sys.platform == "win32":
        home = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        home = os.path.expanduser("~/Library/Caches")
    else:
        home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) if os.path.isabs(home) else None


def _is_trusted(folder, status):
    """Whether only this user, root, and those who can change the sources, could have written a file or folder.

    Within the package the sources set the standard: where a group may change them, it may change the code, too.
    """
    if USER is None:  # Windows, where these folders belong to the user or to the person who installed the package
        return True
    owners, allowed = {0, USER()}, 0
    if SOURCES in folder.parents:
        sources = SOURCES.stat()
        owners.add(sources.st_uid)
        allowed = sources.st_mode
    is_plain = stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)
    return is_plain and status.st_uid in owners and not status.st_mode & OTHERS_MAY_WRITE & ~allowed


def _make_folder(folder, version):
    if (folder / version).exists():
        return
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    (folder / version).mkdir(mode=0o755, exist_ok=True)
    versions = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in versions[VERSIONS_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


def _write_beside(path, content):
    """Write a file that nobody sees before it is whole."""
    beside = path.with_name(f"{uuid.uuid4().hex}.tmp")
    try:
        with open(beside, "xb", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
            file.write(content)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise
