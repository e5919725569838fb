"""A fast pass over the bytes of a JSON list of objects that writes some of its fields as columns.

It knows JSON as it is usually written and gives up, with `UNUSUAL`, at anything else: broken JSON,
fields of another type, a field missing or there twice, names with escapes, very deep nesting,
numbers that Python writes but JSON does not have. Whoever calls then reads the file in another
way, which also says what is wrong.

The bytes end with a zero, where every loop stops. Numbers are the nearest floats, as Python's;
the few that this pass cannot be sure of are listed for Python to read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from sightline.core.compilation import compiled

Array = Any

__all__ = [
    "BOX",
    "CLOSED",
    "INTEGER",
    "NO_STEM",
    "NUMBER",
    "STEM",
    "UNSURE_STEM",
    "UNUSUAL",
    "find_record",
    "scan_key",
    "scan_records",
    "skip_blank",
    "skip_value",
]

UNUSUAL = -1
CLOSED, GOES_ON = 1, 0
INTEGER, NUMBER, BOX, STEM = 0, 1, 2, 3
NO_STEM, UNSURE_STEM = 0, -1
"""Of a file whose stem is not an integer, or whose stem Python should read."""

_QUOTE, _BACKSLASH, _COMMA, _COLON, _MINUS, _PLUS, _DOT, _SLASH = (ord(c) for c in '"\\,:-+./')
_BLANK = tuple(b" \t\r\n")
_ESCAPED = tuple(b'"\\/bfnrt')
_ZERO, _NINE, _LOWER_E = ord("0"), ord("9"), ord("e")
_TRUE, _FALSE, _NULL = (tuple(word) for word in (b"true", b"false", b"null"))
_LIST, _LIST_END, _OBJECT, _OBJECT_END = (ord(c) for c in "[]{}")
_DEEPEST = 60
_LONGEST = 300
"""Longer numbers are unusual."""
_MOST_DIGITS = 19
"""So many always fit into 64 bits."""
_EXACT = 1 << 53
_POWER = 60
"""Powers of ten from minus this to this are in the tables."""


def _fives() -> tuple[Array, Array, Array]:
    """Return the first 128 bits of each power of five, as two integers, and their exponents of two.

    The power is cut off, never rounded up: it lies between the 128 bits and the next.
    """
    high, low, exponent = [], [], []
    for power in range(-_POWER, _POWER + 1):
        top, bottom = (5**power, 1) if power >= 0 else (1, 5**-power)
        shift = 128 - (top.bit_length() - bottom.bit_length())
        bits = (top << shift) // bottom if shift >= 0 else (top >> -shift) // bottom
        extra = bits.bit_length() - 128
        bits >>= extra
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
        exponent.append(extra - shift)
    return np.array(high, np.uint64), np.array(low, np.uint64), np.array(exponent, np.int64)


_HIGH, _LOW, _EXPONENT = _fives()
_TENS = np.array([float(10**power) for power in range(23)])
_TWO = 350
_TWOS = np.array([2.0**power for power in range(-_TWO, _TWO + 1)])
_HALF_BITS = np.uint64(32)
_LOWER_HALF = np.uint64(0xFFFFFFFF)


def _load(_: Any, text: Any, i: Any) -> Any:
    """Return the byte at a place of the text, whose first one is at the address `text`."""

    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        place = builder.inttoptr(builder.add(*given), ir.IntType(8).as_pointer())
        return builder.zext(builder.load(place), ir.IntType(64))

    return types.int64(types.int64, types.int64), generate


_byte: Any = intrinsic(_load)


@compiled
def skip_blank(text: int, i: int) -> int:
    """Return the first place from `i` on that is not blank."""
    while True:
        c = _byte(text, i)
        if c > 32 or c not in _BLANK:
            return i
        i += 1


@compiled
def _is_digit(byte: int) -> bool:
    return _ZERO <= byte <= _NINE


@compiled
def _string(text: int, i: int) -> int:
    """Return where the string ends that begins with the quote at `i`."""
    i += 1
    while _byte(text, i) != _QUOTE:
        if _byte(text, i) < 32:
            return UNUSUAL
        if _byte(text, i) == _BACKSLASH:
            i += 1
            c = _byte(text, i)
            if c == 117:  # u and four digits
                for _ in range(4):
                    i += 1
                    d = _byte(text, i) | 32
                    if not (_is_digit(_byte(text, i)) or 97 <= d <= 102):
                        return UNUSUAL
            elif c not in _ESCAPED:
                return UNUSUAL
        i += 1
    return i + 1


@compiled
def _multiply(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the 128 bits of a product: the upper and the lower 64."""
    a_high, a_low = a >> _HALF_BITS, a & _LOWER_HALF
    b_high, b_low = b >> _HALF_BITS, b & _LOWER_HALF
    low, one, two = a_low * b_low, a_high * b_low, a_low * b_high
    middle = (low >> _HALF_BITS) + (one & _LOWER_HALF) + (two & _LOWER_HALF)
    high = a_high * b_high + (one >> _HALF_BITS) + (two >> _HALF_BITS) + (middle >> _HALF_BITS)
    return high, (middle << _HALF_BITS) | (low & _LOWER_HALF)


