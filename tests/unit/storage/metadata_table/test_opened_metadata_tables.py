"""Opening a metadata table: its properties, its partitions and the two timelines."""

import time

import pytest

from hudi_table_services.errors import CorruptTableError, TableNotFoundError, UnsupportedTableError
from hudi_table_services.hudi_format.table_properties import decode_properties, encode_properties
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.table_store import (
    INFLIGHT_METADATA_PARTITIONS,
    METADATA_TABLE,
    PROPERTIES,
)
from support.fixed_clock import FixedClock
from support.metadata_table.small_metadata_tables import FIRST, SmallMetadataTable, moment

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=str)


def change(table: SmallMetadataTable, path: str, **changes: str) -> None:
    properties = {**decode_properties(table.storage.read(path)), **changes}
    table.storage.write(path, encode_properties(properties, saved_at=FixedClock().now()))


@VERSIONS
def test_partitions_come_from_the_properties_of_the_table(version: TableVersion) -> None:
    table = SmallMetadataTable(version, "column_stats,files")
    change(table, PROPERTIES, **{INFLIGHT_METADATA_PARTITIONS: "record_index"})
    table.own(FIRST)
    opened = table.open()
    assert opened.partitions == ("column_stats", "files")
    assert opened.partitions_being_built == ("record_index",)
    assert opened.config.table_name == "trips_metadata"
    assert opened.has_own_log_instants is (version is not TableVersion.V6)


@VERSIONS
def test_an_opened_metadata_table_has_both_timelines(version: TableVersion) -> None:
    table = SmallMetadataTable(version)
    table.own(FIRST)
    table.own(moment(1))
    table.data(moment(1), pending=True)
    opened = table.open()
    assert [i.requested_time for i in opened.timeline] == [FIRST, moment(1)]
    assert [i.action for i in opened.data_timeline.pending] == [Action.COMMIT]
    assert opened.timeline_store.commit_metadata(opened.timeline.instants[0]).write_stats == ()
    given = open_metadata_table(table.storage, table.config, FixedClock(), data_timeline=Timeline())
    assert given.data_timeline == Timeline()


def test_opening_a_missing_metadata_table_is_an_error() -> None:
    table = SmallMetadataTable(TableVersion.V9)
    table.storage.delete_folder(METADATA_TABLE)
    with pytest.raises(TableNotFoundError):
        table.open()


def test_a_metadata_table_of_another_layout_is_an_error() -> None:
    table = SmallMetadataTable(TableVersion.V9)
    change(table, f"{METADATA_TABLE}/{PROPERTIES}", **{"hoodie.table.version": "6"})
    with pytest.raises(CorruptTableError, match="different layouts"):
        table.open()


def test_old_versions_are_refused() -> None:
    table = SmallMetadataTable(TableVersion.V6)
    change(table, PROPERTIES, **{"hoodie.table.version": "5"})
    with pytest.raises(UnsupportedTableError, match="version 5"):
        table.open()


def test_other_base_files_than_hfiles_are_refused() -> None:
    table = SmallMetadataTable(TableVersion.V9)
    change(table, f"{METADATA_TABLE}/{PROPERTIES}", **{"hoodie.table.base.file.format": "PARQUET"})
    with pytest.raises(UnsupportedTableError, match="PARQUET"):
        table.open()


def test_new_instants_have_the_time_zone_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi stores no time zone in a metadata table, and readers compare times of both timelines."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        table = SmallMetadataTable(TableVersion.V9)
        found = [table.open().timeline_store.new_instant_time()]
        change(table, PROPERTIES, **{"hoodie.table.timeline.timezone": "LOCAL"})
        found.append(table.open().timeline_store.new_instant_time())
    finally:
        monkeypatch.undo()
        time.tzset()
    assert [moment[:10] for moment in found] == ["2026010203", "2026010212"]
