"""Rollback of compactions of merge-on-read tables."""

import pytest
from undone_log_files import VERSIONS, undo

from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.table_service_plans import encode_rollback_plan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import InstantReference, RollbackPlan
from hudi_table_services.model.table_service_plans import RollbackRequest as PlannedRequest
from hudi_table_services.model.table_version import TableVersion
from support.with_logs.logged_tables import A, B, a_logged_table


@VERSIONS
def test_a_completed_compaction_is_undone_and_can_run_again(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    before, files = table.seen(), table.data_files()
    done = table.compact(A, B)
    assert table.seen() != before
    undo(table, done)
    assert (table.seen(), table.data_files()) == (before, files)
    assert not table.timeline_store.load().pending
    table.compact(A, B)
    assert [logs for _, logs in table.seen().values()] == [(), ()]


@VERSIONS
def test_a_compaction_whose_input_was_cleaned_is_not_undone(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    (log,) = (p for p in table.data_files() if ".log." in p)
    done = table.compact(A)
    table.storage.delete(log)
    with pytest.raises(InvalidRequestError, match="no longer has 1 file"):
        undo(table, done)
    assert done in table.timeline_store.load().completed_writes


def test_a_compaction_is_not_undone_while_log_files_depend_on_its_slice() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    early = table.begin(Action.DELTA_COMMIT)  # requested before the compaction, and written after it
    planned = table.plan_compaction(A)
    late = table.finish(early, table.write(early, logs=[A]))
    done = table.run_compaction(planned, A)
    before = table.seen()
    with pytest.raises(UnsupportedTableError, match=late.requested_time):
        undo(table, done)
    assert table.seen() == before


def test_in_version_6_a_write_is_not_undone_while_its_slices_have_log_files_of_an_earlier_write() -> None:
    """A writer of Hudi chooses its instant time before it reads the table."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    early = table.begin(Action.DELTA_COMMIT)
    inserted = table.delta(bases=[B])
    table.delta(logs=[B], pending=early)
    before = table.seen()
    with pytest.raises(UnsupportedTableError, match=f"contains rows of {early.requested_time}"):
        undo(table, inserted)
    assert table.seen() == before


@VERSIONS
def test_delta_commits_after_a_compaction_are_undone_with_it(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before, files = table.seen(), table.data_files()
    planned = table.plan_compaction(A)
    later = table.delta(logs=[A])
    done = table.run_compaction(planned, A)
    undo(table, done, later)
    assert (table.seen(), table.data_files()) == (before, files)


@VERSIONS
def test_a_pending_compaction_is_no_failed_write(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A])
    newest = table.delta(logs=[A])
    planned = table.plan_compaction(A)
    assert undo(table).outcome is Outcome.NOTHING_TO_DO
    with pytest.raises(InvalidRequestError, match="plan of a table service"):
        undo(table, planned)
    with pytest.raises(InvalidRequestError):
        undo(table, newest)
    assert len(table.seen()["a/f1"][1]) == 1


def test_a_dead_rollback_of_a_compaction_is_completed() -> None:
    table = a_logged_table()
    table.delta(bases=[A])
    table.delta(logs=[A])
    before = table.seen()
    done = table.compact(A)
    (path,) = (p for p in table.data_files() if done.requested_time in p)
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=done.requested_time, action="commit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{path}",)),),
    )
    store = table.timeline_store
    store.start(store.request(Action.ROLLBACK, encode_rollback_plan(plan)))
    store.remove_completed(done)
    undo(table)
    assert table.seen() == before
    assert not store.load().pending


def test_in_version_6_a_dead_rollback_of_a_compaction_is_given_up_if_log_files_depend_on_the_slice() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    done = table.compact(A)
    (path,) = (p for p in table.data_files() if done.requested_time in p)
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=done.requested_time, action="commit"),
        requests=(PlannedRequest(partition_path="a", files_to_delete=(f"/t/{path}",)),),
    )
    store = table.timeline_store
    store.start(store.request(Action.ROLLBACK, encode_rollback_plan(plan)))
    store.remove_completed(done)
    table.delta(
        logs=[A]
    )  # another writer adds a log file to the slice of the compaction, which is pending again
    before = table.seen()
    assert len(before["a/f1"][1]) == 2
    undo(table)
    assert table.seen() == before
    (pending,) = store.load().pending
    table.run_compaction(pending, A)
    assert len(table.seen()["a/f1"][1]) == 1


def test_a_rollback_of_a_pending_compaction_by_hudi_is_left_to_the_compaction() -> None:
    """The plan of the compaction must stay, because log files of table version 6 have its time in their names."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    planned = table.timeline_store.start(table.plan_compaction(A))
    table.delta(logs=[A])
    before = table.seen()
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=planned.requested_time, action="compaction")
    )
    table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    undo(table)
    assert table.seen() == before
    assert planned.identity in {i.identity for i in table.timeline_store.load().pending}