@compiled
def _nearest(whole: Array, power: int) -> float:
    """Return the float nearest to `whole` times a power of ten, NaN where that is not sure.

    The product with 128 bits of the power is less than 2 too small in its last place. It decides,
    unless it is that close to the middle between two floats.
    """
    exponent = _EXPONENT[power + _POWER] + power + 2 * 64 + 11
    while whole < np.uint64(1) << np.uint64(63):
        whole <<= np.uint64(1)
        exponent -= 1
    high, low = _multiply(whole, _HIGH[power + _POWER])
    more, _ = _multiply(whole, _LOW[power + _POWER])
    low += more
    high += np.uint64(low < more)
    if not high >> np.uint64(63):
        high = (high << np.uint64(1)) | (low >> np.uint64(63))
        low <<= np.uint64(1)
        exponent -= 1
    half = np.uint64(1 << 10)
    below = high & np.uint64((1 << 11) - 1)
    close = np.uint64(8)
    if (below == half and low < close) or (below == half - np.uint64(1) and low > ~close):
        return np.nan
    mantissa = (high >> np.uint64(11)) + np.uint64(below >= half)
    return float(mantissa) * _TWOS[exponent + _TWO]  # type: ignore[no-any-return]


@compiled
def _number(text: int, i: int) -> tuple[int, float]:
    """Return where the number at `i` ends and its value, NaN where Python should read it."""
    negative = _byte(text, i) == _MINUS
    first = i + 1 if negative else i
    i = first
    whole, power, dots = np.uint64(0), 0, 0
    while _is_digit(_byte(text, i)):
        whole = whole * np.uint64(10) + np.uint64(_byte(text, i) - _ZERO)
        i += 1
    if i == first or (_byte(text, first) == _ZERO and i > first + 1):
        return UNUSUAL, 0.0
    if _byte(text, i) == _DOT:
        dots, start = 1, i + 1
        i = start
        while _is_digit(_byte(text, i)):
            whole = whole * np.uint64(10) + np.uint64(_byte(text, i) - _ZERO)
            i += 1
        if i == start:
            return UNUSUAL, 0.0
        power = start - i
    digits = i - first - dots
    if digits > _MOST_DIGITS:
        j = first
        while _byte(text, j) == _ZERO or _byte(text, j) == _DOT:
            digits -= _byte(text, j) == _ZERO
            j += 1
    if _byte(text, i) | 32 == _LOWER_E:
        i, more = _exponent(text, i + 1)
        if i < 0:
            return UNUSUAL, 0.0
        power += more
    if i - first > _LONGEST:
        return UNUSUAL, 0.0
    if digits > _MOST_DIGITS:
        return i, np.nan
    if whole == 0 and i == first + 1:  # to Python, -0 is an integer, and 0
        return i, 0.0
    value = _value(whole, power)
    return i, -value if negative else value


@compiled
def _exponent(text: int, i: int) -> tuple[int, int]:
    """Return where the exponent ends whose sign or first digit is at `i`, and its value."""
    minus = _byte(text, i) == _MINUS
    if minus or _byte(text, i) == _PLUS:
        i += 1
    start, value = i, 0
    while _is_digit(_byte(text, i)):
        value = min(value * 10 + _byte(text, i) - _ZERO, 100_000)
        i += 1
    return (UNUSUAL if i == start else i), (-value if minus else value)


@compiled
def _value(whole: Array, power: int) -> float:
    """Return `whole` times a power of ten as a float, NaN where Python should read it."""
    if whole <= np.uint64(_EXACT) and -22 <= power <= 22:  # both exact: rounded once
        if power < 0:
            return float(whole) / _TENS[-power]  # type: ignore[no-any-return]
        return float(whole) * _TENS[power]  # type: ignore[no-any-return]
    if whole == 0:
        return 0.0
    if not -_POWER <= power <= _POWER:
        return np.nan
    return _nearest(whole, power)


