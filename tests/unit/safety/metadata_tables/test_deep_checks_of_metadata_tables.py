"""Deep checks of damaged metadata tables: records of indexes, statistics, data files."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from damaged_metadata_tables import VERSIONS, deep_report, newest_file, opened, problem_of

from hudi_table_services.errors import UnhealthyTableError
from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, PARTITION_STATS
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.instant import Action
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.file_format import read_file_format
from hudi_table_services.storage.metadata_table.group_files import named
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.metadata_table.maintained_tables import (
    A,
    B,
    Write,
    access,
    compacting,
    copied,
    maintained,
    ticking,
)


@VERSIONS
@pytest.mark.parametrize("is_deep", [False, True], ids=["default", "deep"])
def test_only_the_deep_check_reads_the_records_of_an_index(version: TableVersion, is_deep: bool) -> None:
    storage = copied(maintained(version))
    damaged = newest_file(storage, "column_stats", is_log=False)
    content = bytearray(storage.read(damaged))
    content[content.index(b"DATABLK*") + 60] ^= 1
    storage.write(damaged, bytes(content))
    assert problem_of(storage, is_deep=is_deep) == (damaged if is_deep else "")


def with_changed_statistics(
    storage: Storage, partition: str, change: Callable[[ColumnStats], ColumnStats]
) -> None:
    """Write the records of a partition again, with other statistics of the column `n`."""
    metadata = opened(storage)
    form = read_file_format(metadata)
    codec = RecordFormat(form.schema)
    for found in partition_slices(metadata, partition):
        records = [
            replace(r, payload=change(r.payload))
            if isinstance(r.payload, ColumnStats) and r.payload.column_name == "n"
            else r
            for r in MetadataPartition(metadata, partition, slices=(found,)).records()
        ]
        assert found.base_file is not None
        # The file is not compressed, because a file that is shorter than its size in the commit would show the damage.
        options = HFileOptions(
            schema=form.schema, flavour=form.flavour, is_base_file=True, compression=Compression.NONE
        )
        content = encode_hfile((codec.encode(named(r, found.base_file.file_name)) for r in records), options)
        storage.write(f"{METADATA_TABLE}/{found.base_file_path}", content)
        for log in found.log_files:
            storage.delete(f"{METADATA_TABLE}/{partition}/{log.file_name}")


def narrow(stats: ColumnStats) -> ColumnStats:
    return replace(stats, max_value=stats.min_value)


def wide(stats: ColumnStats) -> ColumnStats:
    return replace(stats, max_value=replace(stats.max_value, value=10**6))  # type: ignore[type-var]


@VERSIONS
@pytest.mark.parametrize(("change", "count"), [(narrow, 4), (wide, 0)], ids=["narrow", "wide"])
def test_the_deep_check_finds_statistics_that_hide_rows(
    version: TableVersion, change: Callable[[ColumnStats], ColumnStats], count: int
) -> None:
    """Two versions of two files; each has two values of the column, so a record with one of them hides a row."""
    storage = copied(maintained(version))
    Write((A,), "w3", 3, metadata=compacting())(storage, ticking(2))
    with_changed_statistics(storage, COLUMN_STATS, change)
    report = deep_report(storage)
    assert report.measures["metadata_wrong_statistics"] == (count + 1 if count else 0)
    assert all("column 'n'" in text for text in report.metadata_table_state.wrong_statistics_examples)


def test_the_deep_check_finds_statistics_of_partitions_that_hide_rows() -> None:
    storage = copied(maintained(TableVersion.V9))
    Write((A, B), "w3", 3, metadata=compacting())(storage, ticking(2))
    assert deep_report(storage).measures["metadata_wrong_statistics"] == 0
    with_changed_statistics(storage, PARTITION_STATS, narrow)
    report = deep_report(storage)
    assert report.measures["metadata_wrong_statistics"] == 2
    assert report.metadata_table_state.wrong_statistics_examples == tuple(
        f"partition {path!r}, column 'n': the record excludes values of the data files" for path in "ab"
    )
    assert {finding.measure for finding in report.findings} == {"metadata_wrong_statistics"}


@VERSIONS
def test_the_deep_check_compares_no_statistics_while_a_clean_is_pending(version: TableVersion) -> None:
    """The clean may delete a data file between the listing and the check."""
    storage = copied(maintained(version))
    with_changed_statistics(storage, COLUMN_STATS, narrow)
    access(storage, ticking(2)).timeline_store.request(Action.CLEAN, b"plan")
    report = deep_report(storage)
    assert "metadata_wrong_statistics" not in report.measures
    assert report.metadata_table_state.not_compared.startswith("statistics: clean ")


@VERSIONS
def test_the_deep_check_names_a_damaged_data_file(version: TableVersion) -> None:
    storage = copied(maintained(version))
    path = load_snapshot(storage).slices_of("a")[0].base_file_path
    assert path is not None
    storage.write(path, bytes(len(storage.read(path))))
    with pytest.raises(UnhealthyTableError, match=path):
        deep_report(storage)
