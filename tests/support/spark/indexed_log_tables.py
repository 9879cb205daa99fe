"""Merge-on-read tables with a record index and a secondary index, and the content that the indexes must have."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH, encode_index_definitions
from hudi_table_services.hudi_format.metadata_table.keys import secondary_index_key
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize, partitioned_index_size
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from judges.hudi_rs import read_records
from judges.merge_on_read.key_indexes import assert_record_index_equals_rows
from support.metadata_table.built_tables import opened
from support.spark.log_tables import LogTable, new_log_table

SECONDARY = "secondary_index_by_v"
GROUPS = 2

_NOT_CALLED: Any = object()
"""Stands for the Spark session, which a build of a table without rows does not use."""


def new_indexed_table(
    base_path: Path, version: int, *, is_partitioned: bool = False, **options: str
) -> LogTable:
    """A table with the columns `NAMES` and without rows, whose metadata table has a record index.

    From version 8 on, the table also gets a secondary index on the column ``v`` if the record index is not
    partitioned.
    """
    table = new_log_table(base_path, version, hoodie__metadata__enable="true", **options)
    table.write([("seed", 0, "z", "seed", False)])
    table.write([], "delete_partition", options={"hoodie.datasource.write.partitions.to.delete": "z"})
    names = [RECORD_INDEX]
    if version > 6 and not is_partitioned:
        names.append(SECONDARY)
        stored = {**read_index_definitions(table.storage), SECONDARY: secondary_definition(version)}
        table.storage.write(PATH, encode_index_definitions(stored))
    build_indexes(table, names, is_partitioned=is_partitioned)
    return table


def secondary_definition(version: int) -> IndexDefinition:
    """The definition that Hudi writes for an index on the column ``v``."""
    return IndexDefinition(
        name=SECONDARY,
        index_type="secondary_index",
        function="identity",
        source_fields=("v",),
        options={},
        version="V2" if version == 9 else "V1",
    )


def build_indexes(table: LogTable, names: Sequence[str], *, is_partitioned: bool = False) -> None:
    """Build indexes of a table without rows."""
    settings = BuildSettings(
        record_index=RecordIndexSize(min_groups=GROUPS, max_groups=GROUPS),
        partitioned_index=replace(partitioned_index_size(), min_groups=GROUPS),
        is_partitioned_index=is_partitioned,
    )
    clock = SystemClock()
    access = TableAccess(storage=table.storage, clock=clock, config=read_table_config(table.storage))
    with FileSystemLock(table.storage, clock=clock) as lock:
        reader = DataFileReader(table.storage, _NOT_CALLED)
        build_metadata_table(access, names, settings, reader, lock)


def stored_secondary_keys(table: LogTable) -> set[str]:
    """The keys of the secondary index."""
    return {record.key for record in MetadataPartition(opened(table.storage), SECONDARY).records()}


def expected_secondary_keys(table: LogTable) -> set[str]:
    """The keys that the secondary index must have, from the rows that hudi-rs reads."""
    rows = read_records(table.base_path).to_pylist()
    return {secondary_index_key(row["v"], row["_hoodie_record_key"]) for row in rows}


def assert_indexes_equal_rows(table: LogTable, what: object = "") -> None:
    """The record index and the secondary index have exactly the entries of the rows."""
    assert_record_index_equals_rows(table.base_path, what)
    if SECONDARY in read_table_config(table.storage).metadata_partitions:
        assert stored_secondary_keys(table) == expected_secondary_keys(table), what
