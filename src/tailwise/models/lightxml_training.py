"""Training and prediction of LightXML on texts. Imported only where torch is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch

from tailwise.models.lightxml_network import LightXMLNetwork
from tailwise.models.network_training import Training, train

if TYPE_CHECKING:
    from numpy.typing import NDArray

WEIGHT_DECAY = 0.01
WITHOUT_DECAY = ("bias", "norm.weight")
K = 5  # the score of an epoch is precision at K


class Texts(NamedTuple):
    """Texts and the labels of each."""

    texts: list[str]
    Y: sp.csr_array

    def take(self, rows: NDArray) -> Texts:
        """Return some rows."""
        return Texts([self.texts[row] for row in rows], self.Y[rows])


class LightXMLOptions(NamedTuple):
    """How to train; see TextModel."""

    epochs: int
    patience: int
    batch_size: int
    learning_rate: float
    max_length: int
    averaging: tuple[int, int] | None
    device: str
    checkpoint: Any
    identity: str
    progress: bool


def train_lightxml(
    network: LightXMLNetwork, tokenizer: Any, fitting: Texts, held: Texts | None, options: LightXMLOptions, seed: int
) -> list[float]:
    """Train a network; return the score of each epoch on the held-out texts."""
    network.to(options.device)
    is_gpu = options.device.startswith("cuda")

    def loss(rows: NDArray) -> Any:
        part = fitting.take(rows)
        truth = [torch.from_numpy(each.astype(np.int64)).to(options.device) for each in _lists(part.Y)]
        with torch.autocast("cuda", enabled=is_gpu):
            return network.loss(tokenise(tokenizer, part.texts, options.max_length, options.device), truth)

    training = Training(
        network,
        torch.optim.AdamW(_groups(network), lr=options.learning_rate),
        lambda epoch: _batches(len(fitting.texts), options.batch_size, seed + epoch),
        loss,
        None if held is None else lambda: _precision(network, tokenizer, held, options),
        options.epochs,
        options.patience,
        averaging=options.averaging,
        scaler=torch.amp.GradScaler("cuda") if is_gpu else None,
        checkpoint=options.checkpoint,
        identity=options.identity,
        progress=options.progress,
    )
    train(training)
    return training.history


def tokenise(tokenizer: Any, texts: list[str], max_length: int, device: str) -> dict[str, Any]:
    """Return the token numbers of texts, and which are padding."""
    found = tokenizer(texts, truncation=True, max_length=max_length, padding=True, return_tensors="pt")
    return {name: found[name].to(device) for name in ("input_ids", "attention_mask")}


def predict_lightxml(
    network: LightXMLNetwork, tokenizer: Any, texts: list[str], top: int, *, batch_size: int, max_length: int
) -> tuple[NDArray, NDArray]:
    """Return the best labels of each text, -1 where there are too few, and their probabilities."""
    network.eval()
    device = str(network.l0.weight.device)
    order = np.argsort([-len(text) for text in texts], kind="stable")
    labels, values = [], []
    with torch.inference_mode():
        for start in range(0, len(texts), batch_size):
            part = [texts[row] for row in order[start : start + batch_size]]
            found = network.best(tokenise(tokenizer, part, max_length, device), top)
            labels.append(found[0].cpu().numpy())
            values.append(found[1].float().cpu().numpy())
    back = np.argsort(order)
    return np.concatenate(labels)[back], np.concatenate(values)[back]


def _groups(network: LightXMLNetwork) -> list[dict[str, Any]]:
    """Decay weights, but neither biases nor norms."""
    decayed: list[Any] = []
    others: list[Any] = []
    for name, parameter in network.named_parameters():
        (others if name.lower().endswith(WITHOUT_DECAY) else decayed).append(parameter)
    return [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]


def _batches(n: int, size: int, seed: int) -> Iterator[NDArray]:
    order = np.random.RandomState(seed % 2**32).permutation(n)
    return (order[start : start + size] for start in range(0, n, size))


def _lists(Y: sp.csr_array) -> list[NDArray]:
    return np.split(Y.indices, Y.indptr[1:-1])


def _precision(network: LightXMLNetwork, tokenizer: Any, held: Texts, options: LightXMLOptions) -> float:
    """Return the share of true labels among the best of held-out texts."""
    sizes = {"batch_size": options.batch_size, "max_length": options.max_length}
    labels, _ = predict_lightxml(network, tokenizer, held.texts, K, **sizes)
    rows = np.repeat(np.arange(len(held.texts)), labels.shape[1])
    hits = np.asarray(held.Y[rows, np.maximum(labels.ravel(), 0)]) * (labels.ravel() >= 0)
    return float(hits.mean())
