"""``tailwise demo``: a story on one screen; with --full every strategy, all metrics, and a picture."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

import tailwise as tw
from tailwise.experiments import STRATEGIES
from tailwise.reports.demo_story import _find_telling, _line
from tailwise.selection.reasons import Reason

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def demo(run_apart, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_apart(folder, "demo", "--full", "--out", "new/pictures")
    done.folder = folder
    return done


@pytest.fixture(scope="module")
def story(run_apart, tmp_path_factory):
    folder = tmp_path_factory.mktemp("story")
    done = run_apart(folder, "demo")
    done.folder = folder
    return done


def test_the_story_fits_on_a_screen(story):
    assert (story.code, story.err) == (0, "")
    lines = story.out.splitlines()
    assert len(lines) <= 36
    assert max(map(len, lines)) <= 80
    assert story.out.startswith("3,809 library records, each to be given 5 of 3,993 subjects.")
    assert "The certificate: expected macro-f1 0." in story.out
    assert "tailwise demo --full" in story.out
    assert "tailwise select YOUR-PROBABILITIES.npz -u macro-f1" in story.out  # a demo writes no probabilities


def test_the_story_compares_four_strategies(story):
    rows = {line[:14].strip(): re.findall(r"\d+\.\d", line) for line in story.out.splitlines()[4:9]}
    values = {name: [float(cell) for cell in cells] for name, cells in rows.items()}
    assert list(values)[1:] == ["top 5", "half and half", "macro-F1", "coverage"]
    best = [max(values, key=lambda name, c=c: values[name][c] if values[name] else 0) for c in range(4)]
    assert best == ["top 5", "coverage", "macro-F1", "coverage"]


def test_the_story_explains_a_record(story):
    lines = [line for line in story.out.splitlines() if re.match(r"  [+-] [A-Z]", line)]
    assert [line[2] for line in lines] == ["+"] * 5 + ["-"] * 2


def test_the_story_writes_a_page_and_a_picture(story):
    assert "tailwise-demo/report.html" in story.out
    assert (story.folder / "tailwise-demo" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert (story.folder / "tailwise-demo" / "trade-off.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(("width", "encoding"), [(44, "utf-8"), (100, "ascii"), (200, "utf-8")])
def test_any_width_and_encoding(monkeypatch, width, encoding):
    from pathlib import Path
    from types import SimpleNamespace

    import tailwise as tw
    from tailwise.reports import demo_story

    selection = tw.select([[0.9, 0.4, 0.1], [0.8, 0.1, 0.7]], "macro-f1", 1, certify=True)
    values = dict.fromkeys(demo_story.COLUMNS, 0.5)
    page, data = Path("a/report.html"), SimpleNamespace(truth=selection.to_csr())
    story = demo_story.Story(
        data,
        None,
        {"macro-F1": selection},
        dict.fromkeys(demo_story.STRATEGIES, values),
        selection.explain(0),
        page,
        page,
        1,
    )
    monkeypatch.setattr(demo_story.sys, "stdout", SimpleNamespace(encoding=encoding))
    told = demo_story.describe_story(story, width)
    assert max(len(line) for line in told.splitlines() if "tailwise" not in line) <= min(width, 100)
    told.encode(encoding)


def read_table(out, heading):
    """Name to the cells of its row, and the names of the columns, from the table below a heading."""
    lines = out.split(f"\n{heading}")[1].split("\n\n")[0].split("\n")[1:]
    columns = lines[0].split()
    width = max(len(strategy.name) for strategy in STRATEGIES)
    return columns, {line[:width].strip(): line[width:].split() for line in lines[1:]}


def test_it_ends_well(demo):
    assert (demo.code, demo.err) == (0, "")
    assert demo.out.startswith("3,809 instances, 3,993 labels, ")


def test_the_legend_explains_what_the_tables_abbreviate(demo):
    legend = demo.out.split("\n\n")[1]
    words = legend.replace(",", " ").replace(":", " ").split()
    assert {"PS-K", "Pow-K", "Log-K", "greedy", "prior", "exact"} <= set(words)
    assert {"PS-P", "PSPn", "PSnDCG", "Jac", "BA", "G", "H", "Acc", "Cov", "Cat"} <= set(words)
    assert "may exceed 100" in legend


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize(
    "heading", ["Instance-wise metrics at {}, percent", "Macro averages and coverage at {}, percent"]
)
def test_tables(demo, k, heading):
    columns, rows = read_table(demo.out, heading.format(k))
    assert list(rows) == [strategy.name for strategy in STRATEGIES]
    for row in rows.values():
        assert len(row) == len(columns)
        assert all(re.fullmatch(r"\d+\.\d\d[*']?", cell) for cell in row)
    for column in zip(*rows.values(), strict=True):
        values = [float(cell.rstrip("*'")) for cell in column]
        ordered = sorted(set(values), reverse=True)
        for mark, marked in (("*", ordered[:1]), ("'", ordered[1:2])):
            assert {value for value, cell in zip(values, column, strict=True) if cell.endswith(mark)} == set(marked)


@pytest.mark.parametrize("k", [1, 3, 5])
def test_strategies_win_where_they_should(demo, k):
    columns, rows = read_table(demo.out, f"Instance-wise metrics at {k}, percent")
    assert rows["Top-K"][columns.index("P")].endswith("*")
    assert rows["PS-K"][columns.index("PS-P")].endswith("*")
    columns, rows = read_table(demo.out, f"Macro averages and coverage at {k}, percent")
    assert rows["Macro-F1 exact"][columns.index("F1")].endswith("*")
    assert rows["Cov exact"][columns.index("Cov")].endswith("*")


def test_the_picture(demo):
    path = demo.folder / "new" / "pictures" / "trade-off.png"
    assert demo.out.endswith("precision versus macro-F1 at 3 is in new/pictures/trade-off.png\n")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("full", [(), ("--full",)], ids=str)
def test_a_folder_that_cannot_be(run, tmp_path, full):
    """It is refused before anything is computed."""
    (tmp_path / "file").write_text("in the way")
    done = run(tmp_path, "demo", "--out", "file", *full)
    assert (done.code, done.out) == (2, "")
    assert re.fullmatch(r"tailwise: error: .*file.*Choose another --out\.\n", done.err)
    assert (tmp_path / "file").read_text() == "in the way"


def test_the_record_of_the_story_is_found_in_rows_of_any_size():
    """Record 2: a label of 90% is left out for one of 40%, and no other record has such a pair."""
    rows = [[0.9], [0.9, 0.0, 0.1], [0.9, 0.4], [0.9]]
    matrix = sp.csr_array(np.array([row + [0.0] * (3 - len(row)) for row in rows]))
    selection = tw.select(matrix, "macro-f1", 1, init=np.array([[0], [0], [1], [0]]), fill="none", method="ascent")
    assert selection.labels[2].tolist() == [1]
    assert _find_telling(selection) == 2


def test_a_label_of_the_story_without_a_rank():
    reason = Reason(3, "Comets", True, 0.0, None, -1e-6, None, None, 2, 1.5, None)
    assert _line(reason) == "+ Comets: 0%, not a candidate; suggested 2 times, 1.5 expected; gain -1"
