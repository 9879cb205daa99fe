"""An overview of a table: rows, partitions, limits of file sizes, schemas, and the table lock."""

import json
from datetime import datetime, timedelta, timezone
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.overview.table_overview import FileTotals, LockHolder, SchemaVersion
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import FILE_SIZES_KEY
from hudi_table_services.options.writing import DEFAULT_LIMITS, recorded_limits, resolve_options
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.locks.storage_based_lock import LOCK_PATH, StorageBasedLock
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.overview.lock_holder import lock_holder
from hudi_table_services.tables.overview.partition_summaries import TableContents, read_contents
from hudi_table_services.tables.overview.schema_history import schema_history
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.archived_tables import History
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=str)
A, A2, B = FileGroupId("a", "f1"), FileGroupId("a", "f2"), FileGroupId("b", "f3")


def sizes(largest: int, small: int) -> dict[str, str]:
    limits = {"hoodie.parquet.max.file.size": largest, "hoodie.parquet.small.file.limit": small}
    return {FILE_SIZES_KEY: json.dumps(limits)}


def parquet(rows: int) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": list(range(rows))}), sink)
    return bytes(sink.getvalue())


def contents(history: History, **arguments: int) -> TableContents:
    return read_contents(history.storage, **arguments)


@VERSIONS
def test_partitions_are_summed_up(version: TableVersion) -> None:
    history = History(version)
    history.commits(1, A, A2, B, rows=10)
    (newest,) = history.commits(1, A, rows=11, extra={"airflow.request_id": "d/r/t"})
    found = contents(history)
    assert [each.partition_path for each in found.partitions] == ["a", "b"]
    assert found.partitions[0].totals == FileTotals(
        file_count=2, small_file_count=2, size_bytes=8, row_count=21, last_write=newest.requested_time
    )
    assert (found.totals.file_count, found.totals.row_count, found.totals.uncounted_files) == (3, 31, 0)
    assert found.totals.small_file_count == 2  # the small file in the other partition cannot be merged
    assert [file.is_small for files in found.files.values() for file in files].count(True) == 2
    assert found.last_write is not None
    assert (found.last_write[0], found.last_write[1].extra_metadata["airflow.request_id"]) == (
        newest,
        "d/r/t",
    )


@VERSIONS
def test_rows_of_archived_writes_are_counted_by_footers(version: TableVersion) -> None:
    history = History(version)
    for number in range(6):
        history.commits(1, FileGroupId("p", f"f{number}"), rows=7, data=parquet(7))
    history.archive()
    assert len(history.active()) == 2
    assert contents(history).totals.row_count == 42
    bounded = contents(history, footer_limit=3).totals
    assert (bounded.row_count, bounded.uncounted_files) == (14, 4)


def test_a_file_that_cannot_be_read_is_not_counted() -> None:
    history = History()
    for number in range(6):
        history.commits(1, FileGroupId("p", f"f{number}"), rows=7, data=parquet(7) if number else b"PAR1")
    history.archive()
    totals = contents(history).totals
    assert (totals.row_count, totals.uncounted_files) == (35, 1)


def test_files_are_judged_by_the_limits_that_the_newest_sizing_write_recorded() -> None:
    history = History()
    history.commits(1, A, A2)
    found = contents(history)
    assert (found.limits, found.totals.small_file_count) == (DEFAULT_LIMITS, 2)
    (second,) = history.commits(1, B, extra=sizes(5, 4))
    found = contents(history)
    assert (found.limits.small_file_limit_bytes, found.limits.recorded_by) == (4, second.requested_time)
    assert found.totals.small_file_count == 0
    history.commits(1, B, extra={FILE_SIZES_KEY: "no JSON"})
    assert contents(history).limits == found.limits


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "1", '{"hoodie.parquet.max.file.size":1}', sizes(4, 5)[FILE_SIZES_KEY]]
    + [sizes(*pair)[FILE_SIZES_KEY] for pair in ((0, 0), (True, 0), (5, -1))],
)
def test_limits_that_are_not_valid_are_ignored(text: str) -> None:
    assert recorded_limits({FILE_SIZES_KEY: text}, "t") is None


