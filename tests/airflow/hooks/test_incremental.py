"""Incremental windows contain every commit once, archived commits too."""

import random
from pathlib import Path

import pytest

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.instant_query import DESCRIBED_INSTANTS, InstantQuery
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.errors import InvalidRequestError, TableNotFoundError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.reading.query import HolesPolicy
from hudi_table_services.model.reading.stream import BatchLimits
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.reading.stream_positions import BEFORE_ALL_COMMITS, next_position
from support.archived_tables import SMALL_LIMITS
from support.small_tables import SmallTable
from support.undone_tables import finished, planned

GROUP = FileGroupId("city=a", "a-0")


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path / "trips")), request.param)


def test_a_window_begins_where_the_previous_window_ended(table: SmallTable) -> None:
    hook = HudiHook(table.storage.base_path)
    assert hook.incremental_window().is_empty
    first = [table.commit(GROUP) for _ in range(3)]
    window = hook.incremental_window()
    assert (window.after, window.until, window.count) == ("", first[-1].visible_from, 3)
    nothing = hook.incremental_window(after=window.until)
    assert nothing.is_empty
    assert nothing.until == window.until
    later = table.commit(GROUP)
    assert [i.requested_time for i in hook.incremental_window(after=window.until).instants] == [
        later.requested_time
    ]


def test_a_write_that_began_early_and_completed_late_is_in_a_later_window(table: SmallTable) -> None:
    hook = HudiHook(table.storage.base_path)
    slow = table.begin()
    fast = table.commit(FileGroupId("city=b", "b-0"))
    early = hook.incremental_window()
    finished(table, slow, GROUP)
    rest = hook.incremental_window(after=early.until)
    seen = [i.requested_time for window in (early, rest) for i in window.instants]
    assert sorted(seen) == sorted([slow.requested_time, fast.requested_time])


def test_a_pending_clustering_does_not_end_a_window(table: SmallTable) -> None:
    table.commit(GROUP)
    planned(table)
    later = table.commit(GROUP)
    window = HudiHook(table.storage.base_path).incremental_window()
    assert (window.until, window.count) == (later.visible_from, 2)


def test_windows_end_where_batches_of_streams_end(table: SmallTable) -> None:
    choose, hook = random.Random(7), HudiHook(table.storage.base_path)
    after, pending, ends = "", list[Instant](), set[str]()
    for number in range(24):
        step = choose.choice(["commit", "begin", "finish", "plan"])
        if step == "commit":
            table.commit(FileGroupId("city=a", f"a-{number}"))
        elif step == "begin":
            pending.append(table.begin())
        elif step == "finish" and pending:
            slow = pending.pop(choose.randrange(len(pending)))
            finished(table, slow, FileGroupId("city=b", f"b-{number}"))
        elif step == "plan" and number % 3 == 0:
            planned(table)
        position = after or BEFORE_ALL_COMMITS
        expected = next_position(table.storage, position, BatchLimits(), HolesPolicy.BLOCK)
        window = hook.incremental_window(after)
        assert (window.until or BEFORE_ALL_COMMITS) == expected
        if choose.random() < 0.4:
            after = window.until
        ends.add(window.until)
    assert len(ends) > 2


def test_many_commits_after_a_pending_write_do_not_hide_the_commits_before_the_write(tmp_path: Path) -> None:
    """In version 6 a window ends before the first pending write.

    Here, more commits than `DESCRIBED_INSTANTS` follow the pending write.
    """
    table = SmallTable(LocalStorage(str(tmp_path / "trips")), TableVersion.V6)
    first = [table.commit(GROUP).requested_time for _ in range(3)]
    table.begin()
    for _ in range(DESCRIBED_INSTANTS + 5):
        table.commit(GROUP)
    window = HudiHook(table.storage.base_path).incremental_window()
    assert [i.requested_time for i in window.instants] == first
    assert (window.until, window.count) == (first[-1], 3)


def test_a_savepointed_commit_on_the_active_timeline_does_not_hide_archived_commits(
    table: SmallTable,
) -> None:
    first = table.commit(GROUP)
    save = CreateSavepointRequest(base_path="/t", instant=first.requested_time)
    create_savepoint(save, storage=table.storage, clock=table.clock)
    for number in range(8):
        table.commit(FileGroupId("city=a", f"a-{number}"))
    beyond = {**SMALL_LIMITS, "hoodie.archive.beyond.savepoint": "true"}
    request = ArchiveRequest(base_path="/t", options=beyond, min_commits=2, max_commits=3)
    archive(request, storage=table.storage, clock=table.clock)
    hook = HudiHook(table.storage.base_path)
    assert hook.timeline().completed_writes[0] == first
    assert hook.incremental_window(after=first.visible_from).count == 8
    assert hook.instants(InstantQuery(after=first.visible_from)).count == 8


def test_a_window_that_begins_before_archived_commits_contains_them(table: SmallTable) -> None:
    hook = HudiHook(table.storage.base_path)
    first = table.commit(GROUP)
    later = [table.commit(FileGroupId("city=a", f"a-{number}")) for number in range(8)]
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    archive(request, storage=table.storage, clock=table.clock)
    window = hook.incremental_window(after=first.visible_from)
    assert (window.until, window.count) == (later[-1].visible_from, 8)
    assert [i.requested_time for i in window.instants] == [i.requested_time for i in later]
    assert {i.operation for i in window.instants} == {"upsert"}
    newest = hook.timeline().completed_writes[-2].visible_from
    assert hook.incremental_window(after=newest).count == 1


def test_a_late_commit_that_was_archived_at_once_is_not_skipped(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "trips")), TableVersion.V9)
    slow = table.begin()
    for number in range(6):
        table.commit(FileGroupId("city=a", f"a-{number}"))
    hook = HudiHook(table.storage.base_path)
    read = hook.incremental_window()
    finished(table, slow, GROUP)
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    archive(request, storage=table.storage, clock=table.clock)
    assert slow.requested_time not in {i.requested_time for i in hook.timeline().completed_writes}
    window = hook.incremental_window(after=read.until)
    assert [i.requested_time for i in window.instants] == [slow.requested_time]


def test_a_position_that_is_not_an_instant_time_is_refused(table: SmallTable) -> None:
    table.commit(GROUP)
    hook = HudiHook(table.storage.base_path)
    with pytest.raises(InvalidRequestError, match="'2026' is not an instant time"):
        hook.incremental_window("2026")
    with pytest.raises(InvalidRequestError, match="is not an instant time") as refused:
        hook.incremental_window("2026-11-26T23:45:00")
    assert "hook.instant_time_of('2026-11-26T23:45:00')" in refused.value.hint
    assert hook.incremental_window(hook.instant_time_of("2000-11-26T23:45:00")).count == 1
    assert hook.incremental_window("000").count == 1
    with pytest.raises(InvalidRequestError, match="columns is the string 'ts'"):
        hook.read_incremental(hook.incremental_window(), "ts")


def test_a_missing_table_raises_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        HudiHook(str(tmp_path)).incremental_window()
