"""The first write of a table creates its metadata table. Later writes do so only with hoodie.metadata.enable=true."""

from collections.abc import Mapping
from contextlib import suppress

import pytest

from hudi_table_services.commits.metadata_table_building.creation import (
    create_before_first_write,
)
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
)
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.new_tables import require_creatable
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from support.depth import by_depth, cases
from support.failing_calls import FailingCalls, OutageError
from support.faulty_storage import FaultyStorage, crashes_everywhere
from support.metadata_table.built_tables import build, records_in
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    copied,
    listing,
    rebuilt_statistics,
    rows,
    statistics,
    ticking,
    write_file,
)
from support.metadata_table.new_tables import DEFAULTS, OFF, assert_listed, new_table, partitions, settings
from support.small_tables import SmallTable, base_file_name

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
EVERY_VERSION = (TableVersion.V6, TableVersion.V8, TableVersion.V9)


def create(table: SmallTable, keys: Mapping[str, str]) -> None:
    """Do what a first write does under the lock before it requests its instant."""
    with FileSystemLock(table.storage, clock=table.clock) as lock:
        assert create_before_first_write(access(table.storage, table.clock, settings(keys)), lock) == ()


def first_instants(storage: Storage) -> list[str]:
    """Return the times of those instants of the metadata table that belong to no instant of the table."""
    config = read_table_config(storage)
    own = open_metadata_table(storage, config, ticking()).timeline.completed
    times = {i.requested_time for i in access(storage, ticking()).load_timeline()}
    return [i.requested_time for i in own if i.requested_time not in times]


def group_counts(storage: Storage) -> dict[str, int]:
    table = open_metadata_table(storage, read_table_config(storage), ticking())
    return {name: len(partition_slices(table, name)) for name in table.partitions}


@VERSIONS
@pytest.mark.parametrize("keys", [{}, {"enable": "true"}], ids=["by default", "true"])
def test_the_first_write_creates_the_partitions_of_hudi(version: TableVersion, keys: dict[str, str]) -> None:
    table = new_table(version)
    write = Write((A, B), "w1", 1, metadata=settings(keys))
    write(table.storage, table.clock)
    assert partitions(table.storage) == DEFAULTS[version]
    assert write.warnings == []
    start = 10 if version is TableVersion.V6 else 0
    assert first_instants(table.storage) == [f"{start + n:017d}" for n in range(len(DEFAULTS[version]))]
    assert_listed(table.storage)
    Write((A, C), "w2", 2)(table.storage, table.clock)
    assert_listed(table.storage)
    if COLUMN_STATS in DEFAULTS[version]:
        found = statistics(table.storage)
        assert found
        assert found == rebuilt_statistics(table.storage)


@VERSIONS
def test_the_metadata_table_exists_before_the_first_instant_of_the_table(version: TableVersion) -> None:
    table = new_table(version)
    storage = FaultyStorage(table.storage)
    first = Write((A, B), "w1", 1)(storage, table.clock)
    requested = next(n for n, change in enumerate(storage.log) if first.requested_time in change)
    listed = [n for n, change in enumerate(storage.log) if change.endswith("hoodie.properties")]
    assert listed
    assert max(listed) < requested


@VERSIONS
def test_a_table_without_partition_fields_has_no_statistics_of_partitions(version: TableVersion) -> None:
    table = new_table(version, is_partitioned=False)
    Write((A,), "w1", 1)(table.storage, table.clock)
    assert partitions(table.storage) == DEFAULTS[version] - {PARTITION_STATS}


@VERSIONS
def test_no_write_creates_a_metadata_table_if_the_option_is_false(version: TableVersion) -> None:
    table = new_table(version)
    for number in range(2):
        Write((A, B), f"w{number}", 1, metadata=OFF)(table.storage, table.clock)
    assert partitions(table.storage) == set()
    assert not list(table.storage.list_files(METADATA_TABLE))


KEYS: dict[str, tuple[dict[str, str], set[str], set[str]]] = {
    "no columns": ({"index.column.stats.enable": "false"}, {FILES}, {FILES}),
    "columns": (
        {"index.column.stats.enable": "true"},
        {FILES, COLUMN_STATS},
        {FILES, COLUMN_STATS, PARTITION_STATS},
    ),
    "no partition statistics": (
        {"index.column.stats.enable": "true", "index.partition.stats.enable": "false"},
        {FILES, COLUMN_STATS},
        {FILES, COLUMN_STATS},
    ),
    "partition statistics without columns": (
        {"index.column.stats.enable": "false", "index.partition.stats.enable": "true"},
        {FILES},
        {FILES},
    ),
    "bloom filters": (
        {"index.bloom.filter.enable": "true", "index.column.stats.enable": "false"},
        {FILES, BLOOM_FILTERS},
        {FILES, BLOOM_FILTERS},
    ),
    "record index": (
        {"record.index.enable": "true", "index.column.stats.enable": "false"},
        {FILES, RECORD_INDEX},
        {FILES, RECORD_INDEX},
    ),
    "global record index": (
        {"global.record.level.index.enable": "true", "index.column.stats.enable": "false"},
        {FILES, RECORD_INDEX},
        {FILES, RECORD_INDEX},
    ),
}


