"""Checks of writes whose partition column contains times."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import committed, csv, refusal, request

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.preflight import check_write
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable


def test_a_partition_column_of_times_is_compared_with_the_type_in_the_table(tmp_path: Path) -> None:
    times = {
        "hoodie.table.keygenerator.type": "TIMESTAMP",
        "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
        "hoodie.keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    committed(SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9, more_properties=times))
    pq.write_table(pa.table({"id": [1], "city": [7], "price": [1.5]}), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", partition_by=()))
    assert "The table stores the partition column 'city' as string, and the source has it as long." in message
    assert "Write the rows to a new table, whose column 'city' is long." in message


AT = datetime(2026, 1, 2, 3, 4, 5, 678)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_timestamps_as_partition_column_get_an_early_warning(tmp_path: Path, unit: str) -> None:
    at = pa.array([AT], pa.timestamp(unit))
    pq.write_table(pa.table({"id": [1], "at": at}), tmp_path / "rows.parquet")
    checked = check_write(request(tmp_path, tmp_path / "rows.parquet", partition_by=("at",)))
    (warning,) = checked.warnings
    assert "'at' contains timestamps, so each different time becomes a partition of its own" in warning
    assert 'create it with --partition-by at:day, in Airflow with partition_by="at:day"' in warning
    assert "source" not in warning
    days = request(tmp_path, tmp_path / "rows.parquet", partition_by=("at:day",))
    assert check_write(days).warnings == ()


@pytest.mark.parametrize(
    ("name", "text", "options", "advice"),
    [
        ("a.csv", "id,at\n1,2026-01-02 03:04:05\n", {"header": "true"}, "inferSchema=true"),
        (
            "b.csv",
            "id,at\n1,2026-01-02T03:04\n",
            {"header": "true", "inferSchema": "true"},
            ":year). If the column can change",
        ),
        ("c.json", '{"id": 1, "at": "2026-01-02T03:04:05Z"}\n', {}, "CAST(at AS TIMESTAMP)"),
    ],
)
def test_the_warning_about_strings_with_a_time_of_day_names_the_missing_options(
    tmp_path: Path, name: str, text: str, options: dict[str, str], advice: str
) -> None:
    (tmp_path / name).write_text(text)
    source = SourceSpec(path=str(tmp_path / name), format=name.split(".")[1], options=options)
    (warning,) = check_write(request(tmp_path, source, partition_by=("at",))).warnings
    assert advice in warning
    assert check_write(request(tmp_path, source, partition_by=("id",))).warnings == ()


def test_dates_without_a_time_of_day_get_no_warning(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,at\n1,2026-01-02\n", header="true")
    assert check_write(request(tmp_path, source, partition_by=("at",))).warnings == ()


def test_a_table_that_exists_gets_no_warning(table: SmallTable, tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,city,price\n1,2026-01-02 03:04:05,\n", header="true")
    source = replace(source, options={**source.options, "inferSchema": "true"})
    assert check_write(request(tmp_path, source)).warnings == ()


@pytest.mark.parametrize("column", ["at", "country"])
def test_a_json_column_needs_a_query_if_the_table_is_partitioned_by_its_unit_of_time(
    column: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1, "at": "2026-11-26T10:00:00", "country": "x"}', encoding="utf-8")
    source = SourceSpec(path=str(path), format="json")
    with pytest.raises(InvalidRequestError) as refused:
        check_write(request(tmp_path, source, partition_by=(f"{column}:day",)))
    assert f"column {column!r}" in refused.value.message
    assert "leave out the unit, such as :day" in refused.value.hint
    others = {
        "at": "id, CAST(at AS TIMESTAMP) AS at, country",
        "country": "id, at, CAST(country AS TIMESTAMP) AS country",
    }
    assert refused.value.hint.endswith(f"SELECT {others[column]} FROM source")


def test_the_time_type_in_the_request_makes_json_strings_usable_as_times(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1, "at": "2026-11-26"}', encoding="utf-8")
    prefix = "hoodie.keygen.timebased."
    options = {f"{prefix}timestamp.type": "DATE_STRING", f"{prefix}input.dateformat": "yyyy-MM-dd"}
    check_write(
        request(
            tmp_path, SourceSpec(path=str(path), format="json"), partition_by=("at:day",), options=options
        )
    )


@pytest.mark.parametrize("suffix", ["parquet", "csv", "json"])
def test_a_missing_partition_column_of_times_is_missing_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.table({"id": [1], "created_at": [AT]}), path)
    else:
        text = "id,created_at\n1,x\n" if suffix == "csv" else '{"id": 1, "created_at": "x"}\n'
        path.write_text(text)
    options = {"header": "true"} if suffix == "csv" else {}
    source = SourceSpec(path=str(path), format=suffix, options=options)
    message = refusal(request(tmp_path, source, partition_by=("created:day",)))
    assert f"The source '{path}' has no column 'created', which is the partition field." in message
    assert "Did you mean 'created_at'?" in message


@pytest.mark.parametrize(("value", "note"), [(1, ", which reads numbers as seconds"), ("2026-01-02", "")])
def test_the_error_about_a_column_without_times_contains_the_complete_query(
    tmp_path: Path, value: object, note: str
) -> None:
    pq.write_table(pa.table({"id": [1], "at": [value], "city": ["x"]}), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", partition_by=("at:day",)))
    assert "hoodie.keygen.timebased.timestamp.type does not give the meaning of its values" in message
    assert f"(--source-sql){note}: SELECT id, CAST(at AS TIMESTAMP) AS at, city FROM source." in message


@pytest.mark.parametrize("unit", ["month", "Year", "DAY", "hour"])
@pytest.mark.parametrize("kind", ["timestamp", "date", "csv", "inferred", "json"])
def test_a_missing_partition_column_with_the_name_of_a_unit_gets_the_column_of_times(
    tmp_path: Path, unit: str, kind: str
) -> None:
    path = tmp_path / "rows"
    options: dict[str, str] = {}
    if kind in ("timestamp", "date"):
        at = pa.array([AT], pa.timestamp("us")) if kind == "timestamp" else pa.array([AT.date()])
        pq.write_table(pa.table({"id": [1], "amount": [1], "ts": at}), path)
    elif kind == "json":
        path.write_text('{"id": 1, "amount": 1, "ts": "2026-01-02T03:04:05Z"}\n')
    else:
        path.write_text("id,amount,ts\n1,1,2026-01-02\n")
        options = {"header": "true", **({"inferSchema": "true"} if kind == "inferred" else {})}
    formats = {"timestamp": "parquet", "date": "parquet", "json": "json"}
    source = SourceSpec(path=str(path), format=formats.get(kind, "csv"), options=options)
    conditions = {
        "csv": " The column is a string, so also set the source option inferSchema=true.",
        "json": " The column is a string, so also use CAST(ts AS TIMESTAMP) in the source query.",
    }
    message = refusal(request(tmp_path, source, partition_by=(unit,)))
    assert message == (
        f"The source '{path}' has no column '{unit}', which is the partition field. To partition the table by the "
        f"{unit.lower()} of the column 'ts', set --partition-by=ts:{unit.lower()}.{conditions.get(kind, '')} "
        "The columns of the source are: id, amount, ts."
    )


def test_several_columns_of_times_are_named(tmp_path: Path) -> None:
    at = pa.array([AT], pa.timestamp("us"))
    pq.write_table(pa.table({"id": [1], "created_at": at, "day": [AT.date()]}), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", partition_by=("month",)))
    assert (
        "by the month of one of the columns 'created_at', 'day', add the unit to its name, as in "
        "--partition-by=created_at:month." in message
    )
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", partition_by=("Day",)))
    assert "The source has 'day'; only the case differs." in message
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", partition_by=("minute",)))
    assert "--partition-by" not in message


def test_a_source_without_times_or_a_table_that_exists_gets_no_unit_of_time(
    tmp_path: Path, rows: Path
) -> None:
    assert "--partition-by" not in refusal(request(tmp_path, rows, partition_by=("month",)))
    stored = {"hoodie.table.partition.fields": "month"}
    committed(SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9, more_properties=stored))
    pq.write_table(pa.table({"id": [1], "ts": pa.array([AT], pa.timestamp("us"))}), tmp_path / "rows.parquet")
    assert "--partition-by" not in refusal(request(tmp_path, rows, partition_by=("month",)))


def test_a_csv_file_without_header_gets_advice_about_the_header_instead_of_a_unit_of_time(
    tmp_path: Path,
) -> None:
    source = csv(tmp_path / "a.csv", "1,2026-01-02 03:04:05\n")
    message = refusal(request(tmp_path, source, record_key=("_c0",), partition_by=("month",)))
    assert "header=true" in message
    assert "--partition-by" not in message
