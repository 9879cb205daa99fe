"""Writes to tables with a small metadata table, and listings of these tables."""

from collections.abc import Collection

from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.table_listing import (
    ListedTable,
    ListingOutcome,
    list_from_metadata_table,
)
from hudi_table_services.storage.metadata_table.unusable import Reason, UnusableMetadataTable
from hudi_table_services.storage.table_store import METADATA_TABLE
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import (
    FIRST,
    SmallMetadataTable,
    all_partitions,
    files,
    moment,
)
from support.small_tables import base_file_name

V6, V8, V9 = TableVersion.V6, TableVersion.V8, TableVersion.V9
T1, T2, T3, T4 = (moment(number) for number in (10, 20, 30, 40))
ONE, TWO, THREE = (base_file_name(f"f{number}", time) for number, time in enumerate((T1, T2, T3)))


def written(table: SmallMetadataTable) -> SmallMetadataTable:
    table.own(FIRST, files=[table.base(FIRST, [all_partitions()])])
    write(table, T1, all_partitions("a"), files("a", {ONE: 1}))
    write(table, T2, all_partitions("a", "b"), files("b", {TWO: 2}))
    return table


def log(table: SmallMetadataTable, time: str, *blocks: bytes, version: int = 1) -> str:
    if table.version is not V6:
        return table.log(time, *blocks)
    # A log file of version 6 is numbered; here the number is part of the instant.
    return table.log(FIRST, *blocks, version=int(time[-5:]) + version)


def write(table: SmallMetadataTable, time: str, *records: MetadataRecord) -> str:
    name = log(table, time, table.records(time, *records))
    table.write(time, name)
    return name


def outcome_of(table: SmallMetadataTable, partitions: Collection[str] | None = None) -> ListingOutcome:
    return list_from_metadata_table(table.storage, table.config, table.timeline, FixedClock(), partitions)


def listed(table: SmallMetadataTable, partitions: Collection[str] | None = None) -> dict[str, list[str]]:
    outcome = outcome_of(table, partitions)
    assert isinstance(outcome, ListedTable), outcome
    return {path: [f.name for f in found] for path, found in outcome.files.items()}


def refused(table: SmallMetadataTable, reason: Reason) -> UnusableMetadataTable:
    outcome = outcome_of(table)
    assert isinstance(outcome, UnusableMetadataTable), outcome
    assert outcome.reason is reason, outcome
    return outcome


def own_timeline(table: SmallMetadataTable) -> str:
    return f"{METADATA_TABLE}/{table.version.layout.timeline_folder}"
