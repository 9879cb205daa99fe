"""Checks of a write without Spark: what is accepted, and what is refused."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import committed, refusal, request

from hudi_table_services.contract.result import Outcome
from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write
from hudi_table_services.jobs.writing.table_access import staging_area
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import create_table, find_table_config
from hudi_table_services.tables.table import TableAccess
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties

NO_ROWS = pa.table(
    {"id": pa.array([], pa.int64()), "city": pa.array([], pa.string()), "price": pa.array([], pa.float64())}
)


def test_a_write_that_can_succeed_passes_without_spark(tmp_path: Path, rows: Path) -> None:
    assert check_write(request(tmp_path, rows)) == CheckedWrite()
    assert not (tmp_path / "t").exists()


def test_a_write_to_an_existing_table_passes(table: SmallTable, tmp_path: Path, rows: Path) -> None:
    assert check_write(request(tmp_path, rows)) == CheckedWrite()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"record_key": ("ID",)},
            "rows.parquet' has no column 'ID', which is the record key field. The source has 'id'; only the case "
            "differs.",
        ),
        ({"record_key": ("idd",)}, "no column 'idd', which is the record key field. Did you mean 'id'?"),
        ({"partition_by": ("town",)}, "no column 'town', which is the partition field."),
        ({"ordering_field": "at"}, "no column 'at', which is the ordering field."),
        ({"table_name": ""}, "no table name"),
        ({"record_key": ()}, "no record key. Set --record-key, so that the job can create the table."),
        (
            {"record_key": (), "table_name": ""},
            "no table name and no record key. Set --table-name and --record-key, so that the job",
        ),
        ({"operation": "delete"}, "nothing can be deleted"),
        ({"record_key": ("price",)}, "record key column 'price' has the type double"),
        ({"partition_by": ("price",)}, "partition column 'price' has the type double"),
    ],
)
def test_the_first_write_needs_its_columns(
    tmp_path: Path, rows: Path, fields: dict[str, Any], expected: str
) -> None:
    assert expected in refusal(request(tmp_path, rows, **fields))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"table_name": "people"}, "is called 'trips', but the request names 'people'"),
        ({"record_key": ("city",)}, "recordkey"),
        ({"partition_by": ("price",)}, "partitionpath"),
    ],
)
def test_the_request_must_agree_with_the_table(
    table: SmallTable, tmp_path: Path, rows: Path, fields: dict[str, Any], expected: str
) -> None:
    assert expected in refusal(request(tmp_path, rows, **fields))


def test_types_that_do_not_fit_the_table_are_refused(table: SmallTable, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1], "city": ["a"], "price": [[1.5]]}), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet"))
    assert "Column 'price' is double in the table and array<double> in the rows" in message


@pytest.mark.parametrize("path", ["none.parquet", "none/*.parquet"])
def test_a_missing_source_is_refused(tmp_path: Path, path: str) -> None:
    assert path in refusal(request(tmp_path, tmp_path / path))


def test_a_completed_request_needs_no_source(table: SmallTable, tmp_path: Path) -> None:
    done = check_write(request(tmp_path, tmp_path / "gone", request_id="done", table_name="")).result
    assert done is not None
    assert (done.outcome, done.reused, done.request_id) == (Outcome.COMPLETED, True, "done")
    assert done.instant_time == table.timeline_store.load().completed_writes[0].requested_time
    dry = request(tmp_path, tmp_path / "gone", request_id="done", dry_run=True)
    assert "does not exist" in refusal(dry)
    assert "does not exist" in refusal(request(tmp_path, tmp_path / "gone", request_id="other"))


def test_a_completed_request_removes_the_rows_that_its_dead_attempt_staged(
    table: SmallTable, tmp_path: Path, rows: Path
) -> None:
    done = request(tmp_path, rows, request_id="done")
    options = resolve_options(done)
    access = TableAccess(storage=table.storage, clock=table.clock, config=find_table_config(table.storage))  # type: ignore[arg-type]
    staged = f"{staging_area(access, done, options).folder}/rows.parquet"
    table.storage.write(staged, b"rows")
    assert check_write(request(tmp_path, rows, request_id="other")).result is None
    assert table.storage.exists(staged)
    assert check_write(done).result is not None
    assert not table.storage.exists(staged)


@pytest.mark.parametrize("sql", ["SELECT * FROM orders", "SELEC id", "SELECT * FROM sources"])
def test_a_query_that_does_not_read_the_source_is_refused(tmp_path: Path, rows: Path, sql: str) -> None:
    spec = SourceSpec(path=str(rows), sql=sql)
    assert "write SELECT … FROM source" in refusal(request(tmp_path, spec))
    assert check_write(request(tmp_path, spec, check_source=False)) == CheckedWrite()
    assert check_write(request(tmp_path, SourceSpec(path=str(rows), sql="SELECT * FROM `SOURCE` s"))).notes


@pytest.mark.parametrize("existing", [False, True])
def test_a_parquet_source_without_rows_ends_the_write(tmp_path: Path, existing: bool) -> None:
    if existing:
        committed(SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9))
    (tmp_path / "source").mkdir()
    for name in "ab":
        pq.write_table(NO_ROWS, tmp_path / "source" / f"{name}.parquet")
    result = check_write(request(tmp_path, tmp_path / "source")).result
    assert result is not None
    assert (result.outcome, result.reason) == (Outcome.NOTHING_TO_DO, "the source has no rows")
    assert (tmp_path / "t").exists() == existing
    for fields in ({"dry_run": True}, {"operation": "insert_overwrite_table"}):
        assert check_write(request(tmp_path, tmp_path / "source", **fields)).result is None
    pq.write_table(pa.table({"id": [1], "city": ["a"], "price": [1.5]}), tmp_path / "source" / "c.parquet")
    assert check_write(request(tmp_path, tmp_path / "source")).result is None


def test_a_pending_write_is_left_to_the_job_even_if_the_source_has_no_rows(
    table: SmallTable, tmp_path: Path
) -> None:
    table.begin()
    pq.write_table(NO_ROWS, tmp_path / "rows.parquet")
    assert check_write(request(tmp_path, tmp_path / "rows.parquet")).result is None


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("hoodie.table.base.file.format", "ORC", "ORC"),
        ("hoodie.populate.meta.fields", "false", "hoodie.populate.meta.fields"),
    ],
)
def test_a_table_that_cannot_be_written_is_refused_before_its_source(
    tmp_path: Path, key: str, value: str, expected: str
) -> None:
    properties = {**table_properties(TableVersion.V6), key: value}
    create_table(LocalStorage(str(tmp_path / "t")), properties, FixedClock())
    with pytest.raises(UnsupportedTableError, match=expected):
        check_write(request(tmp_path, tmp_path / "none"))


def test_the_error_about_a_delete_without_the_partition_column_explains_the_reason(
    table: SmallTable, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "keys.parquet")
    with pytest.raises(
        InvalidRequestError, match="A delete also needs the partition of each row: add 'city'"
    ):
        check_write(request(tmp_path, tmp_path / "keys.parquet", operation="delete"))


def test_partitions_of_a_table_without_partitions_are_refused_in_words(tmp_path: Path, rows: Path) -> None:
    fields = {"hoodie.table.partition.fields": None}
    properties = {key: value for key, value in table_properties(TableVersion.V9).items() if key not in fields}
    create_table(LocalStorage(str(tmp_path / "t")), properties, FixedClock())
    with pytest.raises(InvalidRequestError, match="the table is not partitioned"):
        check_write(request(tmp_path, rows))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SourceSpec(path="s3:/bucket/x"), "Did you mean s3://bucket/x?"),
        (SourceSpec(path="/x.xlsx", format="xlsx"), "Convert the file to CSV or Parquet."),
        (SourceSpec(path="/x.xlsx", format="excel"), "Convert the file to CSV or Parquet."),
    ],
)
def test_an_address_with_one_slash_and_a_spreadsheet_are_refused(
    tmp_path: Path, source: SourceSpec, message: str
) -> None:
    assert message in refusal(request(tmp_path, source))


def test_a_base_path_with_one_slash_is_no_local_folder(tmp_path: Path, rows: Path) -> None:
    checked = replace(request(tmp_path, rows), base_path="s3:/bucket/t")
    assert "Did you mean s3://bucket/t?" in refusal(checked)
