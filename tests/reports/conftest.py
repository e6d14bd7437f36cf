"""Folders to report on: small runs made by the command itself, and the record of an experiment."""

import json
import shutil

import numpy as np
import pytest

from tailwise.cli.main import main
from tailwise.datasets import save

EVIL = '<script>alert(1)</script></script><script>document.title = "broken"</script>'
QUICK = ("--model", "tree", "--max-epochs", "3", "--arity", "4", "--leaf-size", "8", "--quiet")


def write_data(folder):
    """300 instances, 40 labels from frequent to rare; every name tries to break the page."""
    rng = np.random.default_rng(0)
    centres = rng.random((40, 60)) * (rng.random((40, 60)) < 0.2)
    Y = (rng.random((400, 40)) < 0.6 / np.arange(1, 41)).astype(np.int8)
    X = Y @ centres + 0.1 * rng.random((400, 60)) * (rng.random((400, 60)) < 0.2)
    folder.mkdir()
    for name, rows in (("trn", slice(300)), ("tst", slice(300, 400))):
        save(folder / f"X.{name}.npz", X[rows])
        save(folder / f"Y.{name}.npz", Y[rows])
    names = "".join(f"id{j}\tNäme {j} & {EVIL}\n" for j in range(40))
    (folder / "labels.txt").write_text(names, encoding="utf-8")


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory):
    """A folder with features, labels and names."""
    folder = tmp_path_factory.mktemp("report") / "data"
    write_data(folder)
    return folder


@pytest.fixture(scope="session")
def make_run(data_folder):
    """Run the command once for each set of options; gives the folder, which tests leave as it is."""
    made = {}

    def make(*options, without=()):
        key = (options, without)
        if key not in made:
            place = data_folder.parent / f"run{len(made)}"
            source = data_folder.parent / f"data{len(made)}"
            shutil.copytree(data_folder, source)
            for name in without:
                (source / name).unlink()
            words = options or ("-u", "macro-f1", "-k", "2", "--certify")
            assert main(["run", str(source), "-o", str(place), *words, *QUICK]) == 0
            made[key] = place
        return made[key]

    return make


@pytest.fixture
def run_copy(make_run, tmp_path):
    """A run of its own, to damage."""
    return shutil.copytree(make_run(), tmp_path / "run")


EXPERIMENT = {
    "experiment": "main",
    "title": f"All strategies {EVIL}",
    "paper": "Table 2: results at 3",
    "specification": {"k": 3, "note": EVIL},
    "data": {"name": "tibkat-gnd-en", "instances": 9537, "labels": 26983, "inputs": {}},
    "versions": {"tailwise": "0.1.0"},
    "seconds": 81.2,
    "notes": ["A note & more"],
    "tables": [
        {
            "name": "main-k3",
            "title": "Metrics at 3",
            "columns": [
                {"key": "p", "title": "P", "group": "Instance", "better": "larger", "digits": 2, "percent": True},
                {"key": "f", "title": "F1", "group": "Macro", "better": "larger", "digits": 1, "percent": True},
                {"key": "s", "title": "seconds", "group": "", "better": "smaller", "digits": 0, "percent": False},
                {"key": "n", "title": "passes", "group": "", "better": None, "digits": 0, "percent": False},
            ],
            "rows": [
                {
                    "name": "Top-K",
                    "group": "paper",
                    "values": {"p": 0.2738, "f": 0.0463, "s": 1.0, "n": 1},
                    "own": ["p"],
                },
                {
                    "name": f"Macro-F1 {EVIL}",
                    "group": "paper",
                    "values": {"p": 0.2, "f": 0.0801, "s": 3.0, "n": 5},
                    "deviations": {"f": 0.001, "p": None},
                    "own": ["f"],
                },
                {"name": "Cov", "group": "more", "values": {"p": None, "f": 0.0799, "s": 2.0}, "own": []},
            ],
        }
    ],
    "curves": [
        {
            "name": f"mixed-k{k}",
            "title": f"Precision against macro-F1 at {k}",
            "first": "precision",
            "second": "macro-f1",
            "measured": "realised",
            "k": k,
            "points": [
                {"alpha": 0.01, "first": 0.2738, "second": 0.0463, "first_deviation": 0.0, "second_deviation": 0.0001},
                {"alpha": 0.5, "first": 0.26, "second": 0.07, "first_deviation": None},
                {"alpha": 0.99, "first": 0.18, "second": 0.08},
            ],
            "others": {"Top-K": [0.2738, 0.0463], f"Cov {EVIL}": [0.1, 0.05]},
            "probabilities": f"my {k}.npz",
        }
        for k in (3, 5)
    ],
}


@pytest.fixture
def experiment(tmp_path):
    """Write a folder with a record, which a function may change before."""

    def write(change=lambda record: None):
        record = json.loads(json.dumps(EXPERIMENT))
        change(record)
        folder = tmp_path / "experiment"
        folder.mkdir(exist_ok=True)
        (folder / "experiment.json").write_text(json.dumps(record))
        return folder

    return write
