"""Executions of one plan that interleave: two attempts of this project, or Hudi beside an attempt of this project."""

from collections.abc import Callable, Sequence
from time import sleep

import pytest

from hudi_table_services.contract.compaction.compaction import ExecuteCompactionRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.execution.compaction.merge_slice import CompactionJob, SliceTask
from hudi_table_services.execution.compaction.run import MergedSlices
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.compaction.execute import CompactionExecution
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from support.compaction.jobs_here import execute, merge_here, schedule
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row, new_storage
from support.log_golden import ARCHIVES

VERSIONS = pytest.mark.parametrize("version", list(ARCHIVES), ids=lambda version: f"v{version.value}")
ROWS = [("a", 2), ("c", 2)]


def a_table(version: TableVersion = TableVersion.V9) -> WrittenTable:
    table = WrittenTable(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1)], SOUTH: [a_row("c", 1)]})
    table.log({NORTH: [a_row("a", 2)], SOUTH: [a_row("c", 2)]})
    schedule(table.storage, table.clock)
    return table


def plan_of(table: WrittenTable) -> Instant:
    (pending,) = (i for i in table.timeline_store.load().pending if i.action is Action.COMPACTION)
    return pending


def keys(table: WrittenTable) -> list[tuple[str, int]]:
    return [(row["_hoodie_record_key"], row["ts"]) for row in table.base_rows()]


def data_files(table: WrittenTable) -> set[str]:
    return {f.path for f in table.storage.list_files() if not f.path.startswith(".hoodie")}


def execute_while(
    table: WrittenTable,
    *,
    before: Callable[[], object] = lambda: None,
    after: Callable[[], object] = lambda: None,
    request_id: str = "same",
) -> JobResult:
    """Execute the plan; other jobs act before or after the slices are merged."""

    def merge(job: CompactionJob, tasks: Sequence[SliceTask], what: str) -> MergedSlices:
        before()
        merged = merge_here(job, tasks, what)
        after()
        return merged

    request = ExecuteCompactionRequest(base_path="/t", request_id=request_id)
    return CompactionExecution(request, table.storage, table.clock, merge).run(())


@VERSIONS
def test_late_tasks_of_an_attempt_that_lost_the_plan_keep_the_committed_files(version: TableVersion) -> None:
    """The second attempt runs in a new Spark application, whose stage and task numbers begin again."""
    table = a_table(version)
    result = execute_while(table, before=lambda: execute(table.storage, table.clock, request_id="same"))
    assert result.reused
    assert keys(table) == ROWS
    assert len([path for path in data_files(table) if path.endswith(".parquet")]) == 4


def test_two_tries_of_one_slice_have_different_file_names() -> None:
    table, names = a_table(), set()
    for _ in range(2):
        with pytest.raises(Stopped):
            execute_while(table, after=lambda: names.update(of_plan(table)) or stop())
        for path in of_plan(table):
            table.storage.write(path, b"PAR1")  # so that the next attempt cannot use the file
    assert len(names) == 4


class Stopped(BaseException):
    """The process of the job dies."""


def stop() -> None:
    raise Stopped


def of_plan(table: WrittenTable) -> set[str]:
    time = plan_of(table).requested_time
    return {path for path in data_files(table) if time in path and path.endswith(".parquet")}


class Hudi:
    """A writer of Hudi that compacts inline, ignores heartbeats and uses no lock."""

    def __init__(self, table: WrittenTable) -> None:
        self.table = table
        self.instant = plan_of(table)
        self.files: dict[str, bytes] = {}

    def restart(self) -> None:
        """Roll the inflight plan back, start it again, and write base files."""
        store, time = self.table.timeline_store, self.instant.requested_time
        sleep(0.005)  # so that the new inflight file has another modification time
        for path in of_plan(self.table):
            self.table.storage.delete(path)
        store.return_to_requested(self.instant)
        store.start(self.instant)
        for number, group in enumerate((NORTH, SOUTH)):
            name = BaseFile(file_id=group.file_id, write_token=f"{number}-55-66", instant_time=time).file_name
            rows = self.table.base_rows()[number : number + 1]
            self.files[f"{group.partition_path}/{name}"] = self.content(group.partition_path, rows)
        for path, content in self.files.items():
            self.table.storage.write(path, content)

    def content(self, partition_path: str, rows: object) -> bytes:
        (path,) = (
            s.base_file_path
            for s in self.table.snapshot.all_slices
            if s.file_group_id.partition_path == partition_path
        )
        assert rows
        assert path is not None
        return self.table.storage.read(path)

    def complete(self) -> None:
        stats = {
            path.partition("/")[0]: (
                WriteStat(
                    file_id=path.partition("/")[2].partition("_")[0],
                    partition_path=path.partition("/")[0],
                    path=path,
                    num_writes=1,
                    file_size_bytes=len(content),
                ),
            )
            for path, content in self.files.items()
        }
        metadata = CommitMetadata(
            operation_type=WriteOperation.COMPACT,
            partition_to_write_stats=stats,
            extra_metadata={"schema": self.table.schema_json},
            compacted=True,
        )
        store = self.table.timeline_store
        pending = plan_of(self.table)
        store.complete(pending, encode_commit_metadata(metadata, self.table.version))


@VERSIONS
def test_files_of_hudi_stay_if_hudi_completes_the_plan_during_our_execution(version: TableVersion) -> None:
    table = a_table(version)
    hudi = Hudi(table)

    def restart_and_complete() -> None:
        hudi.restart()
        hudi.complete()

    result = execute_while(table, before=restart_and_complete)
    assert result.reused
    assert hudi.files.keys() <= data_files(table)
    assert of_hudi_only(table, hudi)
    assert len(keys(table)) == 2
    assert not table.storage.exists(heartbeat_path(hudi.instant.requested_time))


def of_hudi_only(table: WrittenTable, hudi: Hudi) -> bool:
    """Whether all base files of the plan are Hudi's files."""
    time = hudi.instant.requested_time
    return {p for p in data_files(table) if time in p and p.endswith(".parquet")} == hudi.files.keys()


@VERSIONS
def test_files_of_hudi_stay_if_hudi_executes_the_plan_again_during_our_execution(
    version: TableVersion,
) -> None:
    table = a_table(version)
    hudi = Hudi(table)
    with pytest.raises(InstantVanishedError, match="restarted compaction .* during this execution"):
        execute_while(table, before=hudi.restart)
    assert hudi.files.keys() <= data_files(table)
    assert of_hudi_only(table, hudi)
    assert plan_of(table).state is InstantState.INFLIGHT
    hudi.complete()
    assert len(keys(table)) == 2


def test_a_failed_execution_keeps_the_files_of_a_second_execution_by_hudi() -> None:
    table = a_table()
    hudi = Hudi(table)

    def restart_and_fail() -> None:
        hudi.restart()
        raise InstantVanishedError("the tasks of this attempt failed")

    with pytest.raises(InstantVanishedError, match="tasks of this attempt failed"):
        execute_while(table, before=restart_and_fail)
    assert hudi.files.keys() <= data_files(table)
    assert plan_of(table).state is InstantState.INFLIGHT
