"""Each experiment on a small data set: its figures are those of selecting and evaluating by hand."""

import dataclasses

import numpy as np
import pytest

import tailwise as tw
from tailwise.datasets import CATALOGUE, write_synthetic
from tailwise.errors import FileError, InputError
from tailwise.experiments import experiment_data as data_module
from tailwise.experiments.experiment import Measured, average, name_run
from tailwise.experiments.head_labels import HeadLabels
from tailwise.experiments.label_tree_table import LabelTreeTable
from tailwise.experiments.main_table import ExtendedTable, MainTable
from tailwise.experiments.mixed import Mixed
from tailwise.experiments.paper_figures import paper_values
from tailwise.experiments.parameter_study import Parameters
from tailwise.experiments.results_folder import ResultsFolder
from tailwise.experiments.run_experiment import EXPERIMENTS, identify, run_experiment
from tailwise.experiments.strategies import PAPER_STRATEGIES, STRATEGIES
from tailwise.experiments.true_labels import TrueLabels
from tailwise.models import shift_to_priors


def make(experiment, data):
    measured = [Measured(run, experiment.measure(run, data)) for run in experiment.list_runs(data)]
    return experiment.present(measured, data)


def row_of(table, name):
    return next(row for row in table.rows if row.name == name)


def test_every_experiment_has_its_name_and_says_where_the_paper_has_it():
    assert list(EXPERIMENTS) == [
        "head-labels", "main", "extended", "true-labels", "parameters", "mixed", "label-tree",
    ]  # fmt: skip
    for name, kind in EXPERIMENTS.items():
        experiment = kind()
        assert experiment.describe()["experiment"] == name
        assert experiment.title
        assert experiment.paper
        with pytest.raises(dataclasses.FrozenInstanceError):
            experiment.budgets = (7,)


# The main table


@pytest.mark.parametrize(
    ("name", "utility", "options", "shifted"),
    [
        ("Top-K", "precision", {}, False),
        ("Pow-K", "power-law(0.5)", {}, False),
        ("Macro-F1", "macro-f1", {"expectation": "semi", "method": "ascent"}, False),
        (
            "Macro-F1 exact",
            "macro-f1",
            {"expectation": "exact", "condition_positives": "priors", "certify": True},
            True,
        ),
        ("Macro-R exact", "macro-recall", {"expectation": "exact", "condition_positives": "priors"}, True),
    ],
)
def test_main_table_holds_what_selecting_by_hand_gives(given, problem, name, utility, options, shifted):
    _, labels, probabilities = problem
    given_by_hand, priors = 0.5 * probabilities[400:], tw.LabelPriors.from_labels(labels[:400])
    inputs = shift_to_priors(given_by_hand, priors) if shifted else given_by_hand
    selection = tw.select(inputs, utility, 3, priors=priors, seed=0, **options)
    expected = tw.evaluate(labels[400:], selection, priors=priors)
    row = row_of(make(MainTable(budgets=(3,)), given).tables[0], name)
    for key in ("precision", "recall", "macro-precision", "macro-recall", "macro-f1", "coverage"):
        assert row.values[key] == expected[key]


def test_main_table_claims_expects_and_proves(given):
    table = make(MainTable(budgets=(2,)), given).tables[0]
    semi, exact = row_of(table, "Macro-F1"), row_of(table, "Macro-F1 exact")
    assert semi.values["claimed"] > semi.values["exact"]  # psi of expected counts promises too much
    assert exact.values["claimed"] == pytest.approx(exact.values["exact"], rel=1e-6)
    assert 0 <= exact.values["gap"] < 0.05
    assert semi.values["gap"] is None
    assert row_of(table, "Pow-K").values["claimed"] is None  # no share
    assert exact.own == ("macro-f1",)


def test_extended_table_averages_over_seeds(given):
    experiment = ExtendedTable(budgets=(2,), seeds=(0, 1, 2))
    runs = experiment.list_runs(given)
    assert {run["strategy"] for run in runs} == {each.name for each in STRATEGIES}
    assert sum(run["strategy"] == "Macro-F1 greedy" for run in runs) == 3
    assert sum(run["strategy"] == "Top-K" for run in runs) == 1  # no seed changes it
    row = row_of(make(experiment, given).tables[0], "Macro-F1 greedy")
    values = []
    for seed in (0, 1, 2):
        options = {"expectation": "semi", "method": "greedy", "seed": seed}
        values.append(given.evaluate(tw.select(given.candidates, "macro-f1", 2, **options), 2)["macro-f1"])
    assert row.values["macro-f1"] == pytest.approx(np.mean(values))
    assert row.deviations["macro-f1"] == pytest.approx(np.std(values))


