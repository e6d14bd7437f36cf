"""``tailwise select``: choose labels from a file of probabilities."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

from tailwise.cli.cluster_options import add_cluster_options, engine_for
from tailwise.cli.exit_codes import DONE, INTERRUPTED, NOT_IN_TIME
from tailwise.cli.options import (
    add_columns_option,
    add_command,
    add_json_option,
    add_label_weights_option,
    add_max_seconds_option,
    add_names_options,
    add_search_options,
    check_not_input,
    is_out_of_time,
    parse_budget,
    read_search_options,
)
from tailwise.cli.streams import STREAM, inputs_in_files, output_in_file

if TYPE_CHECKING:
    from pathlib import Path

    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.paths import Source
    from tailwise.inputs.priors import LabelPriors
    from tailwise.selection import Selection
    from tailwise.utilities import Utility

LOG = logging.getLogger("tailwise.cli")
EXAMPLES = """\
utilities:
  precision, ps-precision, power-law, log, hamming, macro-precision, macro-recall, macro-f1, macro-fbeta(2),
  macro-jaccard, macro-balanced-accuracy, macro-gmean, macro-hmean, macro-accuracy, macro-auc, coverage,
  and mixtures of them, for instance 0.7*precision + 0.3*macro-f1

examples:
  tailwise select probabilities.npz -u macro-f1 -k 5 -o chosen.npz
  tailwise select probabilities.npz -u "0.7*precision + 0.3*coverage" -k 3 -o chosen.npz
      keep most of the precision, and cover more labels
  tailwise select probabilities.npz -u ps-precision -k 5 --priors train-labels.npz -o chosen.npz
      weights from the frequencies of the training labels
  tailwise select probabilities.npz -u macro-f1 -k none -o chosen.npz
      no budget: each label is chosen for as many instances as maximise the utility
  tailwise select probabilities.jsonl -u macro-f1 -k 5 --label-names labels.txt -o chosen.parquet
      labels by name; without --label-names, names come from the file or from labels.txt next to it
  tailwise select scores.parquet -u coverage -k 5 --exclude purchases.parquet -o chosen.parquet
      without what each user has already bought
  tailwise select scores.csv --columns user_id,item_id,score -u macro-f1 -k 5 -o -
      columns with other names; CSV on standard output

files:
  Probabilities may be in any of these formats: .npz (as scipy.sparse.save_npz or PECOS writes it), .jsonl, .parquet
  (instance, label, probability), .csv, .tsv and .json (the same columns), Annif's suggestions, .txt (label:score),
  -labels.npy with -scores.npy (LightXML); text may be compressed (.gz, .zst). The output may have any of these formats
  except Annif's. An .npz output is a 0/1 matrix that scipy.sparse.load_npz reads, with
  an array `labels` of the chosen labels of each instance, best first; other formats list labels and probabilities.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Choose k labels for each instance so that a utility of the whole batch is maximal."
    parser = add_command(commands, "select", EXAMPLES, help="choose k labels per instance", description=what)
    parser.add_argument(
        "probabilities",
        metavar="PROBS",
        nargs="+",
        help="label probabilities, in any format; several files, a directory or a pattern are one input, - is "
        "standard input",
    )
    parser.add_argument("-u", "--utility", required=True, help="what to maximise, for instance macro-f1")
    parser.add_argument("-k", required=True, type=parse_budget, help="labels per instance, or none for no budget")
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="OUT",
        help="file to write the selection to, or - for CSV on standard output",
    )
    add_columns_option(parser)
    parser.add_argument("--priors", metavar="FILE", help="training labels, or priors.npz of a run")
    parser.add_argument("--shift-to-priors", action="store_true", help="match the label density of --priors")
    add_names_options(parser)
    parser.add_argument(
        "--exclude", metavar="FILE", help="pairs of instance and label that must not be chosen, in any format"
    )
    add_label_weights_option(parser)
    parser.add_argument("--top", type=int, metavar="N", help="use only the N most probable labels of each instance")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.add_argument("--keep-partial", action="store_true", help="after Ctrl-C, write the best selection so far")
    add_max_seconds_option(parser)
    add_cluster_options(parser)
    kept = "folder for a checkpoint of every pass: if killed, the same command continues from it; removed at the end"
    parser.add_argument("--checkpoint", metavar="DIR", help=kept)
    add_json_option(parser)
    add_search_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.errors import InputError

    if options.json and options.output == STREAM:
        msg = "--json and -o - must not both write to standard output. Got both. Use -o FILE, or omit --json."
        raise InputError(msg)
    options.quiet = options.quiet or options.output == STREAM
    with inputs_in_files(*options.probabilities) as files, output_in_file(options.output) as output:
        options.probabilities, options.output = files if len(files) > 1 else files[0], output
        return _run_on_files(options)


