"""Random sequences of writes give the rows of a dictionary. Hypothesis draws the writes; hudi-rs reads the table."""

import itertools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from pyspark.sql import SparkSession

from hudi_table_services.contract.result import JobResult, Outcome
from support.spark.writing import Row, TableUnderTest

KEYS = st.sets(st.integers(0, 60), min_size=1, max_size=40)
DROP_EXISTING = {"hoodie.datasource.insert.dup.policy": "drop"}
TO_DELETE = "hoodie.datasource.write.partitions.to.delete"


class TableMachine(RuleBasedStateMachine):
    """A table and the dictionary of its expected rows. Each key always belongs to the same partition."""

    def __init__(self, spark: SparkSession, folder: Path, numbers: "itertools.count[int]") -> None:
        super().__init__()
        self._spark = spark
        self._folder = folder / str(next(numbers))
        self._step = 0
        self._rows: dict[str, Row] = {}
        self._last: tuple[list[Row], str, str] | None = None

    @initialize(
        version=st.sampled_from(["6", "8", "9"]), index=st.sampled_from(["SIMPLE", "BLOOM", "GLOBAL_BLOOM"])
    )
    def create(self, version: str, index: str) -> None:
        self._table = TableUnderTest(
            self._spark,
            self._folder,
            hoodie__write__table__version=version,
            hoodie__index__type=index,
            # A file contains about twenty rows, so writes pad small files, fill files and create new files.
            hoodie__parquet__max__file__size="4000",
            hoodie__parquet__small__file__limit="3900",
        )

    @rule(keys=KEYS, older=st.booleans())
    def upsert(self, keys: set[int], older: bool) -> None:
        batch = self._batch(keys, ordering=self._step - 2 if older else None)
        self._write(batch, "upsert")
        for row in batch:
            if row[0] not in self._rows or self._rows[row[0]][1] <= row[1]:
                self._rows[row[0]] = row
        self._check()

    @rule(keys=KEYS)
    def insert_new(self, keys: set[int]) -> None:
        batch = self._batch(keys)
        result = self._write(batch, "insert", DROP_EXISTING)
        known = [row for row in batch if row[0] in self._rows]
        assert result.rows.dropped_existing == len(known)
        self._rows = {row[0]: row for row in batch} | self._rows
        self._check()

    @rule(keys=KEYS)
    def delete(self, keys: set[int]) -> None:
        batch = self._batch(keys)
        if not self._rows:
            return
        self._write(batch, "delete")
        for row in batch:
            self._rows.pop(row[0], None)
        self._check()

    @rule(keys=KEYS, whole_table=st.booleans())
    def overwrite(self, keys: set[int], whole_table: bool) -> None:
        batch = self._batch(keys)
        self._write(batch, "insert_overwrite_table" if whole_table else "insert_overwrite")
        gone = {row[2] for row in batch}
        kept = {} if whole_table else {k: row for k, row in self._rows.items() if row[2] not in gone}
        self._rows = kept | {row[0]: row for row in batch}
        self._check()

    @rule(partition=st.sampled_from("abc"))
    def delete_partition(self, partition: str) -> None:
        if not self._rows:
            return
        self._write([], "delete_partition", {TO_DELETE: partition})
        self._rows = {k: row for k, row in self._rows.items() if row[2] != partition}
        self._check()

    @rule()
    def repeat_the_last_request(self) -> None:
        if self._last is None:
            return
        rows, operation, request_id = self._last
        before = self._table.files()
        assert self._table.write(rows, operation, request_id=request_id).reused
        assert self._table.files() == before

    def _batch(self, numbers: set[int], ordering: int | None = None) -> list[Row]:
        self._step += 1
        ts = self._step if ordering is None else ordering
        return [(f"k{i:02d}", ts, "abc"[i % 3], i + self._step / 100) for i in sorted(numbers)]

    def _write(self, rows: list[Row], operation: str, options: dict[str, str] | None = None) -> JobResult:
        request_id = f"step-{self._step}-{operation}-{len(rows)}"
        result = self._table.write(rows, operation, options=options, request_id=request_id)
        if result.outcome is Outcome.COMPLETED and operation not in ("insert", "delete_partition"):
            self._last = (rows, operation, request_id)
        return result

    def _check(self) -> None:
        if self._rows or (self._folder / ".hoodie").exists():
            assert self._table.rows() == sorted(self._rows.values())


@pytest.mark.parametrize("examples", [5])
def test_any_sequence_of_writes_gives_the_rows_of_a_dictionary(
    spark: SparkSession, tmp_path: Path, examples: int
) -> None:
    numbers = itertools.count()
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        lambda: TableMachine(spark, tmp_path, numbers),
        settings=settings(
            max_examples=examples, stateful_step_count=8, suppress_health_check=list(HealthCheck)
        ),
    )
