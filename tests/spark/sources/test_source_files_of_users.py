"""Files as users have them: pandas timestamps in nanoseconds, CSV files, and times as partition columns."""

import datetime
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidDataError, InvalidRequestError
from hudi_table_services.execution.arrow_schema import schema_from_spark_json
from hudi_table_services.execution.sources.source_columns import (
    SourceColumns,
    columns_or_reason,
    read_source_columns,
)
from hudi_table_services.jobs.writing.preflight import check_write
from hudi_table_services.storage.source_files import first_source_files
from spark.sources.user_files import csv, stored, write
from support.depth import cases

MOMENTS = ["2026-03-29T01:30:00.123456789", "1969-12-31T23:59:59.999999001", None]
FLOORED = ["2026-03-29T01:30:00.123456", "1969-12-31T23:59:59.999999", None]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_timestamps_in_nanoseconds_are_floored_to_microseconds(
    spark: SparkSession, tmp_path: Path, zone: str | None
) -> None:
    at = pa.array(MOMENTS).cast(pa.timestamp("ns")).cast(pa.timestamp("ns", zone))
    pq.write_table(pa.table({"id": [1, 2, 3], "at `ns`": at}), tmp_path / "rows.parquet")
    before = spark.conf.get("spark.sql.session.timeZone")
    write(
        spark,
        tmp_path,
        SourceSpec(path=str(tmp_path / "rows.parquet"), sql="SELECT id, `at ``ns``` AS at FROM source"),
    )
    utc = datetime.timezone.utc
    wanted = [datetime.datetime.fromisoformat(text).replace(tzinfo=utc) if text else None for text in FLOORED]
    assert stored(tmp_path, "id", "at") == list(zip([1, 2, 3], wanted, strict=True))
    assert spark.conf.get("spark.sql.session.timeZone") == before
    assert spark.conf.get("spark.sql.legacy.parquet.nanosAsLong") == "false"


def test_timestamps_of_96_bits_are_read_as_times(spark: SparkSession, tmp_path: Path) -> None:
    at = pa.array(MOMENTS).cast(pa.timestamp("ns"))
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"id": [1, 2, 3], "at": at}), path, use_deprecated_int96_timestamps=True)
    found = read_source_columns(SourceSpec(path=path), first_source_files(path, {})[0])
    assert found is not None
    assert found.types == schema_from_spark_json(spark.read.parquet(path).schema.jsonValue())
    write(spark, tmp_path, SourceSpec(path=path))
    assert [at and at.microsecond for _, at in stored(tmp_path, "id", "at")] == [123456, 999999, None]


@pytest.mark.parametrize("other", [pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.int64()], ids=str)
def test_files_with_different_units_are_refused(
    spark: SparkSession, tmp_path: Path, other: pa.DataType
) -> None:
    (tmp_path / "in").mkdir()
    for name, data_type in (("a", pa.timestamp("ns")), ("b", pa.timestamp("ns")), ("c", other)):
        table = pa.table({"id": [name], "at": pa.array([1_000_000], data_type)})
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    with pytest.raises(InvalidRequestError, match="column 'at' in different ways"):
        write(spark, tmp_path, SourceSpec(path=str(tmp_path / "in")))
    (tmp_path / "in" / "c.parquet").unlink()
    write(spark, tmp_path, SourceSpec(path=str(tmp_path / "in")))
    assert len(stored(tmp_path, "id")) == 2


def test_a_file_in_nanoseconds_after_other_files_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, unit in (("a", "us"), ("b", "ns")):
        table = pa.table({"id": [name], "at": pa.array([1_000_000], pa.timestamp(unit))})
        pq.write_table(table, tmp_path / "in" / f"{name}.parquet")
    with pytest.raises(HudiTableServiceError):
        write(spark, tmp_path, SourceSpec(path=str(tmp_path / "in")))
    assert not (tmp_path / "t").exists()


def test_nanoseconds_inside_a_struct_are_refused_with_advice(spark: SparkSession, tmp_path: Path) -> None:
    inner = pa.array([{"at": 1}], pa.struct([("at", pa.timestamp("ns"))]))
    pq.write_table(pa.table({"id": [1], "inner": inner}), tmp_path / "rows.parquet")
    with pytest.raises(InvalidRequestError, match="coerce_timestamps"):
        write(spark, tmp_path, SourceSpec(path=str(tmp_path / "rows.parquet")))


