"""Small tables whose metadata table has all indexes, and the content that the indexes must have."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import BLOOM_FILTERS, RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.keys import bloom_filter_key, file_group_of
from hudi_table_services.model.metadata_table import FileBloomFilter, RecordLocation
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize
from hudi_table_services.storage.locks.lock import FileSystemLock
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.metadata_table.built_tables import build, opened
from support.metadata_table.maintained_tables import A, B, Write, access, empty_table, indexes
from support.metadata_table.staged_facts import UNKNOWN_BYTES, keys_in

GROUPS = 3
"""Number of file groups of the record index."""

_NOT_CALLED: Any = object()
"""Stands for the Spark session, which a build of a table without files does not use."""


@cache
def with_all_indexes(version: TableVersion) -> Storage:
    """The table of `maintained` with `record_index` and `bloom_filters` in addition. Copy it before a change."""
    table = empty_table(version)
    with FileSystemLock(table.storage, clock=table.clock) as lock:
        reader = DataFileReader(table.storage, _NOT_CALLED)
        settings = BuildSettings(record_index=RecordIndexSize(min_groups=GROUPS, max_groups=GROUPS))
        build_metadata_table(access(table.storage, table.clock), (RECORD_INDEX,), settings, reader, lock)
    Write((A, B), "w1", 1)(table.storage, table.clock)
    build(table.storage, *indexes(version)[1:], BLOOM_FILTERS, clock=table.clock)
    Write((A, B), "w2", 2)(table.storage, table.clock)
    assert set(read_table_config(table.storage).metadata_partitions) == {
        *indexes(version),
        BLOOM_FILTERS,
        RECORD_INDEX,
    }
    return table.storage


Contents = Mapping[str, Mapping[str, object]]


def contents(storage: Storage) -> Contents:
    """Read two indexes of the metadata table.

    The result maps each record key to its partition and file group, and the path of each live file to its bloom filter.
    """
    table, live = opened(storage), _live(storage)
    blooms = MetadataPartition(table, BLOOM_FILTERS).find(live)
    return {
        RECORD_INDEX: {
            record.key: (record.payload.partition_path, record.payload.file_id)
            for record in MetadataPartition(table, RECORD_INDEX).records()
            if isinstance(record.payload, RecordLocation)
        },
        BLOOM_FILTERS: {
            live[key].path: record.payload.bloom_filter.decode()
            for key, record in blooms.items()
            if isinstance(record.payload, FileBloomFilter) and not record.payload.is_deleted
        },
    }


def expected_contents(storage: Storage) -> Contents:
    """Compute from the live files what `contents` reads from the metadata table."""
    slices = load_snapshot(storage, metadata_enable=False).all_slices
    files = list(_live(storage).values())
    blooms = DataFileReader(storage).blooms(files)
    return {
        RECORD_INDEX: {
            key: (found.file_group_id.partition_path, found.file_group_id.file_id)
            for found in slices
            for key in keys_in(storage, found.base_file_path or "")
        },
        BLOOM_FILTERS: {file.path: bloom.text for file, bloom in zip(files, blooms, strict=True)},
    }


def assert_groups(storage: Storage) -> None:
    """Each key of the record index is in the file group that its hash determines."""
    partition = MetadataPartition(opened(storage), RECORD_INDEX)
    assert len(partition.slices) == GROUPS
    for number, found in enumerate(partition.slices):
        keys = [record.key for record in partition.records_of(found, partition.changes_of(found))]
        assert {file_group_of(key, GROUPS) for key in keys} <= {number}


def _live(storage: Storage) -> dict[str, DataFile]:
    slices = load_snapshot(storage, metadata_enable=False).all_slices
    return {
        bloom_filter_key(found.file_group_id.partition_path, found.base_file.file_name): DataFile(
            found.file_group_id.partition_path, found.base_file.file_name, UNKNOWN_BYTES
        )
        for found in slices
        if found.base_file is not None
    }
