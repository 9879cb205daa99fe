"""Executing compactions: rows, commits, plans of Hudi, attempts of other jobs."""

import json
from dataclasses import replace

import pytest
from compacted_tables import VERSIONS, a_table, keys, leftovers

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InstantHeldError
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan, encode_compaction_plan
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CompactionPlan
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from support.compaction.golden_slices import golden_table
from support.compaction.jobs_here import NOW, execute, report_of, schedule
from support.compaction.written_table import NORTH, SOUTH, WrittenTable, a_row, new_storage
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.log_golden import plain_row


@VERSIONS
def test_a_plan_becomes_a_commit_and_readers_see_the_merged_rows(version: TableVersion) -> None:
    table = a_table(version)
    scheduled = schedule(table.storage, table.clock, request_id="plan")
    result = execute(table.storage, table.clock, request_id="run")
    assert (result.outcome, result.action) == (Outcome.COMPLETED, "commit")
    assert result.instant_time == scheduled.instant_time
    assert keys(table) == [("a", 2), ("c", 2), ("d", 1)]
    assert all(not s.log_files for s in table.snapshot.all_slices)
    (commit,) = (i for i in table.timeline_store.load().completed if i.action is Action.COMMIT)
    metadata = table.timeline_store.commit_metadata(commit)
    assert (metadata.operation_type, metadata.compacted) == (WriteOperation.COMPACT, True)
    assert metadata.extra_metadata == {"schema": table.schema_json, "airflow.request_id": "run"}
    assert metadata.partition_to_replace_file_ids is None
    assert leftovers(table) == []
    (plan,) = report_of(result).plans
    assert (plan.state, [p.rows for p in plan.partitions]) == ("completed", [1, 2])
    before, after = report_of(result).before, report_of(result).after
    assert before is not None
    assert after is not None
    assert (before.log_files, before.slices, after.log_files, after.log_bytes) == (3, 2, 0, 0)


@VERSIONS
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_a_table_of_hudi_has_the_rows_that_hudi_returned(version: TableVersion, name: str) -> None:
    table = golden_table(version, name)
    clock = FixedClock(FixedClock().moment.replace(year=2030))
    schedule(table.storage, clock)
    execute(table.storage, clock)
    written = WrittenTable(table.storage, version, is_new=False)
    found = {row["_hoodie_record_key"]: plain_row(row) for row in written.base_rows()}
    expected = {row["_hoodie_record_key"]: row for row in table.snapshot}
    assert found == {key: {c: row[c] for c in found[key]} for key, row in expected.items()}


@VERSIONS
def test_writes_after_the_plan_stay_on_top_of_the_new_base_files(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    table.log({NORTH: [a_row("a", 7)]})
    execute(table.storage, table.clock)
    assert keys(table) == [("a", 2), ("c", 2), ("d", 1)]
    (north,) = (s for s in table.snapshot.all_slices if s.file_group_id == NORTH)
    assert len(north.log_files) == 1
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert keys(table) == [("a", 7), ("c", 2), ("d", 1)]


@pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9])
def test_a_delta_commit_that_was_pending_during_the_schedule_keeps_its_rows(version: TableVersion) -> None:
    table = a_table(version)
    pending = table.begin({NORTH: ()})
    schedule(table.storage, table.clock)
    table.finish(pending, {NORTH: [a_row("a", 9)]})
    execute(table.storage, table.clock)
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert ("a", 9) in keys(table)


def of_hudi(table: WrittenTable, version: int) -> CompactionPlan:
    """Replace the requested plan by the plan that Hudi would have written, in plan version 1 or 2."""
    schedule(table.storage, table.clock)
    (pending,) = table.timeline_store.load().pending
    plan = decode_compaction_plan(table.timeline_store.read_requested(pending))
    prefix = "file:/t/" if version == 1 else ""
    operations = tuple(
        replace(
            o,
            data_file_path=f"{prefix}{o.partition_path}/{o.data_file_path}" if prefix else o.data_file_path,
            delta_file_paths=tuple(
                f"{prefix}{o.partition_path}/{name}" if prefix else name for name in o.delta_file_paths
            ),
        )
        for o in plan.operations
    )
    changed = CompactionPlan(operations=operations, version=version)
    table.storage.write(table.timeline_store.requested_path_of(pending), encode_compaction_plan(changed))
    return changed


