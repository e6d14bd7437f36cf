"""``tailwise select`` and ``tailwise evaluate`` on files of every format, with labels by number and by name."""

import json
import re

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load, load_contents, load_selection, save, save_selection
from tailwise.inputs.chosen import Chosen

FILES = ["p.npz", "p.smat.npz", "p.txt", "p.txt.gz", "p.jsonl", "p.parquet", "p-labels.npy"]
OUTPUTS = ["out.npz", "out.txt", "out.jsonl", "out.jsonl.gz", "out.parquet", "out-scores.npy"]
NAMES = [f"gnd:{j}" for j in range(60)]


@pytest.fixture
def expected(data):
    return tw.select(data.probabilities, "macro-f1", k=3)


@pytest.fixture(autouse=True)
def in_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)


def select(source, output, *words):
    return main(["select", source, "-u", "macro-f1", "-k", "3", "-o", output, "--quiet", *words])


@pytest.mark.parametrize("source", FILES)
def test_probabilities_in_any_format(data, expected, source):
    save(source, data.probabilities)
    assert select(source, "out.npz") == 0
    np.testing.assert_array_equal(load_selection("out.npz", n_labels=60).labels, expected.labels)


@pytest.mark.parametrize("output", OUTPUTS)
def test_selections_in_any_format(data, expected, output, capsys):
    assert select("probabilities.npz", output) == 0
    np.testing.assert_array_equal(load_selection(output).labels, expected.labels)
    assert main(["evaluate", "truth.npz", output, "--format", "json", "-k", "2"]) == 0
    assert json.loads(capsys.readouterr().out) == dict(tw.evaluate(data.truth, expected, k=2))
    assert select("probabilities.npz", output) == 2
    assert "which exists. Use --overwrite" in capsys.readouterr().err


