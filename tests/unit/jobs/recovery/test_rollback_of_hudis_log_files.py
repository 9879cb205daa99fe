"""Rollback of delta commits and log compactions that real Hudi wrote."""

import pytest
from undone_log_files import undo

from hudi_table_services.commits.undo_logs import rollback_block
from hudi_table_services.hudi_format.log_blocks import decode_blocks
from hudi_table_services.hudi_format.table_service_plans import decode_rollback_metadata, decode_rollback_plan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import golden_logged_table


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_the_newest_delta_commit_of_real_hudi_is_undone(version: TableVersion, name: str) -> None:
    table = golden_logged_table(version, name)
    newest = table.timeline_store.load().completed_writes[-1]
    ((group, (base, blocks)),) = table.seen().items()
    assert blocks[-1] == newest.requested_time
    count = len(table.data_files())
    undo(table, newest)
    assert table.seen() == {group: (base, tuple(t for t in blocks if t != newest.requested_time))}
    assert len(table.data_files()) == count - 1


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
def test_a_log_compaction_of_real_hudi_is_undone(version: TableVersion) -> None:
    table = golden_logged_table(version, "compacted_logs")
    writes = table.timeline_store.load().completed_writes
    undo(table, writes[-1], writes[-2])
    ((_, (_, blocks)),) = table.seen().items()
    assert writes[-2].requested_time not in blocks
    assert {writes[-3].requested_time, writes[-4].requested_time} <= set(blocks)


def test_a_rollback_block_has_the_bytes_of_real_hudi() -> None:
    table = golden_logged_table(TableVersion.V6, "updates")
    (path,) = (p for p in table.data_files() if p.endswith(".log.6_1-0-1"))
    written, ours = table.storage.read(path), rollback_block("20261125200741326", "20261125200726148")
    # Hudi writes the headers in no fixed order.
    assert (len(ours), list(decode_blocks(ours))) == (len(written), list(decode_blocks(written)))


def test_a_rollback_that_real_hudi_began_is_finished() -> None:
    table = golden_logged_table(TableVersion.V6, "updates")
    store, before = table.timeline_store, table.seen()
    (rolled,) = (i for i in store.load() if i.action is Action.ROLLBACK)
    plan = decode_rollback_plan(store.read_requested(rolled))
    assert plan.requests[0].log_blocks_to_delete
    store.remove_completed(rolled)
    (block,) = (p for p in table.data_files() if p.endswith("_1-0-1"))
    (undone,) = (p for p in table.data_files() if ".log.5_" in p)
    table.storage.delete(block)
    result = undo(table)
    assert result.report is not None
    assert result.report.finished == (rolled.requested_time,)  # type: ignore[attr-defined]
    assert table.seen() == before
    assert not table.storage.exists(undone)
    done = next(i for i in store.load().completed if i.identity == rolled.identity)
    (partition,) = decode_rollback_metadata(store.read(done)).partitions.values()
    assert [p.rpartition("/")[2] for p in partition.deleted_files] == [undone.rpartition("/")[2]]
