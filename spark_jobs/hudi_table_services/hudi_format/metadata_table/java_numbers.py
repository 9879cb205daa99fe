"""Convert floating-point numbers to strings as Java does (Double.toString, Float.toString), for secondary indexes.

Since Java 19, the string has the fewest digits from which Java reads the same number. In earlier releases, the strings
of some numbers have more digits: ``1.9999999999999998E23`` instead of ``2.0E23`` (JDK-4511638). Writers and readers of
a table may use Java releases of both kinds, so an index contains entries for both strings of such a number.
"""

import math
import struct
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

_CACHED_TEXTS = 4096
_EXPONENT_BIAS, _FRACTION_BITS = 1023, 52
_SINGLE_EXPONENT_BIAS, _SINGLE_FRACTION_BITS = 127, 23
# Numbers between 10^-3 and 10^7 have no exponent.
_MIN_PLAIN_EXPONENT, _MAX_PLAIN_EXPONENT = -3, 8


def java_texts(value: float, *, is_single: bool = False) -> tuple[str, ...]:
    """Return the string for a number in Java 19 and later; then the string in Java 18 and earlier, if it differs.

    Args:
        is_single: whether the number is a `float` of Java, with 32 bits. Its value must then fit into 32 bits.
    """
    if math.isnan(value):
        return ("NaN",)
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if math.isinf(value):
        return (f"{sign}Infinity",)
    if value == 0:
        return (f"{sign}0.0",)
    return tuple(sign + text for text in _texts_of_positive(abs(value), is_single))


@lru_cache(maxsize=_CACHED_TEXTS)
def _texts_of_positive(value: float, is_single: bool) -> tuple[str, ...]:
    texts = (_text(*_shortest_digits(value, is_single)), _text(*_earlier_digits(value, is_single)))
    return tuple(dict.fromkeys(texts))


def _text(digits: str, exponent: int) -> str:
    """Return Java's string for the number ``0.<digits>`` times ten to the power of the exponent."""
    if 0 < exponent < _MAX_PLAIN_EXPONENT:
        return f"{digits[:exponent].ljust(exponent, '0')}.{digits[exponent:] or '0'}"
    if _MIN_PLAIN_EXPONENT < exponent <= 0:
        return f"0.{'0' * -exponent}{digits}"
    return f"{digits[0]}.{digits[1:] or '0'}E{exponent - 1}"


def _shortest_digits(value: float, is_single: bool) -> tuple[str, int]:
    """Return the fewest digits from which Java reads the same number, and the decimal exponent of the number.

    If several strings of this length are possible, return the string that is closest to the number. If one digit is
    enough, return the closest string of two digits, without a zero at its end.
    """
    text = np.format_float_scientific(np.float32(value) if is_single else value, unique=True, trim="-")
    if "." not in text:
        text = f"{value:.1e}"
    mantissa, _, power = text.partition("e")
    return mantissa.replace(".", "").rstrip("0"), int(power) + 1


# ---------------------------------------------------------------------------- Java 18 and earlier

_BITS_OF_POWERS_OF_FIVE = (
    *(0, 3, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28, 31, 33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59, 61),
)
"""Number of bits of 5 to the power of the index, as in FloatingDecimal."""

_MAX_SMALL_EXPONENT = 62
_INT_BITS, _LONG_BITS = 32, 64


def _earlier_digits(value: float, is_single: bool) -> tuple[str, int]:
    """Return the digits of FloatingDecimal.BinaryToASCIIBuffer (OpenJDK 8 to 18)."""
    fraction, power, significant_bits = _binary(value, is_single)
    trailing = (fraction & -fraction).bit_length() - 1
    fraction_bits = _FRACTION_BITS + 1 - trailing
    after_point = max(0, fraction_bits - power - 1)
    if after_point == 0 and power <= _MAX_SMALL_EXPONENT:
        return _digits_of_integer(
            fraction << power >> _FRACTION_BITS, _unimportant_digits(power - significant_bits)
        )
    return _Generator.of(fraction >> trailing, fraction_bits, power, after_point, significant_bits).digits()


def _binary(value: float, is_single: bool) -> tuple[int, int, int]:
    """Return a fraction with 53 bits, the exponent of two, and the number of bits that the format stores."""
    layout, integer = (">f", ">I") if is_single else (">d", ">Q")
    stored_bits = _SINGLE_FRACTION_BITS if is_single else _FRACTION_BITS
    bias = _SINGLE_EXPONENT_BIAS if is_single else _EXPONENT_BIAS
    (bits,) = struct.unpack(integer, struct.pack(layout, value))
    fraction, power = bits & (1 << stored_bits) - 1, bits >> stored_bits
    significant_bits = stored_bits + 1
    if power:
        fraction |= 1 << stored_bits
    else:
        significant_bits = fraction.bit_length()
        shift = stored_bits + 1 - significant_bits
        fraction, power = fraction << shift, 1 - shift
    return fraction << _FRACTION_BITS - stored_bits, power - bias, significant_bits


