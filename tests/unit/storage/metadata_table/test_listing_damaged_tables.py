"""A listing from a damaged or contradicting metadata table is refused, or it is right. It is never wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import (
    ListingOutcome,
    UnusableMetadataTable,
    list_from_metadata_table,
)
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.whole_metadata_golden import NAMES, VERSIONS, WholeTable, whole_table

EACH = pytest.mark.parametrize(("version", "name"), [(v, n) for v in VERSIONS for n in NAMES], ids=str)
FLIPS = 40


def outcome_of(table: WholeTable) -> ListingOutcome:
    return list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock())


def listed(outcome: ListingOutcome) -> Mapping[str, Mapping[str, int]] | None:
    """Sizes of files by partition and name, without empty partitions; None if the listing is refused."""
    if isinstance(outcome, UnusableMetadataTable):
        return None
    return {path: {f.name: f.size_bytes for f in files} for path, files in outcome.files.items() if files}


@contextmanager
def changed(storage: Storage, path: str, content: bytes | None) -> Iterator[None]:
    """The storage with another content of a file, or without the file."""
    original = storage.read(path)
    storage.delete(path) if content is None else storage.write(path, content)
    try:
        yield
    finally:
        storage.write(path, original)


def files_below(table: WholeTable, folder: str) -> list[str]:
    return [stored.path for stored in table.storage.list_files(folder)]


@EACH
def test_a_lost_file_is_noticed(version: TableVersion, name: str) -> None:
    table = whole_table(version, name)
    refused = 0
    for path in files_below(table, f"{METADATA_TABLE}/files") + files_below(
        table, f"{METADATA_TABLE}/.hoodie"
    ):
        with changed(table.storage, path, None):
            found = listed(outcome_of(table))
            assert found in (None, table.files), path
            refused += found is None
    assert refused
