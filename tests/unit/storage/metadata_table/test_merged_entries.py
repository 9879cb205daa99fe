"""The entries of a new base file are the merged records of its slice, whether they are copied or encoded anew."""

import pytest

from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES, RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.metadata_table import MetadataRecord, RecordType, SecondaryIndexEntry
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.checked_partition import CheckedPartition
from hudi_table_services.storage.metadata_table.counted_instants import counted_instants
from hudi_table_services.storage.metadata_table.file_format import read_file_format
from hudi_table_services.storage.metadata_table.group_files import named
from hudi_table_services.storage.metadata_table.merged_entries import merged_entries
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    location,
    moment,
)
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, whole_table

BY_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
NAME = "record-index-0000-0_0-1-0_20260101000000999.hfile"


def a_table(version: TableVersion) -> SmallMetadataTable:
    """A record index with a base file, and a log file that adds, replaces and deletes keys at many positions."""
    table = SmallMetadataTable(version, f"{FILES},{RECORD_INDEX}")
    old = [location(key, "old") for key in ("b", "d", "f", "h")]
    table.own(FIRST, files=[table.base(FIRST, [all_partitions()])])
    table.base(FIRST, old, RECORD_INDEX)
    new = [location(key, "new") for key in ("a", "b", "e", "f", "i")]
    time = moment(5)
    blocks = (table.records(time, *new), table.deletes(time, "d", "e", "z", partition=RECORD_INDEX))
    slice_time = FIRST if version is TableVersion.V6 else time
    table.log(slice_time, *blocks, partition=RECORD_INDEX)
    table.own(time)
    table.data(time)
    return table


def merged(table: SmallMetadataTable, partition: str, schema: str) -> list[tuple[bytes, bytes]]:
    metadata = table.open()
    [file_slice] = MetadataPartition(metadata, partition).slices
    return list(merged_entries(unchecked(metadata, partition), file_slice, schema, NAME))


def unchecked(metadata: MetadataTable, partition: str) -> CheckedPartition:
    counted = counted_instants(
        metadata.data_timeline, metadata.timeline, has_own_log_instants=metadata.has_own_log_instants
    )
    return CheckedPartition(table=metadata, name=partition, slices=(), counted=counted, log_instants={})


@BY_VERSION
def test_copied_entries_are_those_of_the_merged_records(version: TableVersion) -> None:
    table, schema = a_table(version), record_schema(version)
    codec = RecordFormat(schema)
    expected = [
        codec.encode(named(location(key, text), NAME))
        for key, text in (("a", "new"), ("b", "new"), ("f", "new"), ("h", "old"), ("i", "new"))
    ]
    assert merged(table, RECORD_INDEX, schema) == expected


def secondary(key: str, *, is_deleted: bool = False) -> MetadataRecord:
    return MetadataRecord(
        key=key, record_type=RecordType.SECONDARY_INDEX, payload=SecondaryIndexEntry(is_deleted)
    )


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=str)
def test_entries_of_a_secondary_index_are_copied_without_marks_of_deletions(version: TableVersion) -> None:
    name = "secondary_index_x"
    table = SmallMetadataTable(version, f"{FILES},{name}")
    table.own(FIRST, files=[table.base(FIRST, [all_partitions()])])
    table.base(FIRST, [secondary(key) for key in ("b$1", "b$2", "c$3")], name)
    time = moment(5)
    changed = [secondary("a$1"), secondary("b$2", is_deleted=True), secondary("d$4", is_deleted=True)]
    table.log(time, table.records(time, *changed), table.deletes(time, "b$1", partition=name), partition=name)
    table.own(time)
    table.data(time)
    codec = RecordFormat(record_schema(version))
    expected = [codec.encode(named(secondary(key), NAME)) for key in ("a$1", "c$3")]
    assert merged(table, name, codec.schema) == expected


def test_entries_with_another_schema_are_encoded_again() -> None:
    table, schema = a_table(TableVersion.V8), record_schema(TableVersion.V9)
    assert record_schema(TableVersion.V8) != schema
    codec = RecordFormat(schema)
    found = [codec.decode(entry) for entry in merged(table, RECORD_INDEX, schema)]
    assert [record.key for record in found] == ["a", "b", "f", "h", "i"]
    assert {record.base_file_name for record in found} == {NAME}


@BY_VERSION
def test_marks_of_deleted_files_are_left_out(version: TableVersion) -> None:
    table, schema = a_table(version), record_schema(version)
    time = moment(9)
    block = table.records(time, files("a", {"f": 1, "g": None}))
    table.own(time, files=[table.log(FIRST if version is TableVersion.V6 else time, block)])
    table.data(time)
    codec = RecordFormat(schema)
    [_, listed] = [codec.decode(entry).payload for entry in merged(table, FILES, schema)]
    assert listed == files("a", {"f": 1}).payload


@BY_VERSION
@pytest.mark.parametrize("name", NAMES)
def test_record_indexes_of_hudi_are_copied_without_a_difference(version: TableVersion, name: str) -> None:
    metadata = whole_table(version, name).metadata_table()
    for schema in (read_file_format(metadata).schema, record_schema(version)):
        codec = RecordFormat(schema)
        for partition in metadata.partitions:
            reader = MetadataPartition(metadata, partition)
            for each in reader.slices:
                records = reader.records_of(each, reader.changes_of(each))
                expected = [codec.encode(named(record, NAME)) for record in records]
                assert list(merged_entries(unchecked(metadata, partition), each, schema, NAME)) == expected


def test_an_error_names_the_damaged_file() -> None:
    table = SmallMetadataTable(TableVersion.V9, RECORD_INDEX)
    base = table.base(FIRST, [location("a", "f")], RECORD_INDEX)
    table.own(FIRST)
    path = f"{METADATA_TABLE}/{RECORD_INDEX}/{base}"
    content = table.storage.read(path)
    table.storage.write(path, content[:40] + bytes(20) + content[60:])
    with pytest.raises(CorruptTableError) as raised:
        merged(table, RECORD_INDEX, record_schema(TableVersion.V9))
    assert raised.value.path == path
