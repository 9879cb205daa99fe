"""A write of a table with commits creates a metadata table only with ``hoodie.metadata.enable=true``."""

import pytest

from hudi_table_services.hudi_format.metadata_table.file_groups import BLOOM_FILTERS
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.maintained_tables import A, B, C, Write, access, copied, listing, ticking
from support.metadata_table.new_tables import (
    DEFAULTS,
    OFF,
    ON,
    assert_listed,
    new_table,
    partitions,
    settings,
)
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)


def table_with_a_commit(version: TableVersion) -> SmallTable:
    table = new_table(version)
    Write((A, B), "w1", 1, metadata=OFF)(table.storage, table.clock)
    return table


@VERSIONS
@pytest.mark.parametrize("keys", [{}, {"enable": "false"}], ids=["by default", "false"])
def test_a_table_with_commits_gets_no_metadata_table(version: TableVersion, keys: dict[str, str]) -> None:
    table = table_with_a_commit(version)
    write = Write((A, C), "w2", 2, metadata=settings(keys))
    write(table.storage, table.clock)
    assert partitions(table.storage) == set()
    assert write.warnings == []


@VERSIONS
def test_a_table_with_commits_gets_a_metadata_table_after_the_commit_if_the_option_is_true(
    version: TableVersion,
) -> None:
    table = table_with_a_commit(version)
    storage = FaultyStorage(table.storage)
    second = Write((A, C), "w2", 2, metadata=ON)(storage, table.clock)
    completed = storage.log.index(f"create {access(storage, ticking()).timeline_store.path_of(second)}")
    listed = [n for n, change in enumerate(storage.log) if change.endswith("hoodie.properties")]
    assert min(listed) > completed
    assert partitions(table.storage) == DEFAULTS[version]
    assert_listed(table.storage)


@VERSIONS
def test_a_table_with_commits_gets_no_record_index_and_the_result_says_so(version: TableVersion) -> None:
    table = table_with_a_commit(version)
    keys = {"enable": "true", "index.bloom.filter.enable": "true", "record.index.enable": "true"}
    write = Write((A, B), "w2", 2, metadata=settings(keys))
    write(table.storage, table.clock)
    assert partitions(table.storage) == DEFAULTS[version] | {BLOOM_FILTERS}
    (warning,) = write.warnings
    assert "rebuild_metadata_table.py --partitions record_index" in warning
    assert_listed(table.storage)


@VERSIONS
def test_another_pending_write_postpones_the_creation_and_the_result_says_so(version: TableVersion) -> None:
    table = table_with_a_commit(version)
    other = table.begin(Action.CLEAN)
    write = Write((A,), "w2", 1, metadata=ON)
    write(table.storage, table.clock)
    assert partitions(table.storage) == set()
    (warning,) = write.warnings
    assert other.requested_time in warning
    table.timeline_store.remove(other)
    Write((A,), "w3", 2, metadata=ON)(table.storage, table.clock)
    assert partitions(table.storage) == DEFAULTS[version]
    assert_listed(table.storage)


@VERSIONS
def test_a_creation_that_dies_keeps_the_write_and_leaves_no_wrong_list_of_files(
    version: TableVersion,
) -> None:
    start = table_with_a_commit(version)
    created = 0
    for fail_at in range(1, 1000, 3):
        storage = copied(start.storage)
        try:
            Write((A, C), "w2", 2, metadata=ON)(FaultyStorage(storage, fail_at), ticking(2))
        except Crash:
            outcome = listing(storage)
            if isinstance(outcome, ListedTable):
                created += 1
                assert_listed(storage)
            Write((A, C), "w2", 2, metadata=ON)(storage, ticking(4))
            Write((B,), "w3", 3, metadata=ON)(storage, ticking(6))
            assert_listed(storage)
        else:
            break
    assert fail_at > 20
    assert created or version is TableVersion.V6
    assert len(access(storage, ticking()).load_timeline().completed_writes) == 2
