"""Secondary indexes that are built on Spark, and updated by every action, have exactly the entries of the rows."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.metadata_table import MetadataTableReport, RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import RollbackRequest
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH, encode_index_definitions
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from judges.engine import Engine
from judges.rows import PARTITION, Row, as_table, some_rows
from judges.secondary_indexes import TYPES, assert_indexes_equal_rows, index_name
from judges.table_files import instant_names
from support.depth import cases

COLUMNS = ("text", "double", "instant", "ts")
NAMES = tuple(map(index_name, COLUMNS))
FEW_GROUPS = {
    "hoodie.metadata.record.index.min.filegroup.count": "3",
    "hoodie.metadata.record.index.max.filegroup.count": "3",
}
COMPACTS_OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3"}


class IndexedTable:
    """A table of the engine whose secondary indexes the engine built."""

    def __init__(self, spark: SparkSession, folder: Path, version: int) -> None:
        self.spark, self.engine = spark, Engine(spark, folder)
        self.base_path, self.version = folder / "t", version
        self.storage = LocalStorage(str(self.base_path))

    def create(self) -> None:
        """Write rows, and define indexes as Hudi does."""
        self.write(some_rows(range(20), 1, TYPES))
        definition = IndexDefinition(
            name="",
            index_type="secondary_index",
            function="identity",
            source_fields=(),
            options={},
            version="V2" if self.version == 9 else "V1",
        )
        definitions = {
            index_name(column): replace(definition, name=index_name(column), source_fields=(column,))
            for column in COLUMNS
        }
        self.storage.write(PATH, encode_index_definitions(definitions))

    def write(
        self, rows: list[Row], operation: str = "upsert", options: Mapping[str, str] | None = None
    ) -> None:
        self.engine.write(
            self.base_path,
            as_table(rows, TYPES),
            version=self.version,
            operation=operation,
            options={**COMPACTS_OFTEN, **(options or {})},
        )

    def rebuild(self, spark: SparkSession | None, **fields: object) -> MetadataTableReport:
        request = RebuildMetadataTableRequest(base_path=str(self.base_path), options=FEW_GROUPS, **fields)  # type: ignore[arg-type]
        report = rebuild_metadata_table(request, spark=spark).report
        assert isinstance(report, MetadataTableReport)
        return report

    @property
    def partitions(self) -> tuple[str, ...]:
        return read_table_config(self.storage).metadata_partitions

    def assert_right(self) -> None:
        assert_indexes_equal_rows(self.base_path, COLUMNS)


@pytest.mark.parametrize("version", cases([8, 9], [9]))
def test_every_action_updates_the_indexes(spark: SparkSession, tmp_path: Path, version: int) -> None:
    table = IndexedTable(spark, tmp_path, version)
    table.create()
    report = table.rebuild(spark, partitions=NAMES)
    assert [(b.name, b.file_groups) for b in report.built] == [
        ("files", 1),
        (RECORD_INDEX, 3),
        *((name, 3) for name in sorted(NAMES)),
    ]
    assert {b.records for b in report.built if b.name in NAMES} >= {20}
    table.assert_right()
    updates = some_rows(range(12, 30), 2, TYPES)
    updates[0] |= {"text": None, "double": None, "instant": None}
    table.write(updates)
    table.assert_right()
    table.write(some_rows(range(0, 30, 4), 3, TYPES), "delete")
    table.assert_right()
    moved = [{**row, PARTITION: "a" if row[PARTITION] == "b" else "b", "ts": 4} for row in updates[1:6]]
    moves = {"hoodie.index.type": "RECORD_INDEX", "hoodie.record.index.update.partition.path": "true"}
    table.write([*moved[:2], *({**row, "text": "a$b\\c"} for row in moved[2:])], options=moves)
    table.assert_right()
    table.engine.schedule_clustering(table.base_path, sort_columns=("double",))
    table.engine.execute_clustering(table.base_path)
    table.assert_right()
    table.write([{**row, "ts": 5} for row in updates[6:] if row[PARTITION] == "a"], "insert_overwrite")
    table.assert_right()
    clean(CleanRequest(base_path=str(table.base_path), commits_retained=1))
    table.write([], "delete_partition", {"hoodie.datasource.write.partitions.to.delete": "b"})
    table.assert_right()
    table.write(some_rows(range(10), 6, TYPES), "insert_overwrite_table")
    table.assert_right()
    table.write(some_rows(range(5, 12), 7, TYPES))
    newest = instant_names(table.base_path, "commit")[-1].partition(".")[0].partition("_")[0]
    rollback(RollbackRequest(base_path=str(table.base_path), instants=(newest,)))
    table.assert_right()
    compactions = [
        name for name in instant_names(table.base_path / METADATA_TABLE, "commit") if "delta" not in name
    ]
    assert compactions


@pytest.mark.thorough
def test_builds_and_drops_keep_the_definitions(spark: SparkSession, tmp_path: Path) -> None:
    table = IndexedTable(spark, tmp_path, 9)
    table.create()
    with pytest.raises(InvalidRequestError, match="needs Spark"):
        table.rebuild(None, partitions=NAMES)
    with pytest.raises(InvalidRequestError, match="does not define the index 'secondary_index_other'"):
        table.rebuild(spark, partitions=("secondary_index_other",))
    table.rebuild(spark, partitions=NAMES)
    before = read_index_definitions(table.storage)
    assert table.rebuild(None, drop=NAMES[:1]).dropped == NAMES[:1]
    assert NAMES[0] not in table.partitions
    table.rebuild(spark, partitions=NAMES[:1])
    assert table.rebuild(spark).is_whole
    table.assert_right()
    assert table.rebuild(None, drop=(RECORD_INDEX,)).dropped == tuple(sorted((RECORD_INDEX, *NAMES)))
    assert not {RECORD_INDEX, *NAMES} & set(table.partitions)
    assert before.items() <= read_index_definitions(table.storage).items()


def test_an_index_that_cannot_be_updated_refuses_writes_before_a_file_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = IndexedTable(spark, tmp_path, 9)
    table.create()
    table.rebuild(spark, partitions=NAMES)
    definitions = dict(read_index_definitions(table.storage))
    odd = replace(definitions[NAMES[0]], source_fields=("place",))
    table.storage.write(PATH, encode_index_definitions({**definitions, NAMES[0]: odd}))
    files = set(table.base_path.rglob("*.parquet"))
    with pytest.raises(UnsupportedTableError, match=f"'place' of the index {NAMES[0]} does not exist"):
        table.write(some_rows(range(3), 2, TYPES))
    assert set(table.base_path.rglob("*.parquet")) == files
