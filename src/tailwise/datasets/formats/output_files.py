"""The files that a command writes: their names are taken before the work, and files created meanwhile are safe."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tailwise.datasets.formats.drafts import drafted_for
from tailwise.datasets.formats.writing import (
    check_place,
    errors_told_of,
    file_errors_of,
    keep_beside,
    place_new,
    real,
)
from tailwise.errors import FileError

__all__ = ["reserved_file", "reserved_files"]


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
    _check_free(path, overwrite=overwrite)
    refusal = f"The output must not be in use. Got {path}, which another process writes. Wait for it to end."
    with ExitStack() as stack:
        with file_errors_of(path):
            draft = stack.enter_context(drafted_for(real(path), refusal))
        _check_free(path, overwrite=overwrite)  # another process may just have finished
        yield draft / os.path.basename(path)  # by whose end the format is chosen, though it may be a link


def _check_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(real(path)):
        msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
        raise FileError(msg)


def _place(targets: list[Target], *, overwrite: bool) -> None:
    """Move the files to where they belong; where a name is taken, the files that are left are kept beside it."""
    taken = [each for each in targets if os.path.lexists(each.place) and (not overwrite or each.place.is_dir())]
    for each in targets:
        try:
            if not taken:
                (os.replace if overwrite else place_new)(each.draft, each.place)
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