def test_without_training_labels_strategies_that_need_them_are_left_out(folder, given):
    (folder / "Y.trn.npz").unlink()
    data = data_module.ExperimentData(folder, folder.parent / "probabilities.npz", folder)
    names = {run["strategy"] for run in MainTable(budgets=(2,)).list_runs(data)}
    assert names == {"Top-K", "Macro-P", "Macro-R", "Macro-F1", "Cov"}
    results = make(MainTable(budgets=(2,)), data)
    assert any("omitted" in note for note in results.notes)


def test_candidates_too_few_to_be_shifted_are_taken_as_they_are(given):
    given.__dict__["candidates"] = given.candidates.keep_top(1)
    assert given.shifted is given.candidates
    assert any("not shifted" in note for note in given.notes)


def test_figures_that_are_no_numbers_read_the_same_when_found_again(given, tmp_path, monkeypatch):
    experiment, store = MainTable(budgets=(2,)), ResultsFolder(tmp_path / "out")
    monkeypatch.setattr(MainTable, "measure", lambda self, run, data: {"claimed": float("nan"), "exact": 0.5})
    with store.opened(identify(experiment, given)):
        first, second = (run_experiment(experiment, given, store) for _ in range(2))
    assert first == second
    assert first.tables[0].rows[0].values == {"claimed": None, "exact": 0.5}


# The other tables


def test_head_labels_restrict_given_probabilities(given):
    table = make(HeadLabels(budgets=(1, 2), n_head=3), given).tables[0]
    head = np.argsort(-given.priors.counts, kind="stable")[:3]
    kept = np.zeros(given.truth.shape)
    kept[:, head] = given.candidates.to_csr().toarray()[:, head]
    for k in (1, 2):
        full = given.evaluate(tw.select(given.candidates, "precision", k), k)
        cut = given.evaluate(tw.select(kept, "precision", k), k)
        row = row_of(table, "macro-F1")
        assert row.values[f"full@{k}"] == full["macro-f1"]
        assert row.values[f"head@{k}"] == cut["macro-f1"]
        assert row.values[f"change@{k}"] == pytest.approx(cut["macro-f1"] / full["macro-f1"] - 1)


def test_head_labels_train_two_trees(untrained):
    experiment = HeadLabels(budgets=(1,), n_head=4, largest_share=1.0)
    results = make(experiment, untrained)
    kept = tw.load(untrained.store / "probabilities-head.npz")
    assert set(kept.indices) == set(np.argsort(-untrained.priors.counts, kind="stable")[:4])
    assert "4 head labels" in results.tables[0].title
    tree = tw.LabelTree().fit(untrained.source.X, untrained.source.Y)
    top = tree.select(untrained.test_features, "precision", k=1)
    assert row_of(results.tables[0], "precision").values["full@1"] == untrained.evaluate(top, 1)["precision"]


def test_head_labels_are_at_most_a_tenth(given):
    assert "; 4 head labels" in make(HeadLabels(budgets=(1,)), given).tables[0].title


def test_true_labels_are_all_found_where_they_fit(given):
    most = int(given.truth.sum(axis=1).max())
    table = make(TrueLabels(budgets=(most,), seeds=(0,)), given).tables[0]
    present = float((given.truth.sum(axis=0) > 0).mean())
    found = float((given.truth.sum(axis=1) > 0).mean())  # 0 / 0 is 0
    assert [row.values["recall"] for row in table.rows] == pytest.approx([found] * len(table.rows))
    assert row_of(table, "Macro-R").values["macro-recall"] == pytest.approx(present)
    assert row_of(table, "Cov").values["coverage"] == pytest.approx(present)


