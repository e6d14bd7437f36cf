"""Files with a row per entry and columns of the user: ids, gaps, errors with row and column; sets of files."""

import sys

import numpy as np
import pandas as pd
import pytest

import tailwise as tw
from tailwise.cli.main import main
from tailwise.datasets import convert, load_contents, read_blocks, save
from tailwise.errors import FileError, InputError, MachineError, MissingExtraError, UnknownIdsWarning

HEADER = "user_id,item_id,score\n"
ROWS = "u1,i7,0.5\nu1,i9,0.25\nu2,i7,0.75\n"


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=["pyarrow", "csv module"])
def reader(request, monkeypatch):
    """Both ways to read CSV."""
    if request.param == "csv module":
        monkeypatch.setitem(sys.modules, "pyarrow.csv", None)
    return request.param


def write(name, text, folder=None):
    path = folder / name if folder else name
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return name


def as_rows(contents):
    """The entries as the file had them."""
    rows, columns = contents.matrix.nonzero()
    ids, names = contents.instance_names or range(10), contents.label_names or range(10)
    return [(ids[i], names[j], float(contents.matrix[i, j])) for i, j in zip(rows, columns, strict=True)]


WANTED = [("u1", "i7", 0.5), ("u1", "i9", 0.25), ("u2", "i7", 0.75)]
JSON = '[{"user": "u1", "item": "i7", "score": 0.5}, {"user": "u1", "item": "i9", "score": 0.25},'
JSON += ' {"user": "u2", "item": "i7", "score": 0.75}]'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", HEADER + ROWS),
        ("semicolons.csv", (HEADER + ROWS).replace(",", ";")),
        ("a.tsv", (HEADER + ROWS).replace(",", "\t")),
        ("bom.csv", b"\xef\xbb\xbf" + (HEADER + ROWS).encode()),
        ("returns.csv", (HEADER + ROWS).replace("\n", "\r\n")),
        ("quotes.csv", HEADER + ROWS.replace("i7", '"i7"')),
        ("shuffled.csv", "score,other,item_id,user_id\n0.75,x,i7,u2\n0.5,y,i7,u1\n0.25,z,i9,u1\n"),
        ("a.json", JSON),
        ("a.jsonl", JSON[1:-1].replace("}, ", "}\n").replace("}, ", "}\n").replace("},", "}\n").replace("\n ", "\n")),
    ],
)
def test_columns_are_found(reader, name, text):
    assert sorted(as_rows(load_contents(write(name, text)))) == WANTED


def test_columns_are_named(reader):
    write("a.csv", "a,b,c,score\nu1,i7,0.5,9\nu2,i7,0.75,9\n")
    for columns in (["a", "b", "c"], {"instance": "a", "label": "b", "probability": "c"}):
        assert as_rows(load_contents("a.csv", columns=columns)) == [("u1", "i7", 0.5), ("u2", "i7", 0.75)]
    with pytest.raises(FileError, match=r"a\.csv must have the column 'd'\. It has a, b, c, score\."):
        tw.load("a.csv", columns=["a", "b", "d"])
    with pytest.raises(FileError, match=r"Missing: instance, label\. It has a, b, c, score\. Say which they are"):
        tw.load("a.csv")
    save("a.npz", np.eye(2))
    with pytest.raises(InputError, match=r"columns is for CSV.*Got a\.npz, which is scipy sparse matrix"):
        tw.load("a.npz", columns=["a", "b"])


CORPUS = 'id,text,labels\nd1,"oil, and space",<http://e/1> <http://e/2>\nd2,tag,\nd3,x,"http://e/2, http://e/3"\n'


@pytest.mark.parametrize("columns", [None, ("id", "labels")])
def test_documents_with_their_labels_are_true_labels(columns):
    contents = load_contents(write("test.csv", CORPUS), columns=columns)
    e1, e2, e3 = (f"http://e/{j}" for j in (1, 2, 3))
    assert as_rows(contents) == [("d1", e1, 1), ("d1", e2, 1), ("d3", e2, 1), ("d3", e3, 1)]
    assert list(contents.instance_names) == ["d1", "d2", "d3"]
    chosen = write("chosen.csv", f"instance,label,probability,rank\nd3,{e3},0.5,1\nd1,{e3},0.5,1\nd2,{e1},0.5,1\n")
    part = {} if columns is None else {"instance": "id", "label": "labels"}
    assert tw.evaluate("test.csv", chosen, "precision", **part)["precision"] == pytest.approx(1 / 3)


