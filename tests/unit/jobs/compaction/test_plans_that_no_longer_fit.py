"""Executing compactions whose plan no longer fits the table: replaced file groups, wrong plans, undone writes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from compacted_tables import VERSIONS, a_table, keys

from hudi_table_services.contract.compaction.compaction import ExecuteCompactionRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import (
    CommitConflictError,
    CorruptTableError,
    FileGroupConflictError,
    HudiTableServiceError,
)
from hudi_table_services.execution.compaction.merge_slice import CompactionJob, SliceTask
from hudi_table_services.execution.compaction.run import MergedSlices
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.jobs.compaction.execute import CompactionExecution
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from support.compaction.jobs_here import execute, merge_here, report_of, schedule
from support.compaction.written_table import NORTH, SOUTH, WrittenTable


@VERSIONS
def test_a_file_group_that_was_replaced_after_the_plan_is_left_out(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.replace_groups(SOUTH)
    result = execute(table.storage, table.clock)
    (plan,) = report_of(result).plans
    assert (plan.replaced_groups, [p.partition_path for p in plan.partitions]) == (1, ["north"])
    assert keys(table) == [("a", 2)]


@VERSIONS
def test_a_plan_of_only_replaced_file_groups_completes_without_files(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.replace_groups(NORTH, SOUTH)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert keys(table) == []
    assert table.timeline_store.load().pending == ()


def change_plan(table: WrittenTable, **changes: Any) -> None:
    (pending,) = table.timeline_store.load().pending
    plan = decode_compaction_plan(table.timeline_store.read_requested(pending))
    first, *others = plan.operations
    changed = replace(plan, operations=(replace(first, **changes), *others))
    table.storage.write(table.timeline_store.requested_path_of(pending), encode_compaction_plan(changed))


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        (
            {"data_file_path": "n1_9-9-9_20260102030405678.parquet"},
            FileGroupConflictError,
            "whose base file is",
        ),
        ({"data_file_path": None}, FileGroupConflictError, "only log files"),
        ({"delta_file_paths": (".n1_20250101000000000.log.1_0-0-0",)}, CorruptTableError, "do not see"),
        ({"delta_file_paths": ("../../etc/passwd",)}, CorruptTableError, "do not see"),
        ({"file_id": "other"}, CorruptTableError, "do not see"),
        ({"partition_path": "../outside"}, HudiTableServiceError, "outside"),
        ({"partition_path": "south", "file_id": "s1"}, FileGroupConflictError, "whose base file is"),
    ],
)
def test_a_plan_that_does_not_fit_the_table_changes_nothing(
    changes: dict[str, Any], error: type[HudiTableServiceError], words: str
) -> None:
    table = a_table()
    schedule(table.storage, table.clock)
    change_plan(table, **changes)
    before = {stored.path for stored in table.storage.list_files() if not stored.path.startswith(".hoodie")}
    with pytest.raises(error, match=words):
        execute(table.storage, table.clock)
    after = {stored.path for stored in table.storage.list_files() if not stored.path.startswith(".hoodie")}
    assert after == before


def test_a_write_that_is_undone_during_the_execution_prevents_the_commit() -> None:
    """The undone rows may be part of the new base files."""
    table = a_table()
    schedule(table.storage, table.clock)
    newest = table.timeline_store.load().completed_writes[-1]
    undo = UndoDuringMerge(table, newest)
    with pytest.raises(CommitConflictError, match="rolled back"):
        undo.run()
    assert all(i.action is not Action.COMMIT for i in table.timeline_store.load().completed)


class UndoDuringMerge:
    """An execution during which another writer undoes a completed write."""

    def __init__(self, table: WrittenTable, undone: Instant) -> None:
        self.table = table
        self.undone = undone

    def run(self) -> None:
        table = self.table
        request = ExecuteCompactionRequest(base_path="/t")
        CompactionExecution(request, table.storage, table.clock, self.merge).run(())

    def merge(self, job: CompactionJob, tasks: Sequence[SliceTask], what: str) -> MergedSlices:
        merged = merge_here(job, tasks, what)
        self.table.timeline_store.remove_completed(self.undone)
        self.table.timeline_store.remove(self.undone)
        return merged
