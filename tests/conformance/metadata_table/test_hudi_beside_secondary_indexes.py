"""Real Hudi creates secondary indexes, and Hudi and the engine change the table in turns.

After every action, the entries of each index equal the rows, and filters of Hudi that use the index find all rows.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import read_table_config
from judges.engine import Engine
from judges.hudi_judge import HudiRefusedError
from judges.metadata_check import assert_describes_the_table
from judges.metadata_walk import Walk
from judges.oracle import V8, V9, Oracle
from judges.rows import KEY, PARTITION, Model, Row, a_key, as_table, assert_rows_equal, merged, some_rows
from judges.secondary_indexes import (
    COLUMNS,
    SETTINGS,
    TYPES,
    assert_filters,
    assert_indexes_equal_rows,
    create_indexes,
    index_name,
    literal,
)

STEPS = 12
SOME = {V8: ("text", "double"), V9: ("ts", "float")}
"""Columns with an index in tests with many steps. With an index on every column, these tests take very long."""

COMPACTS_OFTEN = {"hoodie.metadata.compact.max.delta.commits": "3"}
EACH = pytest.mark.parametrize("oracle", [V8, V9], ids=str)
STRANGE = ("", "$", "\\", "a$b", "a\\$b", "\\\\", "\0", "x\0y", "🙂 é世", "line\nbreak", "0", "null")


class Table:
    """A table of Hudi with secondary indexes, and its rows."""

    def __init__(self, hudi, engine: Engine, base_path: Path, oracle: Oracle) -> None:
        self.judge, self.engine = hudi(oracle.release), engine
        self.base_path, self.oracle = base_path, oracle
        self.model: Model = {}
        self.options: dict[str, str] = {}

    def hudi_writes(self, rows: list[Row], operation: str = "upsert", **more: str) -> None:
        options = self.oracle.options("t", datasource__write__operation=operation)
        self.judge.write(
            self.base_path, as_table(rows, TYPES), {**options, **SETTINGS, **self.options, **more}
        )

    def we_write(self, rows: list[Row], operation: str = "upsert", **more: str) -> None:
        self.engine.write(
            self.base_path,
            as_table(rows, TYPES),
            version=self.oracle.table_version,
            operation=operation,
            options={**self.options, **more},
        )

    def assert_right(self, columns: Sequence[str]) -> None:
        assert_describes_the_table(self.base_path)
        assert_indexes_equal_rows(self.base_path, columns)
        assert_filters(self.judge, self.base_path, self.model, columns)


@pytest.mark.thorough
def test_hudi_and_the_engine_update_the_indexes_in_turns(hudi, engine: Engine, tmp_path: Path) -> None:
    table = Table(hudi, engine, tmp_path / "t", V9)
    rows = some_rows(range(20), 1, TYPES)
    table.hudi_writes(rows)
    create_indexes(table.judge, table.base_path, V9, COLUMNS)
    updates, gone = some_rows(range(12, 30), 2, TYPES), some_rows(range(0, 6, 2), 3, TYPES)
    table.we_write(updates)
    table.we_write(gone, "delete")
    table.model = merged({}, [*rows, *updates])
    table.model = {key: row for key, row in table.model.items() if key not in {r[KEY] for r in gone}}
    table.assert_right(COLUMNS)
    rows = some_rows(range(25, 33), 4, TYPES)
    table.hudi_writes(rows, **COMPACTS_OFTEN)
    table.model = merged(table.model, rows)
    table.assert_right(COLUMNS)


@pytest.mark.thorough
@EACH
def test_every_action_of_the_engine_updates_the_indexes(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    table = Table(hudi, engine, tmp_path / "t", oracle)
    rows = some_rows(range(20), 1, TYPES)
    table.hudi_writes(rows)
    create_indexes(table.judge, table.base_path, oracle, SOME[oracle])
    table.model = merged({}, rows)
    table.assert_right(SOME[oracle])

    rows = some_rows(range(12, 30), 2, TYPES)
    rows[0] |= dict.fromkeys(("text", "int", "long", "date", "instant"))
    table.we_write(rows)
    table.model = merged(table.model, rows)
    table.assert_right(SOME[oracle])

    rows = some_rows(range(25, 33), 3, TYPES)
    table.hudi_writes(rows)
    table.model = merged(table.model, rows)
    table.assert_right(SOME[oracle])

    gone = [{**row, "ts": 4} for row in list(table.model.values())[::5]]
    table.we_write(gone, "delete")
    table.model = {key: row for key, row in table.model.items() if key not in {r[KEY] for r in gone}}
    table.assert_right(SOME[oracle])

    rows = some_rows(range(100, 104), 5, TYPES)
    table.we_write(rows, "insert")
    table.model = merged(table.model, rows)
    table.assert_right(SOME[oracle])

    table.engine.schedule_clustering(table.base_path, sort_columns=("double",))
    table.engine.execute_clustering(table.base_path)
    table.assert_right(SOME[oracle])

    kept = [row for row in table.model.values() if row[PARTITION] == "a"]
    rows = [{**row, "ts": 6} for row in kept[::2]] + some_rows(range(200, 206), 6, TYPES, ("a",))
    table.we_write(rows, "insert_overwrite")
    table.model = merged({k: r for k, r in table.model.items() if r[PARTITION] != "a"}, rows)
    table.assert_right(SOME[oracle])

    clean(CleanRequest(base_path=str(table.base_path), commits_retained=1))
    table.assert_right(SOME[oracle])

    rows = some_rows(range(0, 60, 3), 7, TYPES)
    table.hudi_writes(rows, **COMPACTS_OFTEN)
    table.model = merged(table.model, rows)
    table.assert_right(SOME[oracle])

    table.we_write([], "delete_partition", **{"hoodie.datasource.write.partitions.to.delete": "a"})
    table.model = {key: row for key, row in table.model.items() if row[PARTITION] != "a"}
    table.assert_right(SOME[oracle])

    rows = some_rows(range(20), 8, TYPES)
    table.we_write(rows, "insert_overwrite_table")
    table.model = merged({}, rows)
    table.assert_right(SOME[oracle])

    rows = some_rows(range(10, 24), 9, TYPES)
    table.hudi_writes(rows, **COMPACTS_OFTEN)
    table.model = merged(table.model, rows)
    table.assert_right(SOME[oracle])
    assert_rows_equal(table.judge.read(table.base_path), table.model, str(oracle))


@pytest.mark.thorough
@EACH
def test_indexes_equal_the_rows_after_random_actions(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    settings = {**SETTINGS, **COMPACTS_OFTEN}
    walk = Walk(engine, judge, base_path, oracle, seed=5, settings=settings, schema=TYPES)
    walk.begin()
    create_indexes(judge, base_path, oracle, SOME[oracle])
    for _ in range(STEPS):
        try:
            walk.step()
            assert_describes_the_table(base_path)
            assert_indexes_equal_rows(base_path, SOME[oracle])
            assert_filters(judge, base_path, walk.model, SOME[oracle])
        except Exception as error:
            error.add_note(f"after the actions {walk.names}")
            raise


@pytest.mark.thorough
@EACH
def test_indexes_equal_the_rows_with_strange_values_and_after_moves(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle
) -> None:
    table = Table(hudi, engine, tmp_path / "t", oracle)
    table.options = {
        "hoodie.index.type": "RECORD_INDEX",
        "hoodie.record.index.update.partition.path": "true",
    }
    rows = some_rows(range(len(STRANGE)), 1, TYPES)
    for row, text in zip(rows, STRANGE, strict=True):
        row["text"] = text
    rows[1][KEY] = "key$with\\both"
    table.hudi_writes(rows)
    create_indexes(table.judge, table.base_path, oracle, ["text"])
    table.model = merged({}, rows)
    table.assert_right(("text",))

    rows = [{**row, "ts": 2, "text": STRANGE[number - 1]} for number, row in enumerate(rows)]
    table.we_write(rows)
    table.model = merged(table.model, rows)
    table.assert_right(("text",))

    # Rows move to the other partition. Some keep their value of the indexed column, and the others get null.
    rows = [{**row, "ts": 3, PARTITION: "b" if row[PARTITION] == "a" else "a"} for row in rows[::2]]
    rows = [{**row, "text": row["text"] if number % 2 else None} for number, row in enumerate(rows)]
    table.we_write(rows)
    table.model = merged(table.model, rows)
    table.assert_right(("text",))

    rows = [{**row, "ts": 4, "text": "again"} for row in rows]
    table.hudi_writes(rows, **COMPACTS_OFTEN)
    table.model = merged(table.model, rows)
    table.assert_right(("text",))


@pytest.mark.thorough
@EACH
def test_hudi_uses_and_updates_indexes_that_the_engine_built(
    hudi, engine: Engine, spark: SparkSession, tmp_path: Path, oracle: Oracle
) -> None:
    table = Table(hudi, engine, tmp_path / "t", oracle)
    rows = some_rows(range(20), 1, TYPES)
    table.hudi_writes(rows)
    create_indexes(table.judge, table.base_path, oracle, ["text"])
    table.model = merged({}, rows)
    name = index_name("text")

    def rebuild(**fields: tuple[str, ...]) -> None:
        request = RebuildMetadataTableRequest(base_path=str(table.base_path), **fields)
        rebuild_metadata_table(request, spark=spark)

    rebuild(drop=(name,), partitions=(name,))
    table.assert_right(["text"])
    rows = some_rows(range(15, 25), 2, TYPES)
    table.hudi_writes(rows)
    table.model = merged(table.model, rows)
    table.assert_right(["text"])

    rebuild()
    table.assert_right(["text"])
    rows = some_rows(range(5, 18), 3, TYPES)
    table.hudi_writes(rows, **COMPACTS_OFTEN)
    table.model = merged(table.model, rows)
    table.assert_right(["text"])

    rebuild(drop=("record_index",))
    left = read_table_config(LocalStorage(str(table.base_path))).metadata_partitions
    assert "record_index" not in left
    assert name not in left


@pytest.mark.thorough
def test_filters_read_only_the_files_that_the_index_names(hudi, engine: Engine, tmp_path: Path) -> None:
    """A file with other rows is damaged, so a filter that reads the file fails."""
    table = Table(hudi, engine, tmp_path / "t", V9)
    table.hudi_writes(some_rows(range(20), 1, TYPES))
    create_indexes(table.judge, table.base_path, V9, ["text"])
    table.we_write(some_rows(range(0, 20, 2), 2, TYPES))
    for path in (table.base_path / "b").glob("*.parquet"):
        path.write_bytes(b"damaged" * 20)
    text = some_rows([10], 2, TYPES)[0]["text"]

    def select(name: str, data_skipping: str) -> list[dict[str, object]]:
        # Each query uses a new table name, because the session caches tables with their settings by name.
        return table.judge.sql(
            f"create table {name} using hudi location '{table.base_path}'",
            f"select `{KEY}` from {name} where text = {literal(text)}",
            settings={
                **SETTINGS,
                "hoodie.metadata.index.column.stats.enable": "false",
                "hoodie.enable.data.skipping": data_skipping,
            },
        )

    assert select("damaged_1", "true") == [{KEY: a_key(10)}]
    with pytest.raises(HudiRefusedError):
        select("damaged_2", "false")
