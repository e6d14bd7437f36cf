"""Texts of a column: their numbers in the order of first appearance, by a hash table; and the integers they spell."""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step

__all__ = ["TextTable", "number_texts", "parse_integers", "place_texts"]

_ONE, _EIGHT, _HALF = np.uint64(1), np.uint64(8), np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_MIX, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # the golden ratio, which spreads what it multiplies


@bundle
class TextTable(NamedTuple):
    """The texts so far, and where each is found by its hash."""

    slots: np.ndarray  # uint64 (a power of 2,): upper half of the hash, and the number + 1 below it; 0 if empty
    ends: np.ndarray  # int64 (capacity + 1,): text j is store[ends[j]:ends[j + 1]]
    store: np.ndarray  # uint8 (bytes,)
    size: np.ndarray  # int64 (1,): how many texts there are


@step
def _word(data, x):
    """Eight bytes as a number; compiled to one load."""
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(data[x + np.uint64(place)]) << np.uint64(8 * place)
    return word


@step
def _hash(data, start, stop):
    mixed = (stop - start) * _MIX
    x = start
    while x + _EIGHT <= stop:
        mixed = (mixed ^ _word(data, x)) * _MIX
        mixed ^= mixed >> _FOLD
        x += _EIGHT
    rest = np.uint64(0)
    if stop - start >= _EIGHT:
        rest = _word(data, stop - _EIGHT)  # that some bytes are read again costs less than a loop
        rest ^= rest >> _HALF  # a product spreads upwards only, and the last bytes differ most
    else:
        while x < stop:
            rest = (rest << _EIGHT) | np.uint64(data[x])
            x += _ONE
    mixed = (mixed ^ rest) * _MIX
    mixed ^= mixed >> _HALF
    return mixed * _MIX


@step
def _is_same(data, start, stop, store, first, last):
    """Whether data[start:stop] equals store[first:last]."""
    if stop - start != last - first:
        return False
    x, y = start, first
    while x + _EIGHT <= stop:
        if _word(data, x) != _word(store, y):
            return False
        x += _EIGHT
        y += _EIGHT
    if stop - start >= _EIGHT:
        return _word(data, stop - _EIGHT) == _word(store, last - _EIGHT)
    while x < stop:
        if data[x] != store[y]:
            return False
        x += _ONE
        y += _ONE
    return True


@step
def _place_of(data, start, stop, mixed, table):
    """The slot of a text, or the empty slot where it belongs."""
    mask = np.uint64(table.slots.size - 1)
    place = mixed & mask
    while table.slots[place] != 0:
        slot = table.slots[place]
        if slot >> _HALF == mixed >> _HALF:
            known = (slot & _LOW) - _ONE
            first, last = np.uint64(table.ends[known]), np.uint64(table.ends[known + _ONE])
            if _is_same(data, start, stop, table.store, first, last):
                break
        place = (place + _ONE) & mask
    return place


@step
def _add(data, start, stop, mixed, place, table):
    """Append a text to the table."""
    number = table.size[0]
    end = np.uint64(table.ends[number])
    for x in range(start, stop):
        table.store[end + x - start] = data[x]
    table.ends[number + 1] = np.int64(end + stop - start)
    table.slots[place] = (mixed & ~_LOW) | np.uint64(number + 1)
    table.size[0] = number + 1


@kernel
def number_texts(offsets, data, first, table, numbers):
    """Number texts from `first` on; stops early where the table has no room for a new text.

    Shapes: offsets (n + 1,), numbers (n,).
    Reads: offsets, data: text i is data[offsets[i]:offsets[i + 1]].
    Writes: numbers[first:] and the table.
    Returns: the text that found no room, n if none.
    Assumes: offsets never fall and lie within data; twice as many slots as room for texts.
    """
    for i in range(first, numbers.size):
        start, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        if i > first and _is_same(data, start, stop, data, np.uint64(offsets[i - 1]), start):
            numbers[i] = numbers[i - 1]  # tables are mostly grouped by instance
            continue
        mixed = _hash(data, start, stop)
        place = _place_of(data, start, stop, mixed, table)
        if table.slots[place] == 0:
            size = table.size[0]
            if size + 1 == table.ends.size or table.ends[size] + np.int64(stop - start) > table.store.size:
                return i
            _add(data, start, stop, mixed, place, table)
        numbers[i] = np.int32((table.slots[place] & _LOW) - _ONE)
    return numbers.size


@kernel
def place_texts(table):
    """Fill the slots of a table, all of them empty, by its texts.

    Reads: ends, store, size. Writes: slots.
    Assumes: the texts are different, and at most half as many as slots.
    """
    for number in range(table.size[0]):
        start, stop = np.uint64(table.ends[number]), np.uint64(table.ends[number + 1])
        mixed = _hash(table.store, start, stop)
        mask = np.uint64(table.slots.size - 1)
        place = mixed & mask
        while table.slots[place] != 0:
            place = (place + _ONE) & mask
        table.slots[place] = (mixed & ~_LOW) | np.uint64(number + 1)


@kernel
def parse_integers(offsets, data, integers):
    """Read texts as integers of 64 bits; stops at the first that Python would write in another way, 007 for instance.

    Shapes: offsets (n + 1,), integers (n,).
    Reads: offsets, data. Writes: integers.
    Returns: where it stopped, n if it did not.
    """
    for i in range(integers.size):
        x, stop = np.uint64(offsets[i]), np.uint64(offsets[i + 1])
        is_negative = x < stop and data[x] == 45
        x += np.uint64(is_negative)
        n_digits = np.int64(stop) - np.int64(x)
        if not 1 <= n_digits <= 19 or (data[x] == 48 and (n_digits > 1 or is_negative)):
            return i
        value = np.uint64(0)  # holds 19 digits
        while x < stop:
            digit = np.uint64(data[x]) - np.uint64(48)
            if digit > np.uint64(9):
                return i
            value = value * np.uint64(10) + digit
            x += _ONE
        if value > np.uint64(2**63 - 1) + np.uint64(is_negative):
            return i
        integers[i] = -np.int64(value) if is_negative else np.int64(value)
    return integers.size