def test_an_entry_is_not_a_header(reader):
    write("a.csv", ROWS)
    with pytest.raises(FileError, match=r"must begin with a header.*Got 'u1,i7,0\.5', which looks like an entry"):
        tw.load("a.csv", columns=["u1", "i7", "0.5"])
    write("numbered.csv", "0,1,2\n" + ROWS)  # as pandas writes columns without names
    assert as_rows(load_contents("numbered.csv", columns=["0", "1", "2"])) == WANTED
    write("more.csv", "user_id,item_id,score,2024\nu1,i7,0.5,3\n")
    assert as_rows(load_contents("more.csv")) == WANTED[:1]


@pytest.mark.parametrize(
    ("ids", "kept"),
    [
        (["007", "8"], ["007", "8"]),
        ([str(10**12), "-5"], [10**12, -5]),
        (["12", "x"], ["12", "x"]),
        (["2024-01-01", "true"], ["2024-01-01", "true"]),
        (["NA", "null"], ["NA", "null"]),
        (["http://d-nb.info/gnd/4", "ä, b"], ["http://d-nb.info/gnd/4", "ä, b"]),
    ],
)
def test_ids_come_back_as_they_were(reader, ids, kept):
    pd.DataFrame({"user_id": ids, "item_id": ids, "score": [0.5, 0.5]}).to_csv("a.csv", index=False)
    contents = load_contents("a.csv")
    assert list(contents.instance_names) == kept
    assert list(contents.label_names) == kept
    save("b.csv", contents.matrix, label_names=contents.label_names, instance_names=contents.instance_names)
    assert as_rows(load_contents("b.csv")) == as_rows(contents)


def test_numbers_are_numbers_in_columns_that_say_so(reader):
    assert tw.load(write("a.csv", "instance,label,probability\n0,3,0.5\n2,0,0.5\n")).shape == (3, 4)
    contents = load_contents(write("b.csv", f"instance,label,probability\n0,3,0.5\n{10**12},0,0.5\n"))
    assert contents.matrix.shape == (2, 4)
    assert list(contents.instance_names) == [0, 10**12]


def test_text_after_many_integers(reader):
    lines = [f"{i},{i % 7},0.5\n" for i in range(150_000)]
    contents = load_contents(write("a.csv", HEADER + "".join(lines) + "x,y,0.5\n"))
    assert contents.instance_names[0] == "0"
    assert contents.instance_names[150_000] == "x"
    assert contents.matrix.shape == (150_001, 8)


BROKEN = {
    "a field less": (HEADER + ROWS + "u3,i7\n", r"line 5: expected 3 fields \(user_id,item_id,score\)\. Got 2 fields"),
    "no number": (HEADER + ROWS + "u3,i7,high\n", r"line 5: expected a number in the column score\. Got 'high'"),
    "not finite": (HEADER + ROWS + "u3,i7,nan\n", r"line 5: expected a number in the column score\. Got 'nan'"),
    "no instance": (HEADER + ROWS + ",i7,0.5\n", r"line 5: expected an id in the column user_id\. Got nothing"),
    "no label": (HEADER + ROWS + "u3,,0.5\n", r"line 5: expected an id in the column item_id\. Got nothing"),
    "no score": (HEADER + ROWS + "u3,i7,\n", r"line 5: expected a number in the column score\. Got ''"),
    "twice": (HEADER + ROWS + "u1,i7,0.5\n", r"Instance 'u1' holds label 'i7' twice"),
    "encoding": (
        b"user_id,item_id,score\nu1,caf\xe9,0.5\n",
        r"must be UTF-8 text\. Got 'u1,café,0\.5.*iconv -f latin1",
    ),
    "quote": (HEADER + 'u1,"i7,0.5\n', r"line 2: expected valid CSV"),
    "no rows": (HEADER, r"must hold at least one instance"),
    "UTF-16": ((HEADER + ROWS).encode("utf-16"), r"Got UTF-16, which is not\. Convert it: iconv -f utf-16"),
    "decimal comma": (
        (HEADER + ROWS).replace(",", ";").replace("0.", "0,"),
        r"line 2: expected a number in the column score\. Got '0,5', with a decimal comma\. Write points .* 0\.5",
    ),
    "no header": (ROWS, r"must begin with a header.*Got 'u1,i7,0\.5'.*an entry\. .*: 'user_id,item_id,score'"),
    "no header, no score": ("u1,i7\nu2,i9\n", r"If the first line is an entry.*: 'user_id,item_id', for"),
    "empty": ("", r"a\.csv must hold at least one instance\. It is empty"),
    "columns twice": ("user_id,item_id,item_id\na,b,c\n", r"must have unique column names\. Got item_id twice"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_csv_says_where(reader, case):
    text, message = BROKEN[case]
    write("a.csv", text)
    with pytest.raises(FileError, match=message):
        load_contents("a.csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}', r"must hold an array of JSON objects\. Got .* use \.jsonl"),
        ("[1", r"must hold an array of JSON objects\. Reading it failed"),
        ("[]", r"must hold at least one instance"),
        ("[3]", r"line 1: expected an object\. Got '3'"),
        ('[{"user": null, "item": 1}]', r"line 1: expected an id, text or an integer, in 'user'\. Got 'None'"),
        ('[{"user": 1, "item": 1, "score": "x"}]', r"line 1: expected a number in 'score'"),
        ('[{"user": 1, "item": 1}, 4]', r"line 2: expected an object\. Got '4'"),
    ],
)
def test_broken_json(text, message):
    with pytest.raises(FileError, match=message):
        load_contents(write("a.json", text))


def test_zstandard_is_an_extra(monkeypatch):
    save("a.csv.zst", np.eye(3))
    write("b.csv.zst", HEADER + ROWS)
    with pytest.raises(FileError, match=r"b\.csv\.zst must be a valid \.zst file\. Unpacking it failed"):
        tw.load("b.csv.zst")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"\.zst need zstandard, which is not installed.*'tailwise\[zstd\]'"):
        tw.load("a.csv.zst")


