"""Output files, reserved before the work starts; files that others create in the meantime are never replaced."""

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

__all__ = ["check_free", "errors_naming", "keep_beside", "reserved_file", "reserved_files"]

NO_LINKS = {errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EINVAL}
IN_USE = "The output must not be in use. Got {path}, which another process is writing. Wait for that process to end."
EXISTS = "The output must not exist. Got {path}, which exists. {hint}Use overwrite=True (--overwrite) to replace it."


class Target(NamedTuple):
    """A draft and its destination."""

    draft: Path
    place: Path
    folder: str  # as the user wrote it


@contextmanager
def reserved_file(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """Yield a draft path of the same name; at the end, move the draft and files next to it into place.

    Without `overwrite`, existing files are not replaced: if a file was created in the meantime, the result is kept
    under another name, which the error states. Two processes cannot reserve the same path.
    """
    with reserved_files(path, overwrite=overwrite) as (draft,):
        yield draft


@contextmanager
def reserved_files(*paths: str | os.PathLike[str], overwrite: bool) -> Iterator[list[Path]]:
    """Like `reserved_file`, for several files that are written together."""
    with ExitStack() as stack:
        drafts = [stack.enter_context(_reserved(path, overwrite=overwrite)) for path in paths]
        with ExitStack() as errors:
            for path, draft in zip(paths, drafts, strict=True):
                errors.enter_context(errors_naming(path, draft))
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
    """Yield the path of a draft while no other process can reserve the same target."""
    check_place(path)
    check_free(path, overwrite=overwrite)
    refusal = IN_USE.format(path=path)
    with ExitStack() as stack:
        with file_errors_of(path):
            draft = stack.enter_context(drafted_for(real(path), refusal))
        check_free(path, overwrite=overwrite)  # again: another process may just have finished
        yield draft / os.path.basename(path)  # of the given path, not of a link's target, because its suffix counts


def check_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Refuse a path that exists, unless it may be overwritten."""
    if not overwrite and os.path.lexists(real(path)):
        msg = EXISTS.format(path=path, hint="")
        raise FileError(msg)


def _place(targets: list[Target], *, overwrite: bool) -> None:
    """Move the drafts into place; if a name is taken, keep the remaining drafts next to it."""
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
            f"The output could not be put in place: {came} was created or put to use in the meantime. "
            f"It was not changed. The result is in {kept}."
        )
        raise FileError(msg)


@contextmanager
def errors_naming(path: str | os.PathLike[str], draft: Path) -> Iterator[None]:
    """Replace the draft in error messages by the path that the user gave."""
    try:
        yield
    except TailwiseError as error:
        message = str(error).replace(str(draft), os.fspath(path))
        if message == str(error):
            raise
        raise type(error)(message) from error


def _place_new(draft: Path, target: Path) -> None:
    """Move a file or folder to a free name; raise FileExistsError if the name is taken."""
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
        with open(target, "xb"):  # second best: reserves the name with an empty file for a moment
            pass
        try:
            os.replace(draft, target)
        except OSError:
            target.unlink()
            raise
    else:
        draft.unlink()


def keep_beside(draft: Path, target: Path) -> Path:
    """Move a result whose name was taken to a similar free name, and return that name."""
    for number in count(1):
        kept = target.with_name(f"kept-{target.name}" if number == 1 else f"kept-{number}-{target.name}")
        try:
            _place_new(draft, kept)
        except FileExistsError:
            continue
        return kept
    raise AssertionError
