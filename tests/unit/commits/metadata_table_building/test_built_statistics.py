"""The statistics that this project builds from data files equal the statistics that real Hudi wrote for these files."""

import math
from collections.abc import Mapping

import pytest

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.metadata_table import index_definitions
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.model.metadata_table import ColumnStats, FileBloomFilter, MetadataRecord, StatValue
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from support.metadata_table.built_tables import build, drop, opened, records_in, table_with_statistics
from support.metadata_table.metadata_golden import RELEASES
from support.statistics_golden import StatisticsTable, statistics_table

EACH = pytest.mark.parametrize("version", list(RELEASES), ids=lambda version: f"v{version}")
WITH_PARTITION_STATS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=str)
ALL = {
    TableVersion.V6: (FILES, COLUMN_STATS),
    TableVersion.V8: (FILES, COLUMN_STATS, PARTITION_STATS),
    TableVersion.V9: (FILES, COLUMN_STATS, PARTITION_STATS),
}
NAN_COLUMN = "fare"


def theirs(table: StatisticsTable, partition: str) -> dict[str, MetadataRecord]:
    """The newest record of each key."""
    return {record.key: record for time in table.commits for record in table.records(partition, time)}


def stats_of(record: MetadataRecord) -> ColumnStats:
    assert isinstance(record.payload, ColumnStats)
    return record.payload


def without_nan(records: Mapping[str, MetadataRecord]) -> dict[str, MetadataRecord]:
    """Leave out the records of the column `fare` that have a bound of 0.0 or infinity.

    Hudi stores these wrong bounds if the column contains NaN.
    """
    return {
        key: record
        for key, record in records.items()
        if (stats := stats_of(record)).column_name != NAN_COLUMN
        or not {limit(stats.min_value), limit(stats.max_value)} & {0.0, math.inf}
    }


def limit(value: StatValue | None) -> object:
    return None if value is None else value.value


@EACH
def test_the_statistics_are_those_of_hudi(version: TableVersion) -> None:
    storage, golden = table_with_statistics(version), statistics_table(version)
    build(storage, *ALL[version])
    ours, expected = records_in(storage, COLUMN_STATS), theirs(golden, COLUMN_STATS)
    if version is TableVersion.V6:
        # Without partition_stats, a file with NaN has no statistics.
        assert expected.keys() > ours.keys()
        expected = {key: record for key, record in expected.items() if key in ours}
        assert {stats_of(r).file_name for r in ours.values()} != {None}
    assert without_nan(ours) == without_nan(expected)
    assert len(ours) > 20
    assert len(without_nan(ours)) >= len(ours) - 1


@WITH_PARTITION_STATS
def test_the_statistics_of_partitions_are_those_of_hudi(version: TableVersion) -> None:
    storage, golden = table_with_statistics(version), statistics_table(version)
    build(storage, *ALL[version])
    ours, expected = records_in(storage, PARTITION_STATS), theirs(golden, PARTITION_STATS)
    assert ours.keys() == expected.keys()
    assert without_nan(ours) == without_nan(expected)
    assert len(without_nan(ours)) == len(ours) - 1


