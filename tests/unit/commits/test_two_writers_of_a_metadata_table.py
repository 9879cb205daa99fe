"""Two writers write to one table at the same time: the metadata table gets the commits of both."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hudi_table_services.commits.metadata_table_services.run import run_services
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.writing_values import FailedWritesPolicy
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from support.metadata_table.built_tables import opened
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    compacting,
    copied,
    files_in,
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


@dataclass(frozen=True)
class Overtaken(MemoryStorage):
    """Runs another job before the first data file of a write is written."""

    act: Callable[[], object] = lambda: None

    def write(self, path: str, data: bytes) -> None:
        if path.endswith(".parquet") and not Overtaken.is_over(self):
            OVERTAKEN.add(self.name)
            self.act()
        MemoryStorage.write(self, path, data)

    def is_over(self) -> bool:
        return self.name in OVERTAKEN


OVERTAKEN: set[str] = set()


def assert_equal_to_the_folders(storage: Storage) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), outcome
    assert files_in(listed_files(outcome)) == files_in(visible_files(storage))
    assert statistics(storage) == rebuilt_statistics(storage)


@VERSIONS
@pytest.mark.parametrize("metadata", [compacting(every=100), compacting()], ids=["plain", "compacting"])
def test_the_metadata_table_has_the_commits_of_both_writers(
    version: TableVersion, metadata: MetadataTableSettings
) -> None:
    storage = copied(maintained(version))
    second = Write((B, C), "second", 4, metadata=metadata, policy=FailedWritesPolicy.NEVER)
    clock = ticking(2)
    slow = Overtaken(storage.name, lambda: second(storage, clock))
    done = Write((A,), "first", 3, metadata=metadata)(slow, clock)
    (other,) = (i for i in access(storage, ticking()).load_timeline().completed_writes[2:] if i != done)
    assert done.requested_time < other.requested_time
    assert done.visible_from > other.visible_from or version is TableVersion.V6
    assert {done.requested_time, other.requested_time} <= {
        i.requested_time for i in opened(storage).timeline.completed
    }
    assert_equal_to_the_folders(storage)
    table = access(storage, ticking(4))
    run_services(table, None, settings=compacting().services)
    assert_equal_to_the_folders(storage)
    Write((A, B, C), "third", 5, metadata=metadata)(storage, ticking(6))
    assert_equal_to_the_folders(storage)