def test_parameters_cut_candidates_and_stop_early(given):
    experiment = Parameters(budgets=(2,), seeds=(0, 1), tops=(5, 1000))
    results = make(experiment, given)
    assert [table.name for table in results.tables] == ["parameters-k2-top5", "parameters-k2-top40"]
    loose, *_, tight = [row for row in results.tables[1].rows if row.group == "Macro-F1"]
    assert loose.values["passes"] <= tight.values["passes"]
    assert loose.name == "Macro-F1, epsilon 0.001"
    options = {"expectation": "semi", "method": "ascent", "tolerance": 1e-7}
    short = given.candidates.keep_top(5)
    values = [given.evaluate(tw.select(short, "macro-f1", 2, seed=s, **options), 2)["macro-f1"] for s in (0, 1)]
    assert results.tables[0].rows[5].values["macro-f1"] == pytest.approx(np.mean(values))


def test_parameters_ask_a_tree_for_any_number_of_labels(untrained):
    results = make(Parameters(budgets=(2,), seeds=(0,), tops=(5, 1000), tolerances=(1e-3,)), untrained)
    assert [table.name for table in results.tables] == ["parameters-k2-top5", "parameters-k2-top40"]
    assert tw.load(untrained.store / "probabilities-top40.npz").nnz == 120 * 40


def test_mixed_curves_run_from_precision_to_the_other(given):
    alphas = (0.01, 0.5, 0.99)
    results = make(Mixed(budgets=(2,), seeds=(0, 1), seconds=("macro-f1", "coverage"), alphas=alphas), given)
    assert [curve.name for curve in results.curves] == ["mixed-macro-f1-k2", "mixed-coverage-k2"]
    curve = results.curves[0]
    assert [point.alpha for point in curve.points] == list(alphas)
    assert curve.points[0].second < curve.points[-1].second
    assert set(curve.others) >= {"Top-K", "Macro-F1", "Cov"}
    priors = {"priors": given.priors, "condition_positives": "priors"}
    by_hand = tw.select(given.shifted, "0.5*precision + 0.5*macro-f1", 2, seed=1, **priors)
    again = tw.select(given.shifted, "0.5*precision + 0.5*macro-f1", 2, seed=0, **priors)
    values = [given.evaluate(each, 2)["precision"] for each in (by_hand, again)]
    assert curve.points[1].first == pytest.approx(np.mean(values))
    assert results.tables[0].rows[1].values["precision"] == curve.points[1].first


def test_label_tree_searches_the_tree_and_compares_with_shortlists(untrained):
    table = make(LabelTreeTable(budgets=(2,)), untrained).tables[0]
    tree = tw.LabelTree().fit(untrained.source.X, untrained.source.Y)
    selection = tree.select(untrained.test_features, "coverage", 2, method="tree", seed=0)
    row = row_of(table, "Cov greedy")
    assert row.values["coverage"] == untrained.evaluate(selection, 2)["coverage"]
    assert row.values["nodes"] == selection.visited.mean()
    whole = row_of(table, "Top-40")  # there are no 100 labels
    assert row.values["speed-up 40"] == pytest.approx(whole.values["milliseconds"] / row.values["milliseconds"])
    assert whole.values["speed-up 40"] == 1
    assert [column.title for column in table.columns if column.group == "speed-up"] == ["k'=40"]
    assert row_of(table, "Macro-F1 exact").values["nodes"] is None


def test_label_tree_refuses_probabilities(given):
    with pytest.raises(InputError, match=r"label-tree does not use probabilities.*Omit it"):
        LabelTreeTable().check(given)


# Beside the paper


def test_the_papers_figures():
    for name in ("Eurlex-4K", "AmazonCat-13K", "Wiki10-31K"):
        lines = paper_values("label-tree", name)
        assert len(lines) == 18
        assert {line for line, _ in lines} - {"Top-100", "Top-1000"} <= {each.name for each in PAPER_STRATEGIES}
    assert paper_values("label-tree", "Eurlex-4K")["Macro-R prior", 5]["macro-recall"] == pytest.approx(0.2869)
    assert paper_values("label-tree", "Wiki10-31K")["Top-K", 3]["nodes"] == 380.14
    assert paper_values("label-tree", "AmazonCat-13K")["Top-1000", 3] == {
        **dict.fromkeys(("precision", "recall", "macro-precision", "macro-recall", "macro-f1", "coverage", "nodes")),
        "milliseconds": 19.25,
    }
    assert paper_values("head-labels", "AmazonCat-13K")["head", 5]["macro-f1"] == pytest.approx(0.0377)
    assert paper_values("head-labels", "Eurlex-4K") == {}


