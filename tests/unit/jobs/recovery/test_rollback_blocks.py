"""Rollback blocks, which undo blocks in log files that must stay."""

from typing import Any

import pytest
from undone_log_files import metadata_of, undo

from hudi_table_services.commits.undo_logs import rollback_block
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.log_blocks import HeaderKey, decode_blocks
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.pending_plans import planned_file_paths
from hudi_table_services.storage.table_store import read_table_config
from support.with_logs.logged_tables import A, LoggedTable, a_logged_table, data_block


@pytest.mark.parametrize("marks", [True, False], ids=["markers", "no markers"])
def test_a_log_file_that_a_pending_plan_names_gets_a_rollback_block(marks: bool) -> None:
    """In version 6, Hudi plans log files of pending delta commits. Without the file, the plan cannot be executed."""
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    table.delta(logs=[A])
    before = table.seen()
    dead = table.begin(Action.DELTA_COMMIT)
    table.write(dead, logs=[A], marks=marks)
    plan = table.plan_compaction(A)
    planned = planned_file_paths(table.timeline_store, plan)
    undo(table)
    assert planned <= table.data_files()
    assert table.seen() == before
    (block,) = (
        block
        for path in table.data_files() - planned
        for block in decode_blocks(table.storage.read(path))
        if ".log." in path
    )
    assert block.headers[HeaderKey.TARGET_INSTANT_TIME] == dead.requested_time
    assert table.timeline_store.load().pending == (plan,)


def shared_log(table: LoggedTable) -> tuple[str, Instant, Instant]:
    """A log file to which two delta commits appended, as Hudi before 0.15 did; the second one is pending."""
    table.delta(bases=[A])
    first = table.begin(Action.DELTA_COMMIT)
    stats = table.write(first, logs=[A])
    first = table.finish(first, stats)
    (path,) = (p for p in table.data_files() if ".log." in p)
    second = table.begin(Action.DELTA_COMMIT)
    table.storage.write(path, data_block(first.requested_time) + data_block(second.requested_time))
    return path, first, second


@pytest.mark.parametrize("marker", ["log", "base file", "none"])
def test_blocks_in_a_shared_log_file_are_undone_by_a_rollback_block(marker: str) -> None:
    table = a_logged_table(TableVersion.V6)
    path, first, second = shared_log(table)
    folder, _, name = path.rpartition("/")
    base_time = name.partition("_")[2].partition(".")[0]
    marked = {"log": path, "base file": f"{folder}/f1_7-7-7_{base_time}.parquet"}.get(marker)
    if marked is not None:
        MarkerStore(table.storage, second.requested_time).mark(marked, MarkerKind.APPEND)
    before = table.seen()
    assert before["a/f1"][1] == (first.requested_time,)
    result = undo(table)
    assert table.seen() == before
    written = f"{folder}/.f1_{base_time}.log.2_1-0-1"
    assert table.storage.read(written) == rollback_block(str(result.instant_time), second.requested_time)
    (partition,) = metadata_of(table, result).partitions.values()
    assert partition.deleted_files == ()
    assert {key.rpartition("/")[2]: size for key, size in partition.rollback_log_files.items()} == {
        written.rpartition("/")[2]: 105
    }
    (failed,) = partition.log_files_of_failed_commit
    assert failed.endswith(path)
    # The next writer continues after the rollback block.
    third = table.delta(logs=[A])
    assert table.seen()["a/f1"][1] == (first.requested_time, third.requested_time)


def test_a_completed_delta_commit_in_a_shared_log_file_is_undone() -> None:
    table = a_logged_table(TableVersion.V6)
    path, first, second = shared_log(table)
    before = table.seen()
    stats = table.write(second, logs=[])
    done = table.finish(second, {**stats, "a": (stat_of(path),)})
    assert table.seen()["a/f1"][1] == (first.requested_time, second.requested_time)
    undo(table, done)
    assert table.seen() == before
    assert table.storage.exists(path)


def stat_of(path: str) -> Any:
    from hudi_table_services.model.write_stat import WriteStat

    return WriteStat(file_id="f1", partition_path="a", path=path, num_writes=1, file_size_bytes=1)


def test_a_log_file_of_a_savepoint_stays_and_gets_a_rollback_block() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    saved = table.delta(logs=[A])
    request = CreateSavepointRequest(base_path="/t", instant=saved.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    before = table.seen()
    newest = table.delta(logs=[A])
    (savepoint,) = (i for i in table.timeline_store.load() if i.action is Action.SAVEPOINT)
    # Hudi's savepoint of an older commit can name later log files of the same slice.
    (later,) = (p for p in table.data_files() if p.endswith(".log.2_0-1-0"))
    add_to_savepoint(table, savepoint, later)
    undo(table, newest)
    assert table.storage.exists(later)
    assert table.seen() == before


def add_to_savepoint(table: LoggedTable, savepoint: Instant, path: str) -> None:
    from dataclasses import replace

    from hudi_table_services.hudi_format.table_service_plans import (
        decode_savepoint_metadata,
        encode_savepoint_metadata,
    )

    store = table.timeline_store
    metadata = decode_savepoint_metadata(store.read(savepoint))
    folder, _, name = path.rpartition("/")
    kept = metadata.partitions[folder]
    more = replace(kept, file_names=(*kept.file_names, name))
    content = encode_savepoint_metadata(replace(metadata, partitions={**metadata.partitions, folder: more}))
    table.storage.write(store.path_of(savepoint), content)


def test_rollback_blocks_are_refused_beside_a_metadata_table() -> None:
    table = a_logged_table(TableVersion.V6)
    path, _, second = shared_log(table)
    MarkerStore(table.storage, second.requested_time).mark(path, MarkerKind.APPEND)
    table.storage.write(
        ".hoodie/hoodie.properties",
        table.storage.read(".hoodie/hoodie.properties") + b"hoodie.table.metadata.partitions=files\n",
    )
    files = table.data_files()
    with pytest.raises((UnsupportedTableError, CorruptTableError)):
        undo(table)
    assert table.data_files() == files
    assert second.identity in {i.identity for i in table.timeline_store.load().pending}


def test_a_metadata_table_is_switched_off_before_rollback_blocks_are_written() -> None:
    """The metadata table does not contain the undone write, but it would not list the log file with the block."""
    table = a_logged_table(TableVersion.V6)
    path, _, second = shared_log(table)
    MarkerStore(table.storage, second.requested_time).mark(path, MarkerKind.APPEND)
    table.storage.write(
        ".hoodie/hoodie.properties",
        table.storage.read(".hoodie/hoodie.properties") + b"hoodie.table.metadata.partitions=files\n",
    )
    undo(table, options={"hoodie.metadata.enable": "false"})
    assert any(name.endswith("_1-0-1") for name in table.data_files())
    assert read_table_config(table.storage).metadata_partitions == ()
