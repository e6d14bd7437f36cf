"""The network of LightXML: a transformer encoder, clusters of labels, and a shortlist of labels.

Parameters have the names that checkpoints of LightXML use: bert, l0, l1 and embed. Imported only where torch is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

if TYPE_CHECKING:
    from numpy.typing import NDArray

LAYERS = 5  # whose first tokens are read


class LightXMLNetwork(nn.Module):
    """Scores labels of tokenised texts.

    Parameters
    ----------
    encoder : PreTrainedModel
        A transformer that returns hidden states.
    clusters : ndarray of shape (m,) or None
        The cluster of each label; None for one linear layer over all labels.
    n_labels, bottleneck, shortlist : int
        Number of labels; length of their vectors; number of clusters whose labels are scored.
    dropout : float
        Share of the text's vector left out while training.
    """

    def __init__(
        self, encoder: Any, clusters: NDArray | None, n_labels: int, bottleneck: int, shortlist: int, dropout: float
    ) -> None:
        super().__init__()
        self.bert = encoder
        self.n_labels = n_labels
        self.drop_out = nn.Dropout(dropout)
        width = LAYERS * encoder.config.hidden_size
        if clusters is None:
            self.members = None
            self.l0 = nn.Linear(width, n_labels)
            return
        self.members = nn.Buffer(torch.from_numpy(_member_table(clusters)), persistent=False)
        self.clusters = nn.Buffer(torch.from_numpy(clusters), persistent=False)
        self.shortlist = min(shortlist, self.members.shape[0])
        self.l0 = nn.Linear(width, self.members.shape[0])
        self.l1 = nn.Linear(width, bottleneck)
        self.embed = nn.Embedding(n_labels, bottleneck)
        nn.init.xavier_uniform_(self.embed.weight)

    def encode(self, tokens: dict[str, Any]) -> Any:
        """Return the first token of the last layers, the last one first."""
        states = self.bert(**tokens, output_hidden_states=True).hidden_states
        first = [states[-layer][:, 0] for layer in range(1, LAYERS + 1)]
        return self.drop_out(torch.cat(first, dim=-1).float())

    def loss(self, tokens: dict[str, Any], truth: list[Any]) -> Any:
        """Return the cross-entropy over clusters and over candidates, or over all labels."""
        vectors = self.encode(tokens)
        scores = self.l0(vectors)
        entropy = nn.functional.binary_cross_entropy_with_logits
        if self.members is None:
            return entropy(scores, _indicator(truth, self.n_labels, scores))
        of_clusters = _indicator([self.clusters[labels] for labels in truth], scores.shape[1], scores)
        # Clusters of true labels come first, so that true labels are among the candidates.
        found = (scores.detach().sigmoid() + of_clusters).topk(self.shortlist, dim=1).indices
        candidates = self._with_truth(self.members[found].flatten(1), truth)
        of_labels = torch.stack([torch.isin(row, labels) for row, labels in zip(candidates, truth, strict=True)])
        is_label = candidates >= 0
        label_scores = self._score(vectors, candidates)
        fine = entropy(label_scores[is_label], of_labels[is_label].to(scores.dtype))
        return entropy(scores, of_clusters) + fine

    def best(self, tokens: dict[str, Any], top: int) -> tuple[Any, Any]:
        """Return the best labels of each text and their probabilities; -1 and 0 where there are too few."""
        vectors = self.encode(tokens)
        scores = self.l0(vectors).sigmoid()
        if self.members is None:
            found = scores.topk(min(top, self.n_labels), dim=1)
            return found.indices, found.values
        of_clusters = scores.topk(self.shortlist, dim=1)
        members = self.members[of_clusters.indices]
        values = self._score(vectors, members.flatten(1)).sigmoid() * of_clusters.values[..., None].expand_as(
            members
        ).flatten(1)
        labels = members.flatten(1)
        values = values.masked_fill(labels < 0, 0.0)
        found = values.topk(min(top, values.shape[1]), dim=1)
        return labels.gather(1, found.indices), found.values

    def _score(self, vectors: Any, candidates: Any) -> Any:
        return torch.bmm(self.embed(candidates.clamp(min=0)), self.l1(vectors)[..., None]).squeeze(-1)

    def _with_truth(self, candidates: Any, truth: list[Any]) -> Any:
        """Add true labels whose clusters did not fit into the shortlist."""
        lost = [labels[~torch.isin(labels, row)] for row, labels in zip(candidates, truth, strict=True)]
        more = nn.utils.rnn.pad_sequence(lost, batch_first=True, padding_value=-1)
        return torch.cat([candidates, more], dim=1)


def _member_table(clusters: NDArray) -> NDArray:
    """Return the labels of each cluster, a row for each, padded with -1."""
    counts = np.bincount(clusters)
    order = np.argsort(clusters, kind="stable")
    table = np.full((counts.size, counts.max()), -1, np.int64)
    table[np.arange(counts.max()) < counts[:, None]] = order
    return table


def _indicator(labels: list[Any], width: int, like: Any) -> Any:
    result = torch.zeros((len(labels), width), device=like.device, dtype=like.dtype)
    for row, each in enumerate(labels):
        result[row, each] = 1.0
    return result
