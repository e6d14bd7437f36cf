"""The inputs of ``tailwise train`` and ``tailwise predict``: a folder, two files, or one file of texts and labels."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tailwise.errors import FileError
from tailwise.inputs.ids import Ids
from tailwise.runs.run_data import RunData, TextColumns, read_corpora, read_data

INTEGER = re.compile("0|[1-9][0-9]{0,17}")  # in the form that Python writes, and small enough for every format


def read_training(paths: list[str], columns: TextColumns) -> RunData:
    """Read features or texts, and labels: from a folder, from a file with both, or from two files."""
    if len(paths) == 1 and not os.path.isfile(paths[0]):
        return read_data(paths[0], needs=("X", "Y"), columns=columns)
    names = columns.read_names()
    if len(paths) == 1:
        return read_corpora({"train": Path(paths[0])}, ("X", "Y"), columns, names=names, path=Path(paths[0]).parent)
    from tailwise.datasets.formats.read_write import as_labels, load_contents

    contents = load_contents(paths[1])
    labels = as_labels(contents.matrix, paths[1])
    return RunData(_read_rows(paths[0], columns.text), labels, label_names=names or contents.label_names)


def _read_rows(path: str, column: str) -> Any:
    from tailwise.datasets import load_features
    from tailwise.datasets.formats.labelled_texts import holds_texts
    from tailwise.datasets.formats.text_lines import read_texts
    from tailwise.inputs.texts import text_rows

    return text_rows(read_texts(path, column)) if holds_texts(path, column) else load_features(path)


def read_rows_for(model: Any, model_path: str, path: str, column: str) -> Any:
    """Read the texts or features to predict, whichever the model was trained on; refuse files that cannot hold them."""
    if getattr(model, "reads_texts_", False):
        return _read_texts_for(model_path, path, column)
    from tailwise.datasets import load_features
    from tailwise.datasets.formats.labelled_texts import holds_texts

    try:
        return load_features(path)
    except FileError as error:
        if not os.path.isfile(path) or not holds_texts(path, column):
            raise
        hint = "Pass features, or train on texts: tailwise train TEXTS LABELS -o MODEL."
        msg = f"{path} must hold features, on which {model_path} was trained. Got texts. {hint}"
        raise FileError(msg) from error


def read_ids_for(model: Any, path: str, column: str) -> Ids | None:
    """Read the ids of the texts to predict, if the file has a column of them; integers if all are written as such.

    Tables that are written with these integers then mark them as ids; as text they would be read as row numbers.
    """
    from tailwise.datasets.formats.text_lines import read_ids

    words = read_ids(path, column) if getattr(model, "reads_texts_", False) else None
    if words is None:
        return None
    are_integers = all(INTEGER.fullmatch(word) for word in words)
    return Ids([int(word) for word in words] if are_integers else words)


def _read_texts_for(model_path: str, path: str, column: str) -> Any:
    from tailwise.datasets.formats.disk import without_packing
    from tailwise.datasets.formats.labelled_texts import is_matrix_suffix
    from tailwise.datasets.formats.text_lines import read_texts
    from tailwise.inputs.texts import text_rows

    if os.path.isdir(path) or is_matrix_suffix(os.path.splitext(without_packing(path))[1]):
        hint = "Pass a file with a text per line, or a table with a column of texts (--text-column)."
        msg = f"{path} must hold texts, on which {model_path} was trained. Got a matrix. {hint}"
        raise FileError(msg)
    return text_rows(read_texts(path, column))