@VERSIONS
@pytest.mark.parametrize("case", KEYS)
def test_hudis_options_choose_the_indexes_of_a_new_table(version: TableVersion, case: str) -> None:
    keys, in_version_6, later = KEYS[case]
    table = new_table(version)
    create(table, keys)
    assert partitions(table.storage) == (in_version_6 if version is TableVersion.V6 else later)


@VERSIONS
def test_an_empty_record_index_has_the_smallest_number_of_file_groups(version: TableVersion) -> None:
    table = new_table(version)
    create(table, {"record.index.enable": "true"})
    assert group_counts(table.storage)[RECORD_INDEX] == 10
    assert records_in(table.storage, RECORD_INDEX) == {}
    definition = read_index_definitions(table.storage).get(RECORD_INDEX)
    assert (definition is not None) == (version is TableVersion.V9)


@VERSIONS
def test_hudis_options_set_the_numbers_of_file_groups(version: TableVersion) -> None:
    keys = {
        "index.column.stats.enable": "true",
        "index.bloom.filter.enable": "true",
        "record.index.enable": "true",
        "index.column.stats.file.group.count": "3",
        "index.partition.stats.file.group.count": "5",
        "index.bloom.filter.file.group.count": "2",
        "record.index.min.filegroup.count": "4",
    }
    table = new_table(version)
    create(table, keys)
    expected = {FILES: 1, COLUMN_STATS: 3, PARTITION_STATS: 5, BLOOM_FILTERS: 2, RECORD_INDEX: 4}
    assert group_counts(table.storage) == {name: expected[name] for name in partitions(table.storage)}
    assert len(partitions(table.storage)) == (4 if version is TableVersion.V6 else 5)


def test_statistics_in_several_file_groups_equal_those_of_a_build() -> None:
    keys = {"index.column.stats.file.group.count": "3", "index.partition.stats.file.group.count": "5"}
    table = new_table(TableVersion.V9)
    Write((A, B), "w1", 1, metadata=settings(keys))(table.storage, table.clock)
    Write((B, C), "w2", 2)(table.storage, table.clock)
    assert statistics(table.storage) == rebuilt_statistics(table.storage)
    assert group_counts(table.storage)[PARTITION_STATS] == 5
    assert_listed(table.storage)


def test_the_list_of_columns_chooses_the_columns_with_statistics() -> None:
    table = new_table(TableVersion.V9)
    keys = {"index.column.stats.column.list": "n"}
    Write((A,), "w1", 1, metadata=settings(keys))(table.storage, table.clock)
    definition = read_index_definitions(table.storage)[COLUMN_STATS]
    meta = ("_hoodie_commit_time", "_hoodie_partition_path", "_hoodie_record_key")
    assert definition.source_fields == (*meta, "n")


@pytest.mark.parametrize(
    ("version", "keys", "message"),
    [
        (TableVersion.V9, {"index.column.stats.column.list": "typo"}, "typo"),
        (
            TableVersion.V6,
            {"index.column.stats.column.list": "n", "index.column.stats.enable": "true"},
            "do not store",
        ),
    ],
    ids=["unknown column", "list in version 6"],
)
def test_settings_that_no_metadata_table_can_have_are_refused_before_the_table_is_created(
    version: TableVersion, keys: dict[str, str], message: str
) -> None:
    config = read_table_config(new_table(version).storage)
    schema = from_avro_json(config.create_schema_json or "")
    with pytest.raises(InvalidRequestError, match=message):
        require_creatable(config, schema, settings(keys))
    require_creatable(config, schema, settings({**keys, "enable": "false"}))
    require_creatable(config, schema, settings({**keys, "index.column.stats.enable": "false"}))


def test_a_contradiction_between_bounds_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="is above"):
        settings({"record.index.min.filegroup.count": "9", "record.index.max.filegroup.count": "8"})


