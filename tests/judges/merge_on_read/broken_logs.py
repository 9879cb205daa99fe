"""Changes of log files, plans and properties that break one rule, and jobs of the engine that die."""

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from hudi_table_services.execution.log_files.avro_data_block import AvroDataBlock
from hudi_table_services.execution.log_files.avro_encoder import encode_avro_block
from hudi_table_services.execution.log_files.block_schema import parse_block_schema
from hudi_table_services.hudi_format.log_blocks import BlockType, HeaderKey, LogBlock
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.model.table_service_plans import CompactionOperation
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from judges.merge_on_read.shared_log_tables import SharedTable
from judges.rows import KEY, Row
from judges.table_files import data_files, forget_checksum, timeline_folder
from support.compaction import jobs_here
from support.faulty_storage import Crash, FaultyStorage

_RECORD_KEY = "_hoodie_record_key"
ChangeBlock = Callable[[LogBlock], LogBlock]


def rows_changed(change: Callable[[list[Row]], list[Row]]) -> ChangeBlock:
    """Return a change of the rows of AVRO_DATA blocks; the rows have their meta columns."""

    def changed(block: LogBlock) -> LogBlock:
        if block.block_type != BlockType.AVRO_DATA:
            return block
        schema = block.headers[HeaderKey.SCHEMA]
        rows = AvroDataBlock(block.content, schema, "a block").read(parse_block_schema(schema).arrow)
        written = pa.Table.from_pylist(change(rows.to_pylist()), schema=rows.schema)
        return replace(block, content=encode_avro_block(written, schema))

    return changed


def with_row(added: Row) -> ChangeBlock:
    """Return a change that adds a row after the rows of a block; the meta columns are those of the block's last row."""

    def more(rows: list[Row]) -> list[Row]:
        return [*rows, {**rows[-1], **added, _RECORD_KEY: added[KEY]}]

    return rows_changed(more)


def only_columns(*names: str) -> ChangeBlock:
    """Return a change that makes a block of partial rows, as MERGE INTO writes them: meta columns and `names`.

    The changed block is not shorter, because readers compare the size of a log file with its delta commit.
    """

    def changed(block: LogBlock) -> LogBlock:
        whole = json.loads(block.headers[HeaderKey.SCHEMA])
        kept = [field for field in whole["fields"] if field["name"] in (*META_COLUMNS, *names)]
        schema = json.dumps({**whole, "fields": kept, "doc": "x" * len(block.content)})
        rows = AvroDataBlock(block.content, block.headers[HeaderKey.SCHEMA], "a block").read(
            parse_block_schema(schema).arrow
        )
        headers = {**block.headers, HeaderKey.SCHEMA: schema, HeaderKey.IS_PARTIAL: "true"}
        return replace(block, headers=headers, content=encode_avro_block(rows, schema))

    return changed


def set_property(base_path: Path, name: str, value: str | None) -> str | None:
    """Set or remove a property of the table, and return its earlier value."""
    path = base_path / ".hoodie" / "hoodie.properties"
    lines = path.read_text().splitlines()
    earlier = next((line.partition("=")[2] for line in lines if line.startswith(f"{name}=")), None)
    kept = [line for line in lines if not line.startswith(f"{name}=")]
    path.write_text("\n".join([*kept, *([] if value is None else [f"{name}={value}"])]) + "\n")
    forget_checksum(path)
    return earlier


# ---------------------------------------------------------------- compactions of the engine, without Spark


def we_schedule(base_path: Path, options: Mapping[str, str] | None = None) -> str:
    """Schedule a compaction, and return its requested time."""
    scheduled = jobs_here.schedule(LocalStorage(str(base_path)), SystemClock(), options)
    assert scheduled.instant_time, scheduled.reason
    return scheduled.instant_time


def we_execute(base_path: Path, storage: Storage | None = None) -> None:
    """Execute every pending plan. An execution without a heartbeat counts as dead."""
    jobs_here.execute(storage or LocalStorage(str(base_path)), SystemClock(), options=jobs_here.NOW)


def we_compact(base_path: Path) -> None:
    we_schedule(base_path)
    we_execute(base_path)


def plan_path(base_path: Path, instant_time: str) -> Path:
    return timeline_folder(base_path) / f"{instant_time}.compaction.requested"


def change_plan(
    base_path: Path, instant_time: str, change: Callable[[CompactionOperation], CompactionOperation]
) -> None:
    """Change every operation of a pending plan."""
    path = plan_path(base_path, instant_time)
    plan = decode_compaction_plan(path.read_bytes())
    path.write_bytes(encode_compaction_plan(replace(plan, operations=tuple(map(change, plan.operations)))))
    forget_checksum(path)


def without_log(name: str) -> Callable[[CompactionOperation], CompactionOperation]:
    """Return a change of a plan that leaves out one log file."""

    def changed(operation: CompactionOperation) -> CompactionOperation:
        return replace(operation, delta_file_paths=tuple(p for p in operation.delta_file_paths if p != name))

    return changed


# ---------------------------------------------------------------- jobs of the engine that die


def die_before_completing(table: SharedTable, rows: Sequence[Row]) -> None:
    """Stop a write when it would create its completed instant file. Its files and markers stay, its heartbeat ends."""
    with pytest.raises(Crash):
        table.write(rows, storage=_DyingAt(".deltacommit", LocalStorage(str(table.base_path))))
    _end_heartbeats(table.base_path)


def die_before_completing_a_compaction(base_path: Path) -> list[Path]:
    """Stop the execution of the pending plan before its commit, and return the base files that it left."""
    before = set(data_files(base_path))
    with pytest.raises(Crash):
        we_execute(base_path, _DyingAt(".commit", LocalStorage(str(base_path))))
    _end_heartbeats(base_path)
    left = sorted(set(data_files(base_path)) - before)
    assert left, "the dead execution left no files, so the test proves nothing"
    return left


class _DyingAt(FaultyStorage):
    def __init__(self, suffix: str, inner: Storage) -> None:
        super().__init__(inner)
        self._suffix = suffix

    def create(self, path: str, data: bytes) -> None:
        if path.endswith(self._suffix):
            self.has_crashed = True
            raise Crash
        super().create(path, data)


def _end_heartbeats(base_path: Path) -> None:
    """Remove heartbeats and lock, as if they had expired."""
    shutil.rmtree(base_path / ".hoodie" / ".heartbeat", ignore_errors=True)
    (base_path / ".hoodie" / "lock").unlink(missing_ok=True)
