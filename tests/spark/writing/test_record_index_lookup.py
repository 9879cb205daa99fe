"""A write that looks up its keys in the record index finds the same rows as a write that reads all base files."""

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import FolderListing
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from support.depth import cases
from support.metadata_table.built_tables import records_in
from support.spark.held_up import OPTIMISTIC, HeldUp
from support.spark.writing import Row, TableUnderTest

INDEX = {"hoodie.index.type": "RECORD_INDEX"}
MOVES = "hoodie.record.index.update.partition.path"
NOT_USED = "record index of the metadata table is not used"
FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "3",
    "hoodie.metadata.record.index.max.filegroup.count": "3",
}
PARTITIONS = "xyz"


@pytest.fixture(params=cases(["6", "9"], ["9"]))
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    """Six files with 20 keys each, two in each partition, and a record index with three file groups."""
    options = {"hoodie__write__table__version": request.param, "hoodie__parquet__small__file__limit": "0"}
    table = TableUnderTest(spark, tmp_path / "t", **options)
    for number in range(2):
        keys = range(60 * number, 60 * (number + 1))
        table.write([(key_of(n), 1, PARTITIONS[n % 3], float(n)) for n in keys])
    build_index(table, spark)
    return table


def key_of(number: int) -> str:
    return f"key-{number}-ä"


def clustering_before_listing(table: TableUnderTest, wanted: str) -> tuple[LocalStorage, list[str]]:
    """A storage that lets another job cluster the table before the first listing of a folder.

    Also returns the instants of the clusterings. Spark tasks get a plain storage.
    """
    clustered: list[str] = []

    class Clustering(LocalStorage):
        def list_folder(self, folder: str = "") -> FolderListing:
            if folder == wanted and not clustered:
                clustered.append("started")
                table.schedule()
                clustered.append(table.execute().instant_time or "")
            return super().list_folder(folder)

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    return Clustering(str(table.base_path)), clustered


def places(table: TableUnderTest) -> list[tuple[str, str]]:
    return sorted((str(r["_hoodie_record_key"]), str(r["_hoodie_partition_path"])) for r in table.records())


def build_index(table: TableUnderTest, spark: SparkSession) -> None:
    request = RebuildMetadataTableRequest(
        base_path=str(table.base_path), partitions=(RECORD_INDEX,), options=FEW_GROUPS
    )
    rebuild_metadata_table(request, spark=spark)


def random_rows(seed: int) -> list[Row]:
    """Rows of stored and new keys, some of them twice, in random partitions, with random ordering values."""
    rng = random.Random(seed)
    numbers = [rng.randrange(180) for _ in range(25)]
    return [(key_of(n), rng.randrange(4), rng.choice(PARTITIONS), rng.random()) for n in numbers]


@pytest.mark.thorough
@pytest.mark.parametrize("moves", cases(["true", "false"], ["true"]))
def test_random_batches_give_the_same_rows_as_with_a_global_simple_index(
    table: TableUnderTest, tmp_path: Path, moves: str
) -> None:
    other = table.copied_to(tmp_path / "other")
    simple = {
        "hoodie.index.type": "GLOBAL_SIMPLE",
        "hoodie.simple.index.update.partition.path": moves,
    }
    for step, operation in enumerate(("upsert", "delete", "upsert", "upsert", "delete", "upsert")):
        rows = random_rows(seed=step)
        found = table.write(rows, operation, options={**INDEX, MOVES: moves})
        expected = other.write(rows, operation, options=simple)
        assert found.rows == expected.rows
        assert not [warning for warning in found.warnings if NOT_USED in warning]
        assert places(table) == places(other), f"step {step}, {operation}"
        assert table.rows() == other.rows(), f"step {step}, {operation}"
    stored = {str(row["_hoodie_record_key"]) for row in table.records()}
    assert set(records_in(LocalStorage(str(table.base_path)), RECORD_INDEX)) == stored


