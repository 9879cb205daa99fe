"""Merge two records of one key of a metadata table (HoodieMetadataPayload; Hudi 0.15 and 1.2)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hudi_table_services.errors import MalformedMetadataError, UnsupportedTableError
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    ListedFile,
    Listing,
    MetadataRecord,
    RecordLocation,
    StatKind,
    StatValue,
    ValueTypeId,
)


def merge_records(older: MetadataRecord, newer: MetadataRecord) -> MetadataRecord:
    """Return the record that results from an older and a newer record of one key.

    Lists of files are united. Statistics of a column are united, unless one record is marked as deleted or the newer
    bounds are tight. In all other cases, the newer record replaces the older record. The result can contain marks of
    deletions; see `without_deletions`.

    Raises:
        MalformedMetadataError: the two records cannot belong to one key.
        UnsupportedTableError: the order of the values in statistics is not known.
    """
    if older.record_type is not newer.record_type:
        raise MalformedMetadataError(
            f"The metadata table has records of the types {older.record_type.name} and {newer.record_type.name} "
            f"with the key {newer.key[:80]!r}."
        )
    match older.payload, newer.payload:
        case Listing() as before, Listing() as after:
            return replace(newer, payload=_united(before, after))
        case ColumnStats() as before, ColumnStats() as after:
            return replace(newer, payload=_widened(before, after))
    return newer


def without_deletions(record: MetadataRecord) -> MetadataRecord | None:
    """Return the record as readers see it: without deleted files; None if the record itself is marked as deleted."""
    payload = record.payload
    if isinstance(payload, Listing):
        live = {name: file for name, file in payload.files.items() if not file.is_deleted}
        return record if len(live) == len(payload.files) else replace(record, payload=Listing(live))
    if isinstance(payload, RecordLocation):
        return record
    return None if payload.is_deleted else record


def _united(before: Listing, after: Listing) -> Listing:
    """Unite two lists of files. A deletion removes the file, or stays as a mark if the older list has no such file.

    Files only grow: in table version 6, writers append to log files. So the result contains the larger size.
    """
    files = dict(before.files)
    for name, file in after.files.items():
        known = files.get(name)
        if known is None:
            files[name] = file
        elif file.is_deleted:
            del files[name]
        else:
            files[name] = ListedFile(max(known.size_bytes, file.size_bytes))
    return Listing(files)


def _widened(before: ColumnStats, after: ColumnStats) -> ColumnStats:
    if before.is_deleted or after.is_deleted or after.is_tight_bound:
        return after
    if before.column_name != after.column_name:
        raise MalformedMetadataError(
            f"Statistics of the columns {before.column_name!r} and {after.column_name!r} have the same key."
        )
    return replace(
        after,
        min_value=_extreme(min, before, before.min_value, after.min_value),
        max_value=_extreme(max, before, before.max_value, after.max_value),
        value_count=_sum(before.value_count, after.value_count),
        null_count=_sum(before.null_count, after.null_count),
        total_size_bytes=_sum(before.total_size_bytes, after.total_size_bytes),
        total_uncompressed_bytes=_sum(before.total_uncompressed_bytes, after.total_uncompressed_bytes),
    )


def _extreme(
    choose: Callable[..., StatValue], stats: ColumnStats, one: StatValue | None, other: StatValue | None
) -> StatValue | None:
    if one is None or other is None:
        return one or other
    if one.kind is not other.kind:
        raise MalformedMetadataError(
            f"Statistics of the column {stats.column_name!r} contain a {one.kind.value} and a {other.kind.value}."
        )
    is_decimal = stats.value_type is not None and stats.value_type.type_id == ValueTypeId.DECIMAL
    return choose(one, other, key=lambda value: _comparable(value, is_decimal=is_decimal))


def _comparable(value: StatValue, *, is_decimal: bool) -> Any:
    if isinstance(value.value, tuple):
        raise UnsupportedTableError("Statistics of a column of arrays cannot be merged.")
    if value.kind is StatKind.DECIMAL or (is_decimal and isinstance(value.value, bytes)):
        unscaled = value.value
        return int.from_bytes(unscaled, "big", signed=True) if isinstance(unscaled, bytes) else unscaled
    return value.value


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one + (other or 0)
