"""Tables of numbers as text, the best value of each column marked."""

from __future__ import annotations

import math
from collections.abc import Mapping

__all__ = ["format_table"]


def format_table(
    rows: Mapping[str, Mapping[str, float]], columns: Mapping[str, str], *, digits: int = 2, mark: str = "*"
) -> str:
    """Numbers in percent, a line per row, a mark at the largest value of each column (at all of them, if tied).

    Parameters
    ----------
    rows : mapping
        Row name to values by key.
    columns : mapping
        Key to the heading of its column.
    digits : int
        Decimals.
    mark : str
        The mark of the best; empty for none.

    Examples
    --------
    >>> from tailwise.report.tables import format_table
    >>> print(format_table({"Top-K": {"p": 0.5, "f": 0.1}, "Macro-F1": {"p": 0.4, "f": 0.2}}, {"p": "P", "f": "mF1"}))
                  P     mF1
    Top-K     50.00*  10.00
    Macro-F1  40.00   20.00*
    """
    texts = {name: {key: f"{100 * values[key]:.{digits}f}" for key in columns} for name, values in rows.items()}
    best_texts = {key: f"{100 * _largest(rows, key):.{digits}f}" for key in columns}
    widths = {key: max(len(title), *(len(row[key]) for row in texts.values())) for key, title in columns.items()}
    name_width, no_mark = max(map(len, rows)), " " * len(mark)
    lines = [" " * name_width + "".join(f"  {title:>{widths[key]}}{no_mark}" for key, title in columns.items())]
    for name, row in texts.items():
        cells = (f"  {row[key]:>{widths[key]}}{mark if row[key] == best_texts[key] else no_mark}" for key in columns)
        lines.append(f"{name:<{name_width}}" + "".join(cells))
    return "\n".join(line.rstrip() for line in lines)


def _largest(rows: Mapping[str, Mapping[str, float]], key: str) -> float:
    numbers = [values[key] for values in rows.values() if not math.isnan(values[key])]
    return max(numbers, default=-math.inf)