def test_only_files_that_the_index_names_are_searched(
    table: TableUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [(key_of(0), 2, "x", 0.5), (key_of(60), 2, "x", 0.5), ("new", 2, "z", 0.5)]
    caplog.set_level("INFO")
    result = table.write(rows, options={"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"})
    assert (result.rows.updated, result.rows.inserted) == (2, 1)
    assert "The record index locates keys of the batch in 2 file groups of 6" in caplog.text
    assert "Looked up 3 keys in 2 base files (indexes and footers ruled out 4): 2 were found" in caplog.text


def test_a_row_whose_partition_changed_stays_where_it_is_by_default(table: TableUnderTest) -> None:
    table.write([(key_of(0), 2, "y", 9.0)], options=INDEX)
    assert dict(places(table))[key_of(0)] == "x"
    table.write([(key_of(0), 3, "y", 9.0)], options={**INDEX, MOVES: "true"})
    assert dict(places(table))[key_of(0)] == "y"
    table.write([(key_of(0), 4, "y", 9.5)], options=INDEX)
    assert len([row for row in table.rows() if row[0] == key_of(0)]) == 1


def test_a_key_of_a_replaced_file_group_is_inserted_as_a_new_key(table: TableUnderTest) -> None:
    table.write([("only", 1, "x", 1.0)], "insert_overwrite")
    result = table.write([(key_of(0), 2, "x", 2.0), ("only", 2, "x", 2.0)], options=INDEX)
    assert (result.rows.updated, result.rows.inserted) == (1, 1)
    assert len(table.rows()) == 82


def test_keys_are_found_after_a_clustering(table: TableUnderTest) -> None:
    table.schedule()
    table.execute()
    rows = [(key_of(n), 2, PARTITIONS[n % 3], -1.0) for n in range(0, 130, 10)]
    result = table.write(rows, options=INDEX)
    assert (result.rows.updated, result.rows.inserted) == (12, 1)
    assert result.warnings == ()


def test_without_a_record_index_all_files_are_searched_with_a_warning(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = TableUnderTest(spark, tmp_path / "t")
    assert not table.write([("a", 1, "x", 1.0)], options=INDEX).warnings
    result = table.write([("a", 2, "y", 2.0)], options=INDEX)
    (warning,) = result.warnings
    assert NOT_USED in warning
    assert "do not list the partition `record_index`" in warning
    assert (result.rows.updated, result.rows.inserted) == (1, 0)
    assert places(table) == [("a", "x")]


def test_a_damaged_record_index_is_not_used(table: TableUnderTest) -> None:
    folder = table.base_path / METADATA_TABLE / RECORD_INDEX
    for path in folder.glob("*.hfile"):
        content = bytearray(path.read_bytes())
        content[60] ^= 0xFF
        path.write_bytes(content)
    result = table.write(
        [(key_of(n), 2, PARTITIONS[n % 3], 0.0) for n in range(60)], options=INDEX, dry_run=True
    )
    assert result.rows.updated == 60
    (warning,) = result.warnings
    assert "files of the metadata table are damaged" in warning


def test_a_lost_file_of_the_record_index_is_noticed(table: TableUnderTest) -> None:
    table.write([("new", 1, "x", 1.0)])
    folder = table.base_path / METADATA_TABLE / RECORD_INDEX
    newest = max(folder.glob(".*.log.*"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    newest.unlink()
    result = table.write([("new", 2, "x", 2.0)], options=INDEX, dry_run=True)
    assert result.rows.updated == 1
    assert "do not exist or are too short" in result.warnings[0]


def test_if_the_request_switches_the_metadata_table_off_all_files_are_searched(table: TableUnderTest) -> None:
    options = {**INDEX, "hoodie.metadata.enable": "false"}
    result = table.write([(key_of(0), 2, "x", 2.0)], options=options)
    assert result.rows.updated == 1
    assert any("sets hoodie.metadata.enable=false" in warning for warning in result.warnings)
    assert RECORD_INDEX not in read_table_config(LocalStorage(str(table.base_path))).metadata_partitions


def test_a_key_that_another_writer_adds_in_the_meantime_is_updated(table: TableUnderTest) -> None:
    with HeldUp(table, [("k", 2, "y", 2.0)], "first", INDEX) as first:
        table.write([("k", 1, "x", 1.0)])
    assert first.result.result().rows.updated == 1
    assert [place for place in places(table) if place[0] == "k"] == [("k", "x")]


def test_keys_that_a_clustering_moves_during_the_lookup_are_updated(table: TableUnderTest) -> None:
    storage, clustered = clustering_before_listing(table, f"{METADATA_TABLE}/{RECORD_INDEX}")
    rows = [(key_of(n), 2, PARTITIONS[n % 3], -1.0) for n in range(0, 130, 10)]
    result = table.write(rows, options={**OPTIMISTIC, **INDEX}, storage=storage)
    assert len(clustered) == 2
    assert clustered[1]
    assert (result.rows.updated, result.rows.inserted) == (12, 1)
    assert len(table.rows()) == len({row[0] for row in table.rows()}) == 121
