"""``tailwise calibrate``: make probabilities match observed frequencies."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tailwise.cli.options import add_columns_option, add_command, check_not_input

if TYPE_CHECKING:
    from tailwise.models.calibrator import Calibrator

EXAMPLES = """\
examples:
  tailwise calibrate held-out.npz held-out-labels.npz -o calibrator.npz
      fit a calibrator to labels that the model was not trained on
  tailwise calibrate held-out.npz held-out-labels.npz -o calibrator.npz --apply probabilities.npz --to calibrated.npz
      also calibrate other probabilities of the same model
  tailwise calibrate --use calibrator.npz --apply probabilities.npz --to calibrated.npz
      the same with a calibrator that was fitted earlier
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Fit a calibrator to held-out labels, and calibrate probabilities with it."
    parser = add_command(commands, "calibrate", EXAMPLES, help="calibrate probabilities", description=what)
    parser.add_argument("probabilities", nargs="?", metavar="PROBS", help="probabilities of a held-out batch")
    parser.add_argument("truth", nargs="?", metavar="TRUTH", help="its true labels")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write the calibrator to (.npz)")
    parser.add_argument("--use", metavar="FILE", help="use this calibrator instead of fitting one")
    parser.add_argument("--apply", metavar="FILE", help="probabilities to calibrate")
    parser.add_argument("--to", metavar="OUT", help="file to write the calibrated probabilities to, in any format")
    parser.add_argument(
        "--calibration",
        default="isotonic",
        metavar="METHOD",
        help="isotonic, platt, temperature or context (default: %(default)s)",
    )
    parser.add_argument("--by", default="all", help="all (one curve) or frequency (one per bin) (default: %(default)s)")
    parser.add_argument("--priors", metavar="FILE", help="training labels, for --by frequency and the method context")
    add_columns_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="default: %(default)s")
    parser.add_argument("--overwrite", action="store_true", help="replace the output files if they exist")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.output_files import reserved_files

    _check(options)
    paths = [path for path in (options.output, options.to) if path is not None]
    for path in paths:
        check_not_input(path, options.probabilities, options.truth, options.use, options.apply, options.priors)
    with reserved_files(*paths, overwrite=options.overwrite) as drafts:
        lines = _calibrate(options, dict(zip(paths, drafts, strict=True)))
    if not options.quiet:
        print("\n".join(lines))
    return 0


def _check(options: argparse.Namespace) -> None:
    from tailwise.errors import InputError

    is_fitted = options.use is None
    if is_fitted == (options.truth is None):
        msg = "tailwise calibrate needs PROBS and TRUTH to fit a calibrator, or --use FILE. Give one of the two."
        raise InputError(msg)
    if (options.apply is None) != (options.to is None):
        msg = "--apply and --to must be given together. Got one of them. Add the other."
        raise InputError(msg)
    if options.output is None and options.to is None:
        msg = "tailwise calibrate needs an output: -o FILE for the calibrator, or --apply FILE --to OUT. Got none."
        raise InputError(msg)


def _calibrate(options: argparse.Namespace, drafts: dict[str, Any]) -> list[str]:
    """Fit or load a calibrator, write the requested outputs, and report what was done."""
    from tailwise.datasets import save
    from tailwise.inputs.candidates import Candidates
    from tailwise.models import Calibrator
    from tailwise.models.candidate_truth import read_candidates

    calibrator, lines = (Calibrator.load(options.use), []) if options.use is not None else _fit(options)
    if options.output is not None:
        calibrator.save(drafts[options.output])
        lines.append(f"calibrator written to {options.output}")
    if options.to is not None:
        after = read_candidates(options.apply, calibrator.n_labels_, _columns_to_apply(options))
        matrix = Candidates.of(calibrator.transform(after)).to_csr()
        save(drafts[options.to], matrix, label_names=after.label_names, instance_names=after.instance_ids)
        lines.append(f"calibrated probabilities written to {options.to}")
    return lines


def _columns_to_apply(options: argparse.Namespace) -> Any:
    """The columns of the file to calibrate: those that were given, unless only the held-out batch has them."""
    from tailwise.inputs.paths import columns_there

    return options.columns if options.use is not None else columns_there(options.apply, options.columns)


def _fit(options: argparse.Namespace) -> tuple[Calibrator, list[str]]:
    """Fit a calibrator, and report how well it does."""
    from tailwise.inputs.paths import Source
    from tailwise.metrics.placed_truth import place_truth
    from tailwise.models import Calibrator, reliability

    joined = place_truth(Source.of(options.probabilities, columns=options.columns), options.truth)
    candidates, true = joined.known()
    calibrator = Calibrator(options.calibration, by=options.by, random_state=options.seed)
    calibrator.fit(candidates, true, priors=options.priors)
    errors = [reliability(each, true).error for each in (candidates, calibrator.transform(candidates))]
    lines = [] if joined.note is None else [joined.note]
    return calibrator, [*lines, f"calibration error on these labels: {errors[0]:.5f} before, {errors[1]:.5f} after"]
