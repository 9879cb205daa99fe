"""Compare the record index of a merge-on-read table with the rows that hudi-rs reads."""

from collections import Counter
from pathlib import Path

from hudi_table_services.hudi_format.metadata_table.file_groups import (
    RECORD_INDEX,
    partition_of_record_index_id,
)
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import RecordLocation
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable, open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from judges.hudi_rs import read_listed_records
from judges.metadata_index_check import assert_groups_of_keys

Entry = tuple[str, str, str]
"""Record key, partition of the table, and id of the file group."""


def metadata_of(base_path: Path) -> MetadataTable:
    storage = LocalStorage(str(base_path))
    return open_metadata_table(storage, read_table_config(storage), SystemClock())


def stored_entries(base_path: Path) -> Counter[Entry]:
    """The records of the record index."""
    metadata = metadata_of(base_path)
    assert_groups_of_keys(metadata, RECORD_INDEX)
    partition = MetadataPartition(metadata, RECORD_INDEX)
    found: Counter[Entry] = Counter()
    for each in partition.slices:
        of_partition = partition_of_record_index_id(each.file_group_id.file_id)
        for record in partition.records_of(each, partition.changes_of(each)):
            assert isinstance(record.payload, RecordLocation)
            assert of_partition in (None, record.payload.partition_path)
            found[record.key, record.payload.partition_path, record.payload.file_id] += 1
    return found


def stored_instants(base_path: Path) -> dict[str, int]:
    """Maps each key of the record index to the time in its record, in milliseconds since 1970."""
    records = MetadataPartition(metadata_of(base_path), RECORD_INDEX).records()
    return {r.key: r.payload.instant_millis for r in records if isinstance(r.payload, RecordLocation)}


def expected_entries(base_path: Path) -> Counter[Entry]:
    """The entries that the record index must have: one for each row."""
    return Counter(
        (
            row["_hoodie_record_key"],
            row["_hoodie_partition_path"],
            # In log files, this column has only the id of the file group.
            BaseFile.from_file_name(name).file_id
            if (name := row["_hoodie_file_name"]).endswith(".parquet")
            else name,
        )
        for row in read_listed_records(base_path).to_pylist()
    )


def assert_record_index_equals_rows(base_path: Path, what: object = "") -> None:
    """The record index has exactly one entry for each row, with its file group."""
    stored, expected = stored_entries(base_path), expected_entries(base_path)
    assert (stored - expected, expected - stored) == (Counter(), Counter()), what