@VERSIONS
@pytest.mark.parametrize("keys", [{}, {"enable": "true"}], ids=["by default", "true"])
def test_while_another_first_write_is_pending_the_result_says_that_no_metadata_table_was_created(
    version: TableVersion, keys: dict[str, str]
) -> None:
    table = new_table(version)
    other = table.begin(Action.CLEAN)
    write = Write((A,), "w1", 1, metadata=settings(keys))
    write(table.storage, table.clock)
    assert partitions(table.storage) == set()
    (warning,) = write.warnings
    assert other.requested_time in warning
    assert ("The next write tries again" if keys else "rebuild_metadata_table.py") in warning


@VERSIONS
@pytest.mark.parametrize("keys", [{}, {"enable": "true"}], ids=["by default", "true"])
def test_a_table_with_data_files_but_without_commits_gets_no_metadata_table_because_it_would_hide_rows(
    version: TableVersion, keys: dict[str, str]
) -> None:
    table = new_table(version)
    path = f"b/{base_file_name(B.file_id, '20200101000000000')}"
    write_file(table.storage, "20200101000000000", path, rows("b", 1))
    with FileSystemLock(table.storage, clock=table.clock) as lock:
        warnings = create_before_first_write(access(table.storage, table.clock, settings(keys)), lock)
    if keys:  # the creation after the write lists these files
        assert warnings == ()
    else:
        (warning,) = warnings
        assert "data files, but no commits" in warning
    assert partitions(table.storage) == set()
    Write((A,), "w1", 1, metadata=OFF)(table.storage, table.clock)
    build(table.storage, FILES, clock=table.clock)
    assert_listed(table.storage)


@VERSIONS
def test_a_failed_creation_prevents_the_write_and_the_next_write_creates_the_metadata_table(
    version: TableVersion,
) -> None:
    failures, number, every = 0, 0, by_depth(7, 1)
    while True:
        number += every
        table = new_table(version)
        failing = FailingCalls(table.storage, fail_at=number)
        with suppress(OutageError, HudiTableServiceError):
            Write((A, B), "w1", 1)(failing, ticking())
        if not failing.failed or partitions(table.storage) == DEFAULTS[version]:
            break
        failures += 1
        assert access(table.storage, ticking()).load_timeline().completed_writes == ()
        table.storage.delete(".hoodie/lock")
        Write((A, C), "w2", 2)(table.storage, ticking(2))
        assert partitions(table.storage) == DEFAULTS[version], failing.failed
        assert_listed(table.storage)
    assert failures > 20 // every


@pytest.mark.parametrize("version", cases(EVERY_VERSION, [TableVersion.V9], lambda v: v.name))
@pytest.mark.parametrize("next_write", ["by default", "false"])
def test_the_next_write_completes_or_uses_what_a_dead_first_write_left(
    version: TableVersion, next_write: str
) -> None:
    """The first write dies before each of its changes, and after its last one."""
    start = new_table(version)
    metadata = settings({} if next_write == "by default" else {"enable": "false"})
    expected = copied(start.storage)
    Write((A, B), "w1", 1)(expected, ticking())
    expected_counts = group_counts(expected)
    seen: set[frozenset[str]] = set()
    places = crashes_everywhere(
        lambda storage: Write((A, B), "w1", 1)(storage, ticking()), lambda: copied(start.storage)
    )
    for storage in places:
        listed = frozenset(partitions(storage))
        outcome = listing(storage)
        assert isinstance(outcome, ListedTable) == (FILES in listed)
        if isinstance(outcome, ListedTable):
            assert_listed(storage)
        write = Write((A, C), "w2", 2, metadata=metadata)
        write(storage, ticking(2))
        assert write.warnings == []
        if next_write == "false":
            assert partitions(storage) == set()
            assert not list(storage.list_files(METADATA_TABLE))
            continue
        assert partitions(storage) == DEFAULTS[version]
        assert group_counts(storage) == expected_counts
        assert_listed(storage)
        Write((B,), "w3", 3)(storage, ticking(4))
        assert_listed(storage)
        if COLUMN_STATS in DEFAULTS[version] and listed not in seen:
            assert statistics(storage) == rebuilt_statistics(storage)
        seen.add(listed)
    assert next_write == "false" or len(seen) == len(DEFAULTS[version]) + 1


@pytest.mark.parametrize("version", cases(EVERY_VERSION, [TableVersion.V6], lambda v: v.name))
def test_a_retry_of_a_first_write_that_died_writes_the_rows_once(version: TableVersion) -> None:
    start = new_table(version)
    places = crashes_everywhere(
        lambda storage: Write((A, B), "w1", 1)(storage, ticking()), lambda: copied(start.storage)
    )
    for storage in places:
        Write((A, B), "w1", 1)(storage, ticking(2))
        assert len(access(storage, ticking()).load_timeline().completed_writes) == 1
        assert partitions(storage) == DEFAULTS[version]
        assert_listed(storage)