def as_benchmark(name, monkeypatch):
    """Let the small data set pass for a benchmark."""
    entry = next(each for each in CATALOGUE if each.name == name)
    small = dataclasses.replace(entry, n_train=400, n_test=120, n_labels=40)
    monkeypatch.setattr("tailwise.datasets.catalogue.benchmarks.CATALOGUE", (small,))


def test_paper_and_ours_stand_side_by_side_where_the_data_set_is_the_papers(untrained, monkeypatch):
    as_benchmark("Eurlex-4K", monkeypatch)
    results = make(LabelTreeTable(budgets=(3,)), untrained)
    assert [table.name for table in results.tables] == ["label-tree-k3", "label-tree-paper-k3"]
    ours, both = results.tables
    row = row_of(both, "Top-K")
    assert row.values["precision paper"] == pytest.approx(0.6728)
    assert row.values["precision ours"] == row_of(ours, "Top-K").values["precision"]
    assert [column.title for column in both.columns[:2]] == ["paper", "ours"]
    shortlists = {"Top-100", "Top-1000"}  # longer than the small data set has labels
    assert {row.name for row in both.rows} == {line for line, _ in paper_values("label-tree", "Eurlex-4K")} - shortlists


def test_head_labels_stand_beside_the_papers(given, monkeypatch):
    as_benchmark("AmazonCat-13K", monkeypatch)
    tables = make(HeadLabels(), given).tables
    assert [table.name for table in tables[1:]] == [f"head-labels-paper-k{k}" for k in (1, 3, 5)]
    assert row_of(tables[1], "head").values["coverage paper"] == pytest.approx(0.0511)


def test_a_benchmark_brings_its_propensity_model(given, monkeypatch):
    as_benchmark("Amazon-670K", monkeypatch)
    assert given.name == "Amazon-670K"
    assert given.source.propensity == (0.6, 2.6)
    row = row_of(make(MainTable(budgets=(2,)), given).tables[0], "PS-K")
    selection = tw.select(given.candidates, "ps-precision(0.6, 2.6)", 2, priors=given.priors)
    assert row.values["precision"] == given.evaluate(selection, 2)["precision"]


def test_a_tree_is_searched_with_the_propensity_model_of_the_benchmark(untrained, monkeypatch):
    as_benchmark("Amazon-670K", monkeypatch)
    row = row_of(make(LabelTreeTable(budgets=(2,)), untrained).tables[0], "PS-K")
    selection = untrained.tree.select(untrained.test_features, "ps-precision(0.6, 2.6)", 2, method="tree")
    assert row.values["ps-precision"] == untrained.evaluate(selection, 2)["ps-precision"]


def test_kept_probabilities_of_other_data_are_refused(untrained):
    tw.save(untrained.store / "probabilities-top100.npz", np.full((3, 40), 0.5))
    with pytest.raises(FileError, match=r"must have the shape \(120, 40\) of the truth\. Got \(3, 40\)\. Remove it"):
        untrained.candidates  # noqa: B018


def test_synthetic_data_are_not_taken_for_the_benchmark(tmp_path):
    write_synthetic("Eurlex-4K", tmp_path / "drawn", scale=0.02)
    data = data_module.ExperimentData(tmp_path / "drawn", None, tmp_path)
    assert data.source.benchmark is None
    assert data.name == "Eurlex-4K (synthetic)"


# Runs


def test_runs_have_different_names():
    runs = [{"strategy": "A b", "k": 1}, {"strategy": "A-b", "k": 1}, {"strategy": "A b", "k": 11}, {"alpha": 0.1}]
    names = [name_run(run) for run in runs]
    assert len(set(names)) == len(runs)
    assert all("/" not in name and " " not in name for name in names)


def test_an_average_of_unknown_values_is_unknown():
    measured = [Measured({"seed": 0}, {"a": 1.0, "b": None}), Measured({"seed": 1}, {"a": 3.0, "b": 2.0})]
    assert average(measured) == ({"a": 2.0, "b": None}, {"a": 1.0, "b": None})
