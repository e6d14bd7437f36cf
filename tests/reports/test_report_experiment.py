"""The page of an experiment shows its tables and curves; a broken record is refused with a reason."""

import html
import json
import re
import shlex

import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.errors import FileError, InputError
from tailwise.reports.page import build_page

EVIL = "<script>alert(1)</script>"


def read_data(page):
    return json.loads(re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1])


def test_title_data_and_sections(experiment):
    page = build_page(experiment())
    assert "<h1>All strategies &lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "tibkat-gnd-en: 9,537 instances, 26,983 labels" in page
    assert re.findall(r'<section id="([^"]*)">', page) == ["tables", "mixed-k3", "mixed-k5", "record"]
    assert "In the paper: Table 2: results at 3" in page
    assert "81.2" in page
    assert "A note &amp; more" in page


def test_the_table(experiment):
    page = build_page(experiment())
    table = re.search(r'<table class="figures">.*?</table>', page, re.DOTALL)[0]
    assert '<th scope="colgroup" colspan="1">Instance</th>' in table
    assert '<td class="own best">27.38</td>' in table
    assert '<td class="second">20.00</td>' in table
    assert '<td class="own best">8.0 ± 0.1</td>' in table
    assert '<td class="best">8.0</td>' in table  # reads the same as the best, so it is the best
    assert '<td class="best">1</td>' in table  # smaller seconds are better
    assert table.count("<tbody>") == 2
    assert "<td>\N{EN DASH}</td>" in table


def test_the_curves_have_dials_and_other_strategies(experiment):
    page = build_page(experiment())
    data = read_data(page)
    assert re.findall(r'data-dial="([^"]*)"', page) == ["mixed-k3", "mixed-k5"]
    points = data["dials"]["mixed-k3"]["points"]
    assert [each["alpha"] for each in points] == [0.01, 0.5, 0.99]
    assert points[1]["command"] == ("tailwise select 'my 3.npz' -u \"0.5*precision + 0.5*macro-f1\" -k 3 -o chosen.npz")
    assert points[1]["python"] == 'tw.select("my 3.npz", "0.5*precision + 0.5*macro-f1", k=3)'
    traces = data["charts"]["mixed-k3"]["data"]
    assert (traces[2]["name"], traces[2]["x"], traces[2]["y"]) == ("Top-K", [0.2738], [0.0463])
    assert traces[0]["error_y"]["array"] == [0.0001, 0, 0]
    assert "error_x" not in traces[0]


def test_options_and_names_cannot_break_the_command(experiment):
    """Who copies the command runs it: nothing in the record may become a command of its own."""
    changes = {"probabilities": "a b$(touch x).npz", "options": {"method": "ascent; touch x"}}
    page = build_page(experiment(lambda record: record["curves"][0].update(changes)))
    command = read_data(page)["dials"]["mixed-k3"]["points"][0]["command"]
    words = shlex.split(command)
    assert "ascent; touch x" in words
    assert "'a b$(touch x).npz'" in command


def test_the_curve_is_not_squeezed_by_points_far_away(experiment):
    page = build_page(experiment(lambda record: record["curves"][0]["others"].update(far=[0.9, 0.9])))
    near, far = (read_data(page)["charts"][name] for name in ("mixed-k5", "mixed-k3"))
    assert far["layout"]["xaxis"]["range"] == near["layout"]["xaxis"]["range"]
    assert far["data"][-1]["name"] == "far (outside)"
    assert page.count("Double-click the chart") == 1


def test_names_cannot_break_the_page(experiment):
    page = build_page(experiment())
    assert page.count("</script>") == 3
    assert "<script>alert(1)" not in page
    assert '<script>document.title = "broken"' not in page


def test_without_a_chart_nothing_draws(experiment):
    page = build_page(experiment(lambda record: record.update(curves=[])))
    assert len(page) < 100_000


def test_points_of_an_experiment_are_its_own(experiment):
    with pytest.raises(InputError, match="can only be given for a run"):
        build_page(experiment(), alphas=[0.5])


def test_without_tables_and_curves(experiment):
    page = build_page(experiment(lambda record: record.update(tables=[], curves=[])))
    assert re.findall(r'<section id="([^"]*)">', page) == ["record"]


BROKEN = {
    "title": (lambda record: record.pop("title"), r"experiment\.json must hold 'title', text\. Got nothing\."),
    "data": (lambda record: record.update(data=None), r"must hold 'data', an object\. Got None"),
    "versions": (lambda record: record.pop("versions"), r"must hold 'versions', an object"),
    "table": (
        lambda record: record["tables"][0]["rows"][0]["values"].update(p="x"),
        r"experiment\.json must be the record .* tables 0, rows 0, values, p must be a number\. Got 'x'\. Create",
    ),
    "curve": (lambda record: record["curves"][0].update(k="3"), r"curves 0, k must be an integer\. Got '3'"),
    "utility": (lambda record: record["curves"][0].update(second=EVIL), r"experiment\.json .* utility must read like"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_records(experiment, change, message):
    with pytest.raises(FileError, match=message):
        build_page(experiment(change))


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b"[]", b"3", b'{"seconds": NaN}'])
def test_no_record_at_all(experiment, content):
    folder = experiment()
    (folder / "experiment.json").write_bytes(content)
    with pytest.raises(FileError, match=r"experiment\.json must (be a record in JSON|hold a JSON object)"):
        build_page(folder)


def test_what_the_command_writes_is_what_the_page_reads(data_folder, tmp_path, monkeypatch):
    words = ["mixed", "--data", str(data_folder), "-k", "2", "--second", "macro-f1", "--seeds", "2", "--quiet"]
    assert main(["experiment", *words, "--out", str(tmp_path / "out")]) == 0
    record = json.loads((tmp_path / "out" / "experiment.json").read_text())
    assert main(["report", str(tmp_path / "out"), "--quiet"]) == 0
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    (curve,) = record["curves"]
    shown = read_data(page)
    assert [each["second"] for each in shown["dials"][curve["name"]]["points"]] == [
        each["second"] for each in curve["points"]
    ]
    point = shown["dials"][curve["name"]]["points"][6]
    assert point["command"] == (
        'tailwise select probabilities-top100.npz -u "0.5*precision + 0.5*macro-f1" -k 2 --condition-positives priors '
        "--shift-to-priors --priors priors.npz -o chosen.npz"
    )
    monkeypatch.chdir(tmp_path / "out")
    by_line = eval(point["python"], {"tw": tw})
    assert main([*shlex.split(point["command"])[1:], "--quiet"]) == 0
    assert (tw.datasets.load_selection("chosen.npz").labels == by_line.labels).all()
    names = [trace["name"].removesuffix(" (outside)") for trace in shown["charts"][curve["name"]]["data"][2:]]
    assert names == list(curve["others"])
    assert page.count('<table class="figures">') == len(record["tables"])
    assert all(note in html.unescape(page) for note in record["notes"])
