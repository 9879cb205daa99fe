"""Compare indexes of a metadata table with live base files: record locations, bloom filters, ranges of partitions."""

import base64
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    FILES,
    RECORD_INDEX,
    file_group_number,
    partition_of_record_index_id,
)
from hudi_table_services.hudi_format.metadata_table.keys import bloom_filter_key, file_group_of
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    RecordLocation,
    StatValue,
    ValueTypeId,
)
from hudi_table_services.planning.metadata_table.secondary_indexes import is_secondary_index
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from judges.table_files import BLOOM_FILTER, footer

_ONE_GROUP = (FILES, "partition_stats")


def assert_locations(base_path: Path, table: MetadataTable, live: Iterable[FileSlice]) -> None:
    """The record index has exactly the keys of the live base files, each with the file group that contains the key.

    In a partitioned record index, a key may be in several partitions of the table.
    """
    partition = MetadataPartition(table, RECORD_INDEX)
    found = Counter(
        (record.key, record.payload.partition_path, record.payload.file_id)
        for record in partition.records()
        if isinstance(record.payload, RecordLocation)
    )
    places: Counter[tuple[str, str, str]] = Counter()
    for each in live:
        column = pq.read_table(
            base_path / str(each.base_file_path), columns=["_hoodie_record_key"], partitioning=None
        )
        group = each.file_group_id
        places.update((key, group.partition_path, group.file_id) for key in column[0].to_pylist())
    assert list((found - places).items())[:3] == [], (
        "the record index has keys or locations that no live file contains"
    )
    assert list((places - found).items())[:3] == [], "the record index lacks keys or locations"


def assert_bloom_filters(base_path: Path, table: MetadataTable, live: Iterable[FileSlice]) -> None:
    """Each live base file has the bloom filter of its footer."""
    files = {
        bloom_filter_key(each.file_group_id.partition_path, each.base_file.file_name): each
        for each in live
        if each.base_file is not None
    }
    found = MetadataPartition(table, BLOOM_FILTERS).find(files)
    for key, each in files.items():
        text = footer(base_path / str(each.base_file_path))[BLOOM_FILTER]
        record = found.get(key)
        assert record is not None, f"no bloom filter of {each.base_file_path}"
        assert isinstance(record.payload, FileBloomFilter)
        assert not record.payload.is_deleted, each.base_file_path
        stored = record.payload.bloom_filter
        assert stored in (text, base64.b64decode(text)), f"another bloom filter of {each.base_file_path}"


def assert_groups_of_keys(table: MetadataTable, partition: str) -> None:
    """Each key is in the file group that the hash of the key determines, and occurs once in it.

    `judges.secondary_indexes` checks secondary indexes, whose keys have other hashes.
    """
    if is_secondary_index(partition):
        return
    reader = MetadataPartition(table, partition)
    # The keys of each partition of the table are divided among the file groups of this partition.
    counts = Counter(partition_of_record_index_id(each.file_group_id.file_id) for each in reader.slices)
    assert counts.total() == 1 or partition not in _ONE_GROUP
    for each in reader.slices:
        keys = [record.key for record in reader.records_of(each, reader.changes_of(each))]
        file_id = each.file_group_id.file_id
        number, count = file_group_number(file_id), counts[partition_of_record_index_id(file_id)]
        wrong = [key for key in keys if file_group_of(key, count) != number]
        assert not wrong, f"{partition}: keys in the wrong file group {number}: {wrong[:3]}"
        assert max(Counter(keys).values(), default=1) == 1, partition


def assert_partition_ranges(
    table: MetadataTable, partition: str, files: Mapping[str, Iterable[ColumnStats]]
) -> None:
    """The range of each column of each partition contains the ranges of all live files of the partition.

    Args:
        partition: partition of the metadata table with the ranges.
        files: maps each partition of the table to the statistics of its live files.
    """
    stored = {
        (record.payload.file_name, record.payload.column_name): record.payload
        for record in MetadataPartition(table, partition).records()
        if isinstance(record.payload, ColumnStats)
    }
    assert stored
    for path, each in files.items():
        for stats in each:
            if stats.min_value is None or stats.max_value is None:
                continue
            whole = stored.get((path, stats.column_name))
            what = f"{stats.column_name} in {path}/{stats.file_name}"
            assert whole is not None, f"{what}: the partition has no range"
            assert not whole.is_deleted, what
            assert whole.min_value is not None, f"{what}: the range of the partition has no minimum"
            assert whole.max_value is not None, f"{what}: the range of the partition has no maximum"
            smallest, low, high, greatest = (
                _comparable(each, stats)
                for each in (whole.min_value, stats.min_value, stats.max_value, whole.max_value)
            )
            is_inside = smallest <= low and high <= greatest
            assert is_inside, f"{what}: [{stats.min_value}, {stats.max_value}] is outside of {whole}"


def _comparable(bound: StatValue, stats: ColumnStats) -> Any:
    """Convert the bound to a value that sorts in the order of the column's type."""
    value, value_type = bound.value, stats.value_type
    if isinstance(value, bytes) and value_type is not None and value_type.type_id == ValueTypeId.DECIMAL:
        return int.from_bytes(value, "big", signed=True)
    return value.encode() if isinstance(value, str) else value
