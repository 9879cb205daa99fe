"""Reads with filters, with and without indexes, return the same rows as Hudi's queries with the same conditions."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from judges.merge_on_read.shared_log_tables import SharedTable
from judges.oracle import V6_OLD, V8, V9, Oracle
from judges.rows import ALL_TYPES, KEY, PLAIN, Row, as_table, some_rows
from judges.table_files import instant_names
from support.depth import cases
from support.reading.read_here import AS_OF, READ_OPTIMIZED, window

INDEXED_READS = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
FILTERS: list[tuple[list[tuple[Any, ...]], str]] = [
    ([("ts", "=", 2)], "ts = 2"),
    ([("ts", "!=", 2), ("int", "<=", 0)], "ts != 2 and int <= 0"),
    ([("text", ">", "v1 of 3")], "text > 'v1 of 3'"),
    ([("text", "is null")], "text is null"),
    ([("double", "<", 500.5), ("double", "is not null")], "double < 500.5"),
    ([("boolean", "=", True)], "boolean = true"),
    ([("small_decimal", "<", Decimal("-10.00"))], "small_decimal < -10.00BD"),
    ([("date", ">=", dt.date(1963, 1, 1))], "date >= date'1963-01-01'"),
    (
        [("instant", "<", dt.datetime(1970, 8, 1, tzinfo=dt.UTC))],
        "instant < timestamp'1970-08-01 00:00:00 UTC'",
    ),
    ([("int", "in", [-3999, -1999, 7])], "int in (-3999, -1999, 7)"),
    ([("int", "not in", [-3999, -1999])], "int not in (-3999, -1999)"),
    ([("part", "=", "a"), ("ts", ">=", 2)], "part = 'a' and ts >= 2"),
    ([(KEY, "in", ["1h", "3vaf·", "none"])], f"{KEY} in ('1h', '3vaf·', 'none')"),
]
"""Conditions of this project, and the same conditions in SQL."""
# Hudi 0.15 cannot store statistics of `wide_decimal`: they have 15 digits after the point and at most 30 digits.
SCHEMA = pa.schema([field for field in ALL_TYPES if field.name != "wide_decimal"])


def with_indexes(oracle: Oracle) -> dict[str, str]:
    """Options of a write of Hudi that fills the indexes which its readers use."""
    return {
        "metadata__enable": "true",
        "metadata__index__column__stats__enable": "true",
        "metadata__record__index__enable": "true",
        **({} if oracle.table_version == 6 else {"metadata__index__partition__stats__enable": "true"}),
    }


def compare_filters(judge, base_path: Path, reads: list[dict[str, str]]) -> None:
    selective = set()
    for options in reads:
        found = [
            judge.compare(base_path, options, filters=filters, where=where).num_rows
            for filters, where in FILTERS
        ]
        total = judge.compare(base_path, options).num_rows
        selective |= {number for number, count in enumerate(found) if 0 < count < total}
    assert len(selective) >= len(FILTERS) - 4, selective


@pytest.mark.thorough
@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", [V6_OLD, V8, V9], ids=str)
def test_filtered_reads_of_copy_on_write_tables_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    judge, base_path = hudi(oracle.release), tmp_path / "t"
    options = oracle.options("t", **with_indexes(oracle))
    for number, first in enumerate((0, 6), start=1):
        judge.write(base_path, as_table(some_rows(range(first, first + 8), number, SCHEMA), SCHEMA), options)
    compare_filters(judge, base_path, [INDEXED_READS])


@pytest.mark.thorough
@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", [V6_OLD, V8, V9], ids=str)
def test_filtered_reads_of_merge_on_read_tables_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), SCHEMA)
    table.hudi_writes(some_rows(range(8), 1, SCHEMA), "insert", **with_indexes(oracle))
    table.hudi_writes(some_rows(range(6, 14), 2, SCHEMA), **with_indexes(oracle))
    begin = table.bounds()[0]
    compare_filters(table.judge, table.base_path, [INDEXED_READS, READ_OPTIMIZED, window(begin)])


NARROW = pa.schema([*(PLAIN.field(name) for name in (KEY, "part", "ts")), pa.field("number", pa.int32())])
WIDE = pa.schema(
    [
        *(field for field in NARROW if field.name != "number"),
        pa.field("number", pa.int64()),
        pa.field("added", pa.string()),
    ]
)


def evolved_rows(schema: pa.Schema, numbers: range, version: int) -> list[Row]:
    large = 1 << 40 if schema is WIDE else 0
    values = [
        {KEY: f"k{n}", "part": "ab"[n % 2], "ts": version, "number": n + large, "added": f"a{n}"}
        for n in numbers
    ]
    return [{name: row[name] for name in schema.names} for row in values]


@pytest.mark.oracles(V6_OLD, V8, V9)
@pytest.mark.parametrize("oracle", cases([V6_OLD, V8, V9], [V9]))
def test_reads_of_a_merge_on_read_table_with_an_evolved_schema_return_the_rows_of_hudi(
    hudi, tmp_path: Path, oracle: Oracle
) -> None:
    """A column is added and another one widened by a log file; windows begin before, at and after this commit."""
    table = SharedTable(tmp_path / "t", oracle, hudi(oracle.release), NARROW)
    table.hudi_writes(evolved_rows(NARROW, range(8), 1), "insert")
    table.write(evolved_rows(NARROW, range(2), 2))
    table.schema = WIDE
    table.hudi_writes(evolved_rows(WIDE, range(1, 4), 3))
    table.write(evolved_rows(WIDE, range(3, 10), 4))
    judge, base_path, bounds = table.judge, table.base_path, ["000", *table.bounds()]
    for options in ({}, READ_OPTIMIZED):
        judge.compare(base_path, options)
    for name in instant_names(base_path, ".deltacommit"):
        judge.compare(base_path, {AS_OF: name.partition(".")[0].partition("_")[0]})
    for place, begin in enumerate(bounds[:-1]):
        for end in bounds[place + 1 :]:
            judge.compare(base_path, window(begin, end))
    found = judge.compare(
        base_path, window(bounds[1]), filters=[("number", ">", 1 << 35)], where="number > 34359738368"
    )
    assert found.num_rows == 9
    judge.compare(base_path, filters=[("added", "is null")], where="added is null")
