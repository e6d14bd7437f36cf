"""The files that a command writes: their names are taken before the work, and nothing that came meanwhile is lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tailwise.datasets.drafts import drafted_for
from tailwise.datasets.writing import check_place, errors_told_of, file_errors_of, keep_beside, place_new, real
from tailwise.errors import FileError

__all__ = ["reserved_file"]


@contextmanager
def reserved_file(path: str | os.PathLike[str], *, overwrite: bool) -> Iterator[Path]:
    """A path of the same name to write to, perhaps with files beside it; in the end they move to where they belong.

    Without `overwrite` they only go to names that are free: where a file came meanwhile, that file stays as it is,
    ours is kept under another name, and the error says which. Two processes cannot reserve one path.
    """
    check_place(path)
    _check_free(path, overwrite=overwrite)
    folder, name = os.path.split(path)
    refusal = f"The output must not be in use. Got {path}, which another process writes. Wait for it to end."
    with ExitStack() as stack:
        with file_errors_of(path):
            draft = stack.enter_context(drafted_for(real(path), refusal))
        _check_free(path, overwrite=overwrite)  # another process may just have finished
        with errors_told_of(path, draft / name):
            yield draft / name
        with file_errors_of(path):
            _place({each: Path(folder, each.name) for each in sorted(draft.iterdir())}, overwrite=overwrite)


def _check_free(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    if not overwrite and os.path.lexists(real(path)):
        msg = f"The output must not exist yet. Got {path}, which does. Use --overwrite to replace it."
        raise FileError(msg)


def _place(targets: dict[Path, Path], *, overwrite: bool) -> None:
    """Move all files, or, where one cannot go to its place, none."""
    taken = [path for path in targets.values() if not overwrite and os.path.lexists(real(path))]
    for draft, path in targets.items():
        try:
            if not taken:
                (os.replace if overwrite else place_new)(draft, real(path))
        except (FileExistsError, IsADirectoryError, PermissionError):
            taken.append(path)
    left = [draft for draft in targets if draft.exists()]
    if left:
        kept = ", ".join(str(keep_beside(draft, targets[draft])) for draft in left)
        came = ", ".join(map(str, taken))
        msg = (
            f"The output must not exist yet. Got {came}, which came while the command was at work, and stays as it is. "
            f"The result is in {kept}."
        )
        raise FileError(msg)
