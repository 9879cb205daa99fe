"""The requests that a commit sends to the metadata table in its critical section."""

from typing import Any

import pytest

from hudi_table_services.commits.metadata_table import maintenance
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from support.listing.counting_storage import CountingStorage
from support.metadata_table.maintained_tables import (
    A,
    Write,
    access,
    compacting,
    copied,
    files_in,
    listed_files,
    listing,
    maintained,
    ticking,
    visible_files,
)

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)


class RequestsAfterCompletion(CountingStorage):
    """Counts the reads and listings after the commit of a write became visible."""

    is_visible: bool = False

    def create(self, path: str, data: bytes) -> None:
        self.inner.create(path, data)
        if path.endswith(".commit"):
            self.requests.clear()
            self.is_visible = True

    def below_metadata_table(self) -> int:
        assert self.is_visible
        return self.below(".hoodie/metadata")


def written(storage: Storage, clock: Clock, *, every: int) -> RequestsAfterCompletion:
    counting = RequestsAfterCompletion(storage)
    Write((A,), "w3", 3, metadata=compacting(every=every))(counting, clock)
    return counting


@VERSIONS
def test_no_request_follows_the_completion_if_no_service_of_the_metadata_table_is_due(
    version: TableVersion,
) -> None:
    counting = written(copied(maintained(version)), ticking(1), every=10)
    assert counting.below_metadata_table() == 0
    assert compactions(counting.inner) == ()


@VERSIONS
def test_a_service_that_is_due_runs_after_the_completion(version: TableVersion) -> None:
    counting = written(copied(maintained(version)), ticking(1), every=2)
    assert counting.below_metadata_table() > 0
    assert len(compactions(counting.inner)) == 1


@VERSIONS
def test_a_change_that_a_dead_attempt_has_written_is_written_again_after_its_files_were_removed(
    version: TableVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_once = maintenance.write_change

    def write_twice(*given: Any) -> Any:
        assert write_once(*given) is not None
        return write_once(*given)

    storage, clock = copied(maintained(version)), ticking(1)
    monkeypatch.setattr(maintenance, "write_change", write_twice)
    Write((A,), "w3", 3)(storage, clock)
    monkeypatch.setattr(maintenance, "write_change", write_once)
    Write((A,), "w4", 4)(storage, clock)
    assert files_in(listed_files(listing(storage))) == files_in(visible_files(storage))


@VERSIONS
def test_a_commit_lists_the_partition_files_once_under_the_lock(version: TableVersion) -> None:
    counting = CountingStorage(copied(maintained(version)))
    begin = counting.inner.create

    def create(path: str, data: bytes) -> None:
        if path == ".hoodie/lock":
            counting.requests.clear()
        begin(path, data)

    counting.create = create
    Write((A,), "w3", 3)(counting, ticking(1))
    assert counting.requests[".hoodie/metadata/files/"] == 1


def compactions(storage: Storage) -> tuple[Instant, ...]:
    names = [each.name for each in storage.list_files(".hoodie/metadata/.hoodie")]
    layout = access(storage, ticking()).config.table_version.layout
    states = [Instant.from_file_name(name, layout) for name in names if name.endswith(".commit")]
    return tuple(state for state in states if state.action is Action.COMMIT)
