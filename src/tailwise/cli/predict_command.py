"""``tailwise predict``: predict label probabilities with a label tree."""

from __future__ import annotations

import argparse
import time
from typing import Any

from tailwise.cli.options import add_command, check_not_input

EXAMPLES = """\
examples:
  tailwise predict model.tree features.npz -o probabilities.npz
      the 100 most probable labels of each instance, by exact search
  tailwise predict model.tree features.npz -o probabilities.npz --top 20 --beam 10
      faster, with nearly the same result
  tailwise predict model.tree features.npz -o probabilities.npz --calibrator calibrator.npz
      calibrated probabilities; the calibrator comes from tailwise train --calibrator
  tailwise predict model.tree test.txt -o probabilities.jsonl
      other formats, determined by suffixes; labels in the file of features are ignored
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Predict the probabilities of the most probable labels with a label tree, for tailwise select."
    parser = add_command(commands, "predict", EXAMPLES, help="predict label probabilities", description=what)
    parser.add_argument("model", metavar="MODEL", help="file that tailwise train wrote")
    parser.add_argument("features", metavar="X", help="features of the instances, in any format")
    parser.add_argument(
        "-o", "--output", required=True, metavar="OUT", help="file to write the probabilities to, in any format"
    )
    parser.add_argument("--top", type=int, default=100, help="labels per instance (default: %(default)s)")
    parser.add_argument("--beam", type=int, metavar="N", help="beam width: nodes kept per level; faster, but not exact")
    parser.add_argument("--calibrator", metavar="FILE", help="calibrate the probabilities with this calibrator (.npz)")
    parser.add_argument("--workers", type=int, help="number of threads (default: all cores)")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets import check_writable_target, load_features, save
    from tailwise.datasets.formats.output_files import reserved_file
    from tailwise.engines.threads import check_workers
    from tailwise.models.calibrator import Calibrator
    from tailwise.models.label_tree import LabelTree

    check_writable_target(options.output, overwrite=options.overwrite)
    check_not_input(options.output, options.model, options.features, options.calibrator)
    check_workers(options.workers, "--workers")
    with reserved_file(options.output, overwrite=options.overwrite) as draft:
        model = LabelTree.load(options.model).set_params(n_jobs=options.workers)
        calibrator = None if options.calibrator is None else Calibrator.load(options.calibrator)
        X = load_features(options.features)
        start = time.perf_counter()
        probabilities = model.predict_proba(X, top=options.top, beam=options.beam)
        seconds = time.perf_counter() - start
        if calibrator is not None:
            probabilities = calibrator.transform(probabilities)
        save(draft, probabilities)
    if not options.quiet:
        print(
            f"{probabilities.nnz:,} probabilities of {X.shape[0]:,} instances in {seconds:.2f} s\n"
            f"written to {options.output}"
        )
    return 0
