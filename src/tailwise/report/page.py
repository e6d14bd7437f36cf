"""One page of HTML that holds everything it needs: words, tables, charts, and what draws them."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from tailwise import __version__
from tailwise.errors import FileError, InputError, MissingExtraError
from tailwise.report.experiment_page import build_experiment_page
from tailwise.report.experiment_record import EXPERIMENT_RECORD
from tailwise.report.markup import Page
from tailwise.report.run_page import Progress, build_run_page
from tailwise.runs.run_folder import RUN_RECORD, read_run_folder

__all__ = ["build_page", "find_record", "load_plotly", "render_page"]


def find_record(path: str | os.PathLike[str]) -> Path:
    """The record of a folder, which says what kind of folder it is."""
    folder = Path(path)
    if not folder.is_dir():
        came = "which is a file" if folder.exists() else "which does not exist"
        msg = f"RUN_DIR must be a folder of tailwise run or tailwise experiment. Got {path}, {came}."
        raise FileError(msg)
    for name in (RUN_RECORD, EXPERIMENT_RECORD):
        if (folder / name).is_file():
            return folder / name
    msg = (
        f"RUN_DIR must be a folder of tailwise run or tailwise experiment. Got {path}, which has neither {RUN_RECORD} "
        f"nor {EXPERIMENT_RECORD}. Make one with: tailwise run DIR -u macro-f1 -k 5 -o {folder.resolve().name}-run"
    )
    raise FileError(msg)


def build_page(
    path: str | os.PathLike[str], *, alphas: Sequence[float] | None = None, progress: Progress | None = None
) -> str:
    """The report of a folder, as text of HTML.

    Parameters
    ----------
    path : path
        A folder that ``tailwise run`` or ``tailwise experiment`` wrote.
    alphas : sequence of float, optional
        The mixtures of the trade-off curve of a run. Default: those of :func:`tailwise.trade_off`.
    progress : callable, optional
        Called with the number of points of the curve that are done.
    """
    plotly = load_plotly()  # before the work, for it may be missing
    record = find_record(path)
    if alphas is not None and record.name != RUN_RECORD:
        msg = "alphas choose points of the curve of a run. An experiment has its own. Leave them out."
        raise InputError(msg)
    if record.name == RUN_RECORD:
        page = build_run_page(read_run_folder(path), alphas=alphas, progress=progress)
    else:
        page = build_experiment_page(record)
    return render_page(page, plotly)


def load_plotly() -> str:
    """The program that draws the charts."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        msg = "A report needs plotly, which is not installed. Run: pip install 'tailwise[plot]'"
        raise MissingExtraError(msg) from error
    return get_plotlyjs()


def render_page(page: Page, plotly: str) -> str:
    """Put the sections into the skeleton."""
    charts = {name: figure for section in page.sections for name, figure in section.charts.items()}
    curves = {name: curve for section in page.sections for name, curve in section.curves.items()}
    contents = (
        f'<li><a href="#{html.escape(each.anchor)}">{html.escape(each.title)}</a></li>' for each in page.sections
    )
    return Template(_read("page.html")).substitute(
        title=html.escape(page.title),
        subtitle=html.escape(page.subtitle),
        version=html.escape(__version__),
        style=_read("page.css"),
        contents="\n".join(contents),
        sections="\n".join(each.to_html() for each in page.sections),
        data=_inline_json({"charts": charts, "curves": curves}),
        plotly=plotly if charts else "",
        script=_read("page.js"),
    )


def _read(name: str) -> str:
    return resources.files("tailwise.report").joinpath(name).read_text(encoding="utf-8")


def _inline_json(data: dict[str, Any]) -> str:
    """JSON that cannot end the script it stands in: no angle bracket is left as it is."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