# Several files


def test_parts_are_one_input(in_folder):
    (in_folder / "parts").mkdir()
    write("parts/b.csv", HEADER + "u2,i7,0.75\n")
    write("parts/a.csv", HEADER + "u1,i7,0.5\nu1,i9,0.25\n")
    write("parts/_SUCCESS", "")
    for source in ("parts", "parts/*.csv", ["parts/a.csv", "parts/b.csv"]):
        assert as_rows(load_contents(source)) == WANTED
        assert tw.select(source, "macro-f1", 1).labels.shape == (2, 1)


def test_parts_that_are_matrices_are_stacked(in_folder):
    save("part-1.jsonl", np.eye(2), label_names=["a", "b"], instance_names=["x", "y"])
    save("part-2.jsonl", np.eye(2), label_names=["c", "b"], instance_names=["z", "w"])
    contents = load_contents("part-*.jsonl")
    assert as_rows(contents) == [("x", "a", 1), ("y", "b", 1), ("z", "c", 1), ("w", "b", 1)]
    save("one.npz", np.eye(2))
    save("two.npz", np.eye(2, 3))
    assert tw.load(["one.npz", "two.npz"]).shape == (4, 3)


def test_parts_that_do_not_fit(in_folder):
    (in_folder / "mixed").mkdir()
    save("mixed/a.csv", np.eye(2))
    save("mixed/b.npz", np.eye(2))
    with pytest.raises(FileError, match=r"files of mixed must be of one kind\. Got csv \(a\.csv\), npz \(b\.npz\)"):
        tw.load("mixed")
    with pytest.raises(FileError, match=r"nothing-\*\.csv must contain or match at least one file"):
        tw.load("nothing-*.csv")
    write("one.csv", HEADER + ROWS)
    write("two.csv", "doc,item_id,score\nu9,i7,0.5\n")
    with pytest.raises(FileError, match=r"must have the same columns\. one\.csv has user_id, item_id, score, two\.csv"):
        tw.load(["one.csv", "two.csv"])
    save("named.jsonl", np.eye(2), label_names=["a", "b"])
    save("numbered.jsonl", np.eye(2))
    with pytest.raises(FileError, match=r"must all name or all number their labels"):
        tw.load(["named.jsonl", "numbered.jsonl"])


# Converting


@pytest.mark.parametrize("target", ["b.csv", "b.tsv.gz", "b.json", "b.jsonl.zst", "b.parquet"])
@pytest.mark.parametrize("source", ["a.csv", "a.jsonl", "a.parquet"])
def test_convert_keeps_ids(source, target):
    matrix = np.array([[0.5, 0.25], [0.75, 0]])
    save(source, matrix, label_names=["i7", "i9"], instance_names=["u1", "u2"])
    assert convert(source, target) == 2
    assert sorted(as_rows(load_contents(target))) == WANTED


