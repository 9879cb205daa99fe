"""Merge one slice of a table that real Hudi wrote, or that consists of cases that real Hudi answered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.base_file_writer import BloomSettings
from hudi_table_services.execution.compaction.merge_slice import CompactionJob
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.avro_schema import from_avro_json, to_avro_json
from hudi_table_services.hudi_format.partition_metadata import encode_partition_metadata
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.table.merge_rules import DELETE_FIELD, DELETE_MARKER, merge_rule
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.compaction.written_table import NORTH, Deleted, WrittenTable
from support.fixed_clock import FixedClock
from support.log_golden import PARTITION, LogTable, log_table
from support.log_merging.hudi_cases import KEY_COLUMN, HudiTable, as_slice
from support.log_merging.slices import Delete, Row

INSTANT = "20261231000000000"
OWNER = "request/attempt"
MEMORY = 64 << 20


def job_of(storage: Storage, settings: Mapping[str, str] | None = None, **changes: Any) -> CompactionJob:
    """Settings of the compaction `INSTANT` of a table. The heartbeat of this compaction names the attempt `OWNER`."""
    storage.write(heartbeat_path(INSTANT), OWNER.encode())
    config, snapshot = read_table_config(storage), load_snapshot(storage)
    schema = from_avro_json(snapshot.schema_json or "")
    own = config.table_version.layout.has_completion_time_in_names
    timeline = TimelineStore(storage, config, FixedClock()).load()
    rule = merge_rule(config, settings)
    job = CompactionJob(
        storage=storage,
        instant_time=INSTANT,
        attempt=OWNER,
        merging=LogMerging(
            rule=rule,
            visibility=Visibility.of(timeline, has_own_log_instants=own),
            defaults=column_defaults(rule, snapshot.schema_json or "", schema),
            memory_bytes=MEMORY,
        ),
        data_schema=arrow_schema(schema, with_meta_fields=False),
        avro_schema_json=to_avro_json(schema, config.table_name, with_meta_fields=True),
        parquet=ParquetFormat(),
        bloom=BloomSettings(),
        records_folder=".hoodie/.aux/records",
        names_previous_file=own,
    )
    return replace(job, **changes)


def golden_table(version: TableVersion, name: str) -> LogTable:
    """A table of real Hudi, with the file that makes its folder a partition. The archives do not contain that file."""
    table = log_table(version, name)
    metafile = encode_partition_metadata("0", 1, FixedClock().now())
    table.storage.write(f"{PARTITION}/.hoodie_partition_metadata", metafile)
    return table


def rows_in(storage: Storage, path: str) -> list[dict[str, Any]]:
    """Rows of a base file, by key."""
    rows = pq.ParquetFile(pa.BufferReader(storage.read(path))).read().to_pylist()
    return sorted(rows, key=lambda row: row[KEY_COLUMN])


def table_of_cases(each: HudiTable) -> tuple[WrittenTable, list[Instant]]:
    """A table with all cases in one file group: a base file, and a log file for each later commit.

    Returns:
        The table, and its delta commits in their order.
    """
    properties = {"hoodie.table.precombine.field": "ts", **each.properties}
    if each.version.layout.has_completion_time_in_names:
        properties = dict(each.properties)
    table = WrittenTable(
        MemoryStorage(uuid4().hex), each.version, more_properties=properties, has_ordering=False
    )
    found = as_slice(each)
    ((base, *_),) = [found.base]
    instants = [table.insert({NORTH: [_row(row) for row in base]})]
    # The slice has three blocks for each commit: rows, and deletes with and without ordering values.
    for first in range(0, len(found.blocks), 3):
        records = [
            _delete(record) if isinstance(record, Delete) else _row(record)
            for block in found.blocks[first : first + 3]
            for record in block
        ]
        instants.append(table.log({NORTH: records}))
    return table, instants


def delete_settings(each: HudiTable) -> dict[str, str]:
    """Settings for tables of version 6, which do not store the delete marker."""
    has_marker = each.name.endswith("_marker") and not each.version.layout.has_completion_time_in_names
    return {DELETE_FIELD: "op", DELETE_MARKER: "D"} if has_marker else {}


def _row(row: Row) -> Row:
    values = {name: value for name, value in row.items() if not name.startswith("_hoodie_commit")}
    return {**values, "id": row[KEY_COLUMN]}


def _delete(record: Delete) -> Deleted:
    return Deleted(record.key, *(record.ordering or ()))
