"""Decimal text to doubles, equal to `float(text)` to the last bit.

Up to 2^53 and 10^±22 one multiplication or division is exact; beyond, the algorithm of Eisel and
Lemire (D. Lemire, "Number Parsing at a Gigabyte per Second", 2021) with up to 19 digits. What has
more digits is left to the caller.
"""

import numpy as np

from runwatch.kernels.layout import MAX_GROUPS
from runwatch.kernels.memory import (
    as_double,
    byte_at,
    digits_at,
    leading_zeros,
    product_high,
    put_double,
    trailing_zeros,
    word_at,
)

_LEAST, _MOST = -342, 308  # powers of ten that a double can tell from 0 and infinity


def _powers_of_five() -> np.ndarray:
    """The 128 leading bits of 5^q for every q, as in Lemire's table."""
    table = []
    for q in range(_LEAST, _MOST + 1):
        power = 5 ** abs(q)
        if q >= 0:
            while power < 1 << 127:
                power <<= 1
            while power >= 1 << 128:
                power >>= 1
        else:
            z = (power - 1).bit_length()
            power = (1 << (z + 127 if q >= -27 else 2 * z + 128)) // power + 1
            while power >= 1 << 128:
                power >>= 1
        table.append((power >> 64, power & 0xFFFFFFFFFFFFFFFF))
    return np.array(table, np.uint64)


_FIVES = _powers_of_five()
TENS = np.array([10.0**n for n in range(23)])
_WHOLE_TENS = np.array([10**n for n in range(17)], np.uint64)
_ONE, _EIGHT, _THOUSAND = np.uint64(1), np.uint64(8), np.uint64(1000)
_EXACT = np.uint64(1 << 53)  # a double tells all whole numbers below apart
_ZEROS = np.uint64(0x3030303030303030)
_SEVENTY_SIX = np.uint64(0x7676767676767676)
_TOPS = np.uint64(0x8080808080808080)
_NIBBLES = np.uint64(0x0F0F0F0F0F0F0F0F)


def digit_count(word):
    """How many digits lead a word of eight characters."""
    odd = word ^ _ZEROS
    odd = ((odd + _SEVENTY_SIX) | odd) & _TOPS
    return trailing_zeros(odd) >> 3


