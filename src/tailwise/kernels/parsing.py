"""Text of numbers, as `labels column:value column:value ...` one instance a line, to arrays.

A malformed line ends the reading with a code and a position; the caller turns them into words.
"""

from typing import NamedTuple

import numpy as np

from tailwise.kernels.compiling import bundle, kernel, step

__all__ = ["ERRORS", "HARD", "LineRules", "ParsedLines", "count_marks", "parse_lines"]

NEWLINE, TAB, RETURN, SPACE, HASH = 10, 9, 13, 32, 35
PLUS, COMMA, MINUS, POINT, ZERO, COLON = 43, 44, 45, 46, 48, 58
CAPITAL_E, SMALL_E = 69, 101

FINE, NO_LABEL, LABEL_TOO_LARGE, NO_COLUMN, COLUMN_TOO_LARGE, NO_COLON, NO_VALUE = range(7)
# What was expected where the reading stopped, by code.
ERRORS = {
    NO_LABEL: "a label number",
    LABEL_TOO_LARGE: "a label number below {label_limit}",
    NO_COLUMN: "a pair number:value",
    COLUMN_TOO_LARGE: "a number below {column_limit} before the colon",
    NO_COLON: "a colon after the number",
    NO_VALUE: "a finite number after the colon",
}

# A value whose digits do not fit a double is left for later: a NaN of these upper 16 bits, its place in the text below.
HARD = 0x7FFD
_HARD_BITS = np.uint64(HARD << 48)
# Up to 2**53 and 10**22 are doubles without rounding, so that one multiplication or division rounds correctly.
MOST_EXACT = np.uint64(2**53)
POWERS = np.array([10.0**e for e in range(23)])


@bundle
class LineRules(NamedTuple):
    """What a line may look like."""

    has_labels: bool  # a first word without a colon is a list of labels
    skips_blank: bool  # a blank line is no instance
    label_limit: int
    column_limit: int


@bundle
class ParsedLines(NamedTuple):
    """Rows as they are read; capacity by `count_marks`."""

    label_counts: np.ndarray  # int32 (rows,)
    labels: np.ndarray  # int32 (labels,)
    pair_counts: np.ndarray  # int32 (rows,)
    columns: np.ndarray  # int32 (pairs,)
    values: np.ndarray  # float64 (pairs,)
    bits: np.ndarray  # the same memory as uint64
    totals: np.ndarray  # int64 (3,): rows, labels, pairs


@kernel
def count_marks(text, start, stop):
    """Line ends, commas and colons: from them follows how much a text can hold at most."""
    lines = commas = colons = 0
    for p in range(start, stop):
        lines += text[p] == NEWLINE
        commas += text[p] == COMMA
        colons += text[p] == COLON
    return lines, commas, colons


@kernel
def parse_lines(text, start, stop, rules, out):
    """Read whole lines; gives the code of the first error, or 0, and the position where the reading ended.

    Shapes: text uint8. Writes: out. Assumes: the text ends with a line end at stop - 1; capacity as `count_marks` says.
    """
    row = n_labels = n_pairs = 0
    code, p = FINE, start
    while p < stop and code == FINE:
        p = _skip_spaces(text, p)
        labels_before, pairs_before, begin = n_labels, n_pairs, p
        if rules.has_labels and _is_label_list(text, p):
            code, p, n_labels = _parse_labels(text, p, rules.label_limit, out.labels, n_labels)
        while code == FINE and text[p] != NEWLINE and text[p] != HASH:
            code, p = _parse_pair(text, p, rules.column_limit, out, n_pairs)
            n_pairs += code == FINE
        if code == FINE:
            is_blank = p == begin
            while text[p] != NEWLINE:  # a comment
                p += 1
            p += 1
            if not (is_blank and rules.skips_blank):
                out.label_counts[row] = n_labels - labels_before
                out.pair_counts[row] = n_pairs - pairs_before
                row += 1
    out.totals[0], out.totals[1], out.totals[2] = row, n_labels, n_pairs
    return code, p


@step
def _skip_spaces(text, p):
    while text[p] == SPACE or text[p] == TAB or text[p] == RETURN:
        p += 1
    return p


@step
def _ends_word(letter):
    return letter <= SPACE or letter == HASH  # every control letter does


@step
def _is_label_list(text, p):
    """Whether a word begins here and has no colon before its end or its first comma."""
    if _ends_word(text[p]):
        return False
    while not _ends_word(text[p]) and text[p] != COMMA:
        if text[p] == COLON:
            return False
        p += 1
    return True


@step
def _parse_integer(text, p, limit):
    """The number that begins here, at most `limit` (and `limit` for every larger one), and where it ends."""
    number = 0
    digit = np.int64(text[p]) - ZERO
    while 0 <= digit <= 9:
        number = min(number * 10 + digit, limit)
        p += 1
        digit = np.int64(text[p]) - ZERO
    return number, p


@step
def _parse_labels(text, p, limit, labels, n_labels):
    while True:
        number, end = _parse_integer(text, p, limit)
        if end == p or not (text[end] == COMMA or _ends_word(text[end])):
            return NO_LABEL, p, n_labels
        if number >= limit:
            return LABEL_TOO_LARGE, p, n_labels
        labels[n_labels] = number
        n_labels += 1
        if text[end] != COMMA:
            return FINE, _skip_spaces(text, end), n_labels
        p = end + 1


@step
def _parse_pair(text, p, limit, out, x):
    number, end = _parse_integer(text, p, limit)
    if end == p:
        return NO_COLUMN, p
    if text[end] != COLON:
        return NO_COLON, p
    if number >= limit:
        return COLUMN_TOO_LARGE, p
    out.columns[x] = number
    value_at = end + 1
    is_exact, value, end = _parse_value(text, value_at)
    if end == value_at or not _ends_word(text[end]):
        return NO_VALUE, p
    if is_exact:
        out.values[x] = value
    else:
        out.bits[x] = _HARD_BITS | np.uint64(value_at)
    return FINE, _skip_spaces(text, end)


@step
def _parse_value(text, start):
    """Whether the number is exact, the number, and where it ends: at its start if there is none."""
    p = start + (text[start] == MINUS or text[start] == PLUS)
    mantissa, n_digits, exponent = np.uint64(0), 0, 0
    after_point = False
    while True:
        digit = np.int64(text[p]) - ZERO
        if 0 <= digit <= 9:
            mantissa = mantissa * np.uint64(10) + np.uint64(digit)
            n_digits += n_digits > 0 or digit > 0  # zeros in front count for nothing
            exponent -= after_point
        elif text[p] == POINT and not after_point:
            after_point = True
        else:
            break
        p += 1
    if p - after_point == start + (text[start] == MINUS or text[start] == PLUS):
        return True, 0.0, start
    if text[p] == SMALL_E or text[p] == CAPITAL_E:
        sign_at = p + 1
        digits_at = sign_at + (text[sign_at] == MINUS or text[sign_at] == PLUS)
        size, p = _parse_integer(text, digits_at, 100_000)
        if p == digits_at:
            return True, 0.0, start
        exponent += -size if text[sign_at] == MINUS else size
    if n_digits > 19 or mantissa > MOST_EXACT or not -22 <= exponent <= 22:
        return n_digits == 0, 0.0, p
    value = np.float64(mantissa)
    value = value * POWERS[exponent] if exponent >= 0 else value / POWERS[-exponent]
    return True, -value if text[start] == MINUS else value, p
