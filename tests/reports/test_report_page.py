"""The page of a run says what the run says, and nothing in a name can break it."""

import html.parser
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load, load_labels, load_priors, load_selection
from tailwise.errors import InputError, MissingExtraError
from tailwise.reports.page import build_page, load_plotly

ALPHAS = [0, 0.3, 0.9, 1]
SECTIONS = [
    "summary",
    "metrics",
    "trade-off",
    "frequency",
    "labels",
    "expected",
    "certificate",
    "reliability",
    "model",
    "record",
]


class Reader(html.parser.HTMLParser):
    """The text of each section, and everything that a browser would run or load."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.scripts, self.sources, self.rows = {}, [], [], {}
        self.section, self.is_script, self.is_cell = None, False, False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.sources += [values[name] for name in ("src", "href", "action", "srcset") if name in values]
        assert not any(name.startswith("on") for name in values)
        if tag == "section":
            self.section = values["id"]
            self.texts[self.section], self.rows[self.section] = "", []
        if tag == "script":
            self.is_script = True
            self.scripts.append("")
        if tag == "tr" and self.section is not None:
            self.rows[self.section].append([])
        if tag in ("td", "th") and self.section is not None:
            self.is_cell = True
            self.rows[self.section][-1].append("")

    def handle_endtag(self, tag):
        self.is_script = self.is_script and tag != "script"
        self.is_cell = self.is_cell and tag not in ("td", "th")
        self.section = None if tag == "section" else self.section

    def handle_data(self, data):
        if self.is_script:
            self.scripts[-1] += data
        elif self.section is not None:
            self.texts[self.section] += data
            if self.is_cell:
                self.rows[self.section][-1][-1] += data

    @property
    def data(self):
        return json.loads(self.scripts[0])


def read(folder, alphas=ALPHAS):
    page = build_page(folder, alphas=alphas)
    return Reader(page)


@pytest.fixture(scope="module")
def page(make_run):
    return read(make_run())


@pytest.fixture(scope="module")
def parts(make_run):
    """What the folder of the run holds."""
    folder = make_run()
    record = json.loads((folder / "run.json").read_text())
    return (
        record,
        load(folder / "probabilities.npz"),
        load_labels(folder / "truth.npz"),
        load_selection(folder / "selection.npz"),
        load_priors(folder / "priors.npz"),
    )


def percent(value, digits=2):
    return f"{100 * value:.{digits}f}\u00a0%"


def shown(name, value):
    """As a cell has it: a sum of weights is no share."""
    return f"{value:.4f}" if name == "ps-precision" else percent(value)


def test_every_section_is_there_and_in_the_contents(page):
    assert list(page.texts) == SECTIONS
    assert [source for source in page.sources if source.startswith("#")] == [f"#{name}" for name in SECTIONS]


def test_the_summary_has_the_numbers_of_the_record(page, parts):
    record = parts[0]
    own, top = record["metrics"], record["top_k_metrics"]
    found = [round(40 * values["coverage"]) for values in (own, top)]
    text = page.texts["summary"]
    for values in (own, top):
        assert percent(values["macro-f1"]) in text
        assert percent(values["precision"]) in text
    assert abs(found[0] - found[1]) > 1
    assert f"{abs(found[0] - found[1])} {'more' if found[0] > found[1] else 'fewer'} labels" in text
    n_rare = int((parts[4].counts <= 10).sum())
    assert re.search(rf"{n_rare} of 40 labels\s\({percent(n_rare / 40, 0)}\)", text)


def test_the_table_has_every_metric_of_the_record(page, parts):
    record = parts[0]
    rows = {row[0].lower(): row for row in page.rows["metrics"][1:]}
    assert list(rows) == list(record["metrics"])
    for name, value in record["metrics"].items():
        top = record["top_k_metrics"][name]
        assert rows[name][1:3] == [shown(name, top), shown(name, value)]
        scale = 1 if name == "ps-precision" else 100
        assert float(rows[name][3].replace("\u2212", "-")) == pytest.approx(scale * (value - top), abs=0.0051)
        assert rows[name][4]


def test_the_curve_is_that_of_python(page, parts):
    _, probabilities, truth, _, _ = parts
    curve = tw.trade_off(probabilities, "precision", "macro-f1", 2, truth=truth, alphas=ALPHAS)
    points = page.data["dials"]["trade-off"]["points"]
    assert [(each["alpha"], each["first"], each["second"]) for each in points] == [
        (each.alpha, each.first, each.second) for each in curve.points
    ]
    trace = page.data["charts"]["trade-off"]["data"][0]
    assert (trace["x"], trace["y"]) == ([each.first for each in curve.points], [each.second for each in curve.points])
    assert trace["customdata"] == ALPHAS
    assert "alpha %{customdata}" in trace["hovertemplate"]


def test_the_commands_choose_by_the_mixture(page, parts):
    points = page.data["dials"]["trade-off"]["points"]
    utilities = ["precision", "0.7*precision + 0.3*macro-f1", "0.1*precision + 0.9*macro-f1", "macro-f1"]
    assert [each["command"] for each in points] == [
        f'tailwise select probabilities.npz -u "{utility}" -k 2 -o chosen.npz' for utility in utilities
    ]
    assert points[1]["python"] == 'tw.select("probabilities.npz", "0.7*precision + 0.3*macro-f1", k=2)'


def test_the_run_and_top_k_lie_beside_the_curve(page, parts):
    record = parts[0]
    others = {trace["name"]: trace for trace in page.data["charts"]["trade-off"]["data"][2:]}
    for name, metrics in (("top-2", record["top_k_metrics"]), ("this run", record["metrics"])):
        assert others[name]["x"] == pytest.approx([metrics["precision"]])
        assert others[name]["y"] == pytest.approx([metrics["macro-f1"]])


def test_bins_by_training_frequency(page, parts):
    _, probabilities, truth, selection, priors = parts
    evaluations = [
        tw.evaluate(truth, each, priors=priors) for each in (tw.select(probabilities, "precision", 2), selection)
    ]
    top, own = ([each for each in evaluation.by_frequency() if each.n_labels] for evaluation in evaluations)
    rows = page.rows["frequency"][1:]
    assert [row[2] for row in rows] == [str(each.n_labels) for each in own]
    assert [row[6] for row in rows] == [
        f"{100 * a.macro_f1:.1f} \u2192 {100 * b.macro_f1:.1f}" for a, b in zip(top, own, strict=True)
    ]
    bars = page.data["charts"]["bins-f1"]["data"]
    assert [trace["y"] for trace in bars] == [[each.macro_f1 for each in bins] for bins in (top, own)]


def test_shares_of_places_add_up(page):
    for side in (0, 1):
        shares = [float(row[3].split(" \u2192 ")[side]) for row in page.rows["frequency"][1:]]
        assert sum(shares) == pytest.approx(100, abs=0.2)


def test_labels_that_gained_and_lost_most(page, parts):
    _, probabilities, truth, selection, _ = parts
    top = tw.evaluate(truth, tw.select(probabilities, "precision", 2)).per_label()
    own = tw.evaluate(truth, selection).per_label()
    change = own["f1"] - top["f1"]
    order = sorted(range(40), key=lambda j: (-change[j], -own["condition_positives"][j], j))
    gained = [j for j in order if change[j] > 0][:12]
    names = [int(re.search(r"Näme (\d+)", row[0])[1]) for row in page.rows["labels"] if row[0].startswith("Näme")]
    assert names[: len(gained)] == gained
    lost = names[len(gained) :]
    assert (np.diff(change[lost]) >= 0).all()
    assert (change[lost] < 0).all()
    row = next(row for row in page.rows["labels"] if row[0].startswith(f"Näme {gained[0]} "))
    j = gained[0]
    assert row[2] == f"{top['predicted_positives'][j]} \u2192 {own['predicted_positives'][j]}"
    assert row[3] == f"{top['true_positives'][j]} \u2192 {own['true_positives'][j]}"
    assert row[4] == str(own["condition_positives"][j])


def test_expected_and_realised(page, parts):
    record = parts[0]
    rows = {row[0].lower(): row[1:3] for row in page.rows["expected"][1:]}
    assert rows == {
        name: [shown(name, value), shown(name, record["metrics"][name])]
        for name, value in record["expected_metrics"].items()
    }
    expected, realised = page.data["charts"]["expected"]["data"]
    assert expected["x"][::-1][0] == record["expected_metrics"]["precision"]
    assert realised["x"][::-1][0] == record["metrics"]["precision"]


def test_the_certificate(page, parts):
    proof = parts[0]["selection"]["certificate"]
    text = page.texts["certificate"]
    assert percent(proof["value"], 4) in text
    assert percent(proof["upper"], 4) in text
    share = float(re.search(r"at most\s([\d.]+)\s%", text)[1])
    assert 0 <= share - 100 * proof["relative_gap"] <= max(0.01, proof["relative_gap"] * 100)


def test_the_reliability_diagram(page, parts):
    _, probabilities, truth, _, _ = parts
    found = tw.reliability(probabilities, truth, k=2)
    trace = page.data["charts"]["reliability"]["data"][1]
    assert trace["x"] == [each.mean_probability for each in found.bins]
    assert trace["y"] == [each.share_true for each in found.bins]
    for value in (found.error, found.mean_probability, found.share_true):
        assert percent(value) in page.texts["reliability"]


def test_how_it_was_made(page, parts):
    text = page.texts["record"]
    assert parts[0]["inputs"]["X.trn.npz"]["sha256"] in text
    assert parts[0]["versions"]["numpy"] in text


def test_names_cannot_break_the_page(page):
    assert len(page.scripts) == 3  # the data, plotly, and what draws
    assert page.scripts[1] == load_plotly()
    assert "<script>alert(1)</script>" in page.texts["labels"]
    assert '</script><script>document.title = "broken"</script>' in page.texts["labels"]
    assert "<" not in page.scripts[0]


def test_nothing_is_loaded_from_anywhere(page):
    assert {source for source in page.sources if not source.startswith("#")} == {"data:,"}


def test_no_path_of_the_machine(make_run):
    folder = make_run()
    assert str(folder.parent) not in build_page(folder, alphas=[1]).replace(load_plotly(), "")


def test_the_same_folder_gives_the_same_page(make_run):
    assert build_page(make_run(), alphas=[0, 1]) == build_page(make_run(), alphas=[0, 1])


def test_without_truth(make_run):
    folder = make_run(without=("Y.tst.npz",))
    page = read(folder)
    probabilities = load(folder / "probabilities.npz")
    selection = load_selection(folder / "selection.npz")
    curve = tw.trade_off(probabilities, "precision", "macro-f1", 2, alphas=ALPHAS)
    points = page.data["dials"]["trade-off"]["points"]
    assert [each["second"] for each in points] == [each.second for each in curve.points]
    expected = tw.expected_utility(probabilities, "macro-f1", selection, 2)
    assert percent(expected) in page.texts["summary"]
    rows = {row[0]: row for row in page.rows["metrics"][1:]}
    assert rows["macro-F1"][2] == percent(expected)
    own = {trace["name"]: trace for trace in page.data["charts"]["trade-off"]["data"]}["this run"]
    assert own["y"] == pytest.approx([expected])
    assert set(page.data["charts"]) == {"trade-off", "places"}
    assert page.rows["labels"][0] == ["label", "in training", "chosen"]
    assert "true labels are not known" in page.texts["expected"]
    assert "without true labels" in page.texts["reliability"]


def test_without_names(make_run):
    page = read(make_run(without=("labels.txt",)))
    assert re.search(r"label \d+", page.texts["labels"])


def test_the_model_and_the_share_of_each_member(data_folder, tmp_path, page):
    assert "from the model tree (asked for)" in page.texts["model"]
    words = ("-u", "macro-f1", "-k", "2", "--quiet")
    assert main(["run", str(data_folder), "-o", str(tmp_path / "out"), *words]) == 0
    whole = read(tmp_path / "out")
    shares = tw.Run.load(tmp_path / "out").model.shares_
    assert whole.rows["model"][1:] == [[name, name, "all", percent(share)] for name, share in shares.items()]
    assert sum(shares.values()) == pytest.approx(1)
    assert "from the model ensemble (default for features: " in whole.texts["model"]


def test_a_record_that_does_not_name_the_model(run_copy):
    record = json.loads((run_copy / "run.json").read_text())
    del record["model"]
    (run_copy / "run.json").write_text(json.dumps(record))
    assert "does not say which model was used" in read(run_copy).texts["model"]


def test_without_a_proof(make_run):
    page = read(make_run("-u", "macro-f1", "-k", "2"))
    assert "has no proof" in page.texts["certificate"]
    assert "proven" not in page.texts["summary"]


def test_labels_that_only_make_up_the_number_k(make_run):
    folder = make_run("-u", "macro-f1", "-k", "10")
    record = json.loads((folder / "run.json").read_text())
    (message,) = record["selection"]["messages"]
    assert "the label only makes up the number k" in message
    assert message in " ".join(read(folder).texts["summary"].split())


def test_without_probabilities(make_run):
    folder = make_run("-u", "coverage", "-k", "2", "--method", "tree")
    page = read(folder, None)
    with pytest.raises(InputError, match=r"need a run with a budget and probabilities.*Omit them"):
        build_page(folder, alphas=[1])
    assert "no proof" in page.texts["certificate"]
    assert list(page.texts) == SECTIONS
    assert page.data == {"charts": {}, "dials": {}}
    assert page.rows["metrics"][0] == ["metric", "this selection", "meaning"]
    for name in ("trade-off", "frequency", "labels", "expected"):
        assert "the run kept no probabilities" in page.texts[name]
    assert "without probabilities" in page.texts["reliability"]


def test_without_probabilities_and_truth(make_run):
    page = read(make_run("-u", "coverage", "-k", "2", "--method", "tree", without=("Y.tst.npz",)), None)
    assert page.rows["metrics"] == []
    assert "neither true labels nor probabilities" in page.texts["metrics"]


def test_without_a_budget(make_run):
    page = read(make_run("-u", "macro-f1", "-k", "none", "--certify"), None)
    assert "any number" in page.texts["summary"]
    for name in ("trade-off", "frequency", "labels"):
        assert "no budget" in page.texts[name]
    assert list(page.data["charts"]) == ["expected", "reliability"]


UTILITIES = {
    "precision": "macro-f1",
    "coverage": "coverage",
    "0.6*precision + 0.4*coverage": "coverage",
    "0.5*precision + 0.3*macro-f1 + 0.1*coverage": "0.75*macro-f1 + 0.25*coverage",
    "ps-precision": "ps-precision(0.55, 1.5)",
    "macro-fbeta(2)": "macro-fbeta(2)",
}


@pytest.mark.parametrize(("utility", "second"), UTILITIES.items())
def test_what_is_traded_against_precision(make_run, utility, second):
    page = read(make_run("-u", utility, "-k", "2"), [0, 0.5, 1])
    curve = page.data["dials"]["trade-off"]
    assert '-u "precision"' in curve["points"][0]["command"]
    assert f'-u "{second}"' in curve["points"][-1]["command"]
    assert (" --priors priors.npz" in curve["points"][1]["command"]) == (utility == "ps-precision")
    mixed = tw.utilities.as_utility(re.search(r'-u "(.*?)"', curve["points"][1]["command"])[1], tw.LabelPriors([1], 9))
    half = 0.5 * tw.utilities.Precision() + 0.5 * tw.utilities.as_utility(second, tw.LabelPriors([1], 9))
    assert mixed == half


def test_options_of_the_run_are_kept(make_run):
    options = ("--expectation", "semi", "--condition-positives", "priors", "--seed", "3", "--method", "ascent")
    folder = make_run("-u", "macro-f1", "-k", "2", *options)
    point = read(folder).data["dials"]["trade-off"]["points"][-1]
    for words in ("--expectation semi", "--condition-positives priors", "--seed 3", "--method ascent", "--priors"):
        assert words in point["command"]
    for words in ("expectation='semi'", "condition_positives='priors'", "seed=3", "method='ascent'", "priors="):
        assert words in point["python"]
    selection, truth = load_selection(folder / "selection.npz"), load_labels(folder / "truth.npz")
    assert point["second"] == pytest.approx(tw.evaluate(truth, selection)["macro-f1"])


def test_limits_of_the_search_are_in_the_command(make_run):
    options = ("--max-passes", "1", "--tolerance", "0.001", "--group-size", "7")
    folder = make_run("-u", "macro-f1", "-k", "2", *options)
    point = read(folder).data["dials"]["trade-off"]["points"][1]
    assert "--max-passes 1" in point["command"]
    assert "--tolerance 0.001" in point["command"]
    assert "--group-size 7" in point["command"]


@pytest.mark.parametrize("expectation", ["exact", "semi"])
def test_one_expectation_throughout_the_page(make_run, expectation):
    options = ("--condition-positives", "priors", "--expectation", expectation, "--certify")
    folder = make_run("-u", "macro-f1", "-k", "2", *options)
    page = read(folder)
    record = json.loads((folder / "run.json").read_text())
    value = record["selection"]["certificate"]["value"]
    assert record["expected_metrics"]["macro-f1"] == pytest.approx(value)
    rows = {row[0]: row for row in page.rows["expected"][1:]}
    assert rows["macro-F1"][1] == percent(value)
    name = {"exact": "the exact expectation", "semi": "the semi-empirical expectation"}[expectation]
    assert name in page.texts["expected"]
    assert name in page.texts["certificate"]


def test_what_was_maximised_is_shown_where_it_is_no_metric(make_run):
    folder = make_run("-u", "macro-auc", "-k", "2")
    page = read(folder)
    truth, selection = load_labels(folder / "truth.npz"), load_selection(folder / "selection.npz")
    top = tw.select(load(folder / "probabilities.npz"), "precision", 2)
    utility = tw.utilities.as_utility("macro-auc")
    values = []
    for chosen in (top, selection):
        counts = tw.evaluate(truth, chosen).per_label()
        parts = (counts[name] for name in ("true_positives", "predicted_positives", "condition_positives"))
        values.append(float(utility.psi(*parts, n_instances=100, k=2).sum()))
    assert page.rows["metrics"][1][:3] == ["macro-auc", *map(percent, values)]
    assert all(percent(value) in page.texts["summary"] for value in values)


def test_a_selection_that_is_top_k_is_not_compared_with_it(make_run):
    page = read(make_run("-u", "precision", "-k", "2"))
    assert "the same selection" in page.texts["summary"]
    assert "instead of" not in page.texts["summary"]


def test_one_label_per_instance(make_run):
    page = build_page(make_run("-u", "coverage", "-k", "1"), alphas=[1])
    assert "<h1>1 label per instance for coverage</h1>" in page


def test_a_mixture_is_written_with_brackets(make_run):
    page = read(make_run("-u", "0.3*precision + 0.5*macro-f1 + 0.2*coverage", "-k", "2"))
    assert "precision + alpha \u00d7 (0.714*macro-F1 + 0.286*coverage)" in page.texts["trade-off"]
    layout = page.data["charts"]["trade-off"]["layout"]
    assert layout["yaxis"]["title"]["text"] == "rest of the mixture (realised)"


def test_weights_are_no_percent(make_run):
    page = read(make_run("-u", "power-law(0.5)", "-k", "2", "--certify"))
    layout = page.data["charts"]["trade-off"]["layout"]
    assert layout["yaxis"]["title"]["text"] == "power-law(0.5) (realised)"
    assert page.data["dials"]["trade-off"]["is_share"] is False
    assert re.search(r"power-law\(0\.5\) of this selection is \d+\.\d{6},", page.texts["certificate"])


@pytest.mark.parametrize("without", [(), ("Y.tst.npz",)])
def test_places_left_empty_count_everywhere(make_run, without):
    folder = make_run("-u", "ps-precision", "-k", "3", "--top", "2", "--fill", "none", without=without)
    assert (load_selection(folder / "selection.npz").labels == -1).any()
    page = read(folder)
    rows = [row for row in page.rows["metrics"] if row[0].partition("(")[0] == "ps-precision"]
    assert [row[0] for row in rows] == ["ps-precision"]
    own = {trace["name"]: trace for trace in page.data["charts"]["trade-off"]["data"]}["this run"]
    assert rows[0][2] == f"{own['y'][0]:.4f}"


def test_a_drop_is_measured_from_top_k(make_run):
    folder = make_run("-u", "coverage", "-k", "1")
    curve = read(folder, [0.999, 1]).data["dials"]["trade-off"]
    top = json.loads((folder / "run.json").read_text())["top_k_metrics"]["precision"]
    assert curve["highest"] == pytest.approx(top)
    assert max(point["first"] for point in curve["points"]) < top


def test_without_plotly(make_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        MissingExtraError, match=r"plotly, which is not installed\. Install it with: pip install 'tailwise\[plot\]'"
    ):
        build_page(make_run())


def test_jinja_is_imported_only_to_render():
    program = "import sys, tailwise.reports.page; print('jinja2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
