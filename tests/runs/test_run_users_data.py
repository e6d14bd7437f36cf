"""Runs on the data of users: subjects as Annif writes them, texts in several columns, ids and titles in the result."""

import json

import numpy as np
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets.formats.labelled_texts import read_labelled_texts
from tailwise.errors import InputError

pd = pytest.importorskip("pandas")
URIS = [f"http://example.org/{name}" for name in ("tree", "tail", "label")]
OPTIONS = {"model": "tree", "model_options": {"max_epochs": 3}}
WORDS = ("--model", "tree", "--max-epochs", "3", "--quiet")


def draw(n, seed):
    """Texts, whose titles name their first subject, and the URIs of one or two subjects of each."""
    random = np.random.default_rng(seed)
    numbers = [random.permutation(3)[: random.integers(1, 3)] for _ in range(n)]
    titles = [f"the {URIS[own[0]].rpartition('/')[2]}" for own in numbers]
    abstracts = [
        " ".join(URIS[j].rpartition("/")[2] for j in own) + f" number {i % 7}" for i, own in enumerate(numbers)
    ]
    return titles, abstracts, [[URIS[j] for j in own] for own in numbers]


TRAIN, TEST = draw(60, 1), draw(20, 2)


def in_memory(way):
    """Data with the subjects of each instance written in some way."""
    parts = {"": TRAIN, "_test": TEST}
    texts = {f"X{end}": [" ".join(pair) for pair in zip(*part[:2], strict=True)] for end, part in parts.items()}
    return texts | {f"Y{end}": [way(own) for own in part[2]] for end, part in parts.items()}


@pytest.mark.parametrize(
    "way",
    [
        lambda own: " ".join(f"<{uri}>" for uri in own),
        " ".join,
        lambda own: [" ".join(f"<{uri}>" for uri in own)],
        lambda own: [f"<{uri}>" for uri in own],
    ],
)
def test_several_uris_in_one_text_are_several_labels(way):
    found, expected = (tw.run(in_memory(each), "macro-f1", 1, **OPTIONS) for each in (way, list))
    assert list(found.label_names) == sorted(URIS)
    np.testing.assert_array_equal(found.selection.labels, expected.selection.labels)
    assert (found.truth != expected.truth).nnz == 0


def test_other_texts_stay_one_label(tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [{"text": "a", "labels": ["machine learning", "see http://x.org"]}, {"text": "b", "labels": ["<u1> <u2>"]}]
    path.write_text("\n".join(map(json.dumps, rows)))
    assert read_labelled_texts(path).labels == [["machine learning", "see http://x.org"], ["u1", "u2"]]
    (tmp_path / "train.csv").write_text("text,labels\na,<http://x/1> <http://x/2>\nb,machine learning;tails\n")
    expected = [["http://x/1", "http://x/2"], ["machine learning", "tails"]]
    assert read_labelled_texts(tmp_path / "train.csv").labels == expected


def write_tables(folder):
    folder.mkdir()
    for name, (titles, abstracts, uris) in (("train", TRAIN), ("test", TEST)):
        ids = [f"{name}-{i}" for i in range(len(titles))]
        columns = {"id": ids, "title": titles, "abstract": abstracts, "subjects": [" ".join(own) for own in uris]}
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    (folder / "labels.tsv").write_text("".join(f"<{uri}>\tThe {uri.rpartition('/')[2]}\n" for uri in URIS))
    return folder


def test_texts_of_several_columns(tmp_path):
    folder = write_tables(tmp_path / "data")
    lines = in_memory(list)
    lines |= {f"X{end}": ["\n".join(pair) for pair in zip(*part[:2], strict=True)] for end, part in PARTS}
    expected = tw.run(lines, "macro-f1", 1, **OPTIONS).selection
    tables = lines | {f"X{end}": pd.DataFrame({"title": part[0], "abstract": part[1]}) for end, part in PARTS}
    runs = [tw.run(tables, "macro-f1", 1, **OPTIONS)]
    runs += [
        tw.run(folder, "macro-f1", 1, text_column=each, **OPTIONS) for each in ("title,abstract", ["title", "abstract"])
    ]
    for each in runs:
        np.testing.assert_array_equal(each.selection.labels, expected.labels)
    frame = pd.read_csv(folder / "train.csv")[["title", "abstract"]]
    assert (tw.TextFeatures().fit_transform(frame) != tw.TextFeatures().fit_transform(lines["X"])).nnz == 0
    with pytest.raises(InputError, match=r"Got an empty text in row 1"):
        tw.TextFeatures().fit(pd.DataFrame({"title": ["a", ""], "abstract": ["b", None]}))
    with pytest.raises(OSError, match=r"must have the column 'title,body'\. It has id, title, abstract, subjects"):
        tw.run(folder, "macro-f1", 1, text_column="title,body", **OPTIONS)


PARTS = (("", TRAIN), ("_test", TEST))


@pytest.mark.parametrize("method", ["auto", "tree"])
def test_the_selection_has_the_ids_and_titles_of_the_data(tmp_path, method):
    folder = write_tables(tmp_path / "data")
    given = {"text_column": "abstract", "label_names": folder / "labels.tsv", "method": method}
    run = tw.run(folder, "macro-f1", 1, output=tmp_path / "out", **given, **OPTIONS)
    for each in (run.selection, tw.Run.load(tmp_path / "out").selection):
        frame = each.to_frame("pandas")
        assert list(frame["instance"]) == [f"test-{i}" for i in range(20)]
        assert set(frame["label"]) <= set(URIS)
        assert list(frame["name"]) == [f"The {uri.rpartition('/')[2]}" for uri in frame["label"]]
        assert each["test-3"] == [frame["label"][3]]
    if method == "auto":
        assert "The " in str(run.selection.explain("test-3"))


def test_run_toml_serves_in_every_folder(tmp_path, monkeypatch):
    write_tables(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names = ("--text-column", "title,abstract", "--label-names", "data/labels.tsv")
    assert main(["run", "data", "-u", "macro-f1", "-k", "1", "-o", "first", *names, *WORDS]) == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["run", "--config", "../first/run.toml", "-o", "second", "--quiet"]) == 0
    first, second = tw.Run.load("../first"), tw.Run.load("second")
    np.testing.assert_array_equal(first.selection.labels, second.selection.labels)
    assert first.label_names == second.label_names


def test_max_seconds(tmp_path, monkeypatch, caplog):
    write_tables(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    words = ("run", "data", "-u", "macro-f1", "-k", "1", "--text-column", "abstract", *WORDS)
    assert main([*words, "-o", "out", "--max-seconds", "1e-9"]) == 4
    assert "stopped after --max-seconds 1e-09; the best selection so far was written" in caplog.text
    run = tw.Run.load("out")
    assert not run.selection.converged
    assert run.record["configuration"]["selection"]["max_seconds"] == 1e-9
    assert "max-seconds = 1e-09" in (tmp_path / "out" / "run.toml").read_text()
    assert main([*words, "-o", "other", "--max-seconds", "600"]) == 0
    for given, rule in (({"max_seconds": 0}, "max_seconds must be"), ({"max_seconds": 1, "method": "tree"}, "nor max")):
        with pytest.raises(InputError, match=rule):
            tw.run("data", "macro-f1", 1, text_column="abstract", **given, **OPTIONS)