def test_columns_that_are_read_without_spark_have_the_types_that_spark_gives(
    spark: SparkSession, tmp_path: Path
) -> None:
    columns = {
        "flag": pa.array([True]),
        **{f"i{size}": pa.array([1], getattr(pa, f"int{size}")()) for size in (8, 16, 32, 64)},
        **{f"u{size}": pa.array([1], getattr(pa, f"uint{size}")()) for size in (8, 16, 32, 64)},
        "single": pa.array([1.5], pa.float32()),
        "double": pa.array([1.5]),
        "text": pa.array(["a"], pa.large_string()),
        "bytes": pa.array([b"a"]),
        "day": pa.array([datetime.date(2026, 1, 1)]),
        "at": pa.array([0], pa.timestamp("us", "Europe/Berlin")),
        "local": pa.array([0], pa.timestamp("ms")),
        "price": pa.array([1], pa.decimal128(12, 2)),
        "tags": pa.array([["a"]]),
        "counts": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        "inner": pa.array([{"x": [{"y": 1.5}]}]),
    }
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table(columns), path)
    found = read_source_columns(SourceSpec(path=path), first_source_files(path, {})[0])
    assert found is not None
    assert found.types == schema_from_spark_json(spark.read.parquet(path).schema.jsonValue())


@pytest.mark.parametrize("header", ["id,city,City,", "id,id,id", "NA,id,na", '"",id'])
@pytest.mark.parametrize("null", ["", "NA"])
def test_names_of_csv_columns_are_those_that_spark_gives(
    spark: SparkSession, tmp_path: Path, header: str, null: str
) -> None:
    path, options = str(tmp_path / "rows.csv"), {"header": "true", **({"nullvalue": null} if null else {})}
    Path(path).write_text(f"{header}\n1,a,b,c\n")
    source = SourceSpec(path=path, format="csv", options=options)
    found = read_source_columns(source, first_source_files(path, {})[0])
    names = spark.read.options(**options).csv(path).columns
    assert found is None or list(found.names) == names
    assert (found is None) == (header.startswith('""'))  # this package leaves repeated quotes to Spark


def test_spark_refuses_an_unnamed_column_beside_a_column_of_its_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, options = str(tmp_path / "rows.csv"), {"header": "true"}
    Path(path).write_text(",id,_c0\n1,a,b\n")
    source = SourceSpec(path=path, format="csv", options=options)
    assert read_source_columns(source, first_source_files(path, {})[0]) is None
    with pytest.raises(AnalysisException, match="COLUMN_ALREADY_EXISTS"):
        spark.read.options(**options).csv(path)


def test_spark_takes_the_columns_of_the_first_parquet_file(spark: SparkSession, tmp_path: Path) -> None:
    for name, columns in (("b", ["id"]), ("a/z", ["id", "from_a"]), ("c", ["id", "from_c"])):
        path = tmp_path / f"{name}.parquet"
        path.parent.mkdir(exist_ok=True)
        values = list(range(len(name) * 100))
        pq.write_table(pa.table([values] * len(columns), names=columns), path)
    for folder in (tmp_path, tmp_path / "a"):
        found = read_source_columns(SourceSpec(path=str(folder)), first_source_files(str(folder), {})[0])
        assert found is not None
        reader = spark.read.option("recursiveFileLookup", "true")
        assert list(found.names) == reader.parquet(str(folder)).columns


