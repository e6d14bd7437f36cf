"""Candidates of a peer as arrays; imports nothing of ours, so that peers can use it."""

import numpy as np


def as_arrays(rows):
    """The parts of a CSR matrix of scores from a dictionary of labels and scores for each row."""
    starts = np.cumsum([0] + [len(row) for row in rows])
    labels = np.array([label for row in rows for label in sorted(row)], np.int32)
    scores = np.array([row[label] for row in rows for label in sorted(row)], np.float32)
    return {"candidate_starts": starts, "candidate_labels": labels, "candidate_scores": scores}
