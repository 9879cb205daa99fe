"""The write job creates the metadata table of a new table. Its result names each index that the job did not create."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from judges.metadata_check import assert_describes_the_table
from support.depth import cases
from support.faulty_storage import FaultyStorage
from support.metadata_table.built_tables import records_in
from support.spark.leftovers import later, settled_leftovers
from support.spark.stopped_runs import stopped_runs
from support.spark.writing import Row, TableUnderTest

STATISTICS = {"column_stats", "files", "partition_stats"}
DEFAULTS = {"6": {"files"}, "8": STATISTICS, "9": STATISTICS}
INDEX = {"hoodie.index.type": "RECORD_INDEX"}
WITH_INDEX = {"hoodie.metadata.record.index.enable": "true", **INDEX}


def rows(first: int, last: int, ts: int) -> list[Row]:
    return [(f"k{i}", ts, "abc"[i % 3], float(i)) for i in range(first, last)]


def new_table(spark: SparkSession, base_path: Path, version: str) -> TableUnderTest:
    table = TableUnderTest(spark, base_path, hoodie__write__table__version=version)
    table.has_default_metadata_table = True
    return table


def partitions(table: TableUnderTest) -> set[str]:
    return set(read_table_config(LocalStorage(str(table.base_path))).metadata_partitions)


@pytest.mark.parametrize("version", cases(["6", "8", "9"], ["6", "9"]))
def test_by_default_the_first_write_creates_the_metadata_table(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    table = new_table(spark, tmp_path / "t", version)
    result = table.write(rows(0, 9, 1))
    assert result.warnings == ()
    assert partitions(table) == DEFAULTS[version]
    assert_describes_the_table(table.base_path)
    table.write(rows(6, 12, 2))
    table.write(rows(0, 3, 3), "delete")
    assert_describes_the_table(table.base_path)
    assert table.rows() == sorted([*rows(3, 6, 1), *rows(6, 12, 2)])


@pytest.mark.parametrize("version", cases(["6", "8", "9"], ["9"]))
def test_a_record_index_works_from_the_first_write_on(
    spark: SparkSession, tmp_path: Path, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    table = new_table(spark, tmp_path / "t", version)
    assert table.write(rows(0, 9, 1), options=WITH_INDEX).warnings == ()
    assert partitions(table) == DEFAULTS[version] | {RECORD_INDEX}
    # Stored rows stay in their partition, although the batch names another one.
    moved = [(key, 2, "c", value) for key, _, _, value in rows(6, 12, 2)]
    result = table.write(moved, options=INDEX)
    assert result.warnings == ()
    assert (result.rows.updated, result.rows.inserted) == (3, 3)
    assert "The record index locates keys of the batch" in caplog.text
    keys = {str(row["_hoodie_record_key"]) for row in table.records()}
    assert set(records_in(LocalStorage(str(table.base_path)), RECORD_INDEX)) == keys
    table.write(rows(0, 6, 3), "delete", options=INDEX)
    assert len(table.rows()) == 6
    assert_describes_the_table(table.base_path)


def test_a_dry_run_and_an_invalid_list_of_columns_create_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = new_table(spark, tmp_path / "t", "9")
    table.write(rows(0, 3, 1), dry_run=True)
    columns = {"hoodie.metadata.index.column.stats.column.list": "v,typo"}
    for dry_run in (True, False):
        with pytest.raises(InvalidRequestError, match="typo"):
            table.write(rows(0, 3, 1), options=columns, dry_run=dry_run)
    assert not (table.base_path / ".hoodie" / "hoodie.properties").exists()
    table.write(rows(0, 3, 1))
    assert partitions(table) == DEFAULTS["9"]


@pytest.mark.parametrize("action", ["write", "clustering"])
def test_the_result_names_the_index_that_the_job_did_not_create(
    spark: SparkSession, tmp_path: Path, action: str
) -> None:
    table = TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version="9")
    for number in range(2):
        table.write(rows(9 * number, 9 * number + 9, 1), "bulk_insert")
    assert partitions(table) == set()
    wanted = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
    if action == "write":
        result = table.write(rows(3, 12, 2), options=wanted)
    else:
        table.schedule()
        result = table.execute(options=wanted)
    assert partitions(table) == DEFAULTS["9"]
    (warning,) = result.warnings
    assert "rebuild_metadata_table.py --partitions record_index" in warning
    assert_describes_the_table(table.base_path)


@pytest.mark.thorough
@pytest.mark.parametrize("version", cases(["6", "9"], ["9"]))
def test_a_second_run_completes_a_killed_first_write_and_its_metadata_table(
    spark: SparkSession, tmp_path: Path, version: str
) -> None:
    def write(table: TableUnderTest, storage: FaultyStorage) -> object:
        return table.write(rows(0, 9, 1), request_id="same", storage=storage)

    killed = stopped_runs(
        lambda place: new_table(spark, place, version), tmp_path, write, at_least=30, turn=0
    )
    for table in killed:
        if (table.base_path / ".hoodie" / "hoodie.properties").exists():
            storage = LocalStorage(str(table.base_path))
            config = read_table_config(storage)
            timeline = table.timeline_store().load()
            listed = list_from_metadata_table(storage, config, timeline, SystemClock())
            assert isinstance(listed, ListedTable) == ("files" in config.metadata_partitions)
            assert table.rows() in ([], sorted(rows(0, 9, 1)))
        table.write(rows(0, 9, 1), request_id="same", clock=later())
        assert table.rows() == sorted(rows(0, 9, 1))
        assert partitions(table) == DEFAULTS[version]
        assert_describes_the_table(table.base_path)
        assert settled_leftovers(table) == set()
