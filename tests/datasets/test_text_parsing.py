"""The compiled parser reads what splitting lines into words reads, and stops where a line is wrong."""

import io
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.text import read_lines

from tailwise.datasets.formats import text as text_format
from tailwise.datasets.formats.ordered_rows import ANY
from tailwise.datasets.formats.text import TextRows, parse_blocks
from tailwise.errors import FileError
from tailwise.kernels.parsing import LineRules

SINGLE = float(np.finfo(np.float32).max)
NUMBERS = st.one_of(
    st.floats(-SINGLE, SINGLE).map(repr),
    st.floats(-(2.0**127), 2.0**127, width=32).map(lambda value: f"{value:.6g}"),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"[+-]?(\d{1,25}\.\d{0,25}|\.\d{1,25})([eE][+-]?\d)?", fullmatch=True).filter(str.isascii),
)
PAIRS = st.tuples(st.integers(0, 10**6), NUMBERS).map(lambda pair: f"{pair[0]}:{pair[1]}")
SPACES = st.sampled_from([" ", "  ", "\t", " \r "])


@st.composite
def lines(draw, has_labels):
    words = draw(st.lists(PAIRS, max_size=4))
    if has_labels:
        labels = draw(st.lists(st.integers(0, 10**6), max_size=3))
        words = [",".join(map(str, labels)), *words]
    comment = draw(st.sampled_from(["", "", "# 3:x ,", " #"]))
    return draw(SPACES).join(words) + comment


def parse(text, path, has_labels, skips_blank=False, limit=ANY):
    path.write_bytes(text.encode())
    rules = LineRules(has_labels, skips_blank, limit, limit)
    parts = list(parse_blocks(io.BytesIO(text.encode()), path, rules))
    return TextRows.joined(parts) if parts else None


def as_rows(rows):
    labels = np.split(rows.labels, np.cumsum(rows.label_counts))[:-1]
    columns = np.split(rows.columns, np.cumsum(rows.pair_counts))[:-1]
    values = np.split(rows.values, np.cumsum(rows.pair_counts))[:-1]
    return [tuple(part.tolist() for part in parts) for parts in zip(labels, columns, values, strict=True)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("text") / "a.txt"


@pytest.mark.boundscheck
@settings(max_examples=200, deadline=None)
@given(data=st.data(), has_labels=st.booleans(), skips_blank=st.booleans(), ends=st.booleans())
def test_lines_are_read_as_by_splitting_them(path, data, has_labels, skips_blank, ends):
    text = "\n".join(data.draw(st.lists(lines(has_labels), min_size=1, max_size=5))) + "\n" * ends
    expected = read_lines(text, has_labels, skips_blank)
    found = parse(text, path, has_labels, skips_blank)
    assert ([] if found is None else as_rows(found)) == expected


@pytest.mark.boundscheck
@settings(max_examples=300, deadline=None)
@given(number=NUMBERS)
def test_every_number_is_the_nearest_double(path, number):
    (value,) = parse(f"7:{number}\n", path, has_labels=False).values
    assert value == float(number)
    assert math.copysign(1, value) == math.copysign(1, float(number))


HARD = [
    "9007199254740993",
    "0.1234567890123456789",
    "1e23",
    "5e-324",
    "3.4028234663852886e38",
    "0" * 450 + "123456789012345678901.5",
    "-0.0",
    "1e-400",
    "0e99",
]


@pytest.mark.parametrize("number", HARD)
def test_numbers_that_are_hard_to_round(path, number):
    assert parse(f"7:{number} # 8", path, has_labels=False).values.tolist() == [float(number)]


WRONG = {
    "1,2 3:0.5\n4,x 1:1\n": (2, "a label number", "x 1:1"),
    "1,,2 3:0.5\n": (1, "a label number", ",2 3:0.5"),
    "1, 2 3:0.5\n": (1, "a label number", " 2 3:0.5"),
    "1.5 3:0.5\n": (1, "a label number", "1.5 3:0.5"),
    "-1 3:0.5\n": (1, "a label number", "-1 3:0.5"),
    "1 3:0.5\n\n\n50 3:0.5\n": (4, "a label number below 50", "50 3:0.5"),
    "1 99999999999999999999999:1\n": (1, "a number below 50 before the colon", "99999999999999999999999:1"),
    "1 2:1 :0.5\n": (1, "a pair number:value", ":0.5"),
    "1 2:1 x:0.5\n": (1, "a pair number:value", "x:0.5"),
    "1 2:1 -3:0.5\n": (1, "a pair number:value", "-3:0.5"),
    "1 2:1 3\n": (1, "a colon after the number", "3"),
    "1 2:1 3 4:1\n": (1, "a colon after the number", "3 4:1"),
    "1 2:1 50:1\n": (1, "a number below 50 before the colon", "50:1"),
    "1 2:\n": (1, "a finite number after the colon", "2:"),
    "1 2:x\n": (1, "a finite number after the colon", "2:x"),
    "1 2:nan\n": (1, "a finite number after the colon", "2:nan"),
    "1 2:1e\n": (1, "a finite number after the colon", "2:1e"),
    "1 2:.\n": (1, "a finite number after the colon", "2:."),
    "1 2:1:3\n": (1, "a finite number after the colon", "2:1:3"),
    "1 2:+-1\n": (1, "a finite number after the colon", "2:+-1"),
    "1 2:1\x003:1\n": (1, "a pair number:value", "\x003:1"),
    "1 2:1\n2 2:1 3:1e39 4:1\n": (2, "a number of at most 3.403e+38", "1e39"),
    "1 2:-1e400#\n": (1, "a number of at most 3.403e+38", "-1e400"),
}


@pytest.mark.boundscheck
@pytest.mark.parametrize(("text", "error"), WRONG.items(), ids=map(repr, WRONG))
def test_a_wrong_line_is_named_with_what_was_expected(path, text, error):
    line, expected, came = error
    with pytest.raises(FileError) as caught:
        parse(text, path, has_labels=True, limit=50)
    message = f"{path}, line {line}: expected {expected}. Got {came!r}. Fix the line, or write the file again."
    assert str(caught.value) == message


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_blocks_and_threads_change_nothing(path, monkeypatch, block):
    rng = np.random.default_rng(0)
    text = "".join(
        ",".join(map(str, rng.integers(9, size=rng.integers(3)))) + f" {i}:{rng.random()} {i + 1}:2\n"
        for i in range(200)
    )
    monkeypatch.setattr(text_format, "BLOCK", block)
    monkeypatch.setattr(text_format, "SHARED", 0)  # threads for every size
    assert as_rows(parse(text, path, has_labels=True)) == read_lines(text, has_labels=True)
    with pytest.raises(FileError, match=r"line 151: expected a pair number:value\. Got 'x:1"):
        parse(text.replace(" 150:0", " 150:1 x:1 150:0"), path, has_labels=True)
    with pytest.raises(FileError, match="line 201: expected a colon"):
        parse(text + "1 1", path, has_labels=True)
