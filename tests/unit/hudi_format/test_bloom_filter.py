"""Bloom filters compared with Hudi's filters, and with a reference hash that processes one byte at a time."""

import base64
import contextlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format.bloom_filter import (
    BloomFilter,
    DynamicBloomFilter,
    SimpleBloomFilter,
    decode_bloom_filter,
)

GOLDEN = Path(__file__).parents[2] / "golden"
FILTERS = sorted(GOLDEN.glob("hudi-*/v*/bloom_*.json"))
PLAIN = [path for path in FILTERS if path.stem == "bloom_plain"]
ONE_ROW = [path for path in FILTERS if path.stem == "bloom_one_row"]
MANY_ROWS = [path for path in FILTERS if path.stem == "bloom_many_rows"]

Arrow = tuple[np.ndarray, np.ndarray]


def arrow(keys: Sequence[str]) -> Arrow:
    encoded = [key.encode() for key in keys]
    offsets = np.zeros(len(keys) + 1, dtype=np.int32)
    np.cumsum([len(key) for key in encoded], out=offsets[1:])
    return offsets, np.frombuffer(b"".join(encoded), dtype=np.uint8)


def murmur(key: bytes, seed: int) -> int:
    """Reference implementation of Hudi's murmur hash, as a signed number."""
    mask, multiplier = 0xFFFFFFFF, 0x5BD1E995
    value = seed ^ len(key)
    whole = len(key) // 4 * 4
    for i in range(0, whole, 4):
        word = int.from_bytes(key[i : i + 4], "little") * multiplier & mask
        word = (word ^ word >> 24) * multiplier & mask
        value = value * multiplier & mask ^ word
    if whole < len(key):
        for i, byte in enumerate(reversed(key[whole:])):
            value ^= ((byte - 256 if byte > 127 else byte) << 8 * i) & mask
        value = value * multiplier & mask
    value = (value ^ value >> 13) * multiplier & mask
    value ^= value >> 15
    return value - (1 << 32) if value >> 31 else value


def positions(key: str, bits: int, hashes: int) -> set[int]:
    found, value = set(), 0
    for _ in range(hashes):
        value = murmur(key.encode(), value & 0xFFFFFFFF)
        found.add(abs(value) % bits)
    return found


def set_bits(decoded: SimpleBloomFilter) -> set[int]:
    packed = np.frombuffer(decoded.to_bytes()[13:], dtype=np.uint8)
    return {int(i) for i in np.flatnonzero(np.unpackbits(packed, bitorder="little"))}


def filter_of(keys: Sequence[str], entries: int, fpp: float) -> SimpleBloomFilter:
    made = SimpleBloomFilter.sized_for(entries, fpp, entries)
    made.add_keys(*arrow(keys))
    return made


class Golden:
    def __init__(self, path: Path) -> None:
        document = json.loads(path.read_text(encoding="utf-8"))
        self.keys: list[str] = document["keys"]
        self.other_keys: list[str] = document["other_keys"]
        self.entries = int(document["options"]["hoodie.index.bloom.num_entries"])
        self.fpp = float(document["options"]["hoodie.index.bloom.fpp"])
        self.text: str = document["footer"]["org.apache.hudi.bloomfilter"]
        # Hudi stores no type code with a simple filter.
        self.type_code = document["footer"].get("hoodie_bloom_filter_type_code", "SIMPLE")

    def decode(self) -> BloomFilter:
        return decode_bloom_filter(self.text, self.type_code)


def test_the_corpus_has_every_kind_of_filter_from_both_releases() -> None:
    for paths in (PLAIN, ONE_ROW, MANY_ROWS):
        assert {path.parents[1].name for path in paths} == {"hudi-0.15.0", "hudi-1.2.0"}


