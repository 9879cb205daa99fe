"""The lists of files that this project builds from folders equal the lists that real Hudi maintained."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.hudi_format.metadata_table.keys import ALL_PARTITIONS
from hudi_table_services.model.metadata_table import Listing, MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.built_tables import build, drop, opened, records_in
from support.metadata_table.whole_metadata_golden import NAMES, VERSIONS, WholeTable, whole_table

EACH = pytest.mark.parametrize("name", NAMES)
EACH_VERSION = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
EMPTIED = {"south"}
"""Before version 9, Hudi keeps the empty list of a partition whose files it deleted."""


def with_files(version: TableVersion, name: str, folder: Path | None = None) -> WholeTable:
    table = whole_table(version, name, LocalStorage(str(folder)) if folder else None)
    table.put_data_files()
    return table


def live(records: Mapping[str, MetadataRecord]) -> dict[str, dict[str, int]]:
    """Map each key to the sizes of its files by name, without empty lists and without partitions that have no files."""
    found: dict[str, dict[str, int]] = {}
    for key, record in records.items():
        assert isinstance(record.payload, Listing)
        found[key] = {
            name: file.size_bytes for name, file in record.payload.files.items() if not file.is_deleted
        }
    found[ALL_PARTITIONS] = {name: 0 for name in found[ALL_PARTITIONS] if found.get(name)}
    return {key: files for key, files in found.items() if files}


@EACH_VERSION
@EACH
def test_the_lists_of_files_are_those_of_hudi(version: TableVersion, name: str) -> None:
    table = with_files(version, name)
    theirs = records_in(table.storage, FILES)
    drop(table.storage, FILES)
    assert table.config.metadata_partitions == ()
    result = build(table.storage, FILES)
    ours = records_in(table.storage, FILES)
    assert result.is_whole
    assert [(b.name, b.file_groups, b.records) for b in result.partitions] == [(FILES, 1, len(ours))]
    assert table.config.metadata_partitions == (FILES,)
    assert live(ours) == live(theirs)
    assert ours.keys() ^ theirs.keys() <= EMPTIED
    assert len(live(ours)) > 1


@EACH_VERSION
@EACH
def test_readers_list_the_table_from_the_built_metadata_table(
    version: TableVersion, name: str, tmp_path: Path
) -> None:
    table = with_files(version, name, tmp_path)
    build_without_other_indexes(table)
    outcome = list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock())
    assert isinstance(outcome, ListedTable)
    found = {path: {f.name: f.size_bytes for f in files} for path, files in outcome.files.items() if files}
    assert found == table.files


@EACH_VERSION
def test_the_files_and_the_instant_have_the_names_of_hudi(version: TableVersion) -> None:
    table = with_files(version, "copy_on_write")
    theirs = opened(table.storage)
    first = theirs.timeline.completed[0]
    expected = theirs.commit_metadata(first)
    old_properties = dict(theirs.config.properties)
    build_without_other_indexes(table)
    ours = opened(table.storage)
    (instant,) = ours.timeline.completed
    metadata = ours.commit_metadata(instant)
    assert ours.timeline.pending == ()
    assert instant.action is first.action
    assert metadata.operation_type is expected.operation_type
    assert (metadata.operation_type is WriteOperation.BULK_INSERT) is (version is not TableVersion.V9)
    newest = table.timeline.completed[-1].requested_time
    if version is TableVersion.V6:
        assert instant.requested_time == f"{newest}010"
    else:
        assert instant.requested_time == first.requested_time == "00000000000000000"
    (stat,), (known,) = metadata.write_stats, expected.write_stats
    time = instant.requested_time
    assert (stat.file_id, stat.partition_path, stat.prev_commit, known.num_inserts) == (
        known.file_id,
        known.partition_path,
        known.prev_commit,
        known.num_writes,
    )
    assert stat.num_inserts == stat.num_writes
    names = sorted(f.name for f in table.storage.list_files(f"{METADATA_TABLE}/{FILES}"))
    assert names == [
        f".files-0000-0_{time}.log.1_0-0-0",
        ".hoodie_partition_metadata",
        f"files-0000-0_0-1-0_{time}.hfile",
    ]
    log = f"{METADATA_TABLE}/{FILES}/{names[0]}"
    assert table.storage.size(log) == 63 + len(time)
    assert table.storage.size(f"{METADATA_TABLE}/{stat.path}") == stat.file_size_bytes
    expected_name = old_properties["hoodie.table.name"].replace("copy_on_write", table.config.table_name)
    assert dict(ours.config.properties) == {
        **old_properties,
        "hoodie.table.name": expected_name,
        "hoodie.table.checksum": ours.config.properties["hoodie.table.checksum"],
    }


def build_without_other_indexes(table: WholeTable) -> None:
    drop(table.storage, FILES)
    build(table.storage, FILES)
