"""The files that a command writes: claimed before the work; files created meanwhile are never replaced."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tailwise.datasets.formats.disk import check_place, file_errors_of, real
from tailwise.datasets.formats.drafts import drafted_for
from tailwise.errors import FileError, TailwiseError

__all__ = ["check_free", "errors_told_of", "keep_beside", "reserved_file", "reserved_files"]

NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EINVAL}


class Target(NamedTuple):
    """Where a draft goes."""

    draft: Path
    place: Path
    folder: str  # as the user named it


@contextmanager
def reserved_file(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """A path of the same name to write to, perhaps with files beside it; in the end they move to where they belong.

    Without `overwrite` they only go to names that are free: where a file was created meanwhile, that file stays as it
    is, ours is kept under another name, and the error says which. Two processes cannot reserve one path.
    """
    with reserved_files(path, overwrite=overwrite) as (draft,):
        yield draft


@contextmanager
def reserved_files(*paths: str | os.PathLike[str], overwrite: bool) -> Iterator[list[Path]]:
    """The same for several files that are written together."""
    with ExitStack() as stack:
        drafts = [stack.enter_context(_reserved(path, overwrite=overwrite)) for path in paths]
        with ExitStack() as told:
            for path, draft in zip(paths, drafts, strict=True):
                told.enter_context(errors_told_of(path, draft))
            yield drafts
        targets = [
            Target(each, real(path) if each == draft else real(path).with_name(each.name), os.path.dirname(path))
            for path, draft in zip(paths, drafts, strict=True)
            for each in sorted(draft.parent.iterdir())
        ]
        with file_errors_of(paths[0]):
            _place(targets, overwrite=overwrite)


@contextmanager
def _reserved(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """The path of a draft, while no other process can reserve the same target."""
    check_place(path)
    check_free(path, overwrite=overwrite)
    refusal = f"The output must not be in use. Got {path}, which another process is writing. Wait for it to end."
    with ExitStack() as stack:
        with file_errors_of(path):
            draft = stack.enter_context(drafted_for(real(path), refusal))
        check_free(path, overwrite=overwrite)  # another process may just have finished
        yield draft / os.path.basename(path)  # by whose end the format is chosen, though it may be a link


def check_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a path where something is already, unless it may be replaced."""
    if not overwrite and os.path.lexists(real(path)):
        msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
        raise FileError(msg)


def _place(targets: list[Target], *, overwrite: bool) -> None:
    """Move the files to where they belong; where a name is taken, the files that are left are kept beside it."""
    taken = [each for each in targets if os.path.lexists(each.place) and (not overwrite or each.place.is_dir())]
    for each in targets:
        try:
            if not taken:
                (os.replace if overwrite else _place_new)(each.draft, each.place)
        except (FileExistsError, IsADirectoryError, PermissionError):
            taken.append(each)
    left = [each for each in targets if each.draft.exists()]
    if left:
        kept = ", ".join(os.path.join(each.folder, keep_beside(each.draft, each.place).name) for each in left)
        came = ", ".join(os.path.join(each.folder, each.place.name) for each in taken)
        msg = (
            f"The output could not be put in place: {came} was created, or is in use, since the command started. "
            f"It was left as it is. The result is in {kept}."
        )
        raise FileError(msg)


@contextmanager
def errors_told_of(path: str | os.PathLike[str], draft: Path) -> Iterator[None]:
    """Errors about a draft name the path that the user gave instead."""
    try:
        yield
    except TailwiseError as error:
        told = str(error).replace(str(draft), os.fspath(path))
        if told == str(error):
            raise
        raise type(error)(told) from error


def _place_new(draft: Path, target: Path) -> None:
    """Move a file or folder to a name that is free; FileExistsError where something has it already."""
    if os.name == "nt" or draft.is_dir():
        if target.exists():  # an empty folder would be replaced
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(draft, target)
        return
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        with open(target, "xb"):  # second best: claims the name, with an empty file for a moment
            pass
        try:
            os.replace(draft, target)
        except OSError:
            target.unlink()
            raise
    else:
        draft.unlink()


def keep_beside(draft: Path, target: Path) -> Path:
    """Move a result whose place was taken to a free name beside it, which is returned."""
    for number in count(1):
        kept = target.with_name(f"kept-{target.name}" if number == 1 else f"kept-{number}-{target.name}")
        try:
            _place_new(draft, kept)
        except FileExistsError:
            continue
        return kept
    raise AssertionError
