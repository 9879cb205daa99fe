"""Keys, file groups and ids of file groups equal those that Hudi computes."""

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.metadata_table import file_groups, file_ids, keys
from hudi_table_services.hudi_format.metadata_table.xxhash64 import xxhash64

JAVA: dict[str, Any] = json.loads((Path(__file__).parents[3] / "golden" / "metadata_keys.json").read_text())
TEXTS = st.text(max_size=20) | st.text("a$\\\0b", max_size=12)
VALUES = st.none() | TEXTS


@pytest.mark.parametrize(
    ("data", "seed", "expected"), [(b"", 0, 0xEF46DB3751D8E999), (b"abc", 0, 0x44BC2CF5AD770999)]
)
def test_the_hash_is_xxhash64(data: bytes, seed: int, expected: int) -> None:
    assert xxhash64(data, seed) == expected


def test_names_have_the_hashes_of_hudi() -> None:
    assert {text: keys.column_stats_prefix(text) for text in JAVA["column_hash"]} == JAVA["column_hash"]


def test_files_have_the_hashes_of_hudi() -> None:
    hashes = {
        text: keys.bloom_filter_key("p", text).removeprefix(keys.column_stats_prefix("p"))
        for text in JAVA["file_hash"]
    }
    assert hashes == JAVA["file_hash"]


def test_keys_have_the_file_groups_of_hudi() -> None:
    counts = (1, 2, 7, 10, 1000)
    assert {text: [keys.file_group_of(text, count) for count in counts] for text in JAVA["groups"]} == JAVA[
        "groups"
    ]


def test_keys_of_secondary_indexes_are_those_of_hudi() -> None:
    assert [[v, k, keys.secondary_index_key(v, k)] for v, k, _ in JAVA["secondary"]] == JAVA["secondary"]


def test_ids_of_partitioned_record_indexes_are_those_of_hudi() -> None:
    for partition, expected in JAVA["partitioned_record_index"].items():
        number = file_groups.file_group_number(expected)
        assert number is not None
        assert file_groups.partitioned_record_index_id(partition, number) == expected
        assert file_groups.partition_of_record_index_id(expected) == partition


def test_the_root_of_a_table_without_partitions_has_a_name() -> None:
    assert keys.files_key("") == "."
    assert keys.partition_of_files_key(".") == ""
    assert keys.partition_stats_key("c", "") == keys.partition_stats_key("c", ".")
    assert keys.column_stats_key("c", "", "f").startswith(keys.column_stats_prefix("c", ""))


@given(value=VALUES, record_key=TEXTS)
def test_a_key_of_a_secondary_index_is_parsed_into_its_value_and_record_key(
    value: str | None, record_key: str
) -> None:
    key = keys.secondary_index_key(value, record_key)
    assert keys.parse_secondary_index_key(key) == (value, record_key)
    assert key.startswith(keys.secondary_index_prefix(value))


def test_a_key_without_separator_is_refused() -> None:
    with pytest.raises(ValueError, match="separator"):
        keys.parse_secondary_index_key("a\\$b")


@pytest.mark.parametrize(
    ("partition", "number", "expected"),
    [
        ("files", 0, "files-0000-0"),
        ("column_stats", 1, "col-stats-0001-0"),
        ("bloom_filters", 3, "bloom-filters-0003-0"),
        ("record_index", 9, "record-index-0009-0"),
        ("record_index", 10001, "record-index-10001-0"),
        ("partition_stats", 0, "partition-stats-0000-0"),
        ("secondary_index_by_name", 2, "secondary-index-by-name-0002-0"),
        ("expr_index_a_b", 0, "expr-index-a-b-0000-0"),
    ],
)
def test_each_partition_has_its_ids(partition: str, number: int, expected: str) -> None:
    assert file_groups.file_group_id(partition, number) == expected
    assert file_groups.file_group_number(expected) == number
    assert file_groups.partition_of_record_index_id(expected) is None


@pytest.mark.parametrize("text", ["files", "files-0000", "files-00-0", "files-0000-1", "0000-0", ""])
def test_other_strings_are_not_ids(text: str) -> None:
    assert file_groups.file_group_number(text) is None


@given(value=st.uuids(), number=st.none() | st.integers(0, 2**31 - 1))
def test_joining_the_parts_of_a_file_id_gives_the_file_id(value: uuid.UUID, number: int | None) -> None:
    file_id = str(value) if number is None else f"{value}-{number}"
    high, low, found = file_ids.split_file_id(file_id)
    assert -(2**63) <= high < 2**63 > low >= -(2**63)
    assert found == (-1 if number is None else number)
    assert file_ids.join_file_id(high, low, found) == file_id


@given(text=st.text(max_size=45) | st.from_regex(r"[0-9A-F-]{36}(-0?\d)?", fullmatch=True))
def test_a_file_id_that_would_change_is_refused(text: str) -> None:
    if file_ids.is_uuid_file_id(text):
        assert file_ids.join_file_id(*file_ids.split_file_id(text)) == text
    else:
        with pytest.raises(MalformedMetadataError, match="UUID"):
            file_ids.split_file_id(text)