def digit_value(word, count):
    """The value of the 1 to 8 digits that lead a word."""
    x = (word & _NIBBLES) << np.uint64(64 - 8 * count)
    x = (x * np.uint64(2561)) >> np.uint64(8)
    x = ((x & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
    return ((x & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)


def scaled(mantissa, power):
    """mantissa * 10^power, rounded as the standard says; the mantissa is not 0."""
    if mantissa < np.uint64(1 << 53) and -22 <= power <= 22:
        if power < 0:
            return np.float64(mantissa) / TENS[-power]
        return np.float64(mantissa) * TENS[power]
    return rounded(mantissa, power)


def rounded(mantissa, power):
    """As `scaled`, in the same steps for numbers of few digits and of many."""
    if power < _LEAST:
        return 0.0
    if power > _MOST:
        return np.inf
    shift_left = leading_zeros(mantissa)
    w = mantissa << np.uint64(shift_left)
    row = power - _LEAST
    high, low = product_high(w, _FIVES[row, 0]), w * _FIVES[row, 0]
    if (high & np.uint64(0x1FF)) == np.uint64(0x1FF):
        more = product_high(w, _FIVES[row, 1])
        low = low + more
        if more > low:
            high = high + _ONE
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 64 - 52 - 3)
    m = high >> shift
    binary = ((217706 * power) >> 16) + 63 + upper - shift_left + 1023
    if binary <= 0:
        if 1 - binary >= 64:
            return 0.0
        m = m >> np.uint64(1 - binary)
        m = (m + (m & _ONE)) >> _ONE
        return as_double(m)  # a subnormal, or the least normal: the exponent falls into place
    if low <= _ONE and -4 <= power <= 23 and (m & np.uint64(3)) == _ONE and (m << shift) == high:
        m = m & ~_ONE  # exactly between two doubles: to the even one
    m = (m + (m & _ONE)) >> _ONE
    if m >= np.uint64(1 << 53):
        m = np.uint64(1 << 52)
        binary += 1
    if binary >= 0x7FF:
        return np.inf
    return as_double((m & np.uint64((1 << 52) - 1)) | (np.uint64(binary) << np.uint64(52)))


def _run_at(address, mantissa):
    """Append the digits at an address to a mantissa: the address behind them, and the mantissa."""
    while True:
        word = word_at(address)
        count = digit_count(word)
        if count == 0:
            return address, mantissa
        mantissa = mantissa * _WHOLE_TENS[count] + digit_value(word, count)
        address += count
        if count < 8:
            return address, mantissa


def _significant(address, behind):
    """The digits of a number behind its leading zeros."""
    count = 0
    for at in range(address, behind):
        byte = byte_at(at)
        if byte != 46 and (count or byte != 48):
            count += 1
    return count


def _raised_at(at, mantissa, power, negative, result):
    """Take the exponent at an address, if there is one, and write the number down."""
    if (byte_at(at) | 32) == 101:
        sign = byte_at(at + 1)
        start = at + 2 if sign == 43 or sign == 45 else at + 1
        word = word_at(start)
        count = digit_count(word)
        if 0 < count < 8:
            raised = np.int64(digit_value(word, count))
            at = start + count
            power += -raised if sign == 45 else raised
    value = 0.0 if mantissa == 0 else scaled(mantissa, power)
    put_double(result, -value if negative else value)
    return at


def number_at(address, result):
    """Read the number at an address into the double at `result`; the address behind it.

    0 where there is none, or one with more digits than are read here.
    """
    negative = byte_at(address) == 45
    sign = np.int64(1) if negative else np.int64(0)
    first = address + sign
    odd = ~(digits_at(address) >> np.uint64(sign))
    end = whole = trailing_zeros(odd)
    if whole == 0:
        return np.int64(0)
    word = word_at(first)
    mark = byte_at(first + whole)
    if whole > 8:
        digits = trailing_zeros(odd & (odd - _ONE)) - whole - 1 if mark == 46 else np.int64(0)
        return _many_digits_at(first, whole, digits, negative, result)
    if mark == 46:
        behind = trailing_zeros(odd & (odd - _ONE))
        digits = behind - whole - 1
        if digits > 8:
            return _many_digits_at(first, whole, digits, negative, result)
        if digits == 0:
            value = np.float64(digit_value(word, whole))
        else:
            end = behind
            if behind <= 8:  # close the gap
                low = (_ONE << np.uint64(8 * whole)) - _ONE
                mantissa = digit_value((word & low) | ((word >> _EIGHT) & ~low), behind - 1)
            else:
                more = digit_value(word_at(first + whole + 1), digits)
                mantissa = digit_value(word, whole) * _WHOLE_TENS[digits] + more
            mark = byte_at(first + end)
            if (mark | 32) == 101:
                return _raised_at(first + end, mantissa, -digits, negative, result)
            if mantissa >= _EXACT:
                value = scaled(mantissa, -digits)
            else:
                value = np.float64(mantissa) / TENS[digits]
    else:
        mantissa = digit_value(word, whole)
        if (mark | 32) == 101:
            return _raised_at(first + end, mantissa, np.int64(0), negative, result)
        value = np.float64(mantissa)
    put_double(result, -value if negative else value)
    return first + end


def _many_digits_at(first, whole, digits, negative, result):
    """As `number_at`, for more than eight digits before the point or behind it, which are counted:
    as many more may be there or not from one number to the next, so nothing is asked of each."""
    if whole > 16 or digits > 16 or whole + digits > 19:
        return _long_number_at(first, negative, result)
    mantissa, end = _digits_value(first, whole), first + whole
    if digits > 0:
        mantissa = mantissa * _WHOLE_TENS[digits] + _digits_value(end + 1, digits)
        end += 1 + digits
    if (byte_at(end) | 32) == 101:
        return _raised_at(end, mantissa, -digits, negative, result)
    if digits == 0:
        value = np.float64(mantissa)
    else:
        value = 0.0 if mantissa == 0 else rounded(mantissa, -digits)
    put_double(result, -value if negative else value)
    return end


def _digits_value(at, count):
    """The value of 1 to 16 digits at an address."""
    if count <= 8:
        return digit_value(word_at(at), count)
    rest = count - 8
    return digit_value(word_at(at), 8) * _WHOLE_TENS[rest] + digit_value(word_at(at + 8), rest)


def _long_number_at(first, negative, result):
    """As `number_at`, for more than eight characters and for exponents."""
    at = first
    word = word_at(at)
    count = digit_count(word)
    mantissa = digit_value(word, count)
    at += count
    if count == 8:
        at, mantissa = _run_at(at, mantissa)
    power = np.int64(0)
    if byte_at(at) == 46:
        word = word_at(at + 1)
        count = digit_count(word)
        if count:
            mantissa = mantissa * _WHOLE_TENS[count] + digit_value(word, count)
            start = at + 1
            at = start + count
            if count == 8:
                at, mantissa = _run_at(at, mantissa)
            power = start - at
    if at - first > 19 and _significant(first, at) > 19:
        return np.int64(0)
    return _raised_at(at, mantissa, power, negative, result)


def ends_thousands(address, begin):
    """1 where the digits at an address, behind a comma, may be the last ones of a number with
    commas between its thousands, in a text that begins at another; else 0."""
    if digit_count(word_at(address)) != 3:
        return np.int64(0)
    if byte_at(address + 3) == 44 and digit_count(word_at(address + 4)) > 0:
        return np.int64(0)  # it would go on
    at, count = address - 2, 0
    while at >= begin and count < 4 and 48 <= byte_at(at) <= 57:
        at -= 1
        count += 1
    if count == 4:
        return np.int64(0)
    if at >= begin:  # behind a letter no number begins
        byte = byte_at(at)
        letter = byte | 32
        if byte == 46 or byte == 64 or byte == 95 or 97 <= letter <= 122:
            return np.int64(0)
    return np.int64(1)


def thousands_at(address, result):
    """Read the number at an address that has commas between its thousands, and no fraction, into
    the double at `result`; the address behind it, 0 where there is none."""
    word = word_at(address)
    count = digit_count(word)
    if count == 0 or count > 3:
        return np.int64(0)
    value, at, groups = digit_value(word, count), address + count, 0
    while byte_at(at) == 44:
        word = word_at(at + 1)
        if digit_count(word) != 3:
            return np.int64(0)
        value = value * _THOUSAND + digit_value(word, 3)
        at += 4
        groups += 1
    if groups == 0 or groups > MAX_GROUPS:
        return np.int64(0)
    put_double(result, np.float64(value))
    return at