def test_convert_from_the_command_line(capfdbinary):
    write("a.csv", "b,a,c\ni7,u2,0.75\ni7,u1,0.5\ni9,u1,0.25\n")
    assert main(["convert", "a.csv", "a.jsonl", "--columns", "a,b,c"]) == 0
    assert capfdbinary.readouterr().out == b"2 instances written to a.jsonl\n"
    assert sorted(as_rows(load_contents("a.jsonl"))) == WANTED
    assert main(["convert", "a.jsonl", "-"]) == 0
    assert b"u2,i7,0.75,1" in capfdbinary.readouterr().out
    assert main(["convert", "a.jsonl", "a.csv"]) == 2
    assert b"exists" in capfdbinary.readouterr().err
    with pytest.raises(SystemExit):
        main(["convert", "a.csv", "b.csv", "--columns", "a"])
    assert b"--columns must name two to four columns" in capfdbinary.readouterr().err


def test_convert_refuses_columns_where_there_are_none():
    save("a.jsonl", np.eye(2))
    with pytest.raises(InputError, match=r"columns is for CSV, TSV, Parquet and JSON records\. Got a\.jsonl"):
        convert("a.jsonl", "b.csv", columns=("user", "item"))


def test_convert_does_not_try_again_on_a_full_disk(monkeypatch):
    save("a.jsonl", np.eye(2))

    def fail(path):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr("tailwise.datasets.formats.disk.drafted", fail)
    monkeypatch.setattr("tailwise.datasets.formats.converting.load_contents", None)
    with pytest.raises(MachineError, match="No space left"):
        convert("a.jsonl", "b.csv")


@pytest.mark.parametrize("target", ["b.csv", "b.tsv", "b.json", "b.jsonl", "b.parquet"])
@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.uint8])
def test_integer_ids_come_back_as_ids(target, kind):
    ids, names = np.array([12, 3, 11], kind), np.array([1, 0], kind)
    save(target, np.ones((3, 2)), instance_names=ids, label_names=names)
    found = load_contents(target)
    assert found.instance_names == [12, 3, 11]
    if target != "b.jsonl":  # integers there are numbers of labels, until they are joined with ids
        assert set(found.label_names) == {0, 1}


def test_ids_that_look_like_rows_of_a_block_are_kept(monkeypatch):
    monkeypatch.setattr("tailwise.datasets.formats.jsonl.ROWS", 2)
    ids = ["a", "b", "0", "1", "c"]
    save("a.jsonl", np.eye(5), instance_names=ids)
    convert("a.jsonl", "b.jsonl")
    assert load_contents("b.jsonl").instance_names == ids


def test_blocks_of_csv_need_order():
    write("a.csv", HEADER + "u1,i7,0.5\nu2,i7,0.75\nu1,i9,0.25\n")
    with pytest.raises(FileError, match=r"must be sorted by instance to be read in blocks"):
        list(read_blocks("a.csv"))
    assert convert("a.csv", "b.csv") == 2


def test_true_labels_are_no_probabilities():
    save("truth.npz", np.eye(3))
    with pytest.raises(
        FileError, match=r"truth\.npz must hold probabilities\. All 3 of its values are 1, as those of tr"
    ):
        tw.select("truth.npz", "macro-f1", 1)
    save("p.npz", np.full((3, 3), 0.5))
    with pytest.raises(FileError, match=r"Give a file of true labels, not of probabilities"):
        tw.evaluate("p.npz", "truth.npz")


def test_select_from_standard_input_to_standard_output(monkeypatch, capfdbinary):
    write("a.csv", HEADER + ROWS)
    with open("a.csv") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["select", "-", "-u", "macro-f1", "-k", "1", "-o", "-"]) == 0
    lines = capfdbinary.readouterr().out.decode().splitlines()
    assert lines[0] == "instance,label,probability,rank"
    assert lines[1:] == ["u1,i9,0.25,1", "u2,i7,0.75,1"]


def test_files_that_are_named_are_never_left_out(tmp_path):
    (tmp_path / "q.tsv").write_text("instance\tlabel\tprobability\nu2\ta\t0.6\n")
    (tmp_path / "p.txt").write_text("a:0.5 b:0.2\n")
    with pytest.raises(FileError, match="must be of one kind"):
        tw.load([tmp_path / "p.txt", tmp_path / "q.tsv"])
    (tmp_path / "r.csv").write_text("instance,label,probability\nu2,a,0.6\n")
    with pytest.raises(FileError, match="must be of one kind"):
        tw.load(tmp_path)


