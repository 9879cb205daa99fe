"""State transitions of instants, and errors of a damaged timeline."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from hudi_table_services.errors import (
    CommitStateUnknownError,
    InstantExistsError,
    InstantVanishedError,
    StorageError,
    TimelineInvariantError,
)
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.planning.file_sizing.write_profile import commit_metadata
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

VERSIONS = [TableVersion.V6, TableVersion.V8, TableVersion.V9]


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def names(storage: Storage, folder: str) -> list[str]:
    return [f.name for f in storage.list_folder(folder).files if f.name[0].isdigit()]


def test_layout_1_has_one_file_per_state(storage: Storage) -> None:
    table = SmallTable(storage)
    completed = table.timeline_store.complete(table.begin(), b"{}")
    time = completed.requested_time
    assert names(storage, ".hoodie") == [f"{time}.commit", f"{time}.commit.requested", f"{time}.inflight"]
    assert completed.completion_time is None
    assert table.timeline_store.load().instants == (completed,)
    assert table.timeline_store.read(completed) == b"{}"


def test_in_layout_2_the_file_name_contains_the_completion_time(storage: Storage) -> None:
    table = SmallTable(storage, TableVersion.V9)
    completed = table.timeline_store.complete(table.begin(), b"Obj")
    assert completed.completion_time is not None
    assert completed.completion_time > completed.requested_time
    assert f"{completed.requested_time}_{completed.completion_time}.commit" in names(
        storage, ".hoodie/timeline"
    )


@pytest.mark.parametrize(
    ("version", "action", "pending_name", "completed_as"),
    [
        (TableVersion.V6, Action.COMPACTION, "compaction", Action.COMMIT),
        (TableVersion.V6, Action.REPLACE_COMMIT, "replacecommit", Action.REPLACE_COMMIT),
        (TableVersion.V9, Action.CLUSTERING, "clustering", Action.REPLACE_COMMIT),
        (TableVersion.V9, Action.ROLLBACK, "rollback", Action.ROLLBACK),
    ],
)
def test_a_completed_table_service_has_the_same_action_as_in_hudi(
    storage: Storage, version: TableVersion, action: Action, pending_name: str, completed_as: Action
) -> None:
    table = SmallTable(storage, version)
    pending = table.begin(action, b"plan")
    folder = version.layout.timeline_folder
    assert f"{pending.requested_time}.{pending_name}.requested" in names(storage, folder)
    assert table.timeline_store.read_requested(pending) == b"plan"
    completed = table.timeline_store.complete(pending, b"done")
    assert completed.action is completed_as
    assert table.timeline_store.read_requested(completed) == b"plan"
    assert len(table.timeline_store.load()) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_new_times_are_later_than_all_times_on_the_timeline(storage: Storage, version: TableVersion) -> None:
    table = SmallTable(storage, version)  # the clock of this table does not advance
    times: list[str] = []
    for _ in range(3):
        completed = table.timeline_store.complete(table.begin(), b"x")
        times += [
            completed.requested_time,
            *([completed.completion_time] if completed.completion_time else []),
        ]
    assert times == sorted(set(times))


def test_a_new_time_is_later_than_another_writers_instant_in_the_future(storage: Storage) -> None:
    table = SmallTable(storage)
    storage.create(".hoodie/20991231000000000.clean.requested", b"plan")
    assert table.timeline_store.new_instant_time() == "20991231000000001"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lost", [InstantState.REQUESTED, InstantState.INFLIGHT])
def test_a_rolled_back_attempt_never_completes(
    storage: Storage, version: TableVersion, lost: InstantState
) -> None:
    table = SmallTable(storage, version)
    pending = table.begin()
    state_file = Instant(requested_time=pending.requested_time, action=pending.action, state=lost)
    storage.delete(table.timeline_store.path_of(state_file))
    with pytest.raises(InstantVanishedError, match="rolled this attempt back"):
        table.timeline_store.complete(pending, b"x")
    assert table.timeline_store.load().completed == ()


def test_an_instant_that_was_removed_cannot_start(storage: Storage) -> None:
    table = SmallTable(storage)
    requested = table.timeline_store.request(Action.COMMIT)
    table.timeline_store.remove(requested)
    with pytest.raises(InstantVanishedError):
        table.timeline_store.start(requested)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_instant_cannot_be_completed_twice(storage: Storage, version: TableVersion) -> None:
    table = SmallTable(storage, version)
    pending = table.begin()
    table.timeline_store.complete(pending, b"one")
    with pytest.raises(InstantExistsError):
        table.timeline_store.complete(pending, b"two")


def test_two_writers_cannot_request_the_same_instant(storage: Storage) -> None:
    store = SmallTable(storage).timeline_store
    store.request(Action.COMMIT, requested_time="20260101000000000")
    with pytest.raises(InstantExistsError):
        store.request(Action.COMMIT, requested_time="20260101000000000")


def test_a_completion_that_succeeded_despite_an_error_is_detected(storage: Storage) -> None:
    table = SmallTable(storage)
    pending = table.begin()
    faulty = FaultyStorage(storage, fail_at=1, after=True, error=lambda: StorageError("Timed out."))
    completed = TimelineStore(faulty, table.config, FixedClock()).complete(pending, b"content")
    assert completed in table.timeline_store.load()


def test_a_failed_completion_raises_the_original_error(storage: Storage) -> None:
    table = SmallTable(storage)
    pending = table.begin()
    faulty = FaultyStorage(storage, fail_at=1, error=lambda: StorageError("Disk full."))
    with pytest.raises(StorageError, match="Disk full"):
        TimelineStore(faulty, table.config, FixedClock()).complete(pending, b"content")
    assert table.timeline_store.load().completed == ()


class _SilentStorage(FaultyStorage):
    """A storage on which one creation fails and all reads fail."""

    def read(self, path: str) -> bytes:
        raise StorageError("No route to host.")


def test_the_state_of_a_commit_is_unknown_if_the_storage_stops_answering(storage: Storage) -> None:
    table = SmallTable(storage)
    pending = table.begin()
    silent = _SilentStorage(storage, fail_at=1, after=True, error=lambda: StorageError("Timed out."))
    with pytest.raises(CommitStateUnknownError, match="Nothing was deleted"):
        TimelineStore(silent, table.config, FixedClock()).complete(pending, b"content")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_error_names_a_completed_instant_of_zero_bytes(storage: Storage, version: TableVersion) -> None:
    table = SmallTable(storage, version)
    completed = table.timeline_store.complete(table.begin(), b"")
    with pytest.raises(TimelineInvariantError, match=f"{completed.requested_time}.*zero bytes"):
        table.timeline_store.load()


@contextmanager
def content_written_later(storage: Storage, path: str, content: bytes) -> Iterator[None]:
    """Write the content of a completed instant after its creation, in the same way as Hudi on a local disk."""
    writer = threading.Timer(0.1, storage.write, (path, content))
    writer.start()
    yield
    writer.join()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [0, 40])
def test_a_reader_waits_for_the_content_of_a_completed_instant(
    storage: Storage, version: TableVersion, size: int
) -> None:
    table = SmallTable(storage, version)
    metadata = commit_metadata([], WriteOperation.UPSERT, {"schema": "s" * 99}, None)
    content = encode_commit_metadata(metadata, version)
    store = table.timeline_store
    completed = store.complete(table.begin(), content[:size])
    with content_written_later(storage, store.path_of(completed), content):
        assert store.load().instants == (completed,)
        assert store.commit_metadata(completed).extra_metadata == {"schema": "s" * 99}


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (TableVersion.V9, "20260101000000000.commit"),
        (TableVersion.V6, "20260101000000000_20260101000000001.commit"),
    ],
)
def test_an_instant_of_the_other_layout_is_an_error(
    storage: Storage, version: TableVersion, name: str
) -> None:
    table = SmallTable(storage, version)
    storage.create(f"{version.layout.timeline_folder}/{name}", b"x")
    with pytest.raises(TimelineInvariantError, match="layout"):
        table.timeline_store.load()


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.properties.backup",
        "20260101000000000.inflight.26a31ebd-ded2-4bd1-9a26-a8711e235233",
        "20260101000000000.commit.tmp",
        ".20260101000000000.commit.crc",
        "20260101000000000.unheardof",
    ],
)
def test_other_files_in_the_folder_of_the_timeline_are_ignored(storage: Storage, name: str) -> None:
    table = SmallTable(storage)
    storage.create(f".hoodie/{name}", b"x")
    assert len(table.timeline_store.load()) == 0
