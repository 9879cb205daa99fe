"""Two jobs write to one table at the same time: the table gets the rows of both jobs, or one job reports a conflict."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.errors import CommitConflictError, ExecutionFailedError, FileGroupConflictError
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.metadata_table.opened_table import open_metadata_table
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.metadata_table.table_listing import ListedTable, list_from_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges.table_files import files_below
from support.depth import cases
from support.spark.held_up import NO_RETRY, OPTIMISTIC, HeldUp
from support.spark.writing import Row, TableUnderTest

Step = Callable[[], object]
OLD: list[Row] = [("a", 1, "x", 1.0), ("b", 1, "y", 1.0)]


@pytest.fixture(params=cases(["6", "9"], ["9"]))
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    table = TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version=request.param)
    table.write(OLD)
    return table


def test_two_writers_of_different_file_groups_both_commit(table: TableUnderTest) -> None:
    with HeldUp(table, [("a", 2, "x", 2.0)], "first") as first:
        table.write([("b", 2, "y", 2.0)], options=OPTIMISTIC, request_id="second")
    assert first.result.result().rows.updated == 1
    assert table.rows() == [("a", 2, "x", 2.0), ("b", 2, "y", 2.0)]
    assert table.leftovers() == set()


def test_the_metadata_table_gets_the_commits_of_two_writers(
    spark: SparkSession, tmp_path: Path, table: TableUnderTest
) -> None:
    """The first write with ``hoodie.metadata.enable=true`` creates the metadata table."""
    assert not read_table_config(LocalStorage(str(table.base_path))).metadata_partitions
    table.options["hoodie.metadata.enable"] = "true"
    table.write([("a", 2, "x", 2.0)], options=OPTIMISTIC)
    storage = LocalStorage(str(table.base_path))
    rebuild = RebuildMetadataTableRequest(base_path=str(table.base_path), partitions=("record_index",))
    rebuild_metadata_table(rebuild, spark=spark, storage=storage)
    with HeldUp(table, [("a", 3, "x", 3.0), ("c", 1, "x", 1.0)], "first") as first:
        table.write([("b", 3, "y", 3.0), ("d", 1, "y", 1.0)], options=OPTIMISTIC, request_id="second")
    assert first.result.exception() is None
    config = read_table_config(storage)
    timeline = TimelineStore(storage, config, SystemClock()).load()
    outcome = list_from_metadata_table(storage, config, timeline, SystemClock())
    assert isinstance(outcome, ListedTable), outcome
    listed = {f.path for files in outcome.files.values() for f in files}
    assert listed == {name for name in table.files() if name.endswith(".parquet")}
    metadata = open_metadata_table(storage, config, SystemClock())
    keys = {record.key for record in MetadataPartition(metadata, "record_index").records()}
    assert keys == {"a", "b", "c", "d"}
    assert len(table.rows()) == 4


def test_a_write_retries_if_another_writer_changed_its_file_group(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    with HeldUp(table, [("a", 2, "x", 2.0), ("new", 2, "x", 2.0)], "first") as first:
        table.write([("a", 3, "x", 3.0)], options=OPTIMISTIC, request_id="second")
    rows = first.result.result().rows
    assert (rows.inserted, rows.older_than_stored) == (1, 1)
    assert "Trying again" in caplog.text
    assert table.rows() == [("a", 3, "x", 3.0), ("b", 1, "y", 1.0), ("new", 2, "x", 2.0)]
    assert table.leftovers() == set()


def test_a_write_without_retries_fails_if_another_writer_changed_its_file_group(
    table: TableUnderTest,
) -> None:
    with HeldUp(table, [("a", 2, "x", 2.0), ("new", 2, "x", 2.0)], "first", NO_RETRY) as first:
        table.write([("a", 3, "x", 3.0)], options=OPTIMISTIC, request_id="second")
    with pytest.raises(FileGroupConflictError, match="x"):
        first.result.result()
    assert table.rows() == [("a", 3, "x", 3.0), ("b", 1, "y", 1.0)]
    assert table.leftovers() == set()
    again = table.write([("a", 2, "x", 2.0), ("new", 2, "x", 2.0)], options=OPTIMISTIC, request_id="first")
    assert (again.rows.inserted, again.rows.older_than_stored) == (1, 1)
    assert table.rows() == [("a", 3, "x", 3.0), ("b", 1, "y", 1.0), ("new", 2, "x", 2.0)]


def test_a_write_does_not_roll_back_a_running_write(table: TableUnderTest) -> None:
    with HeldUp(table, [("a", 2, "x", 2.0)], "first") as first:
        pending = {name for name in table.files() if "inflight" in name}
        table.write([("b", 2, "y", 2.0)], options=OPTIMISTIC, request_id="second")
        assert pending <= table.files()
    assert first.result.exception() is None


def test_a_writer_that_loses_the_creation_of_a_table_writes_to_the_table_of_the_other_writer(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "new")

    class Overtaken(LocalStorage):
        has_lost = False

        def create(self, path: str, data: bytes) -> None:
            if path == ".hoodie/hoodie.properties" and not Overtaken.has_lost:
                Overtaken.has_lost = True
                table.write([("a", 2, "x", 2.0)], options=OPTIMISTIC, request_id="other")
            super().create(path, data)

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    rows: list[Row] = [("a", 1, "x", 1.0), ("b", 1, "y", 1.0)]
    storage = Overtaken(str(table.base_path))
    result = table.write(rows, options=OPTIMISTIC, request_id="late", storage=storage)
    assert (result.rows.inserted, result.rows.older_than_stored) == (1, 1)
    assert table.rows() == [("a", 2, "x", 2.0), ("b", 1, "y", 1.0)]
    assert table.leftovers() == set()


def overtaken(base_path: Path, before_merging: Step, after_the_try: Step = lambda: None) -> LocalStorage:
    """Storage of a writer. During the write, the storage runs steps of other jobs.

    Args:
        before_merging: step to run after the writer has found its rows and before it reads the files to merge.
        after_the_try: step to run after the writer has undone its first try.
    """

    class Overtaken(LocalStorage):
        steps: ClassVar[list[Step]] = [after_the_try, before_merging]

        def create(self, path: str, data: bytes) -> None:
            super().create(path, data)
            if path.endswith("inflight") and len(Overtaken.steps) == 2:
                Overtaken.steps.pop()()

        def read(self, path: str) -> bytes:
            # The writer reads the properties again after it has removed the heartbeat and the lock of its first try.
            is_over = len(Overtaken.steps) == 1 and not files_below(base_path / ".hoodie/.heartbeat")
            if is_over and path.endswith("hoodie.properties") and not self.exists(".hoodie/lock"):
                Overtaken.steps.pop()()
            return super().read(path)

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    return Overtaken(str(base_path))


def keep_one_version(table: TableUnderTest) -> None:
    clean(
        CleanRequest(
            base_path=str(table.base_path),
            policy="KEEP_LATEST_FILE_VERSIONS",
            file_versions_retained=1,
            options={"hoodie.airflow.clean.floor.hours": "0"},
        )
    )


def test_a_write_retries_if_a_clean_removed_the_files_that_it_reads(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    def meanwhile() -> None:
        table.write([("a", 2, "x", 2.0)], request_id="other")
        keep_one_version(table)

    storage = overtaken(table.base_path, meanwhile)
    table.write([("a", 3, "x", 3.0)], request_id="slow", storage=storage)
    assert "and the file was deleted while this write was reading it" in caplog.text
    assert table.rows() == [("a", 3, "x", 3.0), ("b", 1, "y", 1.0)]
    assert table.leftovers() == set()


@pytest.mark.parametrize("versions", [1, 2])
def test_a_write_fails_without_a_retry_if_a_file_of_the_table_is_missing(
    table: TableUnderTest, versions: int
) -> None:
    """The error is the same if an older file of the file group still exists."""
    for number in range(1, versions):
        table.write([("a", 1 + number, "x", 1.0)])
    (lost,) = table.live_files()["x"]

    def meanwhile() -> None:
        table.write([("b", 2, "y", 2.0)], request_id="other")
        lost.unlink()

    with pytest.raises(ExecutionFailedError, match=lost.name):
        table.write([("a", 9, "x", 9.0)], storage=overtaken(table.base_path, meanwhile))


def test_an_attempt_without_its_staged_rows_reports_that_another_attempt_committed(
    table: TableUnderTest,
) -> None:
    storage = overtaken(table.base_path, lambda: table.write([("a", 2, "x", 2.0)], request_id="slow"))
    with pytest.raises(CommitConflictError, match="Another attempt of request slow completed"):
        table.write([("a", 5, "x", 5.0)], request_id="slow", storage=storage)
    assert table.rows() == [("a", 2, "x", 2.0), ("b", 1, "y", 1.0)]
    assert table.leftovers() == set()


def test_a_retry_after_a_conflict_finds_the_commit_of_another_attempt_of_the_request(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    elsewhere = {"hoodie.airflow.staging.path": ".hoodie/.aux/elsewhere"}
    storage = overtaken(
        table.base_path,
        lambda: table.write([("a", 2, "x", 2.0)], request_id="other"),
        lambda: table.write([("a", 4, "x", 4.0)], request_id="slow", options=elsewhere),
    )
    with pytest.raises(CommitConflictError, match="Another attempt of request slow completed"):
        table.write([("a", 5, "x", 5.0)], request_id="slow", storage=storage)
    assert "Trying again" in caplog.text
    assert table.rows() == [("a", 4, "x", 4.0), ("b", 1, "y", 1.0)]