def test_some_files_with_ids_and_some_without(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "x", "labels": ["a"], "scores": [0.5]}\n')
    (tmp_path / "b.jsonl").write_text('{"labels": ["b"], "scores": [0.7]}\n')
    with pytest.raises(FileError, match="must all name or all number their instances"):
        tw.load([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])


@pytest.mark.parametrize("hide_arrow", [False, True])
def test_integers_of_64_bits_stay_integers_and_larger_ones_stay_text(tmp_path, monkeypatch, hide_arrow):
    (tmp_path / "a.csv").write_text(f"user_id,item_id,score\n{2**63 - 1},{2**63},0.5\n{10**18},5,0.5\n")
    if hide_arrow:
        monkeypatch.setitem(sys.modules, "pyarrow", None)
    found = load_contents(tmp_path / "a.csv")
    assert list(found.instance_names) == [2**63 - 1, 10**18]
    assert list(found.label_names) == [str(2**63), "5"]


@pytest.mark.parametrize(("target", "lost"), [("b.npz", "3 instances and the names of 2 labels"), ("b.txt", "3 inst")])
def test_ids_that_a_format_cannot_hold_are_counted(tmp_path, target, lost):
    (tmp_path / "a.csv").write_text("user_id,item_id,score\nu,x,0.5\nv,x,0.5\nw,y,0.25\n")
    with pytest.warns(UnknownIdsWarning, match=f"cannot hold the ids of {lost}.*: {target} numbers them from 0"):
        convert(tmp_path / "a.csv", tmp_path / target)


def test_ids_with_a_carriage_return_come_back(tmp_path):
    scores = pd.DataFrame({"user_id": ["a\rb", "c"], "item_id": ["x", "y\r"], "score": [0.5, 0.25]})
    tw.select(scores, "precision", 1).save(tmp_path / "a.csv")
    found = load_contents(tmp_path / "a.csv")
    assert list(found.instance_names) == ["a\rb", "c"]
    assert list(found.label_names) == ["x", "y\r"]


@pytest.mark.parametrize(("column", "came"), [("user_id", "'' for an instance"), ("item_id", "'' for a label")])
def test_an_empty_id_is_not_written(tmp_path, column, came):
    scores = pd.DataFrame({"user_id": ["a", "c"], "item_id": ["x", "y"], "score": [0.5, 0.25]})
    scores[column] = ["", "z"]
    with pytest.raises(InputError, match=f"must have an id in every row. Got {came}. Rename it, or use .jsonl"):
        tw.select(scores, "precision", 1).save(tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.parquet"])
def test_columns_that_are_found_by_their_names_are_said_once(tmp_path, capsys, name):
    table = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["x", "y"], "score": [0.5, 0.25]})
    writers = {"a.csv": lambda path: table.to_csv(path, index=False), "a.parquet": table.to_parquet}
    writers.get(name, lambda path: table.to_json(path, orient="records", lines=True))(tmp_path / name)
    expected = "Columns found by name: instance from 'user_id', label from 'item_id', probability from 'score'."
    assert tw.select(tmp_path / name, "macro-f1", 1).messages == (expected,)
    named = {"instance": "user_id", "label": "item_id", "probability": "score"}
    assert tw.select(tmp_path / name, "macro-f1", 1, **named).messages == ()
    command = [
        "select",
        str(tmp_path / name),
        "-u",
        "macro-f1",
        "-k",
        "1",
        "-o",
        str(tmp_path / "out.csv"),
        "--verbose",
    ]
    assert main(command) == 0
    assert capsys.readouterr().err.count("instance from 'user_id'") == 1


@pytest.mark.boundscheck
def test_labels_of_every_row_are_sorted(tmp_path):
    rng = np.random.default_rng(0)
    rows = [rng.permutation(300)[:size] for size in (0, 1, 2, 7, 40, 300, 3)]
    lines = [f"{i},{j},{(i + 1) * (j + 1) / 4000}" for i, row in enumerate(rows) for j in row]
    (tmp_path / "a.csv").write_text("\n".join(["instance,label,probability", *lines]))
    found = load_contents(tmp_path / "a.csv").matrix
    expected = np.zeros(found.shape, np.float32)
    for i, row in enumerate(rows):
        expected[i, row] = (i + 1) * (row + 1) / 4000
    assert found.has_sorted_indices
    assert all((np.diff(found.indices[a:b]) > 0).all() for a, b in zip(found.indptr, found.indptr[1:], strict=False))
    np.testing.assert_array_equal(found.toarray(), expected)
