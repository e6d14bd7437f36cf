"""``tailwise report``: one page of HTML about a run or an experiment."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

__all__ = ["add_parser"]

EXAMPLES = """\
examples:
  tailwise report first-run
      writes first-run/report.html: open it in a browser, with or without a network
  tailwise report first-run -o page.html --alphas 0,0.5,0.9,0.99,1
      fewer points on the trade-off curve: sooner done

RUN_DIR is a folder that tailwise run or tailwise experiment wrote. For a run, the trade-off curve is computed now: one
selection for each alpha. Needs plotly: pip install 'tailwise[plot]'
"""


def add_parser(commands: Any) -> None:
    """Add the command to those of the parser."""
    parser = commands.add_parser(
        "report",
        help="one page of HTML about a run",
        description="Tell in one self-contained page of HTML what a run chose, why, and what it costs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", metavar="RUN_DIR", help="what tailwise run or tailwise experiment wrote")
    parser.add_argument("-o", "--output", metavar="FILE", help="where to write (default: RUN_DIR/report.html)")
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    parser.add_argument(
        "--alphas", type=_parse_alphas, metavar="LIST", help="mixtures of the trade-off curve, separated by commas"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no summary")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    from tailwise.cli.outputs import reserved_file
    from tailwise.datasets.formats.disk import written_beside
    from tailwise.report.page import build_page, find_record

    find_record(options.folder)
    output = options.output or os.path.join(options.folder, "report.html")
    with reserved_file(output, overwrite=options.overwrite) as draft:
        with _Bar(options, is_shown=sys.stderr.isatty() and not options.quiet) as bar:
            page = build_page(options.folder, alphas=options.alphas, progress=bar.update)
        with written_beside(draft) as file:
            file.write(page.encode("utf-8"))
    if not options.quiet:
        print(f"{len(page) / 1e6:.1f} MB written to {output}")
    return 0


class _Bar:
    """A progress bar over the alphas, made when the first of them is begun: experiments have none."""

    def __init__(self, options: argparse.Namespace, *, is_shown: bool) -> None:
        self._n_alphas = None if options.alphas is None else len(set(options.alphas))
        self._is_shown = is_shown
        self._bar: Any = None

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *failure: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, done: int) -> None:
        if not self._is_shown:
            return
        if self._bar is None:
            from tqdm import tqdm

            from tailwise.experiments.trade_off import PAPER_ALPHAS

            n_default = len({0.0, *PAPER_ALPHAS, 1.0})
            self._bar = tqdm(total=self._n_alphas or n_default, desc="trade-off", unit="alpha", leave=False)
        self._bar.update(done - self._bar.n)


def _parse_alphas(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        msg = f"alphas must be numbers from 0 to 1, separated by commas. Got {text!r}."
        raise argparse.ArgumentTypeError(msg) from error
