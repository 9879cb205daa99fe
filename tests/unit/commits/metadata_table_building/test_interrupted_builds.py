"""A build that fails at any call of the storage is completed by the next build; pending writes are refused."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.leftovers import remove_leftovers
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.errors import (
    CommitConflictError,
    CommitStateUnknownError,
    CorruptTableError,
    LockNotAcquiredError,
    PendingPlanError,
    UnsupportedTableError,
)
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
)
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config, update_properties
from hudi_table_services.storage.timeline_store import TimelineStore
from support.depth import IS_ALL, by_depth
from support.failing_calls import FailingCalls, OutageError
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import access, build, drop, opened, records_in, table_with_statistics

EACH = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
WHOLE = {
    TableVersion.V6: (FILES, COLUMN_STATS, BLOOM_FILTERS),
    TableVersion.V9: (FILES, COLUMN_STATS, PARTITION_STATS, BLOOM_FILTERS),
}
ADDED = {TableVersion.V6: (COLUMN_STATS,), TableVersion.V9: (COLUMN_STATS, PARTITION_STATS)}
START = {"whole": (), "added": (FILES,), "replaced": None}


def copy_of(storage: Storage) -> MemoryStorage:
    copy = MemoryStorage(f"{storage.uri}-copy")
    for old in list(copy.list_files()):
        copy.delete(old.path)
    for stored in storage.list_files():
        copy.write(stored.path, storage.read(stored.path))
    return copy


def state(storage: Storage) -> dict[str, object]:
    """Return what readers find: the partitions of the metadata table, their records, and pending instants."""
    names = read_table_config(storage).metadata_partitions
    records = {name: records_in(storage, name) for name in names}
    pending = opened(storage).timeline.pending
    return {"names": names, "records": records, "pending": pending}


EVERY = by_depth(13, 1)
"""Each run has one failing call. From run to run, the number of this call grows by `EVERY`."""


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("start", list(START))
@EACH
def test_the_next_build_completes_a_failed_build(version: TableVersion, start: str, after: bool) -> None:
    """One call fails in each run. After the failure, each partition is complete if the properties list it."""
    original = table_with_statistics(version)
    first, wanted = START[start], WHOLE[version] if start == "whole" else ADDED[version]
    if first is None:
        build(original, *WHOLE[version])
    elif first:
        build(original, *first)
    expected_storage = copy_of(original)
    build(expected_storage, *wanted)
    expected, number, reached = state(expected_storage), 0, set[str]()
    while True:
        number += EVERY
        storage = copy_of(original)
        failing = FailingCalls(storage, fail_at=number, after=after)
        with suppress(OutageError, CommitStateUnknownError):
            build(failing, *wanted)
        if not failing.failed:
            break
        reached.add(failing.failed.partition(" ")[0])
        for name in read_table_config(storage).metadata_partitions:
            assert records_in(storage, name) == expected["records"][name]  # type: ignore[index]
        storage.delete(".hoodie/lock")
        build(storage, *wanted)
        assert state(storage) == expected, failing.failed
    assert number > 60
    assert reached
    assert not IS_ALL or {"create", "read", "write"} <= reached


@EACH
def test_the_leftovers_of_a_dead_build_are_deleted(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage, FILES, COLUMN_STATS)
    update_properties(storage, {"hoodie.table.metadata.partitions": FILES}, FixedClock())
    table = opened(storage)
    table.timeline_store.request(
        Action.DELTA_COMMIT, b"", table.timeline.completed[0].requested_time[:-1] + "9"
    )
    (first, second) = table.timeline.completed
    remove_leftovers(opened(storage), [COLUMN_STATS])
    assert opened(storage).timeline.instants == (first,)
    assert second.requested_time > first.requested_time
    assert not list(storage.list_files(f"{METADATA_TABLE}/{COLUMN_STATS}"))
    assert records_in(storage, FILES)


def begin(action: Action) -> Callable[[TimelineStore], Instant]:
    return lambda store: store.start(store.request(action, b""))


@pytest.mark.parametrize("action", [Action.COMMIT, Action.ROLLBACK, Action.CLEAN, Action.REPLACE_COMMIT])
@EACH
def test_a_pending_write_is_refused(version: TableVersion, action: Action) -> None:
    storage = table_with_statistics(version)
    pending = begin(action)(access(storage).timeline_store)
    before = [stored.path for stored in storage.list_files()]
    with pytest.raises(PendingPlanError, match=pending.requested_time) as caught:
        build(storage)
    assert "roll the instant back" in (caught.value.hint or "")
    assert [stored.path for stored in storage.list_files()] == before


@EACH
def test_a_requested_clean_does_not_prevent_a_build(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    access(storage).timeline_store.request(Action.CLEAN, b"plan")
    assert build(storage).partitions


@EACH
def test_files_of_writes_that_never_completed_are_not_listed(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage)
    expected = records_in(storage, FILES)
    storage.write("north/f9_0-1-0_20990101000000000.parquet", b"PAR1")
    storage.write("north/notes.txt", b"text")
    build(storage)
    assert records_in(storage, FILES) == expected


@EACH
def test_a_damaged_data_file_leaves_the_old_metadata_table(version: TableVersion) -> None:
    storage = table_with_statistics(version)
    build(storage, *WHOLE[version])
    before = state(storage)
    path = next(f.path for f in storage.list_files("north") if f.name.endswith(".parquet"))
    storage.write(path, b"PAR1 and no more")
    with pytest.raises(CorruptTableError, match="not a complete Parquet file") as caught:
        build(storage, *WHOLE[version])
    assert caught.value.path == path
    assert state(storage) == before


class LockLostAt:
    """A lock that another writer takes over after a number of checks."""

    def __init__(self, checks: int) -> None:
        self._checks = checks

    def __enter__(self) -> "LockLostAt":
        return self

    def __exit__(self, *_: object) -> None: ...

    def verify(self) -> None:
        self._checks -= 1
        if self._checks < 0:
            raise LockNotAcquiredError("The lock was taken over.")


def test_no_partition_is_listed_after_the_lock_is_lost() -> None:
    original = table_with_statistics(TableVersion.V9)
    listed = []
    for checks in range(7):
        storage = copy_of(original)
        with pytest.raises(LockNotAcquiredError):
            build_metadata_table(
                access(storage), (), BuildSettings(), DataFileReader(storage), LockLostAt(checks)
            )
        listed.append(read_table_config(storage).metadata_partitions)
    one, two = (FILES,), (COLUMN_STATS, FILES)
    assert listed == [(), (), (), one, one, two, two]


def test_a_write_that_ignores_the_lock_is_noticed() -> None:
    storage = table_with_statistics(TableVersion.V9)

    class Intruder(LockLostAt):
        """Another writer completes a commit when the lock is verified for the second time."""

        def verify(self) -> None:
            self._checks -= 1
            if self._checks == 0:
                store = access(storage).timeline_store
                store.complete(store.start(store.request(Action.COMMIT, b"")), b"{}")

    with pytest.raises(CommitConflictError, match="although this job has the table lock"):
        build_metadata_table(access(storage), (), BuildSettings(), DataFileReader(storage), Intruder(2))
    assert read_table_config(storage).metadata_partitions == ()


def test_an_index_that_cannot_be_built_must_be_dropped_before_a_build() -> None:
    storage = table_with_statistics(TableVersion.V9)
    build(storage)
    listed = ",".join([*read_table_config(storage).metadata_partitions, "secondary_index_names"])
    update_properties(storage, {"hoodie.table.metadata.partitions": listed}, FixedClock())
    with pytest.raises(UnsupportedTableError, match="secondary_index_names"):
        build(storage)
    build(storage, COLUMN_STATS)
    assert "secondary_index_names" in read_table_config(storage).metadata_partitions
    assert drop(storage, "secondary_index_names") == ("secondary_index_names",)
    build(storage)


def test_a_partition_that_another_writer_builds_is_refused_until_it_is_dropped() -> None:
    storage = table_with_statistics(TableVersion.V9)
    build(storage)
    update_properties(storage, {"hoodie.table.metadata.partitions.inflight": "record_index"}, FixedClock())
    with pytest.raises(UnsupportedTableError, match="is building record_index"):
        build(storage)
    assert drop(storage, "record_index") == ("record_index",)
    build(storage)


def test_the_whole_metadata_table_is_built_if_its_first_instants_are_archived() -> None:
    """If only one partition were built, the new first instant would hide the base files of archived instants."""
    storage = table_with_statistics(TableVersion.V9)
    build(storage, FILES)
    own = opened(storage)
    for instant in own.timeline.completed:
        own.timeline_store.remove_archived([instant])
    result = build(storage, COLUMN_STATS)
    assert result.is_whole
    assert {built.name for built in result.partitions} == {FILES, COLUMN_STATS}