@EACH
def test_the_default_partitions_are_those_of_hudi(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    result = build(storage)
    expected = (FILES,) if version is TableVersion.V6 else ALL[version]
    assert tuple(built.name for built in result.partitions) == expected
    config = read_table_config(storage)
    assert config.metadata_partitions == tuple(sorted(expected))
    assert config.properties["hoodie.table.metadata.partitions.inflight"] == ""


@WITH_PARTITION_STATS
def test_the_definition_of_the_index_is_that_of_hudi(version: TableVersion) -> None:
    storage, golden = table_with_statistics(version), statistics_table(version)
    build(storage)
    path = read_table_config(storage).properties["hoodie.table.index.defs.path"]
    stored = index_definitions.decode_index_definitions(storage.read(path))
    assert stored == {COLUMN_STATS: golden.column_stats_definition}


def test_version_6_has_no_definitions() -> None:
    storage = table_with_statistics(TableVersion.V6)
    build(storage, *ALL[TableVersion.V6])
    assert not storage.exists(index_definitions.PATH)
    assert "hoodie.table.index.defs.path" not in read_table_config(storage).properties


@EACH
def test_each_file_group_exists_even_without_records(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage, FILES, BLOOM_FILTERS)
    names = [f.name for f in storage.list_files(f"{METADATA_TABLE}/{BLOOM_FILTERS}")]
    assert len([name for name in names if ".log.1_0-0-0" in name]) == 4
    assert len({name.partition("_")[0].lstrip(".") for name in names if "bloom-filters" in name}) == 4


@EACH
def test_bloom_filters_are_those_in_the_footers(version: TableVersion) -> None:
    storage, golden = table_with_statistics(version), statistics_table(version)
    build(storage, FILES, BLOOM_FILTERS)
    found = [r.payload for r in records_in(storage, BLOOM_FILTERS).values()]
    footers = [file.metadata.metadata[b"org.apache.hudi.bloomfilter"] for file in golden.data_files.values()]
    assert sorted(p.bloom_filter for p in found if isinstance(p, FileBloomFilter)) == sorted(footers)
    assert len(footers) == len(golden.data_files)


@WITH_PARTITION_STATS
def test_a_new_index_leaves_the_other_partitions_of_the_metadata_table_unchanged(
    version: TableVersion,
) -> None:
    storage = table_with_statistics(version)
    build(storage, FILES)
    before = {f.path for f in storage.list_files(f"{METADATA_TABLE}/{FILES}")}
    result = build(storage, PARTITION_STATS)
    assert [built.name for built in result.partitions] == [COLUMN_STATS, PARTITION_STATS]
    assert not result.is_whole
    assert {f.path for f in storage.list_files(f"{METADATA_TABLE}/{FILES}")} == before
    assert read_table_config(storage).metadata_partitions == (COLUMN_STATS, FILES, PARTITION_STATS)
    times = [i.requested_time for i in opened(storage).timeline.completed]
    assert times == ["00000000000000000", "00000000000000001", "00000000000000002"]
    expected = theirs(statistics_table(version), PARTITION_STATS)
    assert without_nan(records_in(storage, PARTITION_STATS)) == without_nan(expected)


@WITH_PARTITION_STATS
def test_a_build_with_other_columns_replaces_the_index(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage)
    settings = BuildSettings(columns=("ts", "inner.depth", "tags"))
    result = build(storage, COLUMN_STATS, settings=settings)
    assert [built.name for built in result.partitions] == [COLUMN_STATS, PARTITION_STATS]
    meta = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
    for partition in (COLUMN_STATS, PARTITION_STATS):
        columns = {stats_of(r).column_name for r in records_in(storage, partition).values()}
        assert columns == {*meta, "ts", "inner.depth"}
    definitions = index_definitions.decode_index_definitions(storage.read(index_definitions.PATH))
    assert definitions[COLUMN_STATS].source_fields == (*meta, "ts", "inner.depth")
    build(storage, COLUMN_STATS)
    definitions = index_definitions.decode_index_definitions(storage.read(index_definitions.PATH))
    assert definitions[COLUMN_STATS].source_fields == (*meta, "ts", "inner.depth")


def test_a_number_of_columns_limits_the_index() -> None:
    storage = table_with_statistics(TableVersion.V9)
    build(storage, settings=BuildSettings(max_columns=2))
    definitions = index_definitions.decode_index_definitions(storage.read(index_definitions.PATH))
    assert definitions[COLUMN_STATS].source_fields[3:] == ("id", "ts")


def test_version_6_refuses_a_list_of_columns() -> None:
    storage = table_with_statistics(TableVersion.V6)
    with pytest.raises(InvalidRequestError, match="do not store which columns"):
        build(storage, COLUMN_STATS, settings=BuildSettings(columns=("ts",)))
    assert metadata_files(storage) == []


@WITH_PARTITION_STATS
def test_a_drop_removes_the_statistics_and_keeps_the_list_of_files(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage)
    assert drop(storage, COLUMN_STATS) == (COLUMN_STATS, PARTITION_STATS)
    assert read_table_config(storage).metadata_partitions == (FILES,)
    assert not [path for path in metadata_files(storage) if "stats" in path]
    assert records_in(storage, FILES)
    assert drop(storage, COLUMN_STATS) == ()
    build(storage, COLUMN_STATS)
    assert len(opened(storage).timeline.completed) == 4
    assert drop(storage, FILES) == (COLUMN_STATS, FILES)
    assert metadata_files(storage) == []


def metadata_files(storage: Storage) -> list[str]:
    return [stored.path for stored in storage.list_files(METADATA_TABLE)]