def test_the_warning_of_a_first_write_names_the_value_that_makes_a_column_text(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = csv(tmp_path, "id,price,name\n1,1.5,a\n2,n/a,b\n3,2,7\n4,,d\n", inferSchema="true")
    result = write(spark, tmp_path, source)
    (warning,) = result.warnings
    assert warning.startswith("price was read as text: 1 of 3 values cannot be read as double: 'n/a'.")


def test_the_error_about_a_type_conflict_names_the_value_that_causes_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(spark, tmp_path, csv(tmp_path, "id,price\n1,1.5\n", inferSchema="true"))
    with pytest.raises(InvalidRequestError, match="1 of 2 values cannot be read as double: 'n/a'"):
        write(spark, tmp_path, csv(tmp_path, "id,price\n1,1.5\n2,n/a\n", inferSchema="true"))
    with pytest.raises(InvalidRequestError, match="inferSchema=true"):
        write(spark, tmp_path, csv(tmp_path, "id,price\n1,1.5\n"))


@pytest.mark.parametrize("sql", [None, "SELECT id, reading FROM source"])
def test_an_ordering_field_of_numbers_that_a_new_table_stores_as_text_gives_a_warning_whose_cures_work(
    spark: SparkSession, tmp_path: Path, sql: str | None
) -> None:
    source = replace(csv(tmp_path, "id,reading\n1,124\n1,24\n"), sql=sql)
    (warning,) = write(spark, tmp_path, source, ordering_field="reading").warnings
    assert warning.startswith("The ordering field 'reading' contains numbers, such as '124'")
    assert f"delete the folder of the table, {tmp_path}/t, if the table exists already, and load" in warning
    assert stored(tmp_path, "id", "reading") == [("1", "24")]
    if sql is None:  # the check before Spark gives the same sentence, which the user then sees once
        request = UpsertRequest(
            base_path=f"{tmp_path}/t",
            source=source,
            table_name="t",
            record_key=("id",),
            ordering_field="reading",
        )
        (tmp_path / "t").rename(tmp_path / "moved")
        assert check_write(request).warnings == (warning,)
        (tmp_path / "moved").rename(tmp_path / "t")
    inferring = replace(source, options={**source.options, "inferSchema": "true"})
    query = replace(source, sql=warning.partition("(--source-sql): ")[2])
    for name, cured in (("inferred", inferring), ("query", query)):
        assert write(spark, tmp_path / name, cured, ordering_field="reading").warnings == ()
        assert [reading for (reading,) in stored(tmp_path / name, "reading")] == [124]
    later = write(spark, tmp_path, replace(inferring, sql="SELECT '1' AS id, 99 AS reading FROM source"))
    assert any("is text in the table and int in the rows" in each for each in later.warnings)
    with pytest.raises(InvalidRequestError, match="To store numbers, write all rows to a new table"):
        write(spark, tmp_path, replace(source, sql="SELECT id, 1.5D AS reading FROM source"))


def test_the_query_in_the_error_about_text_in_a_column_of_times_makes_times(
    spark: SparkSession, tmp_path: Path
) -> None:
    write(spark, tmp_path, times(tmp_path, 1))
    path = tmp_path / "rows.json"
    path.write_text('{"id": 0, "at": "2026-01-02T03:04:05", "day": "2026-01-02"}\n')
    source = SourceSpec(path=str(path), format="json")
    sql = ""
    for _ in ("at", "day"):
        with pytest.raises(InvalidRequestError, match=r"\(--source-sql\), as in: ") as refused:
            write(spark, tmp_path, replace(source, sql=sql or None))
        sql = refused.value.hint.partition("as in: ")[2].partition(". TRY_CAST")[0]
    write(spark, tmp_path, replace(source, sql=sql))
    at = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
    assert stored(tmp_path, "at", "day") == [(at, datetime.date(2026, 1, 2))]


def test_a_value_that_spark_cannot_cast_is_an_error_of_the_data(spark: SparkSession, tmp_path: Path) -> None:
    source = csv(tmp_path, "id,price\n1,n/a\n")
    cast = SourceSpec(
        path=source.path,
        format="csv",
        options=source.options,
        sql="SELECT id, CAST(price AS double) AS price FROM source",
    )
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        with pytest.raises(InvalidDataError, match=r"'n/a' of the type .* cannot be cast"):
            write(spark, tmp_path, cast)
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_a_change_of_type_gives_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    write(spark, tmp_path, csv(tmp_path, "id,n\n1,1\n", inferSchema="true"))
    result = write(spark, tmp_path, csv(tmp_path, "id,n\n1,1\n", inferSchema="false"))
    change = (
        "Column 'n' changes from int to string, because of the type in the rows. The change is permanent: "
    )
    assert any(warning.startswith(change) for warning in result.warnings)


def test_a_csv_file_without_header_is_refused_with_advice(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"_c0, _c1\. .*header=true"):
        write(spark, tmp_path, csv(tmp_path, "1,a\n", header="false"))


def times(folder: Path, count: int) -> SourceSpec:
    start = datetime.datetime(2026, 1, 1, 22)
    at = [start + datetime.timedelta(hours=number) for number in range(count)]
    table = pa.table({"id": list(range(count)), "at": at, "day": [moment.date() for moment in at]})
    pq.write_table(table, folder / "rows.parquet")
    return SourceSpec(path=str(folder / "rows.parquet"))


@pytest.mark.parametrize("column", ["at", "day"])
@pytest.mark.parametrize("version", cases(["6", "9"], ["6"]))
def test_a_table_can_be_partitioned_by_a_unit_of_time(
    spark: SparkSession, tmp_path: Path, column: str, version: str
) -> None:
    options = {"hoodie.write.table.version": version}
    for _ in range(2):  # the second write finds the settings in the table
        fields = {"partition_by": (f"{column}:day",), "timestamps_without_zone": "utc", "options": options}
        result = write(spark, tmp_path, times(tmp_path, 4), **fields)
        assert [each.partition_path for each in result.partitions] == ["2026-01-01", "2026-01-02"]
    assert len(stored(tmp_path, "id")) == 4


def test_a_timestamp_as_partition_column_gives_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    result = write(spark, tmp_path, times(tmp_path, 3), partition_by=("at",))
    assert any("--partition-by at:day" in each for each in result.warnings)


def test_almost_as_many_partitions_as_rows_give_a_warning(spark: SparkSession, tmp_path: Path) -> None:
    result = write(spark, tmp_path, times(tmp_path, 20), partition_by=("id",))
    assert any("The 20 rows have 20 different partitions" in each for each in result.warnings)


@pytest.mark.parametrize(
    ("index", "warned"), [("", [1, 1, 0]), ("SIMPLE", [1, 0, 0]), ("GLOBAL_SIMPLE", [0, 0, 0])]
)
def test_a_partition_column_that_updates_change_gives_a_warning_unless_the_index_is_global_or_confirmed(
    spark: SparkSession, tmp_path: Path, index: str, warned: list[int]
) -> None:
    options = {"hoodie.index.type": index} if index else {}
    fields = {"partition_by": ("at:day",), "ordering_field": "at", "options": options}
    result = write(spark, tmp_path, times(tmp_path, 4), **fields)
    later = write(spark, tmp_path, times(tmp_path, 4), record_key=(), **fields)
    inserted = write(spark, tmp_path, times(tmp_path, 4), record_key=(), operation="insert", **fields)
    found = [
        sum("'at' is also the ordering field" in warning for warning in each.warnings)
        for each in (result, later, inserted)
    ]
    assert found == warned


def test_a_dry_run_creates_no_file_and_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    write(spark, tmp_path, times(tmp_path, 3), dry_run=True)
    assert not (tmp_path / "t").exists()
    write(spark, tmp_path, times(tmp_path, 3))
    before = sorted(tmp_path.rglob("*"))
    write(spark, tmp_path, times(tmp_path, 4), dry_run=True)
    assert sorted(tmp_path.rglob("*")) == before


def test_json_lines_may_lack_fields_and_contain_nested_values(spark: SparkSession, tmp_path: Path) -> None:
    lines = (
        '{"id": 1, "at": "2026-03-29T01:30:00Z", "inner": {"x": 1.5, "tags": ["a"]}}',
        '{"id": 2, "name": "b"}',
    )
    path = tmp_path / "rows.json"
    path.write_text("\n".join(lines) + "\n")
    source = SourceSpec(path=str(path), format="json")
    (file,) = first_source_files(source.path, {}, 2)
    found = columns_or_reason(source, file, is_only_file=True)
    assert isinstance(found, SourceColumns)
    assert set(found.names) == set(spark.read.json(str(path)).columns)
    (warning,) = write(spark, tmp_path, source).warnings
    assert "as strings: at." in warning
    assert warning.endswith("SELECT CAST(at AS TIMESTAMP) AS at, id, inner, name FROM source")
    assert stored(tmp_path, "id", "at", "name", "inner") == [
        (1, "2026-03-29T01:30:00Z", None, {"tags": ["a"], "x": 1.5}),
        (2, None, "b", None),
    ]


def test_the_query_in_the_warning_about_json_dates_makes_dates(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1, "day": "2026-01-02", "at": "2026-01-02T03:04:05Z", "name": "2026"}\n')
    source = SourceSpec(path=str(path), format="json")
    (warning,) = write(spark, tmp_path, source).warnings
    converted = tmp_path / "converted"
    given = SourceSpec(path=str(path), format="json", sql=warning.partition("(--source-sql): ")[2])
    assert write(spark, converted, given).warnings == ()
    (row,) = stored(converted, "day", "at", "name")
    utc = datetime.timezone.utc
    assert row == (datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=utc), "2026")
