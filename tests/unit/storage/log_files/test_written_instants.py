"""The instants that wrote log files, and the sweep of marked log files of table version 6."""

from uuid import uuid4

import pytest

from hudi_table_services.commits.undo_logs import rollback_block
from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.log_files.block_instants import block_instants
from hudi_table_services.storage.log_files.written_instants import writers_of_open_logs, written_instants
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import A, a_logged_table, data_block, golden_logged_table

ONE, TWO, UNDO = "20260101000000000", "20260102000000000", "20260103000000000"
BASE = "20251231000000000"


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def test_the_writers_of_a_log_file_are_found(storage: Storage) -> None:
    storage.write("log", data_block(ONE) + data_block(TWO))
    found = block_instants(storage, "log")
    assert (found.writers, found.undone_after, found.has_commands) == ({ONE, TWO}, set(), False)
    assert not found.belongs_to(ONE)
    storage.write("log", data_block(ONE))
    assert block_instants(storage, "log").belongs_to(ONE)


def test_a_rollback_block_undoes_only_earlier_blocks(storage: Storage) -> None:
    storage.write("log", data_block(ONE) + rollback_block(UNDO, ONE))
    assert block_instants(storage, "log").undone_after == {ONE}
    storage.write("log", rollback_block(UNDO, ONE) + data_block(ONE))
    found = block_instants(storage, "log")
    assert (found.undone_after, found.has_commands) == (set(), True)
    assert not found.belongs_to(ONE)


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_incomplete_block_at_the_end_has_no_writer(storage: Storage, cut: int) -> None:
    storage.write("log", data_block(ONE) + data_block(TWO)[:-cut])
    assert block_instants(storage, "log").writers == {ONE}
    storage.write("log", data_block(ONE)[:-cut])
    assert block_instants(storage, "log").belongs_to(TWO)


def test_damage_before_the_end_is_an_error_that_names_the_file(storage: Storage) -> None:
    storage.write("a/log", data_block(ONE)[:-3] + data_block(TWO))
    with pytest.raises(MalformedMetadataError, match="a/log"):
        block_instants(storage, "a/log")


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_the_instants_of_real_hudi_are_found(version: TableVersion, name: str) -> None:
    """In the table `updates` of version 6, a rollback block removes the blocks of an instant."""
    table = golden_logged_table(version, name)
    listed = list_partitions(table.storage)
    found = {each.instant_time for each in written_instants(table.storage, version, listed)}
    completed = {i.requested_time for i in table.timeline_store.load().completed_writes}
    assert found == completed
    if version is TableVersion.V6:
        logs = [f.path for f in table.storage.list_files() if ".log." in f.name]
        opened = writers_of_open_logs(table.storage, listed, logs)
        closed = [path for path in logs if path not in opened]
        assert [path.rpartition(".log.")[2][0] for path in closed] == (
            ["5", "6"] if name == "updates" else []
        )


# Markers


def log_name(version: int) -> str:
    return f"a/.f1_{BASE}.log.{version}_0-1-0"


def test_a_sweep_deletes_only_log_files_of_the_write_itself(storage: Storage) -> None:
    storage.write(log_name(1), data_block(ONE))
    storage.write(log_name(2), data_block(TWO) + data_block(ONE))
    storage.write(log_name(3), data_block(ONE)[:-3] + data_block(TWO))
    base = f"a/f1_0-1-0_{BASE}.parquet"
    storage.write(base, b"PAR1")
    store = MarkerStore(storage, ONE)
    for path in (log_name(1), log_name(2), log_name(3), log_name(4), base):
        store.mark(path, MarkerKind.APPEND)
    assert store.sweep() == (log_name(1),)
    assert storage.exists(log_name(2))
    assert storage.exists(log_name(3))
    # Before Hudi 0.15, append markers contained the name of a base file. It can be the name of an existing one.
    assert storage.exists(base)


def test_a_sweep_keeps_the_log_files_of_the_commit(storage: Storage) -> None:
    storage.write(log_name(1), data_block(ONE))
    store = MarkerStore(storage, ONE)
    store.mark(log_name(1), MarkerKind.APPEND)
    assert store.sweep(keep={log_name(1)}) == ()
    assert storage.exists(log_name(1))


def test_a_log_file_named_after_a_vanished_compaction_has_its_instant() -> None:
    table = a_logged_table(TableVersion.V6)
    table.delta(bases=[A])
    planned = table.plan_compaction(A)
    later = table.delta(logs=[A])
    listed = list_partitions(table.storage)
    found = [
        each.instant_time for each in written_instants(table.storage, table.version, listed) if each.is_log
    ]
    assert sorted(found) == [planned.requested_time, later.requested_time]
    assert planned.action is Action.COMPACTION
