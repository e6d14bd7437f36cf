"""Output folders, claimed before the work starts and filled at the end; other files in them are left alone."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tailwise.datasets.formats.disk import file_errors_of, parse_json, real, written_beside
from tailwise.datasets.formats.drafts import LOCK_FILE, drafted, held, is_draft
from tailwise.datasets.formats.output_files import EXISTS, IN_USE, errors_naming, keep_beside
from tailwise.errors import FileError, MachineError

__all__ = ["UNFINISHED", "FolderKind", "check_folder", "claimed_folder"]

UNFINISHED = ".tailwise-unfinished.json"  # lists our files in an unfinished folder


@dataclass(frozen=True)
class FolderKind:
    """A kind of output folder.

    Attributes
    ----------
    record : str
        The file that is written last; a folder that has it is finished.
    rule : str
        What a folder that may be replaced must hold, for error messages.
    list_files : callable
        Lists the files that were written to a finished folder, which may be replaced.
    hint : str
        Alternative to replacing a finished folder, for error messages.
    steps : str
        A folder within it for results from which an unfinished folder is resumed; it is removed once the record exists.
    """

    record: str
    rule: str
    list_files: Callable[[Path], Iterable[str]]
    hint: str = ""
    steps: str = ""


def check_folder(path: str | os.PathLike[str], kind: FolderKind, *, overwrite: bool) -> None:
    """Refuse a folder that cannot be created, holds other files, or without `overwrite` is finished."""
    target = real(path)
    if not os.path.lexists(target):
        _check_parent(path, target.parent)
        return
    if not target.is_dir():
        msg = f"The output must be a folder. Got {path}, which is a file. Choose another name."
        raise FileError(msg)
    if (target / kind.record).is_file():
        if not overwrite:
            msg = EXISTS.format(path=path, hint=kind.hint)
            raise FileError(msg)
    elif not (target / UNFINISHED).is_file() and not _is_empty(target):
        rule = f"must not exist yet, be empty, or {kind.rule}, with {kind.record}"
        msg = f"The output {rule}. Got {path}, which holds other files. Choose another folder."
        raise FileError(msg)


def _check_parent(path: str | os.PathLike[str], parent: Path) -> None:
    if not parent.is_dir():
        msg = f"The output must lie in a folder that exists. Got {path}, but {parent} is not a folder. Create it first."
        raise FileError(msg)
    if not os.access(parent, os.W_OK | os.X_OK):
        msg = f"The output must lie in a writable folder. Got {path}: permission denied. Choose another folder."
        raise MachineError(msg)


@contextmanager
def claimed_folder(path: str | os.PathLike[str], kind: FolderKind, *, overwrite: bool = False) -> Iterator[Path]:
    """Claim a folder for this process and yield a draft; at the end, move its files into the folder, the record last.

    A finished folder is not changed until then. Files of others are never replaced: if one is in the way, the result is
    kept next to the folder, and the error says where.
    """
    check_folder(path, kind, overwrite=overwrite)
    target = real(path)
    with ExitStack() as stack:
        with file_errors_of(path):
            stack.enter_context(_made(target))
            stack.enter_context(held(target / LOCK_FILE, IN_USE.format(path=path)))
            check_folder(path, kind, overwrite=overwrite)  # again: another process may just have finished
            _list_old(target, kind)  # if the record is damaged, fail now rather than after the work
            stack.enter_context(_begun(target, kind))
            draft = stack.enter_context(drafted(_draft_place(target)))
            place = os.stat(target)
        with errors_naming(path, draft):
            yield draft
        with file_errors_of(path):
            if not os.path.isdir(target) or not os.path.samestat(os.stat(target), place):
                _refuse(draft, target, str(path))
            _publish(draft, target, kind)


def _draft_place(target: Path) -> Path:
    """Return the parent folder, or the folder itself if that is another disk: files must be moved, not copied."""
    is_same_disk = os.stat(target).st_dev == os.stat(target.parent).st_dev
    return target.parent if is_same_disk and os.access(target.parent, os.W_OK | os.X_OK) else target


@contextmanager
def _made(target: Path) -> Iterator[None]:
    """Create the folder if it is missing; remove it after a failure unless it holds files."""
    try:
        target.mkdir()
        is_ours = True
    except FileExistsError:
        is_ours = (target / UNFINISHED).is_file()
    try:
        yield
    except BaseException:
        if is_ours:
            with suppress(OSError):
                target.rmdir()
        raise


def _is_empty(target: Path) -> bool:
    return all(is_draft(each) for each in target.iterdir())


@contextmanager
def _begun(target: Path, kind: FolderKind) -> Iterator[None]:
    """Mark a folder as unfinished, and remove what a killed process left in it.

    A failure removes the mark if the folder holds nothing else. Otherwise the mark stays, so that a retry is allowed.
    """
    if (target / kind.record).is_file():
        yield
        return
    _remove(target, _read_unfinished(target))
    _mark(target, [])
    try:
        yield
    except BaseException:
        if target.is_dir() and all(is_draft(each) or each.name == UNFINISHED for each in target.iterdir()):
            (target / UNFINISHED).unlink(missing_ok=True)
        raise


def _publish(draft: Path, target: Path, kind: FolderKind) -> None:
    """Move the files of a draft into the folder."""
    new = sorted(str(each.relative_to(draft)) for each in draft.rglob("*") if each.is_file())
    old = _list_old(target, kind)
    came = next((target / name for name in new if _is_in_the_way(target / name, is_old=name in old)), None)
    if came is not None:
        _remove_steps(target, kind)
        _refuse(draft, target, str(came))
    _mark(target, [*old, *(name for name in new if name not in old)])
    (target / kind.record).unlink(missing_ok=True)
    _remove(target, (name for name in old if name not in new))
    for name in sorted(new, key=kind.record.__eq__):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(draft / name, target / name)
    _remove_steps(target, kind)
    (target / UNFINISHED).unlink()


def _remove_steps(target: Path, kind: FolderKind) -> None:
    if kind.steps:
        shutil.rmtree(target / kind.steps, ignore_errors=True)


def _is_in_the_way(path: Path, *, is_old: bool) -> bool:
    """Whether the path of a new file is taken by anything other than the old file that it replaces."""
    return path.is_dir() if is_old else os.path.lexists(path)


def _list_old(target: Path, kind: FolderKind) -> list[str]:
    """List the files of the finished folder to replace."""
    return list(kind.list_files(target)) if (target / kind.record).is_file() else []


def _refuse(draft: Path, target: Path, came: str) -> NoReturn:
    """Leave the folder unchanged, and keep the result next to it."""
    kept = keep_beside(draft, target)
    if _read_unfinished(target) == []:
        (target / UNFINISHED).unlink(missing_ok=True)
    msg = (
        f"The output could not be put in place: {came} was created in the meantime. It was not changed. "
        f"The result is in {kept}."
    )
    raise FileError(msg)


def _mark(target: Path, names: list[str]) -> None:
    with written_beside(target / UNFINISHED) as file:
        file.write(json.dumps(names).encode())


def _read_unfinished(target: Path) -> list[str]:
    """Return the names listed in the mark; an empty list if it is missing or damaged."""
    try:
        names = parse_json((target / UNFINISHED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [name for name in names if isinstance(name, str) and _is_inside(name)] if isinstance(names, list) else []


def _is_inside(name: str) -> bool:
    return not os.path.isabs(name) and ".." not in Path(name).parts


def _remove(target: Path, names: Iterable[str]) -> None:
    """Remove our files, and folders that become empty, but nothing outside the target."""
    for name in names:
        path = target / name
        if os.path.isfile(path) and path.resolve().is_relative_to(target):
            path.unlink()
        for folder in path.parents:
            if target not in folder.parents:
                break
            with suppress(OSError):
                folder.rmdir()
