"""Labels of several files under one numbering: by name where files name them, by number where they do not."""

from __future__ import annotations

from typing import Any, NoReturn

from tailwise.datasets.formats.contents import Contents
from tailwise.datasets.formats.read_write import load_contents
from tailwise.errors import InputError
from tailwise.inputs.label_names import LabelNames, find_label_names

__all__ = ["load_all_labels", "load_like", "names_for"]


def names_for(contents: Contents, path: Any) -> LabelNames | None:
    """What the labels of a file are called: by the file itself, or by a file labels.txt beside it."""
    if contents.label_names is not None:
        return contents.label_names
    return find_label_names(path, contents.matrix.shape[1], may_be_more=contents.is_open)


def load_all_labels(path: Any, label_names: Any = None) -> Contents:
    """Read a file; where it does not say how many labels there are, the names given or beside it do."""
    contents = load_contents(path, label_names=label_names)
    if not contents.is_open or contents.label_names is not None:
        return contents
    names = names_for(contents, path)
    return contents if names is None else contents.widened(len(names), path)


def load_like(
    path: Any, first: Contents, first_path: Any, names: LabelNames | None = None, *, same_instances: bool = True
) -> Contents:
    """Read a file whose labels, and by default instances, are those of another one, read before.

    Parameters
    ----------
    path : str or path
        The file.
    first, first_path : Contents, path
        The other file.
    names : LabelNames, optional
        The names of all labels; `first` is in their order.
    same_instances : bool
        Whether the rows are the same instances, too: they are then put in the same order where both files name them.
    """
    contents = load_contents(path)
    if same_instances and contents.matrix.shape[0] == first.matrix.shape[0]:
        contents = contents.in_order_of(first.instance_names, path)
    if contents.label_names is not None:
        known = names or names_for(first, first_path)
        if known is None:
            _refuse(path, first_path)
        return contents.renumbered(known, path)
    if names is None and first.label_names is not None and first.is_open:
        _refuse(first_path, path)
    return contents.widened(first.matrix.shape[1], path)


def _refuse(named: Any, numbered: Any) -> NoReturn:
    msg = (
        f"{named} names its labels and {numbered} numbers them, so that the names of all labels are needed. "
        "Give label_names (--label-names FILE), one name a line in the order of the numbers."
    )
    raise InputError(msg)
