"""The requests that a commit sends to the metadata table in its critical section."""

import pytest

from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from support.listing.counting_storage import CountingStorage
from support.metadata_table.maintained_tables import A, Write, access, compacting, copied, maintained, ticking

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


def compactions(storage: Storage) -> tuple[Instant, ...]:
    names = [each.name for each in storage.list_files(".hoodie/metadata/.hoodie")]
    layout = access(storage, ticking()).config.table_version.layout
    states = [Instant.from_file_name(name, layout) for name in names if name.endswith(".commit")]
    return tuple(state for state in states if state.action is Action.COMMIT)
