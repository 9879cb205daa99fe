"""Executing compactions of damaged log files: attempts that fail in part, warnings and refusals."""

import pytest
from compacted_tables import VERSIONS, a_table, keys, leftovers

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import CorruptTableError, InstantHeldError
from hudi_table_services.model.instant import Action, InstantState
from hudi_table_services.model.table_version import TableVersion
from support.compaction.jobs_here import execute, report_of, schedule
from support.compaction.written_table import NORTH, WrittenTable
from support.jobs_on_tables import later


def damage(table: WrittenTable, path_part: str) -> tuple[str, bytes]:
    """Damage the first log file of a partition; return its path and content."""
    path = next(f.path for f in table.storage.list_files(path_part) if ".log." in f.path)
    content = table.storage.read(path)
    table.storage.write(path, content[:40] + bytes([content[40] ^ 0xFF]) + content[41:])
    return path, content


@VERSIONS
def test_one_failed_slice_does_not_lose_the_work_on_the_others(version: TableVersion) -> None:
    table = a_table(version)
    schedule(table.storage, table.clock)
    path, content = damage(table, "south")
    with pytest.raises(
        CorruptTableError, match=r"1 of 2 file slices of compaction .* failed\. .*south/"
    ) as failed:
        execute(table.storage, table.clock, request_id="first")
    assert "uses the new files of the other 1 file slice" in failed.value.hint
    (pending,) = table.timeline_store.load().pending
    assert pending.state is InstantState.INFLIGHT
    (north,) = (f.path for f in table.storage.list_files("north") if pending.requested_time in f.path)
    table.storage.write(path, content)
    with pytest.raises(InstantHeldError):
        execute(table.storage, table.clock, request_id="second")
    result = execute(table.storage, later(1), request_id="second")
    (plan,) = report_of(result).plans
    assert [(p.partition_path, p.reused_files) for p in plan.partitions] == [("north", 1), ("south", 0)]
    (slice_north,) = (s for s in table.snapshot.all_slices if s.file_group_id == NORTH)
    assert slice_north.base_file_path == north
    assert keys(table) == [("a", 2), ("c", 2), ("d", 1)]
    assert leftovers(table) == []


def test_a_plan_returns_to_the_requested_state_if_no_slice_was_merged() -> None:
    table = a_table()
    schedule(table.storage, table.clock)
    contents = [damage(table, "south"), damage(table, "north")]
    with pytest.raises(CorruptTableError, match="2 of 2 file slices"):
        execute(table.storage, table.clock)
    (pending,) = table.timeline_store.load().pending
    assert pending.state is InstantState.REQUESTED
    assert leftovers(table) == []
    for path, content in contents:
        table.storage.write(path, content)
    assert execute(table.storage, table.clock).outcome is Outcome.COMPLETED


def shorten_a_log(table: WrittenTable, *, keeps: int) -> str:
    """Cut the last log file of `NORTH` in its last block, as if the storage had lost the end of the file."""
    path = sorted(f.path for f in table.storage.list_files("north") if ".log." in f.path)[-1]
    table.storage.write(path, table.storage.read(path)[:keeps])
    return path


@VERSIONS
def test_the_incomplete_block_of_a_dead_writer_gives_a_warning(version: TableVersion) -> None:
    table = a_table(version)
    path = sorted(f.path for f in table.storage.list_files("north") if ".log." in f.path)[-1]
    content = table.storage.read(path)
    table.storage.write(path, content + content[:40])
    schedule(table.storage, table.clock)
    result = execute(table.storage, table.clock)
    assert result.outcome is Outcome.COMPLETED
    assert result.warnings == (
        f"{path} has no complete block from position {len(content)} on. Readers skip the rest of the file, and the "
        "compaction skipped it, too.",
    )


def test_in_version_6_an_empty_log_file_of_a_dead_writer_gives_a_warning() -> None:
    table = a_table(TableVersion.V6)
    newest = sorted(f.path for f in table.storage.list_files("north") if ".log." in f.path)[-1]
    path = newest.replace(".log.", ".log.1")
    table.storage.write(path, b"")
    schedule(table.storage, table.clock)
    result = execute(table.storage, table.clock)
    assert result.warnings[0].startswith(f"{path} has no complete block from position 0 on.")


@VERSIONS
@pytest.mark.parametrize("keeps", [0, 40])
def test_a_committed_log_file_that_lost_its_end_is_not_compacted(version: TableVersion, keeps: int) -> None:
    table = a_table(version)
    path = shorten_a_log(table, keeps=keeps)
    schedule(table.storage, table.clock)
    with pytest.raises(CorruptTableError, match=f"{path} has {keeps} bytes, .* committed rows are missing"):
        execute(table.storage, table.clock)
    assert all(i.action is not Action.COMMIT for i in table.timeline_store.load().completed)
