"""A pass is a checkpoint: what row passes have reached, kept on disk, so that a killed call goes on from there."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tailwise.datasets.formats.disk import real, written_beside
from tailwise.datasets.formats.drafts import is_draft
from tailwise.datasets.formats.npz import read_archive
from tailwise.errors import InputError
from tailwise.inputs.chosen import Chosen
from tailwise.kernels.label_state import State
from tailwise.kernels.laws import Laws
from tailwise.kernels.nodes import Nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.selection.problem import Problem

__all__ = ["Checkpoint", "Reached", "open_checkpoint", "remove_checkpoint"]

FILE = "pass.npz"
# Of the arrays of a state; changes with them, so that a file of another version is refused.
LAYOUT = 2


class Reached(NamedTuple):
    """Where a stage stands after a pass."""

    stage: str
    positions: NDArray
    state: State
    history: list[float]
    converged: bool
    others: tuple[NDArray, ...]


class Checkpoint:
    """The last finished pass of one call, in a folder.

    Parameters
    ----------
    folder : path
        The folder, which is made if it does not exist.
    key : str
        What identifies the call: another one is refused.
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._file, self._key = folder / FILE, key
        self._reached = _read(self._file, key) if self._file.exists() else None

    @property
    def stage(self) -> str:
        """The stage of the pass that is kept; empty if there is none."""
        return "" if self._reached is None else self._reached.stage

    def kept(self, stage: str) -> Reached | None:
        """The pass that is kept, if it is of this stage."""
        return self._reached if self.stage == stage else None

    def read(self, stage: str) -> Reached | None:
        """The same, once."""
        reached = self.kept(stage)
        if reached is not None:
            self._reached = None
        return reached

    def write(self, reached: Reached) -> None:
        """Keep a pass in the place of the one before."""
        arrays = {f"other{number}": each for number, each in enumerate(reached.others)}
        arrays |= _flatten(reached.state)
        with written_beside(self._file) as file:
            np.savez(
                file,
                key=np.array(self._key),
                stage=np.array(reached.stage),
                positions=reached.positions,
                history=np.array(reached.history),
                converged=np.array(reached.converged),
                **arrays,  # type: ignore[arg-type]
            )


def remove_checkpoint(folder: str | os.PathLike[str]) -> None:
    """Remove what a call that is done has kept, and the folder if nothing else is in it."""
    place = real(folder)
    (place / FILE).unlink(missing_ok=True)
    if not any(place.iterdir()):
        place.rmdir()


def open_checkpoint(folder: Any, problem: Problem) -> Checkpoint:
    """The checkpoint of a problem; refuse a folder that holds one of another, or files of others."""
    if not isinstance(folder, (str, os.PathLike)):
        msg = f"checkpoint must be the name of a folder, or None. Got {type(folder).__name__}."
        raise InputError(msg)
    place = real(folder)
    if place.exists() and not place.is_dir():
        msg = f"checkpoint must be a folder. Got {folder}, which is a file. Choose another name."
        raise InputError(msg)
    place.mkdir(exist_ok=True, parents=True)
    if not (place / FILE).is_file():
        _refuse_files_of_others(folder, place)
    return Checkpoint(place, _identify(problem))


def _refuse_files_of_others(folder: Any, place: Path) -> None:
    """Refuse a folder with anything in it except what a killed call left of its first checkpoint."""
    others = sorted(each.name for each in place.iterdir() if not is_draft(each))
    if others:
        msg = (
            f"checkpoint must be a new or empty folder, or one with a checkpoint, {FILE}. Got {folder}, which holds "
            f"other files, such as {others[0]}. Choose another folder."
        )
        raise InputError(msg)


def _identify(problem: Problem) -> str:
    """A word that differs wherever the result could."""
    digest, terms, rules = hashlib.sha256(), problem.expectation.terms, problem.rules
    facts = (
        *(problem.candidates.shape, problem.candidates.n_entries, str(problem.utility), problem.expectation.name),
        *(problem.method, problem.seed, problem.group_size, problem.tolerance, problem.max_passes, rules.fills),
        problem.start if isinstance(problem.start, str) else "given",
        LAYOUT,
    )
    digest.update(repr(facts).encode())
    context = problem.expectation.context
    arrays = [
        problem.candidates.condition_positives(),
        problem.candidates.by_label.sizes,
        problem.batch.condition_positives,
        rules.slots,
        terms.linear,
        terms.factors,
    ]
    arrays += [terms.weights, terms.coverage, context.t, context.q, context.p, context.known_t, context.known_p]
    arrays += [np.array([context.n_instances, context.n_slots])]
    arrays += [] if context.log_failure is None else [context.log_failure]
    if isinstance(problem.start, Chosen):
        arrays.append(problem.start.labels)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    for array in problem.candidates.rows:  # sums by label do not tell the order of the instances
        digest.update(b"%d" % zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data))
    return digest.hexdigest()


def _flatten(state: State) -> dict[str, Any]:
    nodes = {f"nodes_{name}": value for name, value in state.nodes._asdict().items()}
    laws = {f"laws_{name}": value for name, value in state.laws._asdict().items()}
    return {"counts": state.counts, "slopes": state.slopes, "offsets": state.offsets, **nodes, **laws}


def _read(file: Path, key: str) -> Reached:
    arrays = read_archive(file, "be a whole checkpoint", "Remove it, and start again.")
    if arrays.get("key", np.array("")).item() != key:
        msg = (
            f"checkpoint must belong to the same call: the same probabilities, utility, k and options. Got "
            f"{file.parent}, which holds that of another one. Give another folder, or remove it."
        )
        raise InputError(msg)
    parts: dict[str, Any] = {name: arrays[f"nodes_{name}"] for name in Nodes._fields}
    nodes = Nodes(**{**parts, **{name: int(parts[name]) for name in ("n_plain", "base")}})
    laws = Laws(*(arrays[f"laws_{name}"] for name in Laws._fields))
    others = sorted(name for name in arrays if name.startswith("other"))
    return Reached(
        arrays["stage"].item(),
        arrays["positions"],
        State(arrays["counts"], arrays["slopes"], arrays["offsets"], nodes, laws),
        arrays["history"].tolist(),
        bool(arrays["converged"]),
        tuple(arrays[name] for name in others),
    )
