"""The training loop of networks: epochs, early stopping on held-out rows, weight averaging, checkpoints.

Imported only where torch is needed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from tailwise.datasets.formats.disk import written_beside
from tailwise.errors import FileError, NumericalError
from tailwise.progress import track

LARGEST_NORM = 5.0  # of a gradient


@dataclass(eq=False)
class Training:
    """What is trained, and how.

    `batches` gives the batches of an epoch, `loss` the loss of one, and `score` how good the network is on held-out
    rows (None without any). `averaging` is the epoch from which weights are averaged, and after how many steps each
    time. The network ends with the weights of the best epoch.
    """

    network: Any
    optimizer: Any
    batches: Callable[[int], Iterable[Any]]
    loss: Callable[[Any], Any]
    score: Callable[[], float] | None
    epochs: int
    patience: int
    schedule: Any = None
    averaging: tuple[int, int] | None = None
    scaler: Any = None  # of gradients in half precision, on a GPU
    checkpoint: str | os.PathLike[str] | None = None
    identity: str = ""
    progress: bool = False
    history: list[float] = field(default_factory=list)


class Average:
    """The running mean of the weights of a network."""

    def __init__(self) -> None:
        self.n = 0
        self.weights: dict[str, Any] = {}

    def add(self, network: Any) -> None:
        """Add the present weights."""
        self.n += 1
        for name, value in network.state_dict().items():
            mean = self.weights.get(name)
            is_number = mean is not None and value.is_floating_point()
            self.weights[name] = mean + (value - mean) / self.n if is_number else value.clone()


def train(training: Training) -> None:
    """Train until the last epoch, or until `patience` epochs in a row were no better."""
    average, best = Average(), _Best()
    first = _resume(training, average, best)
    for epoch in range(first, training.epochs):
        _run_epoch(training, epoch, average)
        kept = _copy(training.network)
        if average.n:
            training.network.load_state_dict(average.weights)
        best.offer(training, epoch)
        training.network.load_state_dict(kept)
        _write_checkpoint(training, epoch, average, best)
        if training.score is not None and epoch - best.epoch >= training.patience:
            break
    training.network.load_state_dict(best.weights)
    training.network.eval()


def _run_epoch(training: Training, epoch: int, average: Average) -> None:
    training.network.train()
    bar = track(training.batches(epoch), title=f"epoch {epoch + 1}", unit="batches", shown=training.progress)
    for step, batch in enumerate(bar, 1):
        loss = training.loss(batch)
        if not math.isfinite(loss.item()):
            msg = f"The loss must be a finite number. Got {loss.item()} in epoch {epoch + 1}. Lower learning_rate."
            raise NumericalError(msg)
        _step(training, loss)
        if training.averaging is not None and epoch >= training.averaging[0] and step % training.averaging[1] == 0:
            average.add(training.network)
    if training.averaging is not None and epoch >= training.averaging[0] and not average.n:
        average.add(training.network)


def _step(training: Training, loss: Any) -> None:
    training.optimizer.zero_grad(set_to_none=True)
    if training.scaler is None:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(training.network.parameters(), LARGEST_NORM)
        training.optimizer.step()
    else:
        training.scaler.scale(loss).backward()
        training.scaler.step(training.optimizer)
        training.scaler.update()
    if training.schedule is not None:
        training.schedule.step()


class _Best:
    """The best weights so far."""

    def __init__(self) -> None:
        self.epoch, self.score = -1, -math.inf
        self.weights: dict[str, Any] = {}

    def offer(self, training: Training, epoch: int) -> None:
        """Keep the present weights if they are better; without a score, the last ones."""
        training.network.eval()
        score = float(epoch)
        if training.score is not None:
            score = training.score()
            training.history.append(score)
        if score > self.score or not self.weights:
            self.epoch, self.score, self.weights = epoch, score, _copy(training.network)


def _copy(network: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


# Checkpoints


def _write_checkpoint(training: Training, epoch: int, average: Average, best: _Best) -> None:
    if training.checkpoint is None:
        return
    state = {
        "identity": training.identity,
        "epoch": epoch,
        "network": training.network.state_dict(),
        "optimizer": training.optimizer.state_dict(),
        "schedule": None if training.schedule is None else training.schedule.state_dict(),
        "average": {"n": average.n, "weights": average.weights},
        "best": vars(best),
        "history": training.history,
        "random": torch.get_rng_state(),
    }
    with written_beside(training.checkpoint) as file:
        torch.save(state, file)


def _resume(training: Training, average: Average, best: _Best) -> int:
    """Restore the state of a checkpoint of the same training; return the epoch to begin with."""
    path = training.checkpoint
    if path is None or not os.path.exists(path):
        return 0
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        is_same = state["identity"] == training.identity
    except Exception as error:  # torch has no error of its own for damaged files
        msg = f"checkpoint must be a complete file of a training. Got {path}, which is not. Delete it to start again."
        raise FileError(msg) from error
    if not is_same:
        msg = f"checkpoint must be that of the same training. Got {path} of other data or options. Choose another name."
        raise FileError(msg)
    training.network.load_state_dict(state["network"])
    training.optimizer.load_state_dict(state["optimizer"])
    if training.schedule is not None:
        training.schedule.load_state_dict(state["schedule"])
    average.n, average.weights = state["average"]["n"], state["average"]["weights"]
    vars(best).update(state["best"])
    training.history[:] = state["history"]
    torch.set_rng_state(state["random"])
    return int(state["epoch"]) + 1
