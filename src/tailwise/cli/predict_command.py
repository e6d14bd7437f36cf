"""``tailwise predict``: predict label probabilities with a trained model."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from tailwise.cli.model_options import add_column_options
from tailwise.cli.options import add_command, check_not_input

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tailwise.datasets.formats.contents import Contents
    from tailwise.datasets.formats.registry import Format

EXAMPLES = """\
examples:
  tailwise predict trained.model features.npz -o probabilities.npz
      the 100 most probable labels of each instance
  tailwise predict trained.model titles.txt -o probabilities.csv
      for a model that was trained on texts: one text per line, or a column of .csv, .tsv or .jsonl
  tailwise predict trained.model features.npz -o probabilities.npz --top 20 --beam 10
      faster for a label tree, with nearly the same result
  tailwise predict trained.model features.npz -o probabilities.npz --calibrator calibrator.npz
      calibrated probabilities; the calibrator comes from tailwise train --calibrator
  tailwise predict trained.model test.txt -o probabilities.jsonl
      other formats, determined by suffixes; labels in the file of features are ignored

Label names, if the model has any, are written to formats that can hold them: .csv, .tsv, .json, .jsonl, .parquet,
.store and, for names without blanks, .txt. The same formats except .txt also get the ids of texts, from a column or key
named id, doc_id, document_id or record_id.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Predict the probabilities of the most probable labels with a trained model, for tailwise select."
    parser = add_command(commands, "predict", EXAMPLES, help="predict label probabilities", description=what)
    parser.add_argument("model", metavar="MODEL", help="model file written by tailwise train or tailwise run")
    parser.add_argument("features", metavar="X", help="features of the instances in any format, or texts")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="file or store to write the probabilities to, in any format",
    )
    parser.add_argument("--top", type=int, default=100, help="labels per instance (default: %(default)s)")
    parser.add_argument("--beam", type=int, metavar="N", help="beam width: nodes kept per level; faster, but not exact")
    add_column_options(parser, labels=False)
    parser.add_argument("--calibrator", metavar="FILE", help="calibrate the probabilities with this calibrator (.npz)")
    parser.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.contents import Contents
    from tailwise.datasets.formats.registry import SCORES, find_format_to_write
    from tailwise.inputs.checks import check_workers
    from tailwise.models.calibrator import Calibrator
    from tailwise.models.model import load_model
    from tailwise.runs.training_input import read_ids_for, read_rows_for

    found = find_format_to_write(options.output, frozenset({SCORES}))
    check_not_input(options.output, options.model, options.features, options.calibrator)
    check_workers(options.workers, "--workers")
    with _reserve(options.output, found, overwrite=options.overwrite) as draft:
        model = load_model(options.model).set_params(n_jobs=options.workers)
        beam = _read_beam(model, options.beam)
        calibrator = None if options.calibrator is None else Calibrator.load(options.calibrator)
        X = read_rows_for(model, options.model, options.features, options.text_column)
        ids = read_ids_for(model, options.features, options.text_column) if _holds_ids(found) else None
        start = time.perf_counter()
        probabilities = model.predict_proba(X, top=options.top, **beam)
        seconds = time.perf_counter() - start
        if calibrator is not None:
            probabilities = calibrator.transform(probabilities)
        contents = Contents(probabilities, label_names=_names_for(found, model), instance_names=ids)
        _write(draft, options.output, found, contents)
    if not options.quiet:
        print(
            f"{probabilities.nnz:,} probabilities of {X.shape[0]:,} instances in {seconds:.2f} s\n"
            f"written to {options.output}"
        )
    return 0


def _read_beam(model: Any, beam: int | None) -> dict[str, int]:
    """Return the beam width as a keyword argument; refuse it for models without a tree to search."""
    from tailwise.models.choosing import Choice, inner_model, needed_tree

    if beam is None:
        return {}
    remedy = "Omit it, or train a label tree: tailwise train DATA -o MODEL --model tree."
    needed_tree(Choice(inner_model(model).kind, "", model), "--beam needs", remedy)
    return {"beam": beam}


def _reserve(output: str, found: Format, *, overwrite: bool) -> AbstractContextManager[Path]:
    """Claim the output file or store before the work starts."""
    from tailwise.datasets.formats.disk import check_place
    from tailwise.datasets.formats.output_files import check_free, reserved_file
    from tailwise.datasets.formats.output_folders import claimed_folder
    from tailwise.datasets.formats.store_files import store_folder

    if found.name == "store":
        return claimed_folder(output, store_folder(), overwrite=overwrite)
    for target in found.targets(output):
        check_place(target)
        check_free(target, overwrite=overwrite)
    return reserved_file(output, overwrite=overwrite)


def _write(draft: Path, output: str, found: Format, contents: Contents) -> None:
    from tailwise.datasets import save
    from tailwise.datasets.formats.store_files import fill_store

    if found.name == "store":
        fill_store(draft, [contents], output)
    else:
        save(draft, contents.matrix, label_names=contents.label_names, instance_names=contents.instance_names)


def _holds_ids(found: Format) -> bool:
    """Whether files of the format hold instance ids; otherwise instances are numbered in order."""
    from tailwise.datasets.formats.registry import NAMES

    return NAMES in found.holds and found.names_instances


def _names_for(found: Format, model: Any) -> Any:
    """Return the label names if files of the format can hold them; otherwise labels are written as numbers."""
    from tailwise.datasets.formats.registry import NAMES
    from tailwise.errors import InputError

    names = model.priors_.label_names
    if names is None or NAMES not in found.holds:
        return None
    try:
        found.check_names(names.texts)
    except InputError:
        return None
    return names
