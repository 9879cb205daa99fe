"""Two records of one key of a metadata table."""

from dataclasses import replace

import pytest

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    ListedFile,
    Listing,
    MetadataRecord,
    RecordType,
    SecondaryIndexEntry,
    StatKind,
    StatValue,
    ValueType,
    ValueTypeId,
)
from hudi_table_services.storage.metadata_table.record_merging import merge_records, without_deletions
from support.metadata_table.small_metadata_tables import all_partitions, files, location, stats


def merged_files(*sizes: dict[str, int | None]) -> dict[str, int]:
    record = files("a", sizes[0])
    for later in sizes[1:]:
        record = merge_records(record, files("a", later))
    seen = without_deletions(record)
    assert seen is not None
    assert isinstance(seen.payload, Listing)
    return {name: file.size_bytes for name, file in seen.payload.files.items()}


def with_values(low: StatValue | None, high: StatValue | None, **fields: object) -> MetadataRecord:
    record = stats("k", 1, 2)
    assert isinstance(record.payload, ColumnStats)
    payload = replace(record.payload, min_value=low, max_value=high, **fields)  # type: ignore[arg-type]
    return replace(record, payload=payload)


def merged_stats(older: MetadataRecord, newer: MetadataRecord) -> ColumnStats:
    payload = merge_records(older, newer).payload
    assert isinstance(payload, ColumnStats)
    return payload


def test_lists_of_files_are_united() -> None:
    assert merged_files({"one": 1}, {"two": 2}) == {"one": 1, "two": 2}
    assert merged_files({"one": 1, "two": 2}, {"one": None}) == {"two": 2}
    assert merged_files({"one": 1}, {"one": None}, {"one": 3}) == {"one": 3}
    assert merged_files({"one": None}, {"one": 3}) == {"one": 3}
    assert merged_files({"one": None}) == {}


def test_files_do_not_shrink() -> None:
    assert merged_files({"one": 5}, {"one": 9}, {"one": 7}) == {"one": 9}


def test_the_deletion_of_an_unknown_file_is_kept_for_older_records() -> None:
    merged = merge_records(files("a", {"one": 1}), files("a", {"two": None}))
    assert merged.payload == Listing({"one": ListedFile(1), "two": ListedFile(0, is_deleted=True)})


def test_partitions_can_be_deleted_and_added_again() -> None:
    merged = merge_records(all_partitions("a", "b"), all_partitions("c", deleted=["a"]))
    assert merged.payload == Listing({"b": ListedFile(0), "c": ListedFile(0)})
    again = merge_records(merged, all_partitions("a"))
    assert isinstance(again.payload, Listing)
    assert set(again.payload.files) == {"a", "b", "c"}


def test_statistics_are_widened_and_counted_together() -> None:
    merged = merged_stats(stats("k", 5, 9), stats("k", -3, 7))
    assert (merged.min_value, merged.max_value) == (StatValue(StatKind.INT, -3), StatValue(StatKind.INT, 9))
    assert (merged.value_count, merged.null_count) == (6, 2)
    assert (merged.total_size_bytes, merged.total_uncompressed_bytes) == (20, 40)


def test_statistics_of_a_column_of_nulls_widen_no_bounds() -> None:
    assert merged_stats(stats("k", None, None), stats("k", 1, 2)).min_value == StatValue(StatKind.INT, 1)
    assert merged_stats(stats("k", 1, 2), stats("k", None, None)).max_value == StatValue(StatKind.INT, 2)
    assert merged_stats(stats("k", None, None), stats("k", None, None)).min_value is None


def test_unknown_counts_are_left_out_of_the_sum() -> None:
    unknown = with_values(None, None, value_count=None, null_count=None)
    assert merged_stats(unknown, stats("k", 1, 2)).value_count == 3
    assert merged_stats(stats("k", 1, 2), unknown).null_count == 1
    assert merged_stats(unknown, unknown).value_count is None


def test_tight_statistics_replace_older_ones_and_statistics_that_are_not_tight_widen_older_ones() -> None:
    tight, other = stats("k", 5, 9, is_tight_bound=True), stats("k", 6, 20)
    assert merge_records(other, tight) == tight
    widened = merged_stats(tight, other)
    assert (widened.min_value, widened.max_value) == (StatValue(StatKind.INT, 5), StatValue(StatKind.INT, 20))
    assert not widened.is_tight_bound


def test_deleted_statistics_replace_older_ones_and_newer_statistics_replace_deleted_ones() -> None:
    deleted, other = stats("k", None, None, is_deleted=True), stats("k", 1, 2)
    assert merge_records(other, deleted) == deleted
    assert merge_records(deleted, other) == other
    assert without_deletions(deleted) is None
    assert without_deletions(other) == other


def test_decimals_are_compared_as_numbers() -> None:
    decimal = ValueType(ValueTypeId.DECIMAL, "20,2")
    minus_one, two, big = (StatValue(StatKind.BYTES, data) for data in (b"\xff", b"\x02", b"\x01\x00"))
    merged = merged_stats(
        with_values(two, two, value_type=decimal), with_values(minus_one, big, value_type=decimal)
    )
    assert (merged.min_value, merged.max_value) == (minus_one, big)
    old = [StatValue(StatKind.DECIMAL, data) for data in (b"\xff", b"\x02")]
    assert merged_stats(with_values(old[0], old[0]), with_values(old[1], old[1])).min_value == old[0]


def test_bytes_are_compared_as_bytes() -> None:
    low, high = StatValue(StatKind.BYTES, b"\x01\x00"), StatValue(StatKind.BYTES, b"\xff")
    merged = merged_stats(with_values(high, high), with_values(low, low))
    assert (merged.min_value, merged.max_value) == (low, high)


def test_values_that_cannot_be_compared_are_an_error() -> None:
    number, text = StatValue(StatKind.INT, 1), StatValue(StatKind.STRING, "a")
    with pytest.raises(MalformedMetadataError, match="IntWrapper and a StringWrapper"):
        merge_records(with_values(number, number), with_values(text, text))
    array = StatValue(StatKind.ARRAY, (number,))
    with pytest.raises(UnsupportedTableError, match="arrays"):
        merge_records(with_values(array, array), with_values(array, array))


def test_statistics_of_two_columns_with_one_key_are_an_error() -> None:
    number = StatValue(StatKind.INT, 1)
    with pytest.raises(MalformedMetadataError, match="'c' and 'd'"):
        merge_records(stats("k", 1, 2), with_values(number, number, column_name="d"))


def test_a_newer_record_of_another_index_replaces_the_older_record() -> None:
    assert merge_records(location("k", "old"), location("k", "new")) == location("k", "new")
    entry = MetadataRecord(
        key="v$k", record_type=RecordType.SECONDARY_INDEX, payload=SecondaryIndexEntry(is_deleted=True)
    )
    assert merge_records(replace(entry, payload=SecondaryIndexEntry()), entry) == entry
    assert without_deletions(entry) is None
    assert without_deletions(location("k", "new")) == location("k", "new")
    filter_of_file = FileBloomFilter(type_code="SIMPLE", timestamp="1", bloom_filter=b"", is_deleted=True)
    record = MetadataRecord(key="k", record_type=RecordType.BLOOM_FILTER, payload=filter_of_file)
    assert without_deletions(record) is None


def test_records_of_two_types_are_an_error() -> None:
    with pytest.raises(MalformedMetadataError, match="FILES and RECORD_INDEX"):
        merge_records(files("a", {}), location("a", "f"))
