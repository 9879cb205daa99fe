"""Checks of a write without Spark: what is accepted, and what is refused."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import refusal, request

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import create_table
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties


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
    assert check_write(request(tmp_path, tmp_path / "gone", request_id="done")) == CheckedWrite()
    assert "does not exist" in refusal(request(tmp_path, tmp_path / "gone", request_id="other"))


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
