"""``tailwise report``: a self-contained HTML page about a run or an experiment."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tailwise.cli.announce import describe_written
from tailwise.cli.model_options import add_column_options
from tailwise.cli.options import add_columns_option, add_command, add_names_options, parse_alphas

EXAMPLES = """\
examples:
  tailwise report first-run
      writes first-run/report.html: open it in a browser, with or without a network
  tailwise report first-run -o page.html --alphas 0,0.5,0.9,0.99,1
      faster, with fewer points on the trade-off curve
  tailwise report --probabilities probabilities.npz --selection chosen.npz --truth truth.npz --texts titles.txt
      from the files of any model: searchable records and labels, with explanations and downloads

RUN_DIR is a folder written by tailwise run or tailwise experiment. For a run, this command computes the trade-off
curve, with one selection for each alpha. It needs plotly: pip install 'tailwise[plot]'
"""


ONLY_OURS = ("texts", "title")  # options of files that no other command has
OF_FILES = ("selection", "truth", "priors", "exclude", "label_names", "language", "columns", "utility")


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Write a self-contained HTML page about a run: what was chosen, why, and the trade-off."
    parser = add_command(commands, "report", EXAMPLES, help="write an HTML page about a run", description=what)
    parser.add_argument(
        "folder", nargs="?", metavar="RUN_DIR", help="folder written by tailwise run or tailwise experiment"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: report.html, in RUN_DIR)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--alphas", type=parse_alphas, metavar="LIST", help="mixtures of the trade-off curve, separated by commas"
    )
    files = parser.add_argument_group("from the files of any model, instead of RUN_DIR")
    files.add_argument("--probabilities", metavar="FILE", help="label probabilities, in any format")
    files.add_argument("--selection", metavar="FILE", help="the chosen labels, from tailwise or any other tool")
    files.add_argument("--truth", metavar="FILE", help="true labels")
    files.add_argument("--priors", metavar="FILE", help="training labels, or priors.npz of a run")
    files.add_argument("--exclude", metavar="FILE", help="pairs that could not be chosen, as for tailwise select")
    files.add_argument(
        "--texts", metavar="FILE", help="a title for each record: a line of text, a row of a table, or an Annif corpus"
    )
    add_column_options(files, labels=False)
    add_names_options(files)
    add_columns_option(files)
    files.add_argument("-u", "--utility", help="utility by which gains are measured (default: macro-f1)")
    files.add_argument("--title", help="headline of the page (default: Labels, record by record)")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.errors import InputError

    if (options.folder is None) == (options.probabilities is None):
        msg = "tailwise report needs a RUN_DIR, or --probabilities and --selection. Give one of the two."
        raise InputError(msg)
    if options.folder is not None:
        return _report_folder(options)
    if options.selection is None:
        msg = "--probabilities needs --selection FILE, the chosen labels. Add it."
        raise InputError(msg)
    return _report_files(options)


def _report_files(options: argparse.Namespace) -> int:
    from tailwise.errors import InputError
    from tailwise.inputs.vocabularies import read_vocabulary
    from tailwise.reports.records_page import report

    output = options.output or "report.html"
    if options.alphas is not None:
        msg = "--alphas can only be given with a RUN_DIR. Got it with --probabilities. Omit it."
        raise InputError(msg)
    names = ("utility", "truth", "priors", "exclude", "texts", "text_column", "columns", "overwrite")
    more = {name: getattr(options, name) for name in names}
    more |= {} if options.title is None else {"title": options.title}
    more["label_names"] = read_vocabulary(options.label_names, options.language)
    report(options.probabilities, options.selection, output, **more)
    if not options.quiet:
        print(describe_written(output))
    return 0


def _report_folder(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.disk import written_beside
    from tailwise.datasets.formats.output_files import reserved_file
    from tailwise.reports.page import build_page, find_record

    _refuse_options_of_files(options)
    find_record(options.folder)
    output = options.output or os.path.join(options.folder, "report.html")
    with reserved_file(output, overwrite=options.overwrite) as draft:
        progress = options.progress
        page = build_page(options.folder, alphas=options.alphas, progress=progress)
        with written_beside(draft) as file:
            file.write(page.encode("utf-8"))
    if not options.quiet:
        print(describe_written(output))
    return 0


def _refuse_options_of_files(options: argparse.Namespace) -> None:
    """Refuse options that a page about a run does not use; those in a configuration may be for other commands."""
    from tailwise.errors import InputError

    names = ONLY_OURS if options.config is not None else (*ONLY_OURS, *OF_FILES)
    given = next((name for name in names if getattr(options, name) is not None), None)
    if given is not None:
        msg = (
            f"--{given.replace('_', '-')} can only be given with --probabilities and --selection. Got it with the "
            f"folder {options.folder}, which has all that its page needs. Omit it, or give the files of the folder: "
            "--probabilities FILE --selection FILE."
        )
        raise InputError(msg)
