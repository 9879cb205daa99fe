"""A write with ``hoodie.metadata.enable=true`` creates the metadata table of a table that has none."""

import logging
from dataclasses import replace

import pytest

from hudi_table_services.hudi_format.partition_metadata import PARTITION_METAFILE, encode_partition_metadata
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings import metadata_table_settings
from hudi_table_services.options.metadata_settings_values import MetadataTableSettings
from hudi_table_services.options.option import OptionGroup
from hudi_table_services.options.reader import OptionReader
from hudi_table_services.options.shared import known_options
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from support.faulty_storage import Crash, FaultyStorage
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    copied,
    files_in,
    listed_files,
    listing,
    ticking,
    visible_files,
)
from support.small_tables import SmallTable

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
STATS = ("column_stats", "files", "partition_stats")
DEFAULTS = {TableVersion.V6: ("files",), TableVersion.V8: STATS, TableVersion.V9: STATS}


def settings(**keys: str) -> MetadataTableSettings:
    given = {f"hoodie.metadata.{key.replace('__', '.')}": value for key, value in keys.items()}
    named, _ = known_options(given, OptionGroup.WRITES)
    return metadata_table_settings(OptionReader(named))


def new_table(version: TableVersion, name: str = "") -> SmallTable:
    storage = copied(MemoryStorage(f"empty-{name}"))
    table = SmallTable(storage, version, ticking())
    for path in "abc":
        storage.write(f"{path}/{PARTITION_METAFILE}", encode_partition_metadata("0", 1, table.clock.now()))
    return table


def assert_listed(storage: Storage) -> None:
    outcome = listing(storage)
    assert isinstance(outcome, ListedTable), outcome
    assert files_in(listed_files(outcome)) == files_in(visible_files(storage))


@VERSIONS
def test_the_first_write_creates_the_partitions_of_hudi(version: TableVersion) -> None:
    table = new_table(version)
    Write((A, B), "w1", 1, metadata=settings(enable="true"))(table.storage, table.clock)
    assert tuple(sorted(read_table_config(table.storage).metadata_partitions)) == DEFAULTS[version]
    assert_listed(table.storage)
    Write((A, C), "w2", 2)(table.storage, table.clock)
    assert_listed(table.storage)


@VERSIONS
@pytest.mark.parametrize("enable", [{}, {"enable": "false"}])
def test_no_other_write_creates_one(version: TableVersion, enable: dict[str, str]) -> None:
    table = new_table(version)
    Write((A, B), "w1", 1, metadata=settings(**enable))(table.storage, table.clock)
    assert read_table_config(table.storage).metadata_partitions == ()


@VERSIONS
def test_the_keys_of_hudi_choose_the_indexes(version: TableVersion, caplog: pytest.LogCaptureFixture) -> None:
    table = new_table(version)
    wanted = settings(
        enable="true",
        index__column__stats__enable=str(version < TableVersion.V8).lower(),
        index__bloom__filter__enable="true",
        record__index__enable="true",
    )
    with caplog.at_level(logging.WARNING):
        Write((A, B), "w1", 1, metadata=wanted)(table.storage, table.clock)
    expected = {"files", "bloom_filters"} | ({"column_stats"} if version < TableVersion.V8 else set())
    assert set(read_table_config(table.storage).metadata_partitions) == expected
    assert "rebuild_metadata_table.py --partitions record_index" in caplog.text
    assert_listed(table.storage)


@VERSIONS
def test_another_pending_write_postpones_the_creation(
    version: TableVersion, caplog: pytest.LogCaptureFixture
) -> None:
    table = new_table(version)
    other = table.begin(Action.CLEAN)
    Write((A,), "w1", 1, metadata=settings(enable="true"))(table.storage, table.clock)
    assert read_table_config(table.storage).metadata_partitions == ()
    assert other.requested_time in caplog.text
    table.timeline_store.remove(other)
    Write((A,), "w2", 2, metadata=settings(enable="true"))(table.storage, table.clock)
    assert read_table_config(table.storage).metadata_partitions != ()
    assert_listed(table.storage)


@VERSIONS
def test_a_creation_that_dies_leaves_the_write_and_no_wrong_list(version: TableVersion) -> None:
    start = new_table(version)
    Write((A, B), "w1", 1)(start.storage, start.clock)
    created = 0
    wanted = settings(enable="true")
    for fail_at in range(1, 1000, 3):
        storage = copied(start.storage)
        try:
            Write((A, C), "w2", 2, metadata=wanted)(FaultyStorage(storage, fail_at), ticking(2))
        except Crash:
            outcome = listing(storage)
            if isinstance(outcome, ListedTable):
                created += 1
                assert_listed(storage)
            Write((A, C), "w2", 2, metadata=wanted)(storage, ticking(4))
            Write((B,), "w3", 3, metadata=wanted)(storage, ticking(6))
            assert_listed(storage)
        else:
            break
    assert fail_at > 20
    assert access(storage, replace(start.clock)).load_timeline().completed
