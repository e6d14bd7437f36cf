"""``tailwise data``: the catalogue of benchmarks, and folders of data sets."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tailwise.cli.options import add_command

if TYPE_CHECKING:
    from tailwise.datasets import Contents, DataFolder, DataSet

EXAMPLES = """\
examples:
  tailwise data list
      the data sets of the catalogue, with their sizes
  tailwise data get Eurlex-4K
      download, verify and unpack it to a folder Eurlex-4K
  tailwise data get Eurlex-4K --archive Downloads/Eurlex.zip
      the same from a local archive
  tailwise data get AmazonCat-13K --synthetic --scale 0.1 --out small
      without a network: synthetic data with a tenth of its size
  tailwise data info small
      the contents of a folder in any layout that tailwise reads; verifies checksums if they were recorded
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "List, download and describe benchmark data sets."
    parser = add_command(
        commands,
        "data",
        EXAMPLES,
        help="benchmark data sets: list, get, info",
        description=what,
        has_actions=True,
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    _add_list(actions)
    _add_get(actions)
    info = add_command(actions, "info", EXAMPLES, help="describe a data set of the catalogue, or a folder")
    info.add_argument("what", metavar="NAME_OR_FOLDER", help="a data set of the catalogue, or the folder of a data set")
    info.set_defaults(run=_run_info)


def _add_list(actions: Any) -> None:
    listing = add_command(actions, "list", EXAMPLES, help="list the data sets of the catalogue")
    listing.add_argument("--format", choices=["text", "json"], default="text", help="default: %(default)s")
    listing.set_defaults(run=_run_list)


def _add_get(actions: Any) -> None:
    get = add_command(actions, "get", EXAMPLES, help="download a data set, or create synthetic data of its size")
    get.add_argument("name", metavar="NAME", help="a data set of the catalogue")
    get.add_argument("--out", metavar="FOLDER", help="folder to write (default: the name of the data set)")
    get.add_argument("--url", help="download from this address")
    get.add_argument("--archive", metavar="FILE", help="unpack this archive instead of downloading")
    get.add_argument("--sha256", metavar="HEX", help="checksum that the archive must have")
    get.add_argument("--synthetic", action="store_true", help="create synthetic data of the same size; no network")
    get.add_argument("--scale", type=float, help="relative size of synthetic data, up to 1 (default: 1)")
    get.add_argument("--seed", type=int, help="seed of synthetic data (default: 0)")
    get.add_argument("--overwrite", action="store_true", help="replace the folder if tailwise wrote a data set to it")
    get.set_defaults(run=_run_get)


def _run_list(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from tailwise.datasets import CATALOGUE

    if options.format == "json":
        print(json.dumps([asdict(each) for each in CATALOGUE], indent=2))
        return 0
    columns = ("train", "test", "features", "labels", "per point", "per label", "a", "b")
    widths = (10, 9, 10, 10, 10, 10, 5, 4)
    print(f"{'':20}" + "".join(f"{name:>{width}}" for name, width in zip(columns, widths, strict=True)))
    for each in CATALOGUE:
        sizes = (f"{size:,}" for size in (each.n_train, each.n_test, each.n_features, each.n_labels))
        cells = (*sizes, each.labels_per_point, each.points_per_label, *each.propensity)
        print(f"{each.name:20}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)))
    return 0


def _run_get(options: argparse.Namespace) -> int:
    from tailwise.datasets import find_data_set

    _check_combination(options)
    data = find_data_set(options.name)
    folder = options.out or data.name
    parts = (_draw if options.synthetic else _fetch)(data, folder, options)
    if not options.quiet:
        _print_folder(folder, parts)
    return 0


def _draw(data: DataSet, folder: str, options: argparse.Namespace) -> None:
    from tailwise.datasets import write_synthetic

    drawing = {"scale": options.scale, "seed": options.seed}
    given = {name: value for name, value in drawing.items() if value is not None}
    write_synthetic(data.name, folder, overwrite=options.overwrite, **given)


def _fetch(data: DataSet, folder: str, options: argparse.Namespace) -> list[_Part]:
    """Download or unpack a data set, and return descriptions of its parts."""
    from tailwise.datasets import get_data

    parts: list[_Part] = []
    get_data(
        data.name,
        folder,
        url=options.url,
        archive=options.archive,
        sha256=options.sha256,
        overwrite=options.overwrite,
        progress=sys.stderr.isatty() and options.progress,
        on_part=lambda part, contents: parts.append(_describe(part, contents)),
    )
    return parts


def _check_combination(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    from tailwise.errors import InputError

    names = ("url", "archive", "sha256") if options.synthetic else ("scale", "seed")
    came = ", ".join(f"--{name}" for name in names if getattr(options, name) is not None)
    if came:
        rule = "cannot be combined with --synthetic" if options.synthetic else "can only be used with --synthetic"
        remedy = f"Omit {came}" if options.synthetic else f"Add --synthetic, or omit {came}"
        msg = f"{', '.join(f'--{name}' for name in names)} {rule}. Got {came}. {remedy}."
        raise InputError(msg)


def _run_info(options: argparse.Namespace) -> int:
    from tailwise.datasets import find_data_set

    if os.path.isdir(options.what):
        _print_folder(options.what)
    else:
        _print_data_set(find_data_set(options.what))
    return 0


def _print_data_set(data: DataSet) -> None:
    a, b = data.propensity
    print(
        f"{data.name}\n"
        f"  {data.n_train:,} training and {data.n_test:,} test instances, {data.n_features:,} features\n"
        f"  {data.n_labels:,} labels, {data.labels_per_point} per point, {data.points_per_label} points per label\n"
        f"  propensity model: a = {a}, b = {b}\n"
        f"  licence: {data.licence}\n"
        f"  from: {data.source}\n"
        f"  archive: {data.url}"
    )


def _print_folder(folder: str, parts: list[_Part] | None = None) -> None:
    """Describe the contents of a folder, which are read completely, and verify recorded checksums."""
    from tailwise.datasets import open_folder
    from tailwise.datasets.catalogue.data_folder import read_lock, verify_folder

    lock = read_lock(folder)
    opened = open_folder(folder)
    if parts is None:
        parts = [_describe(part, opened.load(part)) for part in opened.labels]
    print(folder if lock is None else f"{folder}: {lock.get('name')} ({lock.get('source')})")
    print("\n".join([*(part.text for part in parts), *_describe_texts(opened)]))
    if opened.names is not None:
        unused = "" if any(part.is_named for part in parts) else ", not used: needs one line per label"
        print(f"  label names: {opened.names.name}{unused}")
    if opened.filter is not None:
        print(f"  filter: {opened.filter.name}")
    if lock is not None:
        print(
            f"  {verify_folder(folder, lock)} files as recorded; checksum {lock.get('checksum', 'of synthetic data')}"
        )


def _describe_texts(folder: DataFolder) -> list[str]:
    """Return a line for each file of texts, which a run uses if there are no features."""
    files = {**folder.texts, **folder.corpora}
    what = (
        "texts with labels" if folder.corpora else "texts" if not folder.features else "texts, not used: has features"
    )
    return [f"  {part}: {what} in {path.name}" for part, path in files.items()]


class _Part(NamedTuple):
    """A description of the training or test set."""

    text: str
    is_named: bool


def _describe(part: str, contents: Contents) -> _Part:
    n, m = contents.matrix.shape
    d = "no features" if contents.features is None else f"{contents.features.shape[1]:,} features"
    text = f"  {part}: {n:,} instances, {d}, {m:,} labels, {contents.matrix.nnz / n:.2f} per point"
    return _Part(text, contents.label_names is not None)
