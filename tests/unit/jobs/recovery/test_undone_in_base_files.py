"""Base files of the metadata table contain a write: its rollback is refused, a restore rebuilds the metadata table."""

from functools import cache

import pytest

from hudi_table_services.contract.recovery import CreateSavepointRequest, RestoreRequest, RollbackRequest
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_PARTITIONS, read_table_config, update_properties
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.built_tables import build, opened
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    compacting,
    copied,
    files_in,
    indexes,
    listed_files,
    listing,
    maintained,
    rebuilt_statistics,
    statistics,
    ticking,
    visible_files,
)

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
WAYS = pytest.mark.parametrize("way", ["compacted", "built"])


@cache
def prepared(version: TableVersion, way: str) -> tuple[Storage, str, Instant]:
    """A table with a savepoint, a later write, and a metadata table whose base files contain the write."""
    storage, clock = copied(maintained(version)), ticking(0.5)
    saved = access(storage, clock).load_timeline().completed_writes[-1].requested_time
    create_savepoint(CreateSavepointRequest(base_path="/t", instant=saved), storage=storage, clock=clock)
    metadata = compacting() if way == "compacted" else compacting(every=100)
    newest = Write((A, C), "w3", 3, metadata=metadata)(storage, clock)
    if way == "built":
        build(storage, *indexes(version), clock=clock)
    else:
        assert [i for i in opened(storage).timeline.completed if i.action is Action.COMMIT]
    return storage, saved, newest


def files_of(storage: Storage) -> dict[str, bytes]:
    return {f.path: storage.read(f.path) for f in storage.list_files() if f.path != ".hoodie/lock"}


def assert_equal_to_the_folders(storage: Storage) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), outcome
    assert files_in(listed_files(outcome)) == files_in(visible_files(storage))
    assert statistics(storage) == rebuilt_statistics(storage)


@WAYS
@VERSIONS
@pytest.mark.parametrize("preview", [False, True])
def test_a_rollback_is_refused_before_the_first_change(
    version: TableVersion, way: str, preview: bool
) -> None:
    start, _, newest = prepared(version, way)
    storage = copied(start)
    before = files_of(storage)
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,), preview=preview)
    with pytest.raises(UnsupportedTableError, match=newest.requested_time) as caught:
        rollback(request, storage=storage, clock=ticking(2))
    assert "--drop all" in (caught.value.hint or "")
    assert files_of(storage) == before


@VERSIONS
def test_a_rollback_switches_the_metadata_table_off_if_the_request_says_so(version: TableVersion) -> None:
    start, _, newest = prepared(version, "compacted")
    storage = copied(start)
    options = {"hoodie.metadata.enable": "false"}
    request = RollbackRequest(base_path="/t", instants=(newest.requested_time,), options=options)
    rollback(request, storage=storage, clock=ticking(2))
    assert read_table_config(storage).metadata_partitions == ()


def restored(storage: Storage, saved: str, days: float, *, preview: bool = False) -> JobResult:
    request = RestoreRequest(base_path="/t", savepoint=saved, request_id="same", preview=preview)
    return restore(request, storage=storage, clock=ticking(days))


@WAYS
@VERSIONS
def test_a_restore_builds_the_metadata_table_again(version: TableVersion, way: str) -> None:
    start, saved, newest = prepared(version, way)
    storage = copied(start)
    names = read_table_config(storage).metadata_partitions
    planned = restored(storage, saved, 2, preview=True)
    assert planned.outcome is Outcome.PLANNED
    assert "builds them again" in planned.warnings[-1]
    done = restored(storage, saved, 2)
    assert "again" in done.warnings[-1]
    assert not access(storage, ticking(3)).load_timeline().find(newest.requested_time)
    assert read_table_config(storage).metadata_partitions == names
    assert_equal_to_the_folders(storage)
    Write((A, B), "later", 5)(storage, ticking(4))
    assert_equal_to_the_folders(storage)


@VERSIONS
def test_a_restore_that_dies_leaves_no_wrong_list_and_the_next_one_builds(version: TableVersion) -> None:
    start, saved, _ = prepared(version, "compacted")
    names = read_table_config(start).metadata_partitions
    states = set()
    for fail_at in range(1, 1000, 4):
        storage = copied(start)
        try:
            restored(FaultyStorage(storage, fail_at), saved, 2)
        except Crash:
            states.add(len(read_table_config(storage).metadata_partitions))
            outcome = listing(storage)
            if isinstance(outcome, ListedTable):
                assert files_in(listed_files(outcome)) == files_in(visible_files(storage)), fail_at
            restored(storage, saved, 4)
            assert read_table_config(storage).metadata_partitions == names, fail_at
            assert_equal_to_the_folders(storage)
        else:
            break
    assert {0, len(names)} <= states


def test_a_restore_names_the_index_that_it_cannot_build() -> None:
    start, saved, _ = prepared(TableVersion.V9, "compacted")
    storage = copied(start)
    names = read_table_config(storage).metadata_partitions
    update_properties(storage, {METADATA_PARTITIONS: ",".join([*names, RECORD_INDEX])}, ticking(1))
    done = restored(storage, saved, 2)
    assert f"--partitions {RECORD_INDEX}" in done.warnings[-1]
    assert read_table_config(storage).metadata_partitions == names
    assert_equal_to_the_folders(storage)


@VERSIONS
def test_a_restore_keeps_the_metadata_table_if_its_base_files_contain_no_undone_write(
    version: TableVersion,
) -> None:
    storage, clock = copied(maintained(version)), ticking(0.5)
    saved = access(storage, clock).load_timeline().completed_writes[-1].requested_time
    create_savepoint(CreateSavepointRequest(base_path="/t", instant=saved), storage=storage, clock=clock)
    Write((A, C), "w3", 3)(storage, clock)
    before = opened(storage).timeline.completed
    done = restored(storage, saved, 2)
    assert done.warnings == ()
    assert opened(storage).timeline.completed == before[:-1]
    assert_equal_to_the_folders(storage)
