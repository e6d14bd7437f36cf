"""Numbers of the values of columns, compared with a dictionary of Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailwise.inputs.value_numbers import ValueNumbers, text_buffers
from tailwise.kernels.text_numbers import parse_integers

pa = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.boundscheck

TEXTS = st.one_of(st.text(max_size=40), st.integers(0, 30).map("user-{}".format))
INTEGERS = st.integers(-(2**63), 2**63 - 1)


def number_by_dictionary(columns):
    numbers = {}
    return [[numbers.setdefault(value, len(numbers)) for value in column] for column in columns], list(numbers)


@settings(deadline=None)
@given(
    st.lists(st.lists(TEXTS, max_size=12), max_size=4), st.sampled_from(["string", "large_string"]), st.integers(0, 2)
)
def test_texts_are_numbered_as_by_a_dictionary(columns, kind, offset):
    numbers, found = ValueNumbers("text"), []
    for column in columns:
        texts = pa.array(["other"] * offset + column, kind)[offset:]
        found.append(numbers.number(texts).tolist())
    expected, values = number_by_dictionary(columns)
    assert found == expected
    assert (len(numbers), numbers.values(0, len(numbers))) == (len(values), values)


@pytest.mark.parametrize("kind", ["int64", "uint64"])
@settings(deadline=None)
@given(st.lists(st.lists(INTEGERS, max_size=12), max_size=4))
def test_integers_are_numbered_as_by_a_dictionary(kind, columns):
    columns = [[abs(value) for value in column] for column in columns] if kind == "uint64" else columns
    numbers = ValueNumbers(kind)
    expected, values = number_by_dictionary(columns)
    assert [numbers.number(pa.array(column, kind)).tolist() for column in columns] == expected
    assert numbers.values(0, len(numbers)) == values


def test_a_table_grows_with_many_and_with_long_texts():
    columns = [[f"id-{number * 7}" for number in range(3000)], ["x" * 5000, "y" * 9], ["id-14", "x" * 5000, "new"]]
    numbers = ValueNumbers("text")
    expected, values = number_by_dictionary(columns)
    assert [numbers.number(pa.array(column)).tolist() for column in columns] == expected
    assert numbers.values(2998, 3003) == values[2998:]


def is_integer_of_python(text):
    return text.isascii() and text.lstrip("-").isdigit() and str(int(text)) == text and -(2**63) <= int(text) < 2**63


@settings(deadline=None)
@given(st.lists(st.one_of(INTEGERS.map(str), st.sampled_from(["0", "7", "-1"])), max_size=5), st.text(max_size=21))
def test_integers_are_those_that_python_writes_so(texts, odd):
    for column in (texts, [*texts, odd]):
        integers = np.zeros(len(column), np.int64)
        stop = parse_integers(*text_buffers(pa.array(column, "string")), integers)
        right = next((x for x, text in enumerate(column) if not is_integer_of_python(text)), len(column))
        assert stop == right
        assert integers[:stop].tolist() == [int(text) for text in column[:stop]]


@pytest.mark.parametrize(
    "text", ["007", "-0", "+1", "", "-", "1e3", "9223372036854775808", "-9223372036854775809", "\uff11"]
)
def test_texts_that_are_no_integers(text):
    assert parse_integers(*text_buffers(pa.array([text])), np.zeros(1, np.int64)) == 0
