"""The finished steps of an unfinished run, kept in its output folder so that the run can be resumed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tailwise.datasets.formats.disk import file_errors_of, parse_json, real
from tailwise.errors import FileError
from tailwise.runs.record import as_json, list_changes, read_json, write_json
from tailwise.runs.run_folder import RUN_FILES, STEPS

BEGUN = "begun.json"

Read = TypeVar("Read")


class Steps:
    """The results of finished steps, as files in a hidden folder; without a folder, nothing is kept.

    Only a run with an equal identity may resume.
    """

    def __init__(self, folder: Path | None, identity: Mapping[str, Any]) -> None:
        self.folder, self._identity = folder, identity
        self.seconds: dict[str, float] = {}

    def find(self, name: str, read: Callable[[Path], Read]) -> Read | None:
        """Read the result of a step; None if it is missing or damaged, in which case the step is repeated."""
        if self.folder is None or not (self.folder / name).is_file():
            return None
        try:
            return read(self.folder / name)
        except FileError:
            return None

    def keep(self, name: str, write: Callable[[Path], None], seconds: Mapping[str, float]) -> None:
        """Write the result of a step, and the durations of all steps so far."""
        if self.folder is None or not self.folder.is_dir():  # the output was replaced, which is reported at the end
            return
        with file_errors_of(self.folder.parent):
            write(self.folder / name)
            write_json(self.folder / BEGUN, {"identity": self._identity, "seconds": seconds})

    def begin(self, *, overwrite: bool) -> None:
        """Create the folder or resume an equal run; with `overwrite`, discard a different one."""
        assert self.folder is not None
        found = self._read_begun()
        changes = list_changes(found["identity"], parse_json(as_json(self._identity))) if found else []
        if changes and not overwrite:
            msg = (
                f"The output must be new, or an unfinished folder of the same run. Got {self.folder.parent}, which "
                f"has other values of: {', '.join(changes)}. Choose another one, or use overwrite=True (--overwrite)."
            )
            raise FileError(msg)
        if changes or not found:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
        else:
            self.seconds = found["seconds"]

    def _read_begun(self) -> dict[str, dict[str, Any]]:
        """Read the identity and durations of an unfinished run; empty if missing or damaged."""
        found = self.find(BEGUN, read_json)
        if isinstance(found, dict) and all(isinstance(found.get(key), dict) for key in ("identity", "seconds")):
            return found
        return {}


@contextmanager
def kept_steps(
    output: str | os.PathLike[str] | None, identity: Mapping[str, Any], *, overwrite: bool
) -> Iterator[Steps]:
    """Yield the steps finished earlier; those that finish within the block are kept until the output is in place."""
    if output is None:
        yield Steps(None, identity)
        return
    steps = Steps(real(output) / STEPS, identity)
    assert steps.folder is not None
    with file_errors_of(output):
        steps.begin(overwrite=overwrite)
    try:
        yield steps
    except BaseException:
        if not list_kept_steps(output):
            shutil.rmtree(steps.folder, ignore_errors=True)
        raise


def list_kept_steps(output: str | os.PathLike[str]) -> list[str]:
    """List the files of finished steps of an unfinished run."""
    folder = real(output) / STEPS
    return sorted(path.name for path in folder.iterdir() if path.name in RUN_FILES) if folder.is_dir() else []