@pytest.mark.parametrize("output", ["out.txt", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("where", ["beside", "option", "file"])
def test_names_are_carried_through(data, expected, output, where, capsys):
    source, words = "probabilities.npz", ()
    if where == "beside":
        with open("labels.txt", "w") as file:
            file.writelines(f"{name}\tTitle {name}\n" for name in NAMES)
    elif where == "option":
        with open("names.txt", "w") as file:
            file.writelines(f"{name}\n" for name in NAMES)
        words = ("--label-names", "names.txt")
    else:
        source = "named.parquet"
        ids = None if output == "out.txt" else [f"doc-{i}" for i in range(200)]  # which text cannot hold
        save(source, data.probabilities, label_names=NAMES, instance_names=ids)
    assert select(source, output, *words) == 0
    found = load_contents(output, label_names=NAMES)
    np.testing.assert_array_equal(found.ranked_labels(), expected.labels)
    if where == "file" and output != "out.txt":
        assert found.instance_names[7] == "doc-7"
    with open("all.txt", "w") as file:
        file.writelines(f"{name}\n" for name in NAMES)
    assert main(["evaluate", "truth.npz", output, "--format", "json", "--label-names", "all.txt"]) == 0
    assert json.loads(capsys.readouterr().out) == dict(tw.evaluate(data.truth, expected))


@pytest.mark.parametrize("output", ["out.npz", "out.txt", "out-labels.npy"])
def test_ids_are_not_lost(data, output, capsys):
    save("named.csv", data.probabilities, label_names=NAMES, instance_names=[f"doc-{i}" for i in range(200)])
    assert select("named.csv", output) == 2
    assert re.search(
        r"must have a format that holds ids\. .* does not\. Use \.parquet, \.jsonl", capsys.readouterr().err
    )
    save("labels.csv", data.probabilities, label_names=NAMES)
    assert select("labels.csv", "unknown.npz") == 2  # the order of its labels is not known
    with open("all.txt", "w") as file:
        file.writelines(f"{name}\n" for name in NAMES)
    assert select("labels.csv", "known.npz", "--label-names", "all.txt") == 0


def test_what_a_line_of_the_output_looks_like(data, expected):
    with open("labels.txt", "w") as file:
        file.writelines(f"{name}\tTitle {name}\n" for name in NAMES)
    assert select("probabilities.npz", "out.jsonl") == 0
    with open("out.jsonl") as file:
        record = json.loads(file.readline())
    labels = expected.labels[0].tolist()
    assert record["id"] == 0
    assert record["labels"] == [NAMES[j] for j in labels]
    assert record["titles"] == [f"Title {NAMES[j]}" for j in labels]
    np.testing.assert_allclose(record["scores"], data.probabilities.toarray()[0, labels])


def test_priors_say_how_many_labels_there_are(data):
    narrow = data.probabilities.toarray()
    narrow[:, 50:] = 0
    save("narrow.txt", narrow)
    words = ["-u", "ps-precision", "-k", "3", "--priors", "training.npz", "--quiet"]
    assert main(["select", "narrow.txt", *words, "-o", "out.npz"]) == 0
    wanted = tw.select(narrow, "ps-precision", k=3, priors=data.training)
    np.testing.assert_array_equal(load_selection("out.npz").labels, wanted.labels)


def test_a_filter(data, expected, capsys):
    pairs = [(i, int(expected.labels[i, 0])) for i in range(100)]
    with open("filter.txt", "w") as file:
        file.writelines(f"{i} {j}\n" for i, j in pairs)
    assert select("probabilities.npz", "out.npz") == 0
    assert main(["evaluate", "truth.npz", "out.npz", "--filter", "filter.txt", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == dict(tw.evaluate(data.truth, expected, filter=pairs))
    assert found != dict(tw.evaluate(data.truth, expected))


def write(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


BAD = {
    "line": ("select bad.txt", r"bad\.txt, line 3: expected a finite number after the colon\. Got '2:x'"),
    "count": ("select count.txt", r"count\.txt must hold 3 instances, as its first line states\. Got 2 lines"),
    "range": ("select range.txt", r"range\.txt, line 2: expected a number below 4 before the colon\. Got '4:1'"),
    "cut short": ("select cut.txt.gz", r"cut\.txt\.gz must be a complete \.gz file\. It is truncated"),
    "order": ("select p.txt -o out.svm", r"svmlight text cannot hold ranking\. Use \.npz"),
    "names": ("select p.txt --label-names names.txt", r"p\.txt must hold labels below 1, the number of labels\. Got 3"),
    "named and numbered": ("select n.txt --priors training.npz", r"n\.txt and training\.npz must both name"),
    "filter": (
        "evaluate truth.npz truth.npz --filter bad.txt",
        r"bad\.txt, line 1: expected the numbers of an instance",
    ),
    "filter of others": ("evaluate truth.npz truth.npz --filter far.txt", r"instance numbers from 0 to 199\. Got 500"),
}


@pytest.mark.parametrize(("words", "message"), BAD.values(), ids=BAD)
def test_bad_files(folder, capsys, words, message):
    write("bad.txt", "1:0.5\n\n1:0.5 2:x\n")
    write("count.txt", "3 4\n1:0.5\n2:0.5\n")
    write("range.txt", "2 4\n4:1\n1:1\n")
    save("cut.txt.gz", np.random.default_rng(0).random((50, 20)))
    with open("cut.txt.gz", "rb") as file:
        content = file.read()
    write("cut.txt.gz", content[: len(content) // 2])
    write("p.txt", "3:0.5\n1:0.25\n")
    write("n.txt", "a:0.5\nb:0.25\n")
    write("names.txt", "one\n")
    write("far.txt", "500 1\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    command, *rest = words.split()
    if command == "select":
        rest = (
            ["-o", "out.npz", *rest, "-u", "macro-f1", "-k", "1"]
            if "-o" not in rest
            else [*rest, "-u", "log", "-k", "1"]
        )
    assert main([command, *rest]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"tailwise: error: [^\n]*\n", err)
    assert re.search(message, err)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_names_beside_say_how_many_labels_there_are(data):
    narrow = data.probabilities.toarray()
    narrow[:, 50:] = 0
    save("narrow.txt", narrow)
    write("labels.txt", "\n".join(NAMES))
    assert select("narrow.txt", "out.npz") == 0
    assert load_selection("out.npz").n_labels == 60
    assert select("narrow.txt", "out.jsonl") == 0
    wanted = tw.select(narrow, "macro-f1", k=3).labels
    np.testing.assert_array_equal(load_selection("out.jsonl", label_names=NAMES).labels, wanted)


@pytest.mark.parametrize("output", ["out.csv", "out.tsv", "out.jsonl", "out.json", "out.parquet", "out.txt", "o.npz"])
def test_converting_keeps_the_order_of_a_selection(data, expected, output, capsys):
    assert select("probabilities.npz", "first.npz") == 0
    assert (np.diff(expected.labels, axis=1) < 0).any()  # an order other than that of the numbers
    assert main(["convert", "first.npz", output, "--quiet"]) == 0
    again = load_selection(output, n_labels=60)
    assert again.is_ranked
    assert np.array_equal(again.labels, expected.labels)
    scores = []
    for chosen in ("first.npz", output):
        assert main(["evaluate", "truth.npz", chosen, "-k", "1", "--json"]) == 0
        scores.append(json.loads(capsys.readouterr().out)["metrics"])
    assert scores[0] == scores[1]


def test_converting_several_selections_keeps_their_order(expected):
    half = len(expected.labels) // 2
    for name, part in (("a.npz", expected.labels[:half]), ("b.npz", expected.labels[half:])):
        save_selection(name, Chosen.of(part, n_labels=60))
    assert main(["convert", "a.npz", "b.npz", "out.jsonl", "--quiet"]) == 0
    assert np.array_equal(load_selection("out.jsonl", n_labels=60).labels, expected.labels)


def test_a_table_of_a_converted_selection_has_ranks():
    save_selection("chosen.npz", Chosen.of([[2, 0], [1, -1]], n_labels=3))
    assert main(["convert", "chosen.npz", "out.csv", "--quiet"]) == 0
    with open("out.csv") as file:
        assert file.read().split() == ["instance,label,probability,rank", "0,2,1,1", "0,0,1,2", "1,1,1,1"]
    assert main(["convert", "chosen.npz", "out.smat.npz", "--quiet"]) == 0  # which holds no ranking
    assert load("out.smat.npz").nnz == 3


@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])  # in blocks, and at once
def test_converting_takes_names_from_beside(output):
    save_selection("chosen.npz", Chosen.of([[2, 0], [1, -1]], n_labels=3))
    write("labels.txt", "tea\njam\nhot milk\n")
    assert main(["convert", "chosen.npz", output, "--quiet"]) == 0
    found = load_selection(output, label_names=["tea", "jam", "hot milk"])
    assert found.labels.tolist() == [[2, 0], [1, -1]]
    assert sorted(load_contents(output).label_names) == ["hot milk", "jam", "tea"]
    assert main(["convert", "chosen.npz", "out.txt", "--quiet"]) == 0  # which holds no names with blanks
    assert load_selection("out.txt").labels.tolist() == [[2, 0], [1, -1]]


def test_ids_of_digits_are_not_taken_for_row_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [("3", "a", 0.9), ("3", "b", 0.2), ("1", "b", 0.8), ("1", "a", 0.3)]
    lines = [json.dumps({"instance": i, "label": j, "probability": p}) for i, j, p in rows]
    (tmp_path / "p.jsonl").write_text("\n".join(lines) + "\n")
    truth = [json.dumps({"instance": i, "label": j}) for i, j in (("1", "b"), ("3", "a"))]
    (tmp_path / "truth.jsonl").write_text("\n".join(truth) + "\n")
    for name in ("s.csv", "s.jsonl"):
        assert main(["select", "p.jsonl", "-u", "precision", "-k", "1", "-o", name, "--quiet"]) == 0
    assert (tmp_path / "s.csv").read_text().startswith("instance_id,label,")
    assert main(["evaluate", "truth.jsonl", "s.csv", "-m", "precision"]) == 2
    assert "The ids of selection are integers (3, 1), those of truth are text" in capsys.readouterr().err
    assert main(["evaluate", "truth.jsonl", "s.jsonl", "-m", "precision"]) == 0
    assert capsys.readouterr().out.endswith("precision  1.0000\n")
