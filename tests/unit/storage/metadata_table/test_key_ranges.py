"""Ranges of record keys in column statistics exclude no stored key."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    MetadataRecord,
    RecordType,
    StatKind,
    StatValue,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.key_ranges import key_ranges, usable_range
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import SmallMetadataTable
from support.metadata_table.whole_metadata_golden import VERSIONS, whole_table

KEY = "_hoodie_record_key"
GROUPS = st.lists(st.lists(st.text(min_size=1), min_size=1), min_size=1, max_size=3)


def statistics(low: str | None, high: str | None, **changes: object) -> MetadataRecord:
    payload = ColumnStats(
        file_name="f",
        column_name=KEY,
        min_value=None if low is None else StatValue(StatKind.STRING, low),
        max_value=None if high is None else StatValue(StatKind.STRING, high),
        value_count=3,
        null_count=0,
        total_size_bytes=10,
        total_uncompressed_bytes=20,
    )
    return MetadataRecord(
        key="any",
        record_type=RecordType.COLUMN_STATS,
        payload=replace(payload, **changes),  # type: ignore[arg-type]
    )


def utf16(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


@given(GROUPS.map(lambda groups: [[key for key in group if key.isprintable()] or ["k"] for group in groups]))
def test_a_usable_range_contains_every_key_in_both_orders(row_groups: list[list[str]]) -> None:
    """Footers contain ranges in the order of UTF-8 bytes, but Hudi merges these ranges in the order of UTF-16 units."""
    lows = [min(group, key=str.encode) for group in row_groups]
    highs = [max(group, key=str.encode) for group in row_groups]
    found = usable_range(statistics(min(lows, key=utf16), max(highs, key=utf16)))
    if found is not None:
        low, high = (bound.encode() for bound in found)
        assert all(low <= key.encode() <= high for group in row_groups for key in group)


def test_ranges_that_prove_nothing_are_not_usable() -> None:
    assert usable_range(statistics("a", "b")) == ("a", "b")
    assert usable_range(statistics(None, "b")) is None
    assert usable_range(statistics("a", None)) is None
    assert usable_range(statistics("b", "a")) is None
    assert usable_range(statistics("a", "\U0001f600")) is None
    assert usable_range(statistics("a", "b", null_count=1)) is None
    assert usable_range(statistics("a", "b", null_count=None)) is None
    assert usable_range(statistics("a", "b", column_name="id")) is None
    number = StatValue(StatKind.INT, 3)
    assert usable_range(statistics("a", "b", min_value=number, max_value=number)) is None


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"v{version.value}")
def test_ranges_in_a_table_of_hudi_are_those_of_the_rows(version: TableVersion) -> None:
    table = whole_table(version, "copy_on_write")
    keys_of: dict[str, list[str]] = defaultdict(list)
    for row in table.expected["rows"]:
        keys_of[f"{row['_hoodie_partition_path']}/{row['_hoodie_file_name']}"].append(row[KEY])
    slices = load_snapshot(table.storage).all_slices
    found = key_ranges(table.storage, table.config, table.timeline, FixedClock(), slices)
    assert not isinstance(found, UnusableMetadataTable), found
    assert found
    assert {path: found[path] for path in keys_of} == {
        path: (min(keys), max(keys)) for path, keys in keys_of.items()
    }


def test_a_table_without_statistics_has_no_ranges() -> None:
    table = SmallMetadataTable(TableVersion.V9)
    found = key_ranges(table.storage, table.config, table.timeline, FixedClock(), ())
    assert isinstance(found, UnusableMetadataTable)
    assert found.reason is Reason.NOT_LISTED
    assert COLUMN_STATS in found.message
