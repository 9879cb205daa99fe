"""One execution of a plan, without rows: readers never see rows twice, whatever other jobs do with the instant."""

from contextlib import suppress
from uuid import uuid4

import pytest

from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.errors import ExecutionFailedError, InstantVanishedError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.jobs.clustering.cancel import finish_cancellations
from hudi_table_services.jobs.clustering.schedule import schedule_clustering
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.snapshot_loader import load_snapshot
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.table import TableAccess
from support.small_tables import SmallTable, base_file_name

SCHEMA = '{"type":"record","name":"r","fields":[{"name":"k","type":"string"}]}'
OLD = {"a": ("a0-0", "a1-0")}
VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)


class Planned:
    """A table of two files with a plan that merges them into one."""

    def __init__(self, version: TableVersion) -> None:
        self.table = SmallTable(MemoryStorage(uuid4().hex), version)
        self.table.commit(*(FileGroupId("a", i) for i in OLD["a"]), schema=SCHEMA)
        request = ScheduleClusteringRequest(base_path="/t")
        schedule_clustering(request, storage=self.table.storage, clock=self.table.clock)
        (self.plan,) = self.table.timeline_store.load().pending
        self.access = TableAccess(
            storage=self.table.storage, clock=self.table.clock, config=self.table.config
        )

    def attempt(self) -> ClusteringAttempt:
        return ClusteringAttempt(
            self.access, self.plan, FileSystemLock(self.table.storage), request_id="mine"
        )

    def write(self, file_id: str) -> str:
        """Write a marker, then the file, as a task does."""
        path = f"a/{base_file_name(file_id, self.plan.requested_time)}"
        self.mark(path)
        self.table.storage.write(path, b"PAR1")
        return path

    def mark(self, path: str) -> None:
        MarkerStore(self.table.storage, self.plan.requested_time).mark(path, MarkerKind.CREATE)

    def complete(self, attempt: ClusteringAttempt, path: str) -> None:
        stat = WriteStat(file_id="new-0", partition_path="a", path=path, file_size_bytes=4)
        metadata = CommitMetadata(
            operation_type=WriteOperation.CLUSTER,
            partition_to_write_stats={"a": (stat,)},
            extra_metadata={"schema": SCHEMA},
            partition_to_replace_file_ids=OLD,
        )
        attempt.complete(load_snapshot(self.table.storage), lambda _: metadata)

    def begin_rollback(self) -> None:
        """Leave what a cancellation leaves that died after requesting its rollback."""
        plan = plan_rollback(self.plan, (), self.table.storage.base_path)
        self.table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))

    def clear_as_the_next_write_does(self) -> None:
        lock = FileSystemLock(self.table.storage)
        clear_pending_writes(self.access, lock, "other", FailedWritesPolicy.LAZY)

    def seen(self) -> list[str]:
        return [s.file_group_id.file_id for s in load_snapshot(self.table.storage).all_slices]

    def files(self) -> list[str]:
        return [f.path for f in self.table.storage.list_files("a") if f.path.endswith(".parquet")]


@pytest.fixture
def planned(version: TableVersion) -> Planned:
    return Planned(version)


@VERSIONS
def test_a_plan_that_is_being_cancelled_is_not_taken(planned: Planned) -> None:
    planned.begin_rollback()
    with pytest.raises(InstantVanishedError, match="was begun and has not been finished"), planned.attempt():
        pass
    assert planned.seen() == list(OLD["a"])


@VERSIONS
@pytest.mark.parametrize("kind", ["without a plan", "overtaken"])
def test_a_removed_rollback_does_not_keep_a_plan_from_being_executed(planned: Planned, kind: str) -> None:
    table = planned.table
    content = b""
    if kind == "overtaken":
        first = table.timeline_store.load().completed_writes[0]
        content = encode_rollback_plan(plan_rollback(first, (), table.storage.base_path))
        table.commit(FileGroupId("b", "f9-0"))
    table.timeline_store.request(Action.ROLLBACK, content)
    finish_cancellations(planned.access, FileSystemLock(table.storage), "mine", 60)
    assert table.timeline_store.load().pending == (planned.plan,)


@VERSIONS
def test_a_plan_whose_cancellation_begins_meanwhile_is_not_completed(planned: Planned) -> None:
    def execute() -> None:
        with planned.attempt() as attempt:
            path = planned.write("new-0")
            planned.begin_rollback()
            planned.complete(attempt, path)

    with pytest.raises(InstantVanishedError, match="was begun and has not been finished"):
        execute()
    planned.clear_as_the_next_write_does()
    assert planned.seen() == list(OLD["a"])
    assert len(planned.files()) == 2


@VERSIONS
def test_a_completed_clustering_is_not_undone_by_a_rollback_that_was_begun_before(planned: Planned) -> None:
    """Hudi may begin such a rollback, since it ignores heartbeats of this project."""
    with planned.attempt() as attempt:
        planned.complete(attempt, planned.write("new-0"))
    planned.begin_rollback()
    planned.clear_as_the_next_write_does()
    assert planned.seen() == ["new-0"]


@VERSIONS
def test_a_leftover_without_a_marker_does_not_become_data(planned: Planned) -> None:
    """Its task was killed after the first execution had been cleared, before it could remove the file."""
    stray = f"a/{base_file_name('zombie-0', planned.plan.requested_time)}"
    with suppress(ExecutionFailedError), planned.attempt():
        planned.mark(stray)
        raise ExecutionFailedError("another task failed")
    planned.table.storage.write(stray, b"half a file")
    with planned.attempt() as attempt:
        planned.complete(attempt, planned.write("new-0"))
    assert planned.seen() == ["new-0"]
    assert stray not in planned.files()


@VERSIONS
def test_files_of_another_executor_of_the_same_plan_are_left_alone(planned: Planned) -> None:
    """Hudi executes plans without reading heartbeats, and deletes files that it considers leftovers."""

    def execute() -> None:
        with planned.attempt() as attempt:
            path = planned.write("new-0")
            planned.table.storage.delete(path)
            planned.write("theirs-0")
            planned.complete(attempt, path)

    with pytest.raises(InstantVanishedError, match="is gone: another job removed it"):
        execute()
    assert any("theirs-0" in path for path in planned.files())
    (pending,) = planned.table.timeline_store.load().pending
    assert pending.state is InstantState.INFLIGHT