def _run_on_files(options: argparse.Namespace) -> int:
    from tailwise.datasets import check_writable_target
    from tailwise.datasets.formats.output_files import reserved_file
    from tailwise.selection.checkpoint import remove_checkpoint

    check_writable_target(options.output, overwrite=options.overwrite)
    inputs = options.probabilities if isinstance(options.probabilities, list) else [options.probabilities]
    check_not_input(options.output, *inputs, options.priors, options.exclude)
    with reserved_file(options.output, overwrite=options.overwrite) as draft:
        selection = _select(options, draft)
    if selection is None:
        LOG.warning("interrupted, nothing written (--keep-partial keeps the best selection so far)")
        return INTERRUPTED
    if options.json:
        print(_as_json(selection, options), end="")
    elif not options.quiet:
        print(_summary(selection, options))
    if options.log_format == "json":
        LOG.info(_summary(selection, options))
    if selection.interrupted:
        return INTERRUPTED
    if is_out_of_time(selection, options):
        return NOT_IN_TIME
    if options.checkpoint is not None:
        remove_checkpoint(options.checkpoint)
    return DONE


def _select(options: argparse.Namespace, output: Path) -> Selection | None:
    """Choose labels and write the selection; return None if interrupted without --keep-partial."""
    from tailwise.datasets import names_for, save_selection
    from tailwise.datasets.formats.selection_files import check_holds_ids, names_to_write
    from tailwise.inputs.candidates import Candidates
    from tailwise.inputs.excluded_pairs import read_excluded
    from tailwise.selection import select
    from tailwise.selection.resolve import space_of

    source, priors = _load(options)
    contents = source.contents
    assert contents is not None
    # With --label-names, a number is the line of a label.
    check_holds_ids(options.output, contents.instance_names, None if options.label_names else contents.label_names)
    names = names_for(contents, options.probabilities)
    # Names from a separate file are not written if the format cannot hold them.
    written = names_to_write(options.output, names, are_needed=contents.label_names is not None)
    candidates = Candidates.of(source.probabilities).with_names(names, source.instance_ids).widened()
    priors = priors if priors is None else space_of(candidates).read_priors(priors)
    exclude = None if options.exclude is None else read_excluded(options.exclude, candidates, options.columns)
    candidates = candidates if options.top is None else candidates.keep_top(options.top)
    with engine_for(options) as engine:
        selection = select(
            _shift(candidates, priors) if options.shift_to_priors else candidates,
            _weigh(options, priors),
            options.k,
            priors=priors,
            exclude=exclude,
            engine=engine,
            progress=options.progress,
            max_seconds=options.max_seconds,
            on_interrupt="return",
            checkpoint=options.checkpoint,
            **read_search_options(options),
        )
    if selection.interrupted and not options.keep_partial:
        return None
    for message in (*contents.messages, *selection.messages):
        LOG.info("%s", message)
    save_selection(
        output,
        selection,
        probabilities=contents.matrix,
        label_names=written,
        instance_names=contents.instance_names,
    )
    return selection


def _weigh(options: argparse.Namespace, priors: LabelPriors | None) -> Utility:
    """The utility, with label weights if a file of them is given."""
    from tailwise.errors import InputError
    from tailwise.inputs.label_weights import load_label_weights
    from tailwise.utilities import as_utility
    from tailwise.utilities.by_label import weighted_macro

    utility = as_utility(options.utility, priors)
    if options.label_weights is None:
        return utility
    if not any(term.is_macro for _, term in utility.terms):
        msg = f"--label-weights needs a macro utility or coverage. Got {utility}. Use -u macro-f1, for instance."
        raise InputError(msg)
    return weighted_macro(utility, load_label_weights(options.label_weights))


def _load(options: argparse.Namespace) -> tuple[Source, LabelPriors | None]:
    """Load the probabilities with label names, and the training frequencies of these labels or of labels by name."""
    from tailwise.inputs.paths import Source
    from tailwise.inputs.vocabularies import read_vocabulary

    names = read_vocabulary(options.label_names, options.language)
    source = Source.of(options.probabilities, label_names=names, columns=options.columns)
    priors = source.read_priors(options.priors)
    if priors is not None:  # text does not state the number of labels; the training labels may
        source = source.widened(priors.n_labels)
    return source, priors


def _shift(candidates: Candidates, priors: Any) -> Candidates:
    from tailwise.errors import InputError
    from tailwise.models import shift_to_priors

    if priors is None:
        msg = "--shift-to-priors needs training labels. Got no --priors. Use --priors FILE."
        raise InputError(msg)
    return shift_to_priors(candidates, priors)


def _as_json(selection: Selection, options: argparse.Namespace) -> str:
    from tailwise.runs.record import as_json, describe_selection, describe_versions

    record = {
        "command": "select",
        "output": options.output,
        "n_instances": selection.n_instances,
        "n_labels": selection.n_labels,
        "utility": str(selection.utility),
        "k": options.k,
        "seed": options.seed,
        **describe_selection(selection),
        "interrupted": selection.interrupted,
        "empty_slots": int((selection.labels < 0).sum()),
        "seconds": selection.seconds,
        "versions": describe_versions(),
    }
    return as_json(record)


def _summary(selection: Selection, options: argparse.Namespace) -> str:
    budget = "without budget" if options.k is None else f"at {options.k}"
    state = "" if selection.converged else ", not converged"
    passes = "1 pass" if selection.passes == 1 else f"{selection.passes} passes"
    proof = "" if selection.certificate is None else f"{selection.certificate}\n"
    return (
        f"expected {selection.utility} {budget}: {selection.expected:.6f} "
        f"({selection.method}, {passes}{state}, {selection.seconds:.2f} s)\n{proof}"
        f"{selection.n_instances:,} instances written to {options.output}"
    )
