"""The checksum over keys: it depends on every key, and not on order or chunks."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.clustering.key_checksum import KeyChecksum

KEYS = st.lists(st.text(max_size=12), max_size=30)


def checksum(*chunks: list[str]) -> KeyChecksum:
    return KeyChecksum.of(pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string()))


@given(KEYS, KEYS)
def test_order_and_chunks_do_not_change_the_checksum(one: list[str], other: list[str]) -> None:
    assert checksum(one, other) == checksum(sorted(one + other)) == checksum(one) + checksum(other)


@given(KEYS, st.text(max_size=12), st.text(max_size=12))
def test_a_different_key_gives_a_different_checksum(keys: list[str], one: str, other: str) -> None:
    same = one == other
    assert (checksum([*keys, one]) == checksum([*keys, other])) == same
    assert checksum([*keys, one]) != checksum(keys)


def test_a_slice_counts_only_its_own_keys() -> None:
    keys = pa.array(["a", "bb", "ccc", "d" * 5000, ""])
    assert KeyChecksum.of(pa.chunked_array([keys.slice(1, 3)])) == checksum(["bb", "ccc", "d" * 5000])