@VERSIONS
@pytest.mark.parametrize("plan_version", [1, 2])
def test_plans_of_hudi_are_executed(version: TableVersion, plan_version: int) -> None:
    table = a_table(version)
    of_hudi(table, plan_version)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED
    assert keys(table) == [("a", 2), ("c", 2), ("d", 1)]


@VERSIONS
def test_an_execution_of_hudi_that_died_is_taken_over(version: TableVersion) -> None:
    """Hudi's executions have no heartbeat, and their files can have any name and no marker."""
    table = a_table(version)
    time = schedule(table.storage, table.clock).instant_time or ""
    (pending,) = table.timeline_store.load().pending
    table.timeline_store.start(pending)
    dead = BaseFile(file_id=NORTH.file_id, write_token="0-77-99", instant_time=time).file_name
    table.storage.write(f"north/{dead}", b"PAR1 and a part of a file")
    with pytest.raises(InstantHeldError, match="has no heartbeat, like every execution by Hudi"):
        execute(table.storage, table.clock)
    assert execute(table.storage, later(1), options=NOW).outcome is Outcome.COMPLETED
    assert not table.storage.exists(f"north/{dead}")
    assert keys(table) == [("a", 2), ("c", 2), ("d", 1)]


def test_in_version_6_log_files_that_are_named_after_the_plan_survive_every_cleanup() -> None:
    table = a_table(TableVersion.V6)
    schedule(table.storage, table.clock)
    (pending,) = table.timeline_store.load().pending
    table.timeline_store.start(pending)
    table.log({NORTH: [a_row("a", 7)], SOUTH: [a_row("c", 8)]})
    execute(table.storage, later(1), options=NOW)
    assert [len(s.log_files) for s in table.snapshot.all_slices] == [1, 1]
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert keys(table) == [("a", 7), ("c", 8), ("d", 1)]


def test_a_second_attempt_of_a_completed_execution_writes_nothing() -> None:
    table = a_table()
    time = schedule(table.storage, table.clock).instant_time or ""
    execute(table.storage, table.clock, time, request_id="same")
    before = {stored.path for stored in table.storage.list_files()}
    again = execute(table.storage, table.clock, time, request_id="same")
    assert (again.outcome, again.reused) == (Outcome.COMPLETED, True)
    assert {stored.path for stored in table.storage.list_files()} == before


def test_without_a_plan_there_is_nothing_to_execute() -> None:
    result = execute((table := a_table()).storage, table.clock)
    assert (result.outcome, result.reason) == (
        Outcome.NOTHING_TO_DO,
        "no compaction is pending on the table",
    )


def test_an_execution_is_refused_while_another_job_executes_the_plan() -> None:
    table = a_table()
    time = schedule(table.storage, table.clock).instant_time or ""
    table.storage.write(heartbeat_path(time), b"other/attempt")
    with pytest.raises(InstantHeldError, match=f"is executing compaction {time}"):
        execute(table.storage, table.clock)


class WithDefaults(WrittenTable):
    """A table whose columns have defaults, which merges of partial updates need."""

    @property
    def schema_json(self) -> str:
        schema = json.loads(super().schema_json)
        for column in schema["fields"]:
            if column["name"] == "ts2":
                column.update(type="long", default=7)
        return json.dumps(schema)


@VERSIONS
def test_the_commit_keeps_the_schema_of_the_table_with_its_defaults(version: TableVersion) -> None:
    table = WithDefaults(new_storage(), version)
    table.insert({NORTH: [a_row("a", 1)]})
    table.log({NORTH: [a_row("a", 2)]})
    schedule(table.storage, table.clock)
    execute(table.storage, table.clock)
    assert table.snapshot.schema_json == table.schema_json
