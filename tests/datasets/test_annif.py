"""Files of Annif: corpora, suggestions, folders of documents, and vocabularies."""

import sys

import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import LabelNames, load_contents
from tailwise.datasets.formats import csv_tables
from tailwise.errors import FileError, InputError, MissingExtraError
from tailwise.inputs.vocabularies import read_vocabulary

YSO = "http://www.yso.fi/onto/yso/"


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, text):
    with open(name, "wb") as file:
        file.write(text.encode())
    return name


def sets_of(contents):
    names = contents.label_names
    return [{names[j]: float(row[j]) for j in row.nonzero()[0]} for row in contents.matrix.toarray()]


def test_a_corpus_of_short_texts():
    contents = load_contents(write("a.tsv", f"A text\t<{YSO}p1> <{YSO}p2>\nNothing\t\nWith\ttab\t<{YSO}p2>\n"))
    assert sets_of(contents) == [{f"{YSO}p1": 1, f"{YSO}p2": 1}, {}, {f"{YSO}p2": 1}]
    assert contents.ranks is None
    write("b.tsv", f"A text\t<{YSO}p1>\nAnother without subjects\n")
    with pytest.raises(FileError, match=r"b\.tsv, line 2: expected a text, a tab, and subjects such as <uri> <uri>"):
        load_contents("b.tsv")


def test_suggestions(in_folder):
    (in_folder / "docs").mkdir()
    write("docs/two.annif", f"<{YSO}p1>\tcats\t0.25\n")
    write("docs/one.annif", f"<{YSO}p2>\tdogs\t59.1\t0.5\n<{YSO}p1>\tcats\t0.125\n")
    for source in ("docs", "docs/*.annif"):
        contents = load_contents(source)
        assert list(contents.instance_names) == ["one", "two"]
        assert sets_of(contents) == [{f"{YSO}p2": 0.5, f"{YSO}p1": 0.125}, {f"{YSO}p1": 0.25}]
        assert contents.label_names.title_of(contents.label_names.number_of(f"{YSO}p2")) == "dogs"
    write("docs/three.annif", f"<{YSO}p1>\tcats\thigh\n")
    with pytest.raises(FileError, match=r"three\.annif, line 1: expected a score at the end\. Got 'high'"):
        load_contents("docs")


def test_folders_of_subjects(in_folder):
    (in_folder / "docs").mkdir()
    for name in ("a", "b"):
        write(f"docs/{name}.txt", "some text")
    write("docs/a.key", "cats\ndogs\n")
    write("docs/b.key", "dogs\n")
    assert sets_of(load_contents("docs")) == [{"cats": 1, "dogs": 1}, {"dogs": 1}]
    write("docs/a.annif", f"<{YSO}p1>\tcats\t0.25\n")
    with pytest.raises(
        FileError, match=r"must hold one kind of subjects\. It has \.annif, \.key\. Choose one: docs/\*"
    ):
        load_contents("docs")
    (in_folder / "uris").mkdir()
    write("uris/a.txt", "some text")
    write("uris/a.tsv", f"<{YSO}p1>\tcats\n")
    assert sets_of(load_contents("uris")) == [{f"{YSO}p1": 1}]


def test_json_lines():
    line = '{"document_id": "d1", "results": [{"uri": "u:1", "label": "cats", "score": 0.5}]}\n'
    contents = load_contents(write("a.jsonl", line))
    assert list(contents.instance_names) == ["d1"]
    assert sets_of(contents) == [{"u:1": 0.5}]
    truth = load_contents(write("b.jsonl", '{"text": "t", "subjects": [{"uri": "u:1"}]}\n'))
    assert sets_of(truth) == [{"u:1": 1}]
    write("c.jsonl", '{"results": [{"uri": "u:1", "score": "x"}]}\n')
    with pytest.raises(FileError, match=r"line 1: expected a number as the score of each subject"):
        load_contents("c.jsonl")


# Vocabularies


def test_lines_with_angle_brackets():
    names = LabelNames.of(write("a.txt", f"<{YSO}p1>\tcats\n<{YSO}p2>\tdogs\n"))
    assert names.ids == (f"{YSO}p1", f"{YSO}p2")
    assert names.titles == ("cats", "dogs")


