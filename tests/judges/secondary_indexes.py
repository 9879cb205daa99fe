"""Secondary indexes of tables of real Hudi: definitions, filters that use them, and a comparison with the rows."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.hudi_format.metadata_table.file_groups import file_group_number
from hudi_table_services.hudi_format.metadata_table.java_numbers import java_texts
from hudi_table_services.hudi_format.metadata_table.keys import (
    file_group_of,
    parse_secondary_index_key,
    secondary_index_key,
    secondary_index_prefix,
)
from hudi_table_services.model.metadata_table import SecondaryIndexEntry
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from judges.hudi_judge import HudiJudge
from judges.hudi_rs import read_records
from judges.oracle import Oracle
from judges.rows import ALL_TYPES, KEY, PARTITION, Model, Row

TYPES = pa.schema(
    [
        ALL_TYPES.field(name)
        for name in (KEY, PARTITION, "ts", "double", "float", "text", "int", "long", "date", "instant")
    ]
)
COLUMNS = ("text", "int", "long", "float", "double", "date", "instant", "ts")
"""Columns that get a secondary index, one of each supported type. Many rows have the same `ts`."""
SETTINGS = {
    "hoodie.index.type": "RECORD_INDEX",
    "hoodie.metadata.enable": "true",
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.metadata.global.record.level.index.enable": "true",
    "hoodie.metadata.record.index.min.filegroup.count": "3",
    "hoodie.metadata.global.record.level.index.min.filegroup.count": "3",
    "hoodie.embed.timeline.server": "true",
}
_SKIPPING = {**SETTINGS, "hoodie.enable.data.skipping": "true"}
_LOCK = {"hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider"}
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FLOATING = ("float", "double")


def index_name(column: str) -> str:
    """Name of the partition of the metadata table that contains the index on the column."""
    return f"secondary_index_by_{column}"


def create_indexes(
    judge: HudiJudge, base_path: Path, oracle: Oracle, columns: Iterable[str] = COLUMNS, **more: str
) -> None:
    """Let Hudi define and build secondary indexes."""
    settings = {**oracle.options("t"), **SETTINGS, **_LOCK, **more}
    settings.pop("hoodie.table.name")
    name = judge.new_table_name()
    judge.sql(f"create table {name} using hudi location '{base_path}'")
    for column in columns:
        judge.sql(f"create index by_{column} on {name} (`{column}`)", settings=settings)


def assert_indexes_equal_rows(base_path: Path, expected: Sequence[str] = COLUMNS) -> None:
    """Each index has exactly the entries of the rows in the live files, each in its file group."""
    storage = LocalStorage(str(base_path))
    config = read_table_config(storage)
    found = {name for name in config.metadata_partitions if name.startswith("secondary_index_")}
    assert found == {index_name(column) for column in expected}
    table = open_metadata_table(storage, config, SystemClock())
    definitions = read_index_definitions(storage)
    rows = _rows(base_path, storage)
    for column in expected:
        name = index_name(column)
        is_by_value = definitions[name].version == "V2"
        assert is_by_value == (config.table_version == 9)
        groups = _groups_of_keys(MetadataPartition(table, name))
        found_keys = {key for key in groups if not _is_text_of_other_java(key, column)}
        wanted = {secondary_index_key(_text(row[column], column), row["_hoodie_record_key"]) for row in rows}
        missing, extra = wanted - found_keys, found_keys - wanted
        assert found_keys == wanted, (
            f"{name}: {len(missing)} missing, {len(extra)} extra: {sorted(missing)[:5]}, {sorted(extra)[:5]}"
        )
        count = len(MetadataPartition(table, name).slices)
        for key, number in groups.items():
            prefix = secondary_index_prefix(parse_secondary_index_key(key)[0])
            hashed = prefix if is_by_value else key
            assert number == file_group_of(hashed, count), f"{name}: {key!r} is in a wrong file group"


def assert_filters(judge: HudiJudge, base_path: Path, model: Model, columns: Sequence[str] = COLUMNS) -> None:
    """With the indexes, filters of Hudi on their columns select the rows of the model."""
    name = judge.new_table_name()
    selects, expected = [], set()
    for column in columns:
        rows = sorted((row for row in model.values() if row[column] is not None), key=lambda row: row[KEY])
        values = [row[column] for row in (*rows[:2], rows[-1])]
        literals = [literal(value, column) for value in values]
        for condition, wanted in (
            (f"`{column}` = {literals[0]}", values[:1]),
            (f"`{column}` in ({', '.join(literals)})", values),
        ):
            label = f"{column}-{len(wanted)}"
            selects.append(f"select '{label}' as label, `{KEY}` as found from {name} where {condition}")
            expected |= {(label, key) for key, row in model.items() if row[column] in wanted}
    judge.sql(f"create table {name} using hudi location '{base_path}'")
    found = judge.sql(" union all ".join(selects), settings=_SKIPPING)
    assert sorted((row["label"], row["found"]) for row in found) == sorted(expected)


def _rows(base_path: Path, storage: LocalStorage) -> list[Row]:
    rows: list[Row] = []
    slices = load_snapshot(storage, metadata_enable=False).all_slices
    if any(found.log_files for found in slices):
        rows = read_records(base_path).to_pylist()
        assert rows
        return rows
    for found in slices:
        if found.base_file_path is not None:
            rows += pq.read_table(base_path / found.base_file_path, partitioning=None).to_pylist()
    assert rows
    return rows


def _groups_of_keys(partition: MetadataPartition) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for file_slice in partition.slices:
        number = file_group_number(file_slice.file_group_id.file_id)
        assert number is not None
        for record in partition.records_of(file_slice, partition.changes_of(file_slice)):
            assert record.key not in found, f"{record.key!r} is in two file groups"
            assert record.payload == SecondaryIndexEntry()
            found[record.key] = number
    return found


def _is_text_of_other_java(key: str, column: str) -> bool:
    """Whether a number in an entry has the format of Java 19. Hudi runs here on Java 17, whose format differs."""
    value, _ = parse_secondary_index_key(key)
    if column not in _FLOATING or value is None:
        return False
    return value != java_texts(float(value), is_single=column == "float")[-1]


def _text(value: Any, column: str) -> str | None:
    """Return the string for a value in the keys of an index."""
    if value is None or isinstance(value, str):
        return value
    if column in _FLOATING:
        return java_texts(value, is_single=column == "float")[-1]
    if isinstance(value, dt.datetime):
        return str((value - _EPOCH) // dt.timedelta(microseconds=1))
    if isinstance(value, dt.date):
        return str((value - _EPOCH.date()).days)
    return str(value)


def literal(value: Any, column: str = "") -> str:
    """The value in SQL."""
    if isinstance(value, dt.datetime):
        return f"timestamp'{value.isoformat(' ').removesuffix('+00:00')}'"
    if isinstance(value, dt.date):
        return f"date'{value}'"
    if column in _FLOATING:
        return f"{column}('{value!r}')"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)