def test_writes_record_their_limits() -> None:
    options = {"hoodie.parquet.max.file.size": "120", "hoodie.parquet.small.file.limit": "0"}
    for operation in ("upsert", "insert", "bulk_insert", "insert_overwrite"):
        request = UpsertRequest(base_path="/t", operation=operation, options=options)
        noted = resolve_options(request).extra_metadata
        assert noted == {FILE_SIZES_KEY: sizes(120, 0)[FILE_SIZES_KEY].replace(" ", "")}
        limits = recorded_limits(noted, "t")
        assert limits is not None
        # Without padding, the target size decides which files are small.
        assert (limits.small_file_limit_bytes, limits.max_file_size_bytes) == (100, 120)
    delete = UpsertRequest(base_path="/t", operation="delete", options=options)
    assert resolve_options(delete).extra_metadata == {}


def record(*columns: tuple[str, object]) -> str:
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in columns]
    return json.dumps({"type": "record", "name": "r", "fields": fields})


@VERSIONS
def test_the_schema_history_names_the_changes_of_each_schema(version: TableVersion) -> None:
    history = History(version)
    first = record(("id", "string"), ("fare", "int"), ("old", "string"))
    second = record(("id", "string"), ("fare", "long"), ("new", {"type": "int", "logicalType": "date"}))
    begun = history.commits(4, A, schema=first)
    history.archive()
    (changed,) = history.commits(1, A, schema=second)
    history.commits(1, A, schema=None)
    found = schema_history(history.storage, history.table.timeline_store, load_snapshot(history.storage))
    assert [each.instant_time for each in found.versions] == [begun[0].requested_time, changed.requested_time]
    assert (found.is_whole, found.searched_writes) == (True, 6)
    last = found.versions[1]
    assert [(c.name, c.type, c.nullable) for c in last.columns] == [
        ("id", "string", True),
        ("fare", "long", True),
        ("new", "date", True),
    ]
    assert (last.added, last.removed, last.changed) == (("new",), ("old",), ("fare: int became long",))


def test_types_that_writes_refuse_are_shown_under_their_avro_names() -> None:
    history = History()
    history.commits(
        1, A, schema=record(("id", "string"), ("when", {"type": "int", "logicalType": "time-millis"}))
    )
    found = schema_history(history.storage, history.table.timeline_store, load_snapshot(history.storage))
    (shown,) = found.versions
    assert [(c.name, c.type) for c in shown.columns] == [("id", "string"), ("when", "time-millis")]
    assert shown == SchemaVersion(instant_time=shown.instant_time, operation="upsert", columns=shown.columns)


class TestLockHolder:
    storage: MemoryStorage

    @pytest.fixture(autouse=True)
    def table(self) -> None:
        self.storage = MemoryStorage(uuid4().hex)
        SmallTable(self.storage)

    def holder(self, later: timedelta = timedelta()) -> LockHolder | None:
        return lock_holder(self.storage, FixedClock(datetime.now(timezone.utc) + later))

    @pytest.mark.parametrize("lock", [FileSystemLock, StorageBasedLock])
    def test_a_lock_has_a_holder_until_it_is_released(self, lock: type) -> None:
        assert self.holder() is None
        with lock(self.storage, request_id="load flights/manual__1/upsert"):
            held = self.holder()
            assert held is not None
            assert held.owner
            assert held.request_id == "load flights/manual__1/upsert"
            assert not held.is_expired
            assert held.valid_until_ms is not None
            late = self.holder(timedelta(hours=1))
            assert late is not None
            assert late.is_expired
        assert self.holder() is None

    def test_a_file_system_lock_of_hudi_does_not_expire(self) -> None:
        self.storage.write(".hoodie/lock", b'{"lockThreadName":"main"}')
        held = self.holder(timedelta(days=1))
        assert held is not None
        assert (held.owner, held.request_id, held.valid_until_ms) == ("main", "", None)
        assert not held.is_expired

    @pytest.mark.parametrize("path", [".hoodie/lock", LOCK_PATH])
    def test_a_damaged_lock_is_reported(self, path: str) -> None:
        self.storage.write(path, b"{")
        held = self.holder()
        assert held is not None
        assert (held.path, bool(held.problem)) == (path, True)


def test_totals_without_files_are_zero() -> None:
    assert FileTotals.of([]) == FileTotals()