@pytest.mark.parametrize("path", FILTERS, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_golden_keys_have_tails_of_every_length_with_bytes_above_127(path: Path) -> None:
    keys = [key.encode() for key in Golden(path).keys]
    assert {len(key) % 4 for key in keys} == {0, 1, 2, 3}
    assert any(byte > 127 for key in keys for byte in key[len(key) // 4 * 4 :])


@pytest.mark.parametrize("path", PLAIN, ids=lambda path: path.parents[1].name)
def test_our_filter_equals_the_filter_that_hudi_wrote(path: Path) -> None:
    golden = Golden(path)
    assert filter_of(golden.keys, golden.entries, golden.fpp).to_base64() == golden.text


@pytest.mark.parametrize(
    "path", [*ONE_ROW, *MANY_ROWS], ids=lambda path: f"{path.parents[1].name}-{path.stem}"
)
def test_every_row_of_a_dynamic_filter_has_the_bits_of_its_keys(path: Path) -> None:
    golden = Golden(path)
    decoded = golden.decode()
    assert isinstance(decoded, DynamicBloomFilter)
    parts = [golden.keys[i : i + golden.entries] for i in range(0, len(golden.keys), golden.entries)]
    expected = [filter_of(part, golden.entries, golden.fpp).to_bytes() for part in parts]
    assert [row.to_bytes() for row in decoded.rows] == expected


@pytest.mark.parametrize("path", FILTERS, ids=lambda path: f"{path.parents[1].name}-{path.stem}")
def test_filters_of_hudi_contain_their_keys_and_almost_no_other_keys(path: Path) -> None:
    golden = Golden(path)
    assert golden.decode().contains(*arrow(golden.keys)).all()
    assert golden.decode().contains(*arrow(golden.other_keys)).sum() <= 1


def test_the_default_size_equals_hudis_default_size() -> None:
    made = SimpleBloomFilter.sized_for(60_000, 1e-9, 100_000)
    assert (made.bit_count, made.hash_count) == (2_587_966, 30)


@given(st.lists(st.text(max_size=40), max_size=40), st.integers(1, 5000), st.integers(1, 40))
def test_the_bits_equal_the_bits_of_the_reference_hash(keys: list[str], bits: int, hashes: int) -> None:
    made = SimpleBloomFilter(bits, hashes)
    made.add_keys(*arrow(keys))
    assert set_bits(made) == set().union(*(positions(key, bits, hashes) for key in keys))


@given(st.lists(st.text(max_size=20), max_size=30), st.lists(st.text(max_size=20), max_size=30))
def test_contains_finds_every_added_key_and_agrees_with_the_reference_hash(
    added: list[str], asked: list[str]
) -> None:
    made = SimpleBloomFilter(257, 5)
    made.add_keys(*arrow(added))
    bits = set_bits(made)
    assert made.contains(*arrow(asked)).tolist() == [positions(key, 257, 5) <= bits for key in asked]


@given(st.lists(st.text(max_size=20), max_size=30))
def test_a_filter_is_unchanged_after_encoding_and_decoding(keys: list[str]) -> None:
    made = filter_of(keys, 50, 1e-3)
    decoded = decode_bloom_filter(made.to_base64(), "SIMPLE")
    assert isinstance(decoded, SimpleBloomFilter)
    assert decoded.to_base64() == made.to_base64()


def test_keys_may_be_slices_of_a_longer_column_and_be_added_in_parts() -> None:
    offsets, data = arrow(["a", "key-1", "", "key-22", "дж"])
    parts = SimpleBloomFilter(1000, 7)
    parts.add_keys(offsets[1:3].astype(np.int64), data)
    parts.add_keys(offsets[2:], data)
    whole = SimpleBloomFilter(1000, 7)
    whole.add_keys(*arrow(["key-1", "", "key-22", "дж"]))
    assert parts.to_bytes() == whole.to_bytes()


def test_many_keys_of_one_length_are_all_added() -> None:
    keys = [f"{i:07d}" for i in range(40_000)]
    made = SimpleBloomFilter(2_000_000, 3)
    made.add_keys(*arrow(keys))
    assert made.contains(*arrow(keys)).all()
    assert made.contains(*arrow([f"x{i:06d}" for i in range(1000)])).sum() < 10


@pytest.mark.parametrize("entries", [-1, 0, 1])
def test_a_filter_for_no_keys_can_be_created(entries: int) -> None:
    made = SimpleBloomFilter.sized_for(entries, 1e-9, 100)
    assert made.bit_count > 0
    assert made.contains(*arrow([])).tolist() == []
    assert made.contains(*arrow(["a"])).tolist() == [False]


def test_above_max_entries_only_the_number_of_hashes_changes() -> None:
    at_most = SimpleBloomFilter.sized_for(1000, 1e-9, 1000)
    twice = SimpleBloomFilter.sized_for(2000, 1e-9, 1000)
    far = SimpleBloomFilter.sized_for(1_000_000, 1e-9, 1000)
    assert {at_most.bit_count, twice.bit_count, far.bit_count} == {at_most.bit_count}
    assert (at_most.hash_count, twice.hash_count, far.hash_count) == (30, 15, 1)


@given(st.binary(max_size=80), st.sampled_from(["SIMPLE", "DYNAMIC_V0"]))
def test_arbitrary_bytes_are_decoded_or_refused_as_corrupt(data: bytes, type_code: str) -> None:
    with contextlib.suppress(CorruptTableError):
        decode_bloom_filter(base64.b64encode(data).decode(), type_code)


@given(st.text(max_size=20), st.text(max_size=8))
def test_arbitrary_text_is_decoded_or_refused_as_corrupt(text: str, type_code: str) -> None:
    with contextlib.suppress(CorruptTableError):
        decode_bloom_filter(text, type_code)


@pytest.mark.parametrize("cut", [1, 13, 14, 26, 100])
def test_a_shortened_filter_is_refused(cut: int) -> None:
    golden = Golden(MANY_ROWS[0])
    text = base64.b64encode(base64.b64decode(golden.text)[:-cut]).decode()
    with pytest.raises(MalformedMetadataError):
        decode_bloom_filter(text, golden.type_code)


def test_a_simple_filter_with_the_type_code_of_a_dynamic_filter_is_refused() -> None:
    with pytest.raises(MalformedMetadataError):
        decode_bloom_filter(Golden(PLAIN[0]).text, "DYNAMIC_V0")
