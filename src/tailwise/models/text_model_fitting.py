"""Fitting and prediction of text models from checked parameters. Imported only where torch is needed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import torch

from tailwise.models.bag_network import best_labels, encode
from tailwise.models.bag_training import BagOptions, Rows, train_bag
from tailwise.models.encoders import choose_device
from tailwise.models.label_clusters import cluster_labels
from tailwise.models.lightxml_network import LightXMLNetwork
from tailwise.models.lightxml_training import LightXMLOptions, Texts, predict_lightxml, train_lightxml
from tailwise.models.new_encoder import open_transformer
from tailwise.models.text_features import TextFeatures
from tailwise.models.text_inputs import check_texts_for, read_rows
from tailwise.models.text_model_checks import setting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tailwise.models.text_model import TextModel

LEAST_HELD = 20  # rows; fewer say nothing


@contextmanager
def limited_threads(n_jobs: int | None) -> Iterator[None]:
    """Let torch use this number of threads within the block; None changes nothing."""
    before = torch.get_num_threads()
    if n_jobs is not None:
        torch.set_num_threads(n_jobs)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def fit_bag(model: TextModel, X: Any, Y: sp.csr_array, seed: int) -> None:
    """Train the classifier on words and embeddings."""
    sparse, dense = read_rows(model, X, reset=True)
    rows = Rows(sparse, dense, Y)
    inside, outside = split_rows(Y.shape[0], model.validation, seed)
    held = None if outside is None else rows.take(outside)
    sizes = {"size": model.size, "dropout": setting(model, "dropout"), "negatives": model.negatives}
    options = BagOptions(**sizes, **_shared(model, sparse, dense, Y))
    model.network_, model.history_ = train_bag(rows.take(inside), held, options, seed)
    model.tokenizer_ = model.groups_ = None
    model.mean_labels_ = Y.nnz / Y.shape[0]
    model.curve_ = (1.0, 0.0) if held is None else _fit_curve(model, held)


def predict_bag(model: TextModel, X: Any, top: int) -> tuple[NDArray, NDArray]:
    """Return the best labels of each row and their probabilities."""
    sparse, dense = read_rows(model, X, reset=False)
    n = (sparse if sparse is not None else dense).shape[0]  # type: ignore[union-attr]
    labels, shares = best_labels(model.network_, encode(model.network_, sparse, dense, n), top)
    slope, shift = model.curve_
    return labels, 1 / (1 + np.exp(-slope * _logits(model, shares) - shift))


def _logits(model: TextModel, shares: NDArray) -> NDArray:
    """Logits of softmax shares, multiplied by the mean number of labels."""
    values = np.clip(model.mean_labels_ * np.exp(shares.astype(np.float64)), 1e-12, 1 - 1e-6)
    return np.log(values) - np.log1p(-values)


def _fit_curve(model: TextModel, held: Rows) -> tuple[float, float]:
    """Fit a and b on the best labels of held-out rows."""
    from sklearn.linear_model import LogisticRegression

    n, n_labels = held.Y.shape
    vectors = encode(model.network_, held.sparse, held.dense, n)
    labels, shares = best_labels(model.network_, vectors, min(100, n_labels))
    hits = np.asarray(held.Y[np.repeat(np.arange(n), labels.shape[1]), labels.ravel()]) > 0
    if hits.all() or not hits.any():
        return 1.0, 0.0
    found = LogisticRegression(C=1e3).fit(_logits(model, shares).reshape(-1, 1), hits)
    slope = float(found.coef_[0, 0])
    return (slope, float(found.intercept_[0])) if slope > 0 else (1.0, 0.0)


def fit_transformer(model: TextModel, X: Any, Y: sp.csr_array, seed: int) -> None:
    """Train LightXML."""
    texts = check_texts_for(model, X)
    torch.manual_seed(seed)
    tokenizer, encoder = open_transformer(model.encoder, texts)
    inside, outside = split_rows(Y.shape[0], model.validation, seed)
    rows = Texts(texts, Y)
    fitting = rows.take(inside)
    model.groups_ = None
    if Y.shape[1] >= model.cluster_from:
        words = TextFeatures().fit_transform(fitting.texts)
        model.groups_ = cluster_labels(words, fitting.Y, model.cluster_size, seed)
    model.tokenizer_ = tokenizer
    model.network_ = build_network(model, encoder, Y.shape[1])
    own: dict[str, Any] = {"max_length": model.max_length, "averaging": model.averaging}
    options = LightXMLOptions(**own, **_shared(model, None, None, Y, texts))
    held = None if outside is None else rows.take(outside)
    model.history_ = train_lightxml(model.network_, tokenizer, fitting, held, options, seed)
    model.n_features_in_, model.features_ = 1, None


def build_network(model: TextModel, encoder: Any, n_labels: int) -> LightXMLNetwork:
    """Return a network with the sizes of the model."""
    sizes = (model.bottleneck, model.shortlist, setting(model, "dropout"))
    return LightXMLNetwork(encoder, model.groups_, n_labels, *sizes)


def predict_transformer(model: TextModel, X: Any, top: int) -> tuple[NDArray, NDArray]:
    """Return the best labels of each text and their probabilities."""
    sizes = {"batch_size": setting(model, "batch_size"), "max_length": model.max_length}
    return predict_lightxml(model.network_, model.tokenizer_, check_texts_for(model, X), top, **sizes)


def split_rows(n: int, share: float, seed: int) -> tuple[NDArray, NDArray | None]:
    """Return the rows to train on, and those held out, None if they are too few."""
    n_held = round(share * n)
    if n_held < LEAST_HELD:
        return np.arange(n), None
    order = np.random.RandomState(seed % 2**32).permutation(n)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def _shared(model: TextModel, sparse: Any, dense: Any, Y: sp.csr_array, texts: Sequence[str] = ()) -> dict[str, Any]:
    """Return the options of both kinds of training."""
    names = ("epochs", "batch_size", "learning_rate")
    return {
        **{name: setting(model, name) for name in names},
        "patience": model.patience,
        "device": choose_device(torch, model.device),
        "checkpoint": model.checkpoint,
        "identity": "" if model.checkpoint is None else _identity(model, sparse, dense, Y, texts),
        "progress": bool(model.progress),
    }


def _identity(model: TextModel, sparse: Any, dense: Any, Y: sp.csr_array, texts: Sequence[str]) -> str:
    """What must be equal to resume a training: parameters, features or texts, and labels."""
    left_out = ("checkpoint", "device", "n_jobs", "progress", "cache")
    parameters = {name: str(value) for name, value in model.get_params().items() if name not in left_out}
    digest = hashlib.sha256(json.dumps(parameters, sort_keys=True).encode())
    for array in (Y.indptr, Y.indices, *(() if sparse is None else (sparse.data, sparse.indices))):
        digest.update(np.ascontiguousarray(array).data)
    if dense is not None:
        digest.update(np.ascontiguousarray(dense).data)
    for text in texts:
        digest.update(text.encode(errors="surrogatepass") + b"\0")
    return digest.hexdigest()
