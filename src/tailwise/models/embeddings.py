"""Dense vectors of texts from a pretrained encoder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin

from tailwise.errors import InputError
from tailwise.inputs.checks import check_choice, check_size
from tailwise.inputs.texts import check_texts
from tailwise.models.embedding_cache import EmbeddingCache
from tailwise.models.encoders import POOLINGS, PRECISIONS, Encoder, is_out_of_memory, open_encoder
from tailwise.progress import track

if TYPE_CHECKING:
    from numpy.typing import NDArray

PART = 4096  # texts that are encoded before they are written to the cache


class Embeddings(TransformerMixin, BaseEstimator):
    r"""Vectors of texts from a pretrained encoder, each text encoded only once.

    A text of tokens :math:`t_1, \ldots, t_l` becomes the mean of the encoder's last hidden states (or the state of its
    first token), scaled to length 1, so that inner products are cosines.

    Parameters
    ----------
    model : str, path, callable or object
        A folder with a model of Hugging Face or of sentence-transformers; the name of one on the Hub, which is
        downloaded once; an object with a method ``encode`` (a SentenceTransformer); or a function from a list of texts
        to an array with a row for each.
    max_length : int
        Number of tokens after which texts are cut off.
    batch_size : int
        Number of texts encoded at once. Where memory runs out, smaller batches are used.
    precision : {"auto", "bf16", "fp32"}
        Number format of the encoder: "auto" is bf16 where the processor or the GPU computes in it.
    pooling : {"auto", "mean", "first"}
        Mean of all tokens or the first token; "auto" is what the folder says, or else the mean.
    cache : path, optional
        A folder to keep vectors in, by model, settings and text; created if missing. A function is told apart by its
        module and name only.
    normalise : bool
        Whether to scale vectors to length 1.
    device : str, optional
        Where to compute: "cpu", "cuda", ...; by default a GPU if there is one.
    progress : bool
        Whether to show a progress bar on standard error.

    Notes
    -----
    Encoders need torch and transformers: ``pip install 'tailwise[text]'``. Functions need neither.

    Examples
    --------
    >>> import numpy as np, tailwise as tw
    >>> lengths = tw.Embeddings(lambda texts: np.array([[len(text), 1.0] for text in texts]))
    >>> lengths.transform(["tree", "tail!"]).round(2)
    array([[0.97, 0.24],
           [0.98, 0.2 ]], dtype=float32)
    """

    def __init__(
        self,
        model: Any,
        *,
        max_length: int = 128,
        batch_size: int = 64,
        precision: str = "auto",
        pooling: str = "auto",
        cache: str | os.PathLike[str] | None = None,
        normalise: bool = True,
        device: str | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.max_length = max_length
        self.batch_size = batch_size
        self.precision = precision
        self.pooling = pooling
        self.cache = cache
        self.normalise = normalise
        self.device = device
        self.progress = progress

    def fit(self, X: Any = None, y: Any = None) -> Embeddings:
        """Check the parameters; nothing is learned."""
        self._check()
        return self

    def transform(self, X: Any) -> NDArray:
        """Return the vectors of texts, a float32 array of shape (n, dimensions)."""
        self._check()
        texts = check_texts(X, "X")
        encoder = open_encoder(self)
        if self.cache is None:
            return self._finish(self._encode(encoder, texts))
        cache = EmbeddingCache(self.cache, encoder.identity)
        missing = cache.list_missing(texts)
        with self._bar(len(missing)) as bar:
            for start in range(0, len(missing), PART):
                part = missing[start : start + PART]
                cache.add(part, self._encode(encoder, part, bar))
        return self._finish(cache.look_up(texts))

    def _encode(self, encoder: Encoder, texts: list[str], bar: Any = None) -> NDArray:
        """Encode texts of similar lengths together, in smaller batches where memory runs out."""
        if bar is None:
            with self._bar(len(texts)) as own:
                return self._encode(encoder, texts, own)
        order = sorted(range(len(texts)), key=lambda row: -len(texts[row]))
        rows: list[NDArray] = []
        size, start = self.batch_size, 0
        while start < len(order):
            batch = [texts[row] for row in order[start : start + size]]
            try:
                rows.append(_check_vectors(encoder.encode(batch), len(batch)))
            except (MemoryError, RuntimeError) as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                size = max(1, min(size, len(batch)) // 2)
                continue
            start += len(batch)
            bar.update(len(batch))
        vectors = np.concatenate(rows)
        return vectors[np.argsort(order)]

    def _finish(self, vectors: NDArray) -> NDArray:
        if not self.normalise:
            return vectors
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths == 0, 1, lengths)

    def _bar(self, n_texts: int) -> Any:
        return track(total=n_texts, title="encode", unit="texts", shown=self.progress)

    def _check(self) -> None:
        check_size("max_length", self.max_length, 2)
        check_size("batch_size", self.batch_size, 1)
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("pooling", self.pooling, POOLINGS)


def _check_vectors(vectors: Any, n_texts: int) -> NDArray:
    array = np.asarray(vectors, dtype=np.float32)
    if array.ndim != 2 or array.shape[0] != n_texts:
        msg = f"model must give a row for each text. Got shape {array.shape} for {n_texts} texts. Return a matrix."
        raise InputError(msg)
    if not np.isfinite(array).all():
        msg = "model must give finite numbers. Got NaN or infinity. Use precision='fp32', or another model."
        raise InputError(msg)
    return array
