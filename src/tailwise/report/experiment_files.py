"""The tables and figures of an experiment as files."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

from tailwise.datasets.formats.disk import written_beside
from tailwise.experiments.results import Results, Table
from tailwise.report.figures import save_mean_curve
from tailwise.report.tables import describe_marks, to_csv, to_html, to_latex, to_text

__all__ = ["save_results"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #1b1f24; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .5rem; }
th, td { padding: .2rem .6rem; text-align: right; }
th[scope=row] { text-align: left; font-weight: 400; }
th[scope=colgroup] { text-align: center; border-bottom: 1px solid #c8ccd0; }
tbody { border-top: 1px solid #8b949e; }
.best { font-weight: 700; } .second { font-style: italic; } .own { background: #e3f5e5; }
"""


def save_results(results: Results, folder: Path) -> None:
    """Write ``tables`` (.txt, .csv, .tex, .html) and ``figures`` (.png, .svg) into a folder."""
    (folder / "tables").mkdir(exist_ok=True)
    for table in results.tables:
        for suffix, text in _texts(table, results.notes).items():
            with written_beside(folder / "tables" / f"{table.name}{suffix}") as file:
                file.write(text.encode())
    if results.curves:
        (folder / "figures").mkdir(exist_ok=True)
    for curve in results.curves:
        save_mean_curve([folder / "figures" / f"{curve.name}{suffix}" for suffix in (".png", ".svg")], curve)


def _texts(table: Table, notes: Sequence[str]) -> dict[str, str]:
    title = html.escape(table.title)
    told = [note for note in (describe_marks(table, best="bold", second="italic", own="green"), *notes) if note]
    page = (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n{to_html(table)}\n"
        f"{''.join(f'<p>{html.escape(note)}</p>' for note in told)}\n</html>\n"
    )
    told = [note for note in (describe_marks(table, best="*", second="'"), *notes) if note]
    plain = "\n\n".join([table.title, to_text(table), *told]) + "\n"
    return {".txt": plain, ".csv": to_csv(table), ".tex": to_latex(table), ".html": page}
