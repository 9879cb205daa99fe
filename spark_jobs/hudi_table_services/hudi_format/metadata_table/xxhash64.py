"""The hash xxHash64, with which Hudi shortens names in keys of the metadata table (HashID)."""

import struct

_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MASK = (1 << 64) - 1
_STRIPE = struct.Struct("<4Q")
_WORD, _HALF_WORD = struct.Struct("<Q"), struct.Struct("<I")


def xxhash64(data: bytes, seed: int) -> int:
    """Return the unsigned hash of the data.

    Args:
        seed: an unsigned number of 64 bits.
    """
    whole = len(data) - len(data) % _STRIPE.size
    value = _stripes(data[:whole], seed) if whole else seed + _P5
    return _avalanche(_tail(value + len(data), data[whole:]))


def _stripes(data: bytes, seed: int) -> int:
    lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
    for words in _STRIPE.iter_unpack(data):
        lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
    value = sum(_rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True))
    for lane in lanes:
        value = (value ^ _round(0, lane)) * _P1 + _P4 & _MASK
    return value


def _tail(value: int, data: bytes) -> int:
    words = len(data) // _WORD.size * _WORD.size
    for (word,) in _WORD.iter_unpack(data[:words]):
        value = _rotated(value & _MASK ^ _round(0, word), 27) * _P1 + _P4
    rest = data[words:]
    if len(rest) >= _HALF_WORD.size:
        (half,) = _HALF_WORD.unpack_from(rest)
        value = _rotated(value & _MASK ^ half * _P1 & _MASK, 23) * _P2 + _P3
        rest = rest[_HALF_WORD.size :]
    for byte in rest:
        value = _rotated(value & _MASK ^ byte * _P5 & _MASK, 11) * _P1
    return value & _MASK


def _avalanche(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _MASK
    value = (value ^ value >> 29) * _P3 & _MASK
    return value ^ value >> 32


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _P2, 31) * _P1 & _MASK


def _rotated(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (64 - bits)) & _MASK
