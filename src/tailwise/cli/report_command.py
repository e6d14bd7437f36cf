"""``tailwise report``: a self-contained HTML page about a run or an experiment."""

from __future__ import annotations

import argparse
import os
from typing import Any

from tailwise.cli.options import add_command, parse_alphas

EXAMPLES = """\
examples:
  tailwise report first-run
      writes first-run/report.html: open it in a browser, with or without a network
  tailwise report first-run -o page.html --alphas 0,0.5,0.9,0.99,1
      faster, with fewer points on the trade-off curve

RUN_DIR is a folder that tailwise run or tailwise experiment wrote. For a run, this command computes the trade-off
curve, with one selection for each alpha. It needs plotly: pip install 'tailwise[plot]'
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Write a self-contained HTML page about a run: what was chosen, why, and the trade-off."
    parser = add_command(commands, "report", EXAMPLES, help="write an HTML page about a run", description=what)
    parser.add_argument("folder", metavar="RUN_DIR", help="folder that tailwise run or tailwise experiment wrote")
    parser.add_argument("-o", "--output", metavar="FILE", help="file to write (default: RUN_DIR/report.html)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--alphas", type=parse_alphas, metavar="LIST", help="mixtures of the trade-off curve, separated by commas"
    )
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.disk import written_beside
    from tailwise.datasets.formats.output_files import reserved_file
    from tailwise.report.page import build_page, find_record

    find_record(options.folder)
    output = options.output or os.path.join(options.folder, "report.html")
    with reserved_file(output, overwrite=options.overwrite) as draft:
        progress = options.progress
        page = build_page(options.folder, alphas=options.alphas, progress=progress)
        with written_beside(draft) as file:
            file.write(page.encode("utf-8"))
    if not options.quiet:
        print(f"{len(page) / 1e6:.1f} MB written to {output}")
    return 0