def test_csv_in_several_languages():
    write("a.csv", "uri,label_en,label_fi\n<u:1>,cats,kissat\nu:2,dogs,koirat\n")
    assert read_vocabulary("a.csv", "fi") == LabelNames(["u:1", "u:2"], ["kissat", "koirat"])
    with pytest.raises(FileError, match=r"must have titles in one language\. It has label_en, label_fi\. Choose"):
        read_vocabulary("a.csv")
    with pytest.raises(
        FileError, match=r"a column of titles in 'sv', such as label_sv\. It has uri, label_en, label_fi"
    ):
        read_vocabulary("a.csv", "sv")
    assert read_vocabulary(write("b.csv", "id,title\n1,cats\n")) == LabelNames(["1"], ["cats"])
    with pytest.raises(FileError, match=r"must have a column of label ids, called uri, .* It has name, other"):
        read_vocabulary(write("c.csv", "name,other\n1,cats\n"))
    with pytest.raises(FileError, match=r"d\.csv, row 3: expected 2 fields\. Got 1\."):
        read_vocabulary(write("d.csv", "uri,title\n1,cats\n2\n"))
    with pytest.raises(InputError, match=r"--language\) is for vocabularies in CSV or SKOS\. Got e\.txt"):
        read_vocabulary("e.txt", "en")


def test_long_fields_of_a_vocabulary(monkeypatch):
    path = write("a.csv", f"uri,title\n1,{'x' * 200_000}\n")
    assert read_vocabulary(path).titles == ("x" * 200_000,)
    monkeypatch.setattr(csv_tables, "FIELD", 1000)
    with pytest.raises(FileError, match=r"a\.csv, line 2: expected valid CSV\. Got field larger than field limit"):
        read_vocabulary(path)


SKOS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<u:1> a skos:Concept ; skos:prefLabel "cats"@en, "kissat"@fi .
<u:2> a skos:Concept ; skos:prefLabel "dogs"@en .
"""


def test_skos(monkeypatch):
    pytest.importorskip("rdflib")
    write("a.ttl", SKOS)
    assert read_vocabulary("a.ttl", "en") == LabelNames(["u:1", "u:2"], ["cats", "dogs"])
    with pytest.raises(FileError, match=r"must have titles in one language\. It has en, fi\."):
        read_vocabulary("a.ttl")
    with pytest.raises(FileError, match=r"b\.ttl must be valid turtle\. Reading it failed"):
        read_vocabulary(write("b.ttl", "<u:1> a"))
    monkeypatch.setitem(sys.modules, "rdflib", None)
    with pytest.raises(MissingExtraError, match=r"SKOS need rdflib, which is not installed.*'tailwise\[skos\]'"):
        read_vocabulary("a.ttl")


def test_uri_and_title_come_out_in_two_columns(in_folder, capsys):
    (in_folder / "docs").mkdir()
    write("docs/one.annif", "<u:2>\tdogs\t0.5\n<u:1>\tcats\t0.125\n")
    write("docs/two.annif", "<u:1>\tcats\t0.25\n")
    write("subjects.csv", "uri,label_en,label_fi\nu:1,cats,kissat\nu:2,dogs,koirat\nu:3,mice,hiiret\n")
    words = [
        "select",
        "docs",
        "-u",
        "macro-f1",
        "-k",
        "1",
        "--label-names",
        "subjects.csv",
        "--language",
        "fi",
        "--quiet",
    ]
    assert main([*words, "-o", "out.csv"]) == 0
    with open("out.csv") as file:
        assert file.read().splitlines() == [
            "instance,label,title,probability,rank",
            "one,u:2,koirat,0.5,1",
            "two,u:1,kissat,0.25,1",
        ]
    write("few.csv", "uri,label_en\nu:1,cats\n")
    assert main(["select", "docs", "-u", "macro-f1", "-k", "1", "--label-names", "few.csv", "-o", "o.csv"]) == 2
    assert "docs must only use the 1 label names given. Got 'u:2'. Add the missing names." in capsys.readouterr().err
    assert not (in_folder / "o.csv").exists()
    assert tw.load("out.csv").shape == (2, 2)
