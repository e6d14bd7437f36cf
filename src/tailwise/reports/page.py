"""Building a report, a self-contained HTML page with text, tables and charts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tailwise.errors import FileError, InputError, extra_needed
from tailwise.experiments.results_folder import RECORD as EXPERIMENT_RECORD
from tailwise.reports.experiment_page import describe_experiment
from tailwise.reports.run_page import describe_run
from tailwise.reports.templates import render
from tailwise.runs.run_folder import RUN_RECORD, read_run_folder, refuse_unfinished


def find_record(path: str | os.PathLike[str]) -> Path:
    """Find the record of a folder, whose name distinguishes a run from an experiment."""
    folder = Path(path)
    if not folder.is_dir():
        came = "which is a file" if folder.exists() else "which does not exist"
        msg = f"The folder must be the output of tailwise run or tailwise experiment. Got {path}, {came}."
        raise FileError(msg)
    for name in (RUN_RECORD, EXPERIMENT_RECORD):
        if (folder / name).is_file():
            return folder / name
    refuse_unfinished(folder)
    msg = (
        f"The folder must be the output of tailwise run or tailwise experiment. Got {path}, which has neither "
        f"{RUN_RECORD} nor {EXPERIMENT_RECORD}. Create one with: tailwise run DIR -u macro-f1 -k 5 -o "
        f"{folder.resolve().name}-run"
    )
    raise FileError(msg)


def build_page(path: str | os.PathLike[str], *, alphas: Sequence[float] | None = None, progress: bool = False) -> str:
    """Return the report of a folder as HTML; `alphas` are the mixtures on the trade-off curve of a run."""
    plotly = load_plotly()  # first, because it may be missing
    record = find_record(path)
    if record.name == RUN_RECORD:
        page = describe_run(read_run_folder(path), alphas=alphas, progress=progress)
        return render("run.html", plotly=plotly, **page)
    if alphas is not None:
        msg = "alphas (--alphas) can only be given for a run. Got the folder of an experiment. Omit them."
        raise InputError(msg)
    return render("experiment.html", plotly=plotly, **describe_experiment(record))


def load_plotly() -> str:
    """Return the JavaScript that draws the charts."""
    with extra_needed("A report needs plotly", "'tailwise[plot]'"):
        from plotly.offline import get_plotlyjs
    return get_plotlyjs()
