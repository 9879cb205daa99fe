"""Requests that cannot be carried out fail with a clear error and change no file of the table."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    InvalidDataError,
    InvalidRequestError,
    UnsupportedTableError,
)
from hudi_table_services.jobs.writing.upsert import upsert
from support.spark.writing import SCHEMA, Row, TableUnderTest

ROWS: list[Row] = [("a", 1, "x", 1.0), ("b", 1, "y", 1.0)]


@pytest.fixture(scope="module")
def good(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TableUnderTest:
    table = TableUnderTest(spark, tmp_path_factory.mktemp("good") / "t")
    table.write(ROWS)
    return table


@pytest.fixture
def table(good: TableUnderTest, tmp_path: Path) -> TableUnderTest:
    return good.copied_to(tmp_path / "t")


def contents(table: TableUnderTest) -> dict[str, bytes]:
    return {name: (table.base_path / name).read_bytes() for name in table.files()}


def properties_with(table: TableUnderTest, old: str, new: str) -> None:
    path = table.base_path / ".hoodie" / "hoodie.properties"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("schema", "rows", "message"),
    [
        ("ts bigint, p string, v double", [(1, "x", 1.0)], "no column 'k', which is the record key"),
        ("k string, ts bigint, v double", [("a", 1, 1.0)], "no column 'p', which is the partition"),
        ("k string, p string, v double", [("a", "x", 1.0)], "no column 'ts', which is the ordering"),
        ("k string, ts bigint, p string", [("a", 1, "x")], "v"),
        ("k string, ts bigint, p string, v string", [("a", 1, "x", "?")], "v"),
        (
            "k string, ts bigint, p string, v double, _hoodie_is_deleted string",
            [("a", 1, "x", 1.0, "yes")],
            "_hoodie_is_deleted",
        ),
    ],
    ids=["no key", "no partition", "no ordering", "column gone", "type changed", "delete flag"],
)
def test_a_source_whose_columns_do_not_fit_the_table_is_refused(
    table: TableUnderTest, schema: str, rows: list[Row], message: str
) -> None:
    before = contents(table)
    with pytest.raises(InvalidRequestError, match=message):
        table.write(rows, schema=schema)
    assert contents(table) == before


@pytest.mark.parametrize("key", [None, ""])
def test_a_null_or_empty_key_is_refused_in_an_existing_table(table: TableUnderTest, key: str | None) -> None:
    before = contents(table)
    with pytest.raises(InvalidDataError, match="k"):
        table.write([("a", 2, "x", 2.0), (key, 1, "x", 1.0)])
    assert contents(table) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hoodie.parquet.max.file.sizes": "1"}, r"Did you mean hoodie\.parquet\.max\.file\.size\?"),
        (
            {"hoodie.parquet.max.file.size": "10", "hoodie.parquet.small.file.limit": "20"},
            r"hoodie\.parquet\.small\.file\.limit \(20\) is above",
        ),
        ({"hoodie.index.type": "BUCKET"}, "BUCKET does not fit the table: the id of its file group x/"),
        ({"hoodie.table.name": "other"}, "'t', but its option hoodie.table.name is 'other'"),
        ({"hoodie.datasource.write.precombine.field": "v"}, "precombine.field"),
    ],
    ids=["unknown", "contradiction", "index", "name", "ordering"],
)
def test_invalid_and_contradictory_options_are_refused(
    table: TableUnderTest, options: Mapping[str, str], message: str
) -> None:
    before = contents(table)
    with pytest.raises(InvalidRequestError, match=message):
        table.write(ROWS, options=options)
    assert contents(table) == before


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ("hoodie.table.version=6", "hoodie.table.version=5", UnsupportedTableError, "version 5 can be read"),
        ("hoodie.table.version=6", "hoodie.table.version=7", UnsupportedTableError, "7"),
        ("hoodie.table.version=6", "hoodie.table.version=99", UnsupportedTableError, "99"),
        (
            "=COPY_ON_WRITE",
            "=COPY_ON_WRITE\nhoodie.table.partial.update.mode=IGNORE_DEFAULTS",
            UnsupportedTableError,
            "partial updates",
        ),
        (
            "=COPY_ON_WRITE",
            "=COPY_ON_WRITE\nhoodie.record.merge.property.hoodie.payload.delete.field=op",
            UnsupportedTableError,
            "custom rules",
        ),
        (
            "=COPY_ON_WRITE",
            "=COPY_ON_WRITE\nhoodie.timeline.path=elsewhere",
            UnsupportedTableError,
            "elsewhere",
        ),
        ("hoodie.table.name=t", "hoodie.table.name=u", CorruptTableError, "checksum"),
        ("hoodie.table.name=t", "hoodie.table.nam=t", CorruptTableError, "has no hoodie.table.name"),
    ],
    ids=[
        "version 5",
        "version 7",
        "version 99",
        "partial updates",
        "merge properties",
        "timeline path",
        "checksum",
        "cut short",
    ],
)
def test_unsupported_and_corrupt_tables_are_refused(
    table: TableUnderTest, old: str, new: str, error: type[HudiTableServiceError], message: str
) -> None:
    properties_with(table, old, new)
    before = contents(table)
    with pytest.raises(error, match=message):
        table.write(ROWS)
    assert contents(table) == before


def test_an_ordering_field_inside_another_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    table = TableUnderTest(spark, tmp_path / "t")
    nested = [("a", "x", (1,))]
    with pytest.raises(UnsupportedTableError, match="m.ts"):
        table.write(nested, schema="k string, p string, m struct<ts:bigint>", ordering_field="m.ts")
    assert table.files() == set()


def test_a_request_with_another_table_name_is_refused(table: TableUnderTest, spark: SparkSession) -> None:
    before = contents(table)
    request = UpsertRequest(base_path=str(table.base_path), table_name="other", record_key=("k",))
    with pytest.raises(InvalidRequestError, match="called 't', but the request names 'other'"):
        upsert(spark, request, spark.createDataFrame(ROWS, SCHEMA))
    assert contents(table) == before


@pytest.mark.parametrize("size", [0, 100], ids=["no bytes", "cut short"])
def test_a_table_with_a_truncated_completed_instant_is_refused(table: TableUnderTest, size: int) -> None:
    (instant,) = (table.base_path / ".hoodie").glob("*.commit")
    instant.write_bytes(instant.read_bytes()[:size])
    before = contents(table)
    with pytest.raises(CorruptTableError, match=instant.name.partition(".")[0]):
        table.write(ROWS)
    assert contents(table) == before


@pytest.mark.parametrize("kind", ["missing", "folder without files", "not parquet", "bad query"])
def test_the_error_about_an_unreadable_source_names_the_source_or_its_query(
    table: TableUnderTest, spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    source = tmp_path / "landing"
    if kind != "missing":
        source.mkdir()
    if kind == "not parquet":
        (source / "rows.parquet").write_text("k,ts\n")
    if kind == "bad query":
        spark.createDataFrame(ROWS, SCHEMA).write.mode("overwrite").parquet(str(source))
    before = contents(table)
    request = UpsertRequest(
        base_path=str(table.base_path),
        table_name="t",
        source=SourceSpec(
            path=str(source), sql="SELECT nothing FROM source" if kind == "bad query" else None
        ),
        record_key=("k",),
        partition_by=("p",),
    )
    with pytest.raises(InvalidRequestError, match="source query" if kind == "bad query" else "landing"):
        upsert(spark, request)
    assert contents(table) == before