def _unimportant_digits(surplus_bits: int) -> int:
    """Return how many of the last decimal digits depend only on the surplus bits (insignificantDigitsForPow2)."""
    return len(str(1 << max(0, surplus_bits - 1))) - 1


def _digits_of_integer(value: int, unimportant: int) -> tuple[str, int]:
    count = unimportant
    if unimportant:
        unit = 10**unimportant
        value, rest = divmod(value, unit)
        value += rest >= unit >> 1
    text = str(value)
    return text.rstrip("0"), count + len(text)


@dataclass(slots=True)
class _Generator:
    """Generates digits until the number is determined; all values are scaled to integers.

    Attributes:
        rest: the part of the number that has no digits yet.
        unit: weight of the next digit.
        error: half the distance to the next number.
        exponent: decimal exponent of the next digit.
        bits: 32 or 64 if Java computes with integers of this size, which may overflow; None if Java uses integers of
            any size.
    """

    rest: int
    unit: int
    error: int
    exponent: int
    bits: int | None

    @classmethod
    def of(
        cls, fraction: int, fraction_bits: int, power: int, after_point: int, significant_bits: int
    ) -> "_Generator":
        exponent = _estimated_exponent(fraction / (1 << fraction_bits - 1), power)
        fives, unit_fives = max(0, -exponent), max(0, exponent)
        twos, unit_twos = fives + after_point + power, unit_fives + after_point
        error_twos = twos - significant_bits
        twos -= fraction_bits - 1
        common = min(twos, unit_twos)
        twos, unit_twos, error_twos = twos - common, unit_twos - common, error_twos - common
        if fraction_bits == 1:
            error_twos -= 1
        if error_twos < 0:
            twos, unit_twos, error_twos = twos - error_twos, unit_twos - error_twos, 0
        needed = max(
            fraction_bits + twos + _bits_of_fives(fives), unit_twos + 1 + _bits_of_fives(unit_fives + 1)
        )
        fitting = (bits for bits in (_INT_BITS, _LONG_BITS) if needed < bits)
        return cls(
            rest=fraction * 5**fives << twos,
            unit=5**unit_fives << unit_twos,
            error=5**fives << error_twos,
            exponent=exponent,
            bits=next(fitting, None),
        )

    def digits(self) -> tuple[str, int]:
        found: list[int] = []
        digit, is_low, is_high = self._next()
        if digit == 0 and not is_high:
            self.exponent -= 1
        else:
            found.append(digit)
        # A number with an exponent has at least one digit after the point.
        if not _MIN_PLAIN_EXPONENT <= self.exponent < _MAX_PLAIN_EXPONENT:
            is_low = is_high = False
        while not is_low and not is_high:
            digit, is_low, is_high = self._next()
            found.append(digit)
        half = 2 * self.rest - 10 * self.unit
        number = int("".join(map(str, found)))
        if is_high and (not is_low or half > 0 or (half == 0 and found[-1] % 2)):
            number += 1
        text = str(number)
        return text.rstrip("0") if len(text) > len(found) else text, self.exponent + 1 + len(text) - len(
            found
        )

    def _next(self) -> tuple[int, bool, bool]:
        """Return the next digit, and two flags: whether the number may end here if rounded down, and if rounded up."""
        digit, rest = divmod(self.rest, self.unit)
        self.rest, self.error = 10 * rest, self._wrapped(10 * self.error)
        if self.error <= 0:
            return digit, True, True
        most = 10 * self.unit
        sum_ = self.rest + self.error
        return digit, self.rest < self.error, sum_ > most if self.bits else sum_ >= most

    def _wrapped(self, value: int) -> int:
        if self.bits is None:
            return value
        half = 1 << self.bits - 1
        return (value + half) % (2 * half) - half


def _bits_of_fives(power: int) -> int:
    return _BITS_OF_POWERS_OF_FIVE[power] if power < len(_BITS_OF_POWERS_OF_FIVE) else 3 * power


def _estimated_exponent(mantissa: float, power: int) -> int:
    """Return the decimal exponent of a number, or one more. The constants are those of Java."""
    return math.floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + power * 0.301029995663981)
