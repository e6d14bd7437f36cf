"""Functions and commands take a store like any other file, ids and names included, and give the same."""

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import save_selection, zipf_candidates
from tailwise.datasets.formats import selection_files
from tailwise.errors import InputError

N, M = 200, 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Probabilities and true labels with ids, as stores and as Parquet files."""
    path = tmp_path_factory.mktemp("inputs")
    probabilities = zipf_candidates(N, M, 10, seed=1).astype(np.float32)
    truth = probabilities.copy()
    truth.data = (np.random.default_rng(0).random(truth.nnz) < truth.data).astype(np.float32)
    truth.eliminate_zeros()
    names = {"instance_names": [f"row {i}" for i in range(N)], "label_names": [f"label {j}" for j in range(M)]}
    for kind in ("store", "parquet"):
        tw.save(path / f"p.{kind}", probabilities, **names)
        tw.save(path / f"y.{kind}", truth, **names)
    return path


def on_both(folder, work):
    return (work(*(folder / f"{name}.{kind}" for name in "py")) for kind in ("store", "parquet"))


@pytest.mark.parametrize("k", [3, None])
@pytest.mark.parametrize("utility", ["macro-f1", "precision", "0.5*precision + 0.5*coverage"])
def test_select_with_ids(folder, k, utility):
    stored, plain = on_both(folder, lambda p, y: tw.select(p, utility, k))
    assert stored.to_dict() == plain.to_dict()
    assert stored.expected == plain.expected
    assert stored["row 7"][0].startswith("label ")


@pytest.mark.parametrize("method", ["ascent", "global", "greedy"])
def test_methods(folder, method):
    stored, plain = on_both(folder, lambda p, y: tw.select(p, "macro-f1", 3, method=method))
    assert stored.labels.tobytes() == plain.labels.tobytes()


def test_exclude(folder):
    stored, plain = on_both(folder, lambda p, y: tw.select(p, "macro-f1", 3, exclude=y, fill="none"))
    assert stored.to_dict() == plain.to_dict()
    truth = tw.load(folder / "y.parquet").toarray()
    assert not any(truth[i, labels[labels >= 0]].any() for i, labels in enumerate(stored.labels))


def test_certify(folder):
    stored, plain = on_both(folder, lambda p, y: tw.certify(p, "macro-f1", 3).upper)
    assert stored == plain


def test_expected_utility_and_evaluate(folder):
    selection = tw.select(folder / "p.parquet", "macro-f1", 3)
    stored, plain = on_both(folder, lambda p, y: tw.expected_utility(p, "macro-f1", selection, k=3))
    assert stored == plain
    stored, plain = on_both(folder, lambda p, y: tw.evaluate(y, selection, probabilities=p).to_dict())
    assert stored == plain


def test_trade_off(folder):
    stored, plain = on_both(
        folder, lambda p, y: tw.trade_off(p, "precision", "macro-f1", 3, alphas=[0, 0.5, 1], truth=y).to_frame()
    )
    assert stored.drop(columns="seconds", errors="ignore").equals(plain.drop(columns="seconds", errors="ignore"))


@pytest.mark.parametrize(
    "command",
    [
        ["select", "P", "-u", "macro-f1", "-k", "3", "-o", "OUT", "--quiet"],
        ["select", "P", "-u", "macro-f1", "-k", "3", "-o", "OUT", "--quiet", "--exclude", "Y", "--fill", "none"],
        ["select", "P", "-u", "macro-f1", "-k", "3", "-o", "OUT", "--quiet", "--certify"],
        ["evaluate", "Y", "CHOSEN", "--probabilities", "P"],
        ["trade-off", "P", "-k", "3", "--alphas", "0,1", "--csv", "OUT", "--truth", "Y", "--quiet"],
        ["explain", "P", "row 3", "--selection", "CHOSEN", "-u", "macro-f1"],
        ["convert", "P", "OUT", "--quiet"],
    ],
    ids=lambda command: " ".join(command[:2]) + f" {len(command)}",
)
def test_commands(folder, tmp_path, capsys, command):
    chosen = tmp_path / "chosen.csv"
    tw.select(folder / "p.parquet", "macro-f1", 3).save(chosen)
    printed, written = [], []
    for kind in ("store", "parquet"):
        out = tmp_path / f"{kind}.csv"
        files = {"P": folder / f"p.{kind}", "Y": folder / f"y.{kind}", "CHOSEN": chosen, "OUT": out}
        assert main([str(files.get(word, word)) for word in command]) == 0
        printed.append(capsys.readouterr().out.replace(f".{kind}", ""))
        written.append(out.read_bytes() if out.exists() else b"")
    assert printed[0] == printed[1]
    assert written[0] == written[1]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.tsv.gz"])
def test_selection_is_written_as_it_goes(folder, tmp_path, monkeypatch, name):
    selection, store = tw.select(folder / "p.store", "macro-f1", 3), tw.load(folder / "p.store")
    given = {"probabilities": store, "instance_names": selection.instance_ids, "label_names": selection.label_names}
    save_selection(tmp_path / f"whole-{name}", selection, **given)
    monkeypatch.setattr(selection_files, "INSTANCES_AT_ONCE", 30)
    save_selection(tmp_path / name, selection, **given)
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
    for n_ids in (N - 1, N + 1):
        with pytest.raises(InputError, match="instance_names must have"):
            save_selection(tmp_path / name, selection, instance_names=range(n_ids))
    assert (tmp_path / name).read_bytes() == (tmp_path / f"whole-{name}").read_bytes()
