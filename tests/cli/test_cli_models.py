"""Models by name on the command line, on features and on texts."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from reference.tiny_encoder import make_tiny_encoder

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import load, load_contents, load_selection
from tailwise.datasets.formats.text_lines import read_ids

WORDS = ("tree", "tail", "label")
RUN = ("run", "data", "-u", "macro-f1", "-k", "1", "-o", "out")


def draw(n, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(3, size=n)
    return [f"the {WORDS[label]} number {i % 7}" for i, label in enumerate(labels)], labels


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A folder with texts and labels, as working folder."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for part, n in (("trn", 60), ("tst", 20)):
        words, labels = draw(n, n)
        Path(f"data/texts.{part}.txt").write_text("\n".join(words) + "\n")
        sp.save_npz(f"data/Y.{part}.npz", sp.csr_array(np.eye(3)[labels]))
    Path("data/labels.txt").write_text("\n".join(WORDS) + "\n")
    Path("new.txt").write_text("an old tree\na short tail\n")
    return tmp_path


def read_record():
    return json.loads(Path("out/run.json").read_text())


# Features


@pytest.fixture
def features(data_folder, monkeypatch):
    monkeypatch.chdir(data_folder.parent)
    return data_folder.parent


@pytest.mark.parametrize(
    ("words", "name", "parameters"),
    [
        ((), "ensemble", {"folds": None, "tree__C": None, "members": [["tree", "tree", "all"]]}),
        (("--n-trees", "2"), "ensemble", {"tree__n_trees": 2}),
        (("--model", "tree", "--model-option", "n_trees=2"), "tree", {"n_trees": 2}),
        (("--model", "neighbours", "--model-option", "temperature=0.1"), "neighbours", {"temperature": 0.1}),
        (("--model", "ensemble", "--model-option", "neighbours__n_neighbours=5"), "ensemble", {"split": "random"}),
        (("--model", "text", "--model-option", "size=8", "--model-option", "epochs=2"), "text", {"size": 8}),
    ],
    ids=str,
)
def test_a_run_with_any_model_is_repeated_from_its_configuration(features, capsys, words, name, parameters):
    assert main([*RUN, "--json", *words]) == 0
    printed, record = json.loads(capsys.readouterr().out), read_record()
    assert printed["model"] == record["model"]
    assert record["model"]["name"] == name
    assert record["model"]["why"].startswith("asked for" if "--model" in words else "default")
    found = record["configuration"]["model"]["parameters"]
    for key, value in parameters.items():
        assert found[key][: len(value)] == value if isinstance(value, list) else found[key] == value
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    for file in ("selection.npz", "probabilities.npz", "model.tailwise", "run.toml"):
        assert Path("out", file).read_bytes() == Path("again", file).read_bytes()
    assert tw.Run.load("again").model.kind == name


def test_the_default_is_the_ensemble_of_python(features):
    assert main([*RUN, "--quiet"]) == 0
    X, Y, X_test = (load(f"data/{name}.npz") for name in ("X.trn", "Y.trn", "X.tst"))
    expected = tw.Ensemble().fit(X, Y)
    np.testing.assert_array_equal(load("out/probabilities.npz").toarray(), expected.predict_proba(X_test).toarray())
    members = read_record()["model"]["members"]
    assert {name: each["share"] for name, each in members.items()} == expected.shares_
    assert read_record()["model"]["weights"] == expected.weights_
    assert read_record()["model"]["calibration_error"] == expected.calibration_error_


@pytest.mark.parametrize("words", [(), ("--model", "neighbours"), ("--model", "text", "--model-option", "epochs=2")])
def test_trained_and_predicted_step_by_step(features, words):
    assert main([*RUN, "--quiet", *words]) == 0
    assert main(["train", "data", "-o", "trained.model", "--quiet", *words]) == 0
    assert main(["predict", "trained.model", "data/X.tst.npz", "-o", "p.npz", "--quiet"]) == 0
    assert Path("trained.model").read_bytes() == Path("out/model.tailwise").read_bytes()
    assert Path("p.npz").read_bytes() == Path("out/probabilities.npz").read_bytes()


REFUSED = {
    "name": ((*RUN, "--model", "forest"), "model must be one of tree, ensemble, neighbours, text. Got 'forest'."),
    "option": ((*RUN, "--model", "tree", "--model-option", "n_tree=2"), "Got 'n_tree'. Did you mean n_trees?"),
    "value": ((*RUN, "--model", "neighbours", "--model-option", "temperature=-1"), "temperature must be a finite"),
    "tree option": ((*RUN, "--model", "neighbours", "--n-trees", "2"), "need --model tree or ensemble. Got n_trees"),
    "beam": ((*RUN, "--beam", "2"), "need a label tree. Got the model 'ensemble'. Use --model tree"),
    "method": ((*RUN, "--method", "tree", "--model", "text"), "need a label tree. Got the model 'text'."),
    "embeddings": ((*RUN, "--embeddings", "folder"), "embeddings (--embeddings) are made from texts. Got features."),
    "train": (("train", "data", "-o", "out", "--model", "forest"), "--model must be one of tree"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_options(features, capsys, words, message):
    assert main([*words]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in features.iterdir()] == ["data"]


def test_an_option_without_a_value(features, capsys):
    with pytest.raises(SystemExit):
        main([*RUN, "--model-option", "n_trees"])
    assert "must be written as key=value. Got 'n_trees'" in capsys.readouterr().err


# Texts


@pytest.mark.parametrize("name", ["tree", "neighbours", "ensemble", "text"])
def test_a_model_trained_on_texts_predicts_new_texts(texts, name):
    more = ("--model-option", "epochs=3", "--model-option", "size=16") if name == "text" else ()
    assert main([*RUN, "--quiet", "--model", name, *more]) == 0
    assert main(["train", "data", "-o", "trained.model", "--quiet", "--model", name, *more]) == 0
    assert main(["predict", "trained.model", "data/texts.tst.txt", "-o", "p.npz", "--quiet"]) == 0
    np.testing.assert_allclose(load("p.npz").toarray(), load("out/probabilities.npz").toarray(), rtol=1e-5)
    assert main(["predict", "out/model.tailwise", "new.txt", "-o", "new.csv", "--quiet"]) == 0
    found = load("new.csv", label_names=list(WORDS)).toarray()
    assert found.argmax(axis=1).tolist() == [0, 1]
    assert tw.Run.load("out").model.predict_proba(["a label"], top=1).indices.tolist() == [2]
    assert read_record()["metrics"]["macro-f1"] > 0.9


def test_a_run_on_texts_is_repeated_from_its_configuration(texts):
    words = ("--model-option", "features__words=[1,2]", "--model-option", "tree__C=2")
    assert main([*RUN, "--quiet", *words]) == 0
    record = read_record()
    assert record["model"]["why"].startswith("default for texts")
    assert record["configuration"]["model"]["parameters"]["features__words"] == [1, 2]
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    for file in ("selection.npz", "model.tailwise", "run.toml"):
        assert Path("out", file).read_bytes() == Path("again", file).read_bytes()


def test_labels_are_selected_on_a_tree_of_texts(texts):
    assert main(["run", "data", "-u", "coverage", "-k", "1", "-o", "out", "--method", "tree", "--quiet"]) == 0
    record = read_record()
    assert record["model"]["why"] == "default: labels are selected on a label tree itself"
    assert load_selection("out/selection.npz").labels.shape == (20, 1)


def test_a_calibrator_for_texts(texts):
    words = ("--calibration", "platt", "--folds", "2", "--model", "tree")
    assert main([*RUN, "--quiet", *words]) == 0
    words = ("--calibrator", "c.npz", *words)
    assert main(["train", "data", "-o", "trained.model", "--quiet", *words]) == 0
    assert Path("c.npz").read_bytes() == Path("out/calibrator.npz").read_bytes()


MISMATCHES = {
    "features for texts": ("predict texts.model features.npz -o p.npz", "features.npz must hold texts, on which"),
    "texts for features": ("predict features.model new.txt -o p.npz", "new.txt must hold features, on which"),
}


@pytest.mark.parametrize(("words", "message"), MISMATCHES.values(), ids=MISMATCHES)
def test_texts_and_features_are_not_confused(texts, capsys, words, message):
    tw.save("features.npz", np.eye(60))
    assert main(["train", "data", "-o", "texts.model", "--model", "tree", "--quiet"]) == 0
    files = ("features.npz", "data/Y.trn.npz")
    assert main(["train", *files, "-o", "features.model", "--model", "tree", "--quiet"]) == 0
    assert main(words.split()) == 2
    assert message in capsys.readouterr().err
    assert not Path("p.npz").exists()


def test_a_title_may_be_a_number(texts):
    words, _ = draw(60, 60)
    Path("titles.txt").write_text("\n".join(["1984", *words[1:]]) + "\n")
    assert main(["train", "titles.txt", "data/Y.trn.npz", "-o", "t.model", "--model", "tree", "--quiet"]) == 0
    Path("years.txt").write_text("1984\n")
    assert main(["predict", "t.model", "years.txt", "-o", "p.npz", "--quiet"]) == 0
    assert load("p.npz").shape == (1, 3)


@pytest.mark.parametrize("name", ["x.txt", "x.svmlight"])
def test_features_with_a_comment(texts, name):
    Path(name).write_text("# made by hand\n" + "".join(f"0 {i % 5 + 1}:1\n" for i in range(60)))
    assert main(["train", name, "data/Y.trn.npz", "-o", "f.model", "--model", "tree", "--quiet"]) == 0
    assert main(["predict", "f.model", name, "-o", "p.npz", "--quiet"]) == 0
    assert load("p.npz").shape == (60, 3)


def test_names_of_labels_in_text_and_in_a_store(texts):
    assert main(["train", "data", "-o", "t.model", "--model", "tree", "--quiet"]) == 0
    for name in ("p.txt", "p.store", "p.csv"):
        assert main(["predict", "t.model", "new.txt", "-o", name, "--quiet"]) == 0
    assert "tail:0." in Path("p.txt").read_text()
    assert (load("p.store", label_names=WORDS[::-1]).toarray()[:, ::-1] == load("p.store").toarray()).all()
    assert (load("p.store").toarray() == load("p.csv", label_names=WORDS).toarray()).all()
    assert main(["predict", "t.model", "new.txt", "-o", "p.store", "--quiet"]) == 2
    assert main(["predict", "t.model", "new.txt", "-o", "p.store", "--quiet", "--overwrite"]) == 0


def test_columns_with_the_usual_name_of_another(texts):
    words, labels = draw(60, 60)
    rows = [f"{text},{WORDS[label]}" for text, label in zip(words, labels, strict=True)]
    Path("tables").mkdir()
    for part in ("train", "test"):
        Path(f"tables/{part}.csv").write_text("body,text\n" + "\n".join(rows) + "\n")
    columns = ("--text-column", "body", "--label-column", "text")
    assert main(["run", "tables", *RUN[2:], *columns, "--model", "tree", "--quiet"]) == 0
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    assert Path("out/selection.npz").read_bytes() == Path("again/selection.npz").read_bytes()


# Texts and labels in one file

LABELLED = {
    "corpus.tsv": "{text}\t<http://x/{label}>\n",
    "table.csv": '"{text}",http://x/{label}\n',
    "lines.jsonl": '{{"text": "{text}", "labels": ["http://x/{label}"]}}\n',
}
HEADERS = {"table.csv": "text,labels\n"}


def write_labelled(path, kind, n, seed):
    lines = [LABELLED[kind].format(text=text, label=WORDS[label]) for text, label in zip(*draw(n, seed), strict=True)]
    path.write_text(HEADERS.get(kind, "") + "".join(lines))


@pytest.mark.parametrize("kind", LABELLED)
def test_texts_and_labels_in_one_file(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    suffix = Path(kind).suffix
    for part, n in (("train", 60), ("test", 20)):
        write_labelled(Path("data", f"{part}{suffix}"), kind, n, n)
    assert main([*RUN, "--quiet"]) == 0
    record = read_record()
    assert set(record["inputs"]) == {f"train{suffix}", f"test{suffix}"}
    assert record["metrics"]["macro-f1"] > 0.9
    assert Path("out/labels.txt").read_text().split() == sorted(f"http://x/{word}" for word in WORDS)
    assert main(["train", f"data/train{suffix}", "-o", "trained.model", "--quiet"]) == 0
    assert Path("trained.model").read_bytes() == Path("out/model.tailwise").read_bytes()
    assert main(["predict", "trained.model", f"data/test{suffix}", "-o", "p.csv", "--top", "1", "--quiet"]) == 0
    assert "http://x/tail" in Path("p.csv").read_text()


def test_columns_of_texts_and_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for part, n in (("train", 60), ("test", 20)):
        rows = [f"{text},{WORDS[label]};{WORDS[0]}" for text, label in zip(*draw(n, n), strict=True)]
        Path(f"data/{part}.csv").write_text("title,keywords\n" + "\n".join(rows) + "\n")
    assert main([*RUN, "--text-column", "title", "--quiet"]) == 2
    assert "must have a column of labels: labels, subjects, subject_uris, tags. It has title" in capsys.readouterr().err
    columns = ("--text-column", "title", "--label-column", "keywords")
    assert main([*RUN, *columns, "--quiet"]) == 0
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    assert Path("out/selection.npz").read_bytes() == Path("again/selection.npz").read_bytes()
    assert main(["predict", "out/model.tailwise", "data/test.csv", "-o", "p.npz"]) == 2
    assert main(["predict", "out/model.tailwise", "data/test.csv", "-o", "p.npz", *columns[:2], "--quiet"]) == 0


@pytest.mark.parametrize("kind", [".csv", ".jsonl"])
def test_ids_of_texts_and_given_names(tmp_path, monkeypatch, capsys, kind):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for part, n in (("train", 60), ("test", 20)):
        rows = list(zip(*draw(n, n), strict=True))
        lines = [json.dumps({"id": 100 + i, "text": text, "labels": [WORDS[j]]}) for i, (text, j) in enumerate(rows)]
        table = ["id,text,labels", *(f"{100 + i},{text},{WORDS[j]}" for i, (text, j) in enumerate(rows))]
        Path(f"data/{part}{kind}").write_text("\n".join(table if kind == ".csv" else lines) + "\n")
    Path("vocabulary.csv").write_text("uri,label_en\n" + "".join(f"{word},The {word}\n" for word in WORDS[::-1]))
    names = ("--label-names", "vocabulary.csv", "--language", "en")
    assert main([*RUN, *names, "--model", "tree", "--quiet"]) == 0
    assert Path("out/instances.txt").read_text().split() == [str(100 + i) for i in range(20)]
    first = Path("out/selection.tsv").read_text().split("\n")[1].split("\t")
    word = WORDS[draw(20, 20)[1][0]]
    assert [*first[:3], first[4]] == ["100", word, f"The {word}", "1"]
    assert list(tw.Run.load("out").instance_names) == [str(100 + i) for i in range(20)]
    assert "vocabulary.csv" in read_record()["inputs"]
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    assert Path("out/selection.tsv").read_bytes() == Path("again/selection.tsv").read_bytes()
    capsys.readouterr()
    assert main(["explain", "out", "103"]) == 0
    assert "103" in capsys.readouterr().out
    assert main(["train", "data", "-o", "t.model", *names, "--model", "tree", "--quiet"]) == 0
    assert list(tw.load_model("t.model").priors_.label_names) == list(WORDS[::-1])


@pytest.mark.parametrize("output", ["p.csv", "p.jsonl", "p.parquet", "p.store", "p.txt", "p.npz"])
@pytest.mark.parametrize("ids", [["d7", "d3", "d5"], [107, 103, 105]], ids=["text", "integers"])
def test_ids_of_texts_reach_predictions(texts, capsys, ids, output):
    assert main(["train", "data", "-o", "t.model", "--model", "tree", "--quiet"]) == 0
    rows = [f"{each}\t{text}" for each, text in zip(ids, draw(3, 3)[0], strict=True)]
    Path("test.tsv").write_text("\n".join(["id\ttext", *rows]) + "\n")
    assert main(["predict", "t.model", "test.tsv", "-o", output, "--quiet"]) == 0
    found = load_contents(output)
    assert found.matrix.shape == (3, 3)
    if output in ("p.txt", "p.npz"):  # which hold no ids
        assert found.instance_names is None
        return
    assert list(found.instance_names) == ids
    assert main(["select", output, "-u", "macro-f1", "-k", "1", "-o", "chosen.jsonl", "--quiet"]) == 0
    assert list(load_contents("chosen.jsonl").instance_names) == ids
    capsys.readouterr()
    assert main(["explain", output, str(ids[1]), "--selection", "chosen.jsonl", "-u", "macro-f1"]) == 0
    assert str(ids[1]) in capsys.readouterr().out


UNREADABLE = {
    "an id": ("id,text\nd1,a\nd2, \n", r"test\.csv, id d2: expected a text, one for each instance\. Got none\."),
    "no ids": ("text,year\na,1999\n,2001\n", r"test\.csv, row 2 below the header: expected a text"),
    "no column": ("id,subjects,title\nd1,x,a\n", r"It has id, subjects, title\. Choose one: --text-column title\."),
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_without_every_text_is_refused_in_its_own_words(texts, capsys, content, message):
    assert main(["train", "data", "-o", "t.model", "--model", "tree", "--quiet"]) == 0
    Path("test.csv").write_text(content)
    assert main(["predict", "t.model", "test.csv", "-o", "p.csv"]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not Path("p.csv").exists()


def test_ids_that_are_missing_or_repeated_are_not_used(tmp_path):
    for ids in (["a", "a"], ["a", ""]):
        path = tmp_path / "texts.csv"
        path.write_text("id,text\n" + "".join(f"{each},some words\n" for each in ids))
        assert read_ids(path) is None


NEW_RECORDS = {
    "no column": ("text,labels", "{},{}", "text", "{}", ".csv"),
    "an empty column": ("text,labels", "{},{}", "text,labels", "{},", ".csv"),
    "no key": (None, '{{"text": "{}", "labels": ["{}"]}}', None, '{{"text": "{}"}}', ".jsonl"),
    "empty lists": (None, '{{"text": "{}", "labels": ["{}"]}}', None, '{{"text": "{}", "labels": []}}', ".jsonl"),
}


@pytest.mark.parametrize(("head", "line", "new_head", "new_line", "suffix"), NEW_RECORDS.values(), ids=NEW_RECORDS)
def test_new_records_are_labelled_but_not_evaluated(tmp_path, monkeypatch, head, line, new_head, new_line, suffix):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    for part, n, first, form in (("train", 60, head, line), ("test", 20, new_head, new_line)):
        rows = [form.format(text, WORDS[label]) for text, label in zip(*draw(n, n), strict=True)]
        Path(f"data/{part}{suffix}").write_text("\n".join([*([first] if first else []), *rows]) + "\n")
    assert main([*RUN, "--model", "tree", "--quiet"]) == 0
    assert read_record()["metrics"] is None
    assert load_selection("out/selection.npz").labels.shape == (20, 1)
    assert not Path("out/truth.npz").exists()


def test_labels_that_training_does_not_know_are_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/train.tsv").write_text("a tree\t<tree>\na tail\t<tail>\n" * 30)
    Path("data/test.tsv").write_text("a leaf\t<leaf>\na tree\t<tree>\n")
    assert main([*RUN, "--quiet"]) == 2
    assert "Got 'leaf' in row 0, which no training instance has. Remove it" in capsys.readouterr().err
    assert not Path("out").exists()
    Path("data/labels.txt").write_text("leaf\ntail\ntree\n")
    assert main([*RUN, "--quiet"]) == 0


# Experiments


def test_the_main_table_with_another_model(features, capsys):
    words = ("experiment", "main", "--data", "data", "--out", "main", "-k", "2")
    assert main([*words, "--model", "neighbours", "--model-option", "n_neighbours=5"]) == 0
    assert "about 0.0 GPU hours" in " ".join(capsys.readouterr().out.split())
    record = json.loads(Path("main/experiment.json").read_text())
    assert record["data"]["model"]["parameters"]["n_neighbours"] == 5
    assert any("these probabilities are from the model 'neighbours'" in note for note in record["notes"])
    assert tw.load_model("main/model.tailwise").kind == "neighbours"
    assert main([*words, "--overwrite", "--quiet"]) == 0
    assert tw.load_model("main/model.tailwise").kind == "tree"


def test_an_experiment_on_texts(texts):
    words = ("experiment", "main", "--data", "data", "--out", "main", "-k", "1", "--quiet")
    assert main([*words]) == 0
    X, Y, X_test = Path("data/texts.trn.txt"), load("data/Y.trn.npz"), Path("data/texts.tst.txt")
    expected = tw.OnTexts(tw.LabelTree()).fit(X.read_text().splitlines(), Y)
    np.testing.assert_array_equal(
        load("main/probabilities-top100.npz").toarray(),
        expected.predict_proba(X_test.read_text().splitlines()).toarray(),
    )


REFUSED_EXPERIMENTS = {
    "tree needed": (
        ("label-tree", "--model", "neighbours"),
        "The experiment label-tree needs a label tree. Got the model 'neighbours'. Use --model tree.",
    ),
    "both": (
        ("main", "--probabilities", "data/Y.tst.npz", "--model", "tree"),
        "--probabilities cannot be combined with options of a model.",
    ),
    "name": (("main", "--model", "forest"), "--model must be one of tree"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED_EXPERIMENTS.values(), ids=REFUSED_EXPERIMENTS)
def test_experiments_refuse_models(features, capsys, words, message):
    assert main(["experiment", *words, "--data", "data", "--out", "main"]) == 2
    assert message in capsys.readouterr().err


def test_an_encoder_beside_words(texts):
    pytest.importorskip("torch")
    make_tiny_encoder(Path("encoder"), layers=2, size=8)
    words = (
        "--embeddings",
        "encoder",
        "--model-option",
        "classifier__epochs=1",
        "--model-option",
        "classifier__size=8",
    )
    assert main([*RUN, *words, "--quiet"]) == 0
    record = read_record()
    assert list(record["model"]["members"]) == ["tree", "neighbours", "space", "classifier"]
    assert main(["run", "--config", "out/run.toml", "-o", "again", "--quiet"]) == 0
    for file in ("selection.npz", "run.toml"):
        assert Path("out", file).read_bytes() == Path("again", file).read_bytes()
    assert main(["predict", "out/model.tailwise", "data/texts.tst.txt", "-o", "p.npz", "--quiet"]) == 0
    np.testing.assert_allclose(load("p.npz").toarray(), load("out/probabilities.npz").toarray(), rtol=1e-3, atol=1e-5)


def test_what_a_folder_of_texts_holds(texts, capsys):
    assert main(["data", "info", "data"]) == 0
    assert "  train: texts in texts.trn.txt\n" in capsys.readouterr().out
    Path("corpus").mkdir()
    write_labelled(Path("corpus/train.jsonl"), "lines.jsonl", 5, 0)
    assert main(["data", "info", "corpus"]) == 0
    assert "  train: texts with labels in train.jsonl\n" in capsys.readouterr().out