@compiled
def _spells(text: int, i: int, word: Array) -> bool:
    """Return whether the bytes of a word are at `i`."""
    n = 0
    while n < len(word) and _byte(text, i + n) == word[n]:
        n += 1
    return n == len(word)


@compiled
def _word(text: int, i: int) -> int:
    """Return where `true`, `false` or `null` ends."""
    if _spells(text, i, _TRUE) or _spells(text, i, _NULL):
        return i + 4
    return i + 5 if _spells(text, i, _FALSE) else UNUSUAL


@compiled
def scan_key(text: int, i: int) -> tuple[int, int]:
    """Return where the name at the quote `i` ends, and where the value after its colon begins."""
    if _byte(text, i) != _QUOTE:
        return UNUSUAL, UNUSUAL
    end = _string(text, i)
    if end < 0:
        return UNUSUAL, UNUSUAL
    colon = skip_blank(text, end)
    if _byte(text, colon) != _COLON:
        return UNUSUAL, UNUSUAL
    return end, skip_blank(text, colon + 1)


@compiled
def skip_value(text: int, i: int) -> int:
    """Return where the value at `i` ends, whatever it is."""
    kinds, depth = 0, 0  # a bit for each level, the innermost lowest: set for objects
    while True:
        i = skip_blank(text, i)
        c = _byte(text, i)
        opened = False
        if c in (_LIST, _OBJECT):
            i = skip_blank(text, i + 1)
            opened = _byte(text, i) != c + 2  # as in ASCII
            if opened:
                depth, kinds = depth + 1, (kinds << 1) | (c == _OBJECT)
            else:
                i += 1
        elif c == _QUOTE:
            i = _string(text, i)
        elif c == _MINUS or _is_digit(c):
            i, _ = _number(text, i)
        else:
            i = _word(text, i)
        if i < 0 or depth > _DEEPEST:
            return UNUSUAL
        while depth and not opened:
            i = skip_blank(text, i)
            if _byte(text, i) == _COMMA:
                i = skip_blank(text, i + 1)
                break
            if _byte(text, i) != (_OBJECT_END if kinds & 1 else _LIST_END):
                return UNUSUAL
            i, depth, kinds = i + 1, depth - 1, kinds >> 1
        if depth == 0:
            return i
        if kinds & 1:
            _, i = scan_key(text, i)
            if i < 0:
                return UNUSUAL


@compiled
def find_record(text: int, i: int, last: int) -> int:
    """Return where, from `i` on, an object seems to begin after another; at the latest the end."""
    while i < last:
        if _byte(text, i) == _OBJECT_END:
            j = skip_blank(text, i + 1)
            if _byte(text, j) == _COMMA:
                j = skip_blank(text, j + 1)
                if _byte(text, j) == _OBJECT:
                    return j
        i += 1
    return last


@compiled
def _field(text: int, begin: int, end: int, names: Array, sizes: Array, guess: int) -> int:
    """Return which of the fields the name between two places is: -1 none, -2 not to be told."""
    count = sizes.size
    for turn in range(count):
        f = guess + turn
        f = f - count if f >= count else f
        if sizes[f] != end - begin:
            continue
        same = True
        for j in range(sizes[f]):
            same = same and names[f, j] == _byte(text, begin + j)
        if same:
            return f
    for j in range(begin, end):
        if _byte(text, j) == _BACKSLASH:
            return -2
    return -1


@compiled
def _integer(text: int, i: int) -> tuple[int, int]:
    """Return where the integer at `i` ends, and its value."""
    negative = _byte(text, i) == _MINUS
    first = i + 1 if negative else i
    i, value = first, 0
    while _is_digit(_byte(text, i)):
        value = value * 10 + (_byte(text, i) - _ZERO)
        i += 1
    digits = i - first
    follows = _byte(text, i) == _DOT or _byte(text, i) | 32 == _LOWER_E
    if digits == 0 or digits > 18 or (digits > 1 and _byte(text, first) == _ZERO) or follows:
        return UNUSUAL, 0
    return i, -value if negative else value


