"""Real Hudi and the engine write to one table alternately. After each write, Hudi reads the expected rows.

Oracles: Hudi 0.15.0 on table version 6; Hudi 1.2.0 on versions 6, 8 and 9, with settings that
prevent upgrades. A dictionary contains the expected rows. In the test with alternating writers, hudi-rs 0.5 also reads
the table after each write.
"""

import random
from pathlib import Path

import pyarrow as pa
import pytest

from judges import hudi_rs
from judges.engine import Engine
from judges.hudi_judge import HudiJudge
from judges.oracle import ORACLES, V6_OLD, V8, V9, Oracle
from judges.rows import ALL_TYPES, KEY, LOCAL_TIME, Model, Row, as_table, assert_rows_equal, merged, some_rows
from judges.table_files import properties

pytestmark = pytest.mark.oracles(*ORACLES)

PARTITIONED = [(oracle, True) for oracle in ORACLES]
NOT_PARTITIONED = [(oracle, False) for oracle in ORACLES]

TURNS = 10
ROWS_PER_TURN = 8
KEY_SPACE = 40

# Inserts pad no small files, so a stored key that the index does not find becomes a duplicate in a new file group.
BLOOM = {"index__type": "BLOOM", "parquet__small__file__limit": "0"}
SIMPLE = {"index__type": "SIMPLE", "parquet__small__file__limit": "0"}


def tables(*sampled: tuple[Oracle, bool]) -> pytest.MarkDecorator:
    """Parametrize a test: all oracles, with and without partitions. `make test` runs only the cases in `sampled`."""
    return pytest.mark.parametrize(
        ("oracle", "is_partitioned"),
        [
            pytest.param(*case, id=_name(*case), marks=() if case in sampled else pytest.mark.thorough)
            for case in (*PARTITIONED, *NOT_PARTITIONED)
        ],
    )


def _name(oracle: Oracle, is_partitioned: bool) -> str:
    return f"{'' if is_partitioned else 'not-'}partitioned-{oracle}"


@tables((V6_OLD, True), (V8, True), (V9, False))
def test_hudi_reads_every_type_of_our_rows_and_updates_them_with_both_indexes(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle, is_partitioned: bool
) -> None:
    judge, base_path, schema = hudi(oracle.release), tmp_path / "t", _schema(oracle, is_partitioned)
    rows = some_rows(range(20), 1, schema)
    engine.write(
        base_path, as_table(rows, schema), version=oracle.table_version, is_partitioned=is_partitioned
    )
    model = merged({}, rows)
    assert_rows_equal(judge.read(base_path), model, str(oracle))
    before = properties(base_path)

    for version, index in enumerate((BLOOM, SIMPLE), start=2):
        rows = some_rows(range(14, 14 + 4 * version), version, schema)
        options = oracle.options("t", is_partitioned=is_partitioned, **index)
        judge.write(base_path, as_table(rows, schema), options)
        model = merged(model, rows)
        assert_rows_equal(judge.read(base_path), model, str(oracle))
    assert properties(base_path) == before

    rows = some_rows(range(10, 40, 3), 9, schema)
    engine.write(
        base_path, as_table(rows, schema), version=oracle.table_version, is_partitioned=is_partitioned
    )
    model = merged(model, rows)
    assert_rows_equal(judge.read(base_path), model, str(oracle))


@tables((V9, True))
def test_rows_stay_correct_if_hudi_and_the_engine_write_alternately_for_ten_turns(
    hudi, engine: Engine, tmp_path: Path, oracle: Oracle, is_partitioned: bool
) -> None:
    # Hudi creates the partitioned table, and the engine creates the table without partitions.
    table = _SharedTable(hudi(oracle.release), engine, tmp_path / "t", oracle, is_partitioned)
    for turn in range(TURNS):
        table.take_turn(turn, is_ours=turn % 2 == int(is_partitioned))


def _schema(oracle: Oracle, is_partitioned: bool) -> pa.Schema:
    # Only tables without partitions have timestamps without a time zone: Hudi 1.x reads them from version 8 on, but
    # hudi-rs does not read them.
    has_local_time = oracle.table_version >= 8 and not is_partitioned
    return ALL_TYPES.append(LOCAL_TIME) if has_local_time else ALL_TYPES


class _SharedTable:
    """One table to which two writers write alternately, and the model of its rows."""

    def __init__(
        self, judge: HudiJudge, engine: Engine, base_path: Path, oracle: Oracle, is_partitioned: bool
    ) -> None:
        self._judge, self._engine, self._base_path = judge, engine, base_path
        self._oracle, self._is_partitioned = oracle, is_partitioned
        self._random = random.Random(f"{oracle}{is_partitioned}")
        self._model: Model = {}

    def take_turn(self, turn: int, *, is_ours: bool) -> None:
        """Delete rows in every fourth turn, and upsert rows in all other turns; then let both judges read the table."""
        is_delete = turn % 4 == 3
        rows = self._victims() if is_delete else self._news(turn + 1)
        operation = "delete" if is_delete else "upsert"
        if is_ours:
            self._write_ours(rows, operation)
        else:
            self._write_theirs(rows, operation, index=(BLOOM, SIMPLE)[turn // 2 % 2])
        self._model = self._without(rows) if is_delete else merged(self._model, rows)
        who = f"after turn {turn} ({'engine' if is_ours else self._oracle} {operation}), "
        assert_rows_equal(self._judge.read(self._base_path), self._model, who + str(self._oracle))
        assert_rows_equal(hudi_rs.read_snapshot(self._base_path), self._model, who + "hudi-rs")

    def _news(self, version: int) -> list[Row]:
        return some_rows(self._random.sample(range(KEY_SPACE), ROWS_PER_TURN), version)

    def _victims(self) -> list[Row]:
        return [self._model[key] for key in self._random.sample(sorted(self._model), 3)]

    def _without(self, rows: list[Row]) -> Model:
        gone = {row[KEY] for row in rows}
        return {key: row for key, row in self._model.items() if key not in gone}

    def _write_ours(self, rows: list[Row], operation: str) -> None:
        self._engine.write(
            self._base_path,
            as_table(rows),
            version=self._oracle.table_version,
            operation=operation,
            is_partitioned=self._is_partitioned,
        )

    def _write_theirs(self, rows: list[Row], operation: str, index: dict[str, str]) -> None:
        options = self._oracle.options("t", is_partitioned=self._is_partitioned, **index)
        options["hoodie.datasource.write.operation"] = operation
        self._judge.write(self._base_path, as_table(rows), options)
