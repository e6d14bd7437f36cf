"""``tailwise demo``: every strategy, all metrics, and a picture."""

import re

import pytest

from tailwise.experiments import STRATEGIES

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def demo(run_apart, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    done = run_apart(folder, "demo", "--out", "new/pictures")
    done.folder = folder
    return done


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


def test_a_folder_that_cannot_be(run_apart, tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run_apart(tmp_path, "demo", "--out", "file")
    assert done.code == 2
    assert re.fullmatch(r"tailwise: error: .*file.*Choose another --out\.\n", done.err)
    assert (tmp_path / "file").read_text() == "in the way"