@compiled
def _stem(text: int, i: int) -> tuple[int, int]:
    """Return where the value at `i` ends, and one more than the integer that a file's stem is."""
    if _byte(text, i) != _QUOTE:
        return skip_value(text, i), NO_STEM
    end = _string(text, i)
    begin, dot = i + 1, 0
    for j in range(i + 1, end - 1):
        c = _byte(text, j)
        if c == _BACKSLASH and _byte(text, j + 1) != _SLASH:
            return end, UNSURE_STEM
        if c == _SLASH:
            begin, dot = j + 1, 0
        elif c == _DOT:
            dot = j
    stop = dot if dot > begin else end - 1
    stem = 0
    for j in range(begin, stop):
        if not _is_digit(_byte(text, j)):
            return end, NO_STEM
        stem = stem * 10 + (_byte(text, j) - _ZERO)
    if stop - begin >= _MOST_DIGITS:
        return end, UNSURE_STEM
    return end, stem + 1 if stop > begin else NO_STEM


@compiled
def _numbers(text: int, i: int, count: int, column: int, row: int, out: Array, left: Array) -> int:
    """Read numbers with commas between them into a row from a column on; return where they end.

    `left` (n + 1, 4) lists row, column, start and end of those that Python should read; its first
    row counts them. More than it has room for are unusual.
    """
    for n in range(count):
        i = skip_blank(text, i)
        end, value = _number(text, i)
        if end < 0:
            return UNUSUAL
        out[row, column + n] = value
        if value != value:
            k = left[0, 0] + 1
            if k == left.shape[0]:
                return UNUSUAL
            left[0, 0] = k
            left[k, 0], left[k, 1], left[k, 2], left[k, 3] = row, column + n, i, end
        i = end
        if n < count - 1:
            i = skip_blank(text, i)
            if _byte(text, i) != _COMMA:
                return UNUSUAL
            i += 1
    return i


@compiled
def _record(
    text: int, i: int, names: Array, table: Array, row: int, ints: Array, out: Array,
    left: Array,
) -> int:  # fmt: skip
    """Read the object whose brace is at `i` into a row; return where it ends."""
    seen, guess = 0, 0
    i = skip_blank(text, i + 1)
    while True:
        end, value = scan_key(text, i)
        if end < 0:
            return UNUSUAL
        f = _field(text, i + 1, end - 1, names, table[:, 0], guess)
        if f == -1:
            i = skip_value(text, value)
        elif f < 0 or (seen >> f) & 1:
            return UNUSUAL
        else:
            seen, guess = seen | (1 << f), f + 1
            column = table[f, 2]
            if table[f, 1] == INTEGER:
                i, ints[column, row] = _integer(text, value)
            elif table[f, 1] == STEM:
                i, ints[column, row] = _stem(text, value)
            elif table[f, 1] == NUMBER:
                i = _numbers(text, value, 1, column, row, out, left)
            elif _byte(text, value) == _LIST:
                i = _numbers(text, value + 1, 4, column, row, out, left)
                if i >= 0:
                    i = skip_blank(text, i)
                    i = i + 1 if _byte(text, i) == _LIST_END else UNUSUAL
            else:
                return UNUSUAL
        if i < 0:
            return UNUSUAL
        i = skip_blank(text, i)
        if _byte(text, i) == _OBJECT_END:
            break
        if _byte(text, i) != _COMMA:
            return UNUSUAL
        i = skip_blank(text, i + 1)
    for f in range(table.shape[0]):
        if table[f, 3] and not (seen >> f) & 1:
            return UNUSUAL
    return i + 1


@compiled
def scan_records(
    text: int, i: int, stop: int, names: Array, table: Array, ints: Array, out: Array,
    left: Array,
) -> tuple[int, int, int]:  # fmt: skip
    """Read the objects of a list from the brace at `i` on, up to the first from `stop` on.

    `table` (F, 4) has for each field the length of its name in `names` (F, longest), what it is,
    its column and whether it must be there. Integers go to `ints` (columns, rows), numbers to
    `out` (rows, columns), where NaN says that a field is not there or is `left` for Python.

    Returns how it ended (`CLOSED` with the list, `GOES_ON` or `UNUSUAL`), the number of objects,
    and the place after the list or of the next object.
    """
    row = 0
    while True:
        if _byte(text, i) != _OBJECT or row == out.shape[0]:
            return UNUSUAL, row, i
        for column in range(ints.shape[0]):
            ints[column, row] = 0
        for column in range(out.shape[1]):
            out[row, column] = np.nan
        i = _record(text, i, names, table, row, ints, out, left)
        if i < 0:
            return UNUSUAL, row, i
        row += 1
        i = skip_blank(text, i)
        if _byte(text, i) == _LIST_END:
            return CLOSED, row, i + 1
        if _byte(text, i) != _COMMA:
            return UNUSUAL, row, i
        i = skip_blank(text, i + 1)
        if i >= stop:
            return GOES_ON, row, i
