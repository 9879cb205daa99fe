"""A record index that is built on Spark locates every row. Spark tasks and threads compute the same statistics."""

from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.commits.metadata_table_building.new_partition import NewFiles
from hudi_table_services.commits.metadata_table_building.new_record_index import write_group
from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table import index_definitions
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    COLUMN_STATS,
    FILES,
    RECORD_INDEX,
    file_group_id,
)
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation, RecordType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.metadata_table.file_format import new_file_format
from hudi_table_services.storage.metadata_table.partition_reader import MetadataPartition
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from support.depth import cases
from support.metadata_table.built_tables import opened, records_in
from support.spark.writing import TableUnderTest

FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "3",
    "hoodie.metadata.record.index.max.filegroup.count": "3",
}


@pytest.fixture(params=cases(["6", "9"], ["9"]))
def table(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> TableUnderTest:
    """A table with three partitions of one file group each; some rows were updated."""
    table = TableUnderTest(spark, tmp_path / "t", hoodie__write__table__version=request.param)
    table.write([(f"key-{n}-ä", 1, "xyz"[n % 3], float(n)) for n in range(60)])
    table.write([(f"key-{n}-ä", 2, "xyz"[n % 3], -float(n)) for n in range(50, 80)])
    return table


def rebuild(table: TableUnderTest, spark: SparkSession | None, **fields: object) -> MetadataTableReport:
    request = RebuildMetadataTableRequest(base_path=str(table.base_path), **fields)  # type: ignore[arg-type]
    report = rebuild_metadata_table(request, spark=spark).report
    assert isinstance(report, MetadataTableReport)
    return report


def test_the_record_index_locates_every_row(table: TableUnderTest, spark: SparkSession) -> None:
    report = rebuild(table, spark, partitions=(RECORD_INDEX,), options=FEW_GROUPS)
    assert [(b.name, b.file_groups, b.records) for b in report.built] == [
        (FILES, 1, 4),
        (RECORD_INDEX, 3, 80),
    ]
    storage = LocalStorage(str(table.base_path))
    rows = {str(row["_hoodie_record_key"]): row for row in table.records()}
    found = MetadataPartition(opened(storage), RECORD_INDEX).find(list(rows))
    assert len(found) == len(rows) == 80
    for key, record in found.items():
        location, file = record.payload, BaseFile.from_file_name(str(rows[key]["_hoodie_file_name"]))
        assert isinstance(location, RecordLocation)
        assert (location.partition_path, location.file_id) == (
            rows[key]["_hoodie_partition_path"],
            file.file_id,
        )
        # Instant times of the table have the time zone of this machine.
        written = datetime.strptime(file.instant_time + "000", "%Y%m%d%H%M%S%f").astimezone()
        assert location.instant_millis == int(written.timestamp() * 1000)
    logs = storage.list_files(f"{METADATA_TABLE}/{RECORD_INDEX}")
    assert len([f for f in logs if ".log.1_0-0-0" in f.name]) == 3
    assert read_table_config(storage).metadata_partitions == (FILES, RECORD_INDEX)
    is_new = read_table_config(storage).table_version is TableVersion.V9
    assert storage.exists(index_definitions.PATH) is is_new
    if is_new:
        (definition,) = index_definitions.decode_index_definitions(
            storage.read(index_definitions.PATH)
        ).values()
        assert (definition.name, definition.options) == (RECORD_INDEX, {"isPartitioned": "false"})


@pytest.mark.thorough
def test_by_default_the_index_has_ten_file_groups_and_stays_readable(
    table: TableUnderTest, spark: SparkSession
) -> None:
    rebuild(table, spark, partitions=(RECORD_INDEX,))
    report = rebuild(table, spark, partitions=(RECORD_INDEX,))
    assert [(b.name, b.file_groups) for b in report.built] == [(RECORD_INDEX, 10)]
    assert not report.is_whole
    assert len(records_in(LocalStorage(str(table.base_path)), RECORD_INDEX)) == 80


def test_a_key_in_two_partitions_is_refused(table: TableUnderTest, spark: SparkSession) -> None:
    table.write([("key-1-ä", 9, "z", 1.0)])
    with pytest.raises(UnsupportedTableError, match="'key-1-ä' occurs more than once in the table") as caught:
        rebuild(table, spark, partitions=(RECORD_INDEX,))
    assert "y/" in str(caught.value)
    assert "z/" in str(caught.value)
    storage = LocalStorage(str(table.base_path))
    assert read_table_config(storage).metadata_partitions == (FILES,)
    rebuild(table, spark)
    assert len(table.rows()) == 81


def test_without_spark_a_record_index_is_refused_before_anything_changes(
    table: TableUnderTest, spark: SparkSession
) -> None:
    before = table.files()
    with pytest.raises(InvalidRequestError, match="needs Spark"):
        rebuild(table, None, partitions=(RECORD_INDEX,))
    assert table.files() == before


def test_statistics_are_the_same_in_threads_and_in_spark_tasks(
    table: TableUnderTest, spark: SparkSession
) -> None:
    storage = LocalStorage(str(table.base_path))
    rebuild(table, None, partitions=(COLUMN_STATS,))
    expected = records_in(storage, COLUMN_STATS)
    assert len(expected) > 20
    rebuild(table, spark, partitions=(COLUMN_STATS,))
    assert records_in(storage, COLUMN_STATS) == expected


def test_a_repeated_task_replaces_the_file_of_its_first_attempt() -> None:
    storage, time = MemoryStorage("repeated-task"), "00000000000000001"
    group = FileGroupId(RECORD_INDEX, file_group_id(RECORD_INDEX, 0))
    new = NewFiles(storage=storage, groups=(group,), instant_time=time, form=new_file_format(TableVersion.V9))
    location = RecordLocation(partition_path="a", file_id="f", instant_millis=1, is_plain_text=True)
    records = [MetadataRecord(key="k", record_type=RecordType.RECORD_INDEX, payload=location)]
    first = write_group(new, 0, records)
    path = f"{RECORD_INDEX}/record-index-0000-0_0-1-0_{time}.hfile"
    content = storage.read(path)
    storage.write(path, b"half")
    assert write_group(new, 0, records) == first
    assert storage.read(path) == content
