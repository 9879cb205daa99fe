"""Files of real metadata tables are read into the expected values, and written back as Hudi wrote them."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.trailer import Flavour, flavour_of
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.metadata_table import file_groups, keys
from hudi_table_services.hudi_format.metadata_table.deleted_keys import encode_deleted_keys
from hudi_table_services.hudi_format.metadata_table.log_file import (
    DeletedKeysBlock,
    RollbackBlock,
    decode_log_file,
    encode_deleted_keys_block,
    encode_first_block,
    encode_rollback_block,
)
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.hudi_format.metadata_table.stat_values import decimal_of_bytes
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileBloomFilter,
    Listing,
    MetadataRecord,
    RecordLocation,
    RecordType,
    StatKind,
    StatValue,
    ValueType,
)
from hudi_table_services.model.table_version import TableVersion
from support.metadata_table.metadata_golden import GoldenTable, golden_table

VERSIONS = (TableVersion.V6, TableVersion.V8, TableVersion.V9)
EACH = pytest.mark.parametrize("table", [golden_table(v) for v in VERSIONS], ids=[f"v{v}" for v in VERSIONS])
TYPES_OF = {
    "files": {RecordType.ALL_PARTITIONS, RecordType.FILES},
    "column_stats": {RecordType.COLUMN_STATS},
    "bloom_filters": {RecordType.BLOOM_FILTER},
    "record_index": {RecordType.RECORD_INDEX},
    "partition_stats": {RecordType.PARTITION_STATS},
    "secondary_index_names": {RecordType.SECONDARY_INDEX},
}
GROUP_COUNTS = {"column_stats": 2, "bloom_filters": 4, "record_index": 2}


def records(reader: HFileReader) -> list[MetadataRecord]:
    read = RecordFormat(reader.schema)
    return [read.decode(entry) for entry in reader.entries()]


def all_records(table: GoldenTable) -> Iterator[tuple[str, MetadataRecord]]:
    for name, reader in table.hfiles():
        yield from ((name, record) for record in records(reader))


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_descriptions(value) for key, value in schema.items() if key != "doc"}
    return [without_descriptions(item) for item in schema] if isinstance(schema, list) else schema


@EACH
def test_the_golden_files_have_every_kind_of_file_and_record(table: GoldenTable) -> None:
    found = {record.record_type for _, record in all_records(table)}
    expected = set(RecordType)
    if table.version is TableVersion.V6:
        expected -= {RecordType.PARTITION_STATS, RecordType.SECONDARY_INDEX}
    assert found == expected
    assert len(table.base_files) == (4 if table.version is TableVersion.V6 else 6)


@EACH
def test_records_lie_in_the_partition_of_their_type(table: GoldenTable) -> None:
    for name, record in all_records(table):
        assert record.record_type in TYPES_OF[name.partition("/")[0]]


@EACH
def test_records_are_written_back_byte_by_byte_with_our_text_of_the_schema(table: GoldenTable) -> None:
    ours = RecordFormat(record_schema(table.version))
    for _, reader in table.hfiles():
        read = RecordFormat(reader.schema)
        for entry in reader.entries():
            assert ours.encode(read.decode(entry)) == entry


@EACH
def test_our_text_of_the_schema_is_that_of_hudi_without_descriptions(table: GoldenTable) -> None:
    ours = json.loads(record_schema(table.version))
    for _, reader in table.hfiles():
        assert without_descriptions(json.loads(reader.schema)) == ours


@EACH
def test_base_files_name_their_greatest_key_and_records_name_their_base_file(table: GoldenTable) -> None:
    for name, data in table.base_files.items():
        reader = open_hfile(data, name)
        found = records(reader)
        assert reader.file_info["minRecordKey"].decode() == found[0].key
        assert reader.file_info["maxRecordKey"].decode() == found[-1].key
        assert {record.base_file_name for record in found} == {name.partition("/")[2]}


@EACH
def test_each_key_of_a_real_file_is_found(table: GoldenTable) -> None:
    for _, reader in table.hfiles():
        entries = list(reader.entries())
        assert list(reader.find([key for key, _ in entries])) == entries
        for entry in entries:
            assert list(reader.find([entry[0]])) == [entry]
            assert entry in list(reader.find_prefixes([entry[0][:3]]))


@EACH
def test_our_file_of_the_same_entries_has_the_same_index_and_file_info(table: GoldenTable) -> None:
    flavour = flavour_of(table.version)
    for name, reader in table.hfiles():
        is_base_file = name.endswith(".hfile")
        options = HFileOptions(schema=reader.schema, flavour=flavour, is_base_file=is_base_file)
        ours = open_hfile(encode_hfile(reader.entries(), options), "ours")
        left_out = {"hfile.CREATE_TIME_TS", "bloomFilterTypeCode"}
        theirs = {key: value for key, value in reader.file_info.items() if key not in left_out}
        assert ours.file_info == theirs
        if flavour is Flavour.HBASE:  # Hudi's native writer stores another number in this field
            assert ours.trailer.data_index_bytes == reader.trailer.data_index_bytes
        assert list(ours.entries()) == list(reader.entries())


@EACH
def test_keys_are_computed_from_the_values(table: GoldenTable) -> None:
    partitions = list(table.expected["files"])
    checked: Counter[RecordType] = Counter()
    for _, record in all_records(table):
        payload = record.payload
        if isinstance(payload, ColumnStats) and record.record_type is RecordType.PARTITION_STATS:
            expected = {keys.partition_stats_key(str(payload.column_name), str(payload.file_name))}
        elif isinstance(payload, ColumnStats):
            names = str(payload.column_name), str(payload.file_name)
            expected = {keys.column_stats_key(names[0], partition, names[1]) for partition in partitions}
        elif record.record_type is RecordType.ALL_PARTITIONS:
            expected = {keys.ALL_PARTITIONS}
        elif isinstance(payload, Listing):
            expected = {keys.files_key(partition) for partition in partitions}
        else:
            continue
        checked[record.record_type] += 1
        assert record.key in expected
    assert len(checked) == (3 if table.version is TableVersion.V6 else 4)


@EACH
def test_bloom_filters_are_those_of_the_files(table: GoldenTable) -> None:
    partitions, files = list(table.expected["files"]), set[str]()
    for _, record in all_records(table):
        if record.record_type is RecordType.FILES:
            assert isinstance(record.payload, Listing)
            files |= record.payload.files.keys()
    known = {keys.bloom_filter_key(partition, name): name for partition in partitions for name in files}
    found = [record for _, record in all_records(table) if record.record_type is RecordType.BLOOM_FILTER]
    assert found
    for record in found:
        assert isinstance(record.payload, FileBloomFilter)
        if record.key in known:
            assert BaseFile.from_file_name(known[record.key]).instant_time == record.payload.timestamp
    assert {record.key for record in found} & known.keys()


@EACH
def test_keys_lie_in_the_file_group_that_their_hash_names(table: GoldenTable) -> None:
    checked: Counter[str] = Counter()
    for name, record in all_records(table):
        partition, _, file_name = name.partition("/")
        hashed, count = record.key, GROUP_COUNTS.get(partition, 1)
        if partition == "secondary_index_names":
            count = 2
            value, _ = keys.parse_secondary_index_key(record.key)
            hashed = keys.secondary_index_prefix(value) if table.version is TableVersion.V9 else record.key
        number = file_groups.file_group_number(file_id_of(file_name))
        if partition in GROUP_COUNTS or partition.startswith("secondary"):
            checked[partition] += 1
            if partition == "secondary_index_names" and table.version is not TableVersion.V9:
                continue
            assert keys.file_group_of(hashed, count) == number, (name, record.key)
    assert len(checked) >= 3


def file_id_of(name: str) -> str:
    parse = LogFile.from_file_name if name.startswith(".") else BaseFile.from_file_name
    return parse(name).file_id


@EACH
def test_the_newest_lists_of_files_have_the_sizes_of_the_files(table: GoldenTable) -> None:
    listed: dict[str, int] = {}
    for _, record in all_records(table):
        if record.record_type is RecordType.FILES:
            assert isinstance(record.payload, Listing)
            listed |= {n: f.size_bytes for n, f in record.payload.files.items() if not f.is_deleted}
    there = {name: size for files in table.expected["files"].values() for name, size in files.items()}
    common = listed.keys() & there.keys()
    assert len(common) >= 2
    assert {name: listed[name] for name in common} == {name: there[name] for name in common}


@EACH
def test_the_record_index_locates_rows(table: GoldenTable) -> None:
    rows = {row["id"]: row for row in table.expected["rows"]}
    checked = 0
    for _, record in all_records(table):
        if isinstance(record.payload, RecordLocation) and record.key in rows:
            row = rows[record.key]
            assert record.payload.partition_path == row["_hoodie_partition_path"]
            assert row["_hoodie_file_name"].startswith(record.payload.file_id + "_")
            checked += 1
    assert checked >= 2


@EACH
def test_statistics_have_the_values_of_each_type(table: GoldenTable) -> None:
    found: dict[str, ColumnStats] = {}
    for _, record in all_records(table):
        payload = record.payload
        if isinstance(payload, ColumnStats) and not payload.is_deleted:
            found[str(payload.column_name)] = payload
    kinds = {name: stats.min_value.kind for name, stats in found.items() if stats.min_value}
    plain = {
        "id": StatKind.STRING,
        "ts": StatKind.LONG,
        "flag": StatKind.BOOLEAN,
        "count": StatKind.INT,
        "fare": StatKind.DOUBLE,
        "weight": StatKind.FLOAT,
        "raw": StatKind.BYTES,
        "at": StatKind.LONG,
        "name": StatKind.STRING,
    }
    assert {name: kind for name, kind in kinds.items() if name in plain}.items() <= plain.items()
    assert len(kinds.keys() & plain.keys()) >= 5
    nothing = found.get("nothing")
    assert nothing is None or (nothing.min_value is None and nothing.null_count == nothing.value_count)


def test_version_9_has_types_of_values_and_decimals_as_unscaled_bytes() -> None:
    stats = {
        payload.column_name: payload
        for _, record in all_records(golden_table(TableVersion.V9))
        if isinstance(payload := record.payload, ColumnStats)
        and record.record_type is RecordType.PARTITION_STATS
        and payload.file_name == "south"
    }
    price = stats["price"]
    assert price.value_type == ValueType(10, "20,2")
    assert price.is_tight_bound
    assert isinstance(price.min_value, StatValue)
    assert isinstance(price.min_value.value, bytes)
    assert str(decimal_of_bytes(price.min_value.value, 2)) == "-37.66"
    types = {"flag": 2, "count": 3, "ts": 4, "weight": 5, "fare": 6, "name": 7, "raw": 8, "day": 12, "at": 16}
    assert {name: stats[name].value_type for name in types} == {
        name: ValueType(number) for name, number in types.items()
    }


@EACH
def test_blocks_without_records_are_written_as_hudi_wrote_them(table: GoldenTable) -> None:
    schema = next(reader.schema for _, reader in table.hfiles())
    kinds: Counter[str] = Counter()
    for name, data in table.log_files.items():
        for block in decode_log_file(data, name):
            if isinstance(block, RollbackBlock):
                kinds["rollback"] += 1
                # Hudi writes the headers in another order.
                encoded = encode_rollback_block(block.instant_time, block.target_instant_time)
                assert sorted(encoded) == sorted(data)
                assert list(decode_log_file(encoded, name)) == [block]
            elif isinstance(block, DeletedKeysBlock) and not block.keys:
                kinds["first"] += 1
                assert encode_first_block(block.instant_time) == data
            elif isinstance(block, DeletedKeysBlock) and data.count(b"#HUDI#") == 1:
                kinds["deleted"] += 1
                partition = name.partition("/")[0]
                encoded = encode_deleted_keys_block(block.keys, partition, block.instant_time, schema)
                assert sorted(encoded) == sorted(data)
                assert encode_deleted_keys(block.keys, partition) in data
    assert kinds["first"] == len(table.base_files)
    assert kinds["deleted"] >= 1
    assert bool(kinds["rollback"]) == (table.version is TableVersion.V6)
