"""The file groups that are computed for a whole column of keys equal those that are computed for each key."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.metadata_table.key_groups import file_groups_of
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "metadata_keys.json").read_text())["groups"]
SMALLEST_HASH = "polygenelubricants"
"""A string whose hash code in Java is the smallest integer. In Java, the absolute value of this integer is negative."""


def groups_of(keys: list[str], group_count: int, before: bytes = b"") -> list[int]:
    encoded = [before, *(key.encode("utf-8", "surrogatepass") for key in keys)]
    offsets = np.cumsum([len(part) for part in encoded]).astype(np.int32)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return file_groups_of(offsets, data, group_count).tolist()


@pytest.mark.parametrize("place", range(5))
def test_keys_have_the_file_groups_of_hudi(place: int) -> None:
    count = (1, 2, 7, 10, 1000)[place]
    assert groups_of(list(GOLDEN), count) == [groups[place] for groups in GOLDEN.values()]


@given(
    st.lists(st.text(max_size=40) | st.text(st.characters(max_codepoint=127)), max_size=30),
    st.integers(1, 10_000),
    st.binary(max_size=3),
)
def test_many_keys_have_the_groups_of_single_keys(keys: list[str], group_count: int, before: bytes) -> None:
    expected = [file_group_of(key, group_count) for key in keys]
    assert groups_of(keys, group_count, before) == expected


def test_the_smallest_hash_and_characters_of_every_length_have_their_groups() -> None:
    keys = [SMALLEST_HASH, "", "a", "ä", "\u20ac", "\U0001f600x", "\ud800", "k" * 100_000]
    assert groups_of(keys, 7) == [file_group_of(key, 7) for key in keys]


def test_keys_of_several_blocks_have_their_groups() -> None:
    keys = [f"key-{number}" for number in range(40_000)]
    assert groups_of(keys, 10) == [file_group_of(key, 10) for key in keys]
