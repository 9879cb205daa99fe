"""Advice about Parquet columns that contain only nulls and have no type in the file."""

import logging
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.source_advice import explain_null_columns, null_column_warnings
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.jobs.writing.write_opening import open_write
from hudi_table_services.model.schema import INT, STRING, Field, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

ROWS = StructType((Field("id", STRING), Field("city", INT), Field("gone", INT)))
SCHEMA = """{"type": "record", "name": "trips", "fields": [
    {"name": "id", "type": "string"},
    {"name": "city", "type": ["null", "int"], "default": null},
    {"name": "gone", "type": ["null", {"type": "int", "logicalType": "date"}], "default": null}]}"""


@pytest.fixture
def request_of_nulls(tmp_path: Path) -> UpsertRequest:
    nulls = pa.array([None], pa.null())
    rows = pa.table({"id": ["a"], "city": pa.array([1], pa.int32()), "gone": nulls})
    pq.write_table(rows, tmp_path / "rows.parquet")
    source = SourceSpec(path=str(tmp_path / "rows.parquet"))
    return UpsertRequest(base_path=str(tmp_path / "t"), source=source)


def test_a_new_column_without_a_type_causes_a_warning_with_a_query(request_of_nulls: UpsertRequest) -> None:
    (warning,) = null_column_warnings(request_of_nulls, ROWS, None)
    assert warning.startswith(
        "The column 'gone' contains only nulls and has no type in the file; the table stores it as int"
    )
    assert warning.endswith("SELECT id, city, CAST(gone AS TIMESTAMP) AS gone FROM source")


def test_a_column_that_the_table_has_causes_no_warning(request_of_nulls: UpsertRequest) -> None:
    assert null_column_warnings(request_of_nulls, ROWS, SCHEMA) == ()


def test_the_error_about_another_type_in_the_table_says_that_the_file_has_no_type(
    tmp_path: Path, request_of_nulls: UpsertRequest
) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    table.commit(schema=SCHEMA)
    with pytest.raises(
        InvalidRequestError, match="'gone' is date in the table and int in the rows"
    ) as caught:
        open_write(table.storage, resolve_options(request_of_nulls), table.config, ROWS)
    error = explain_null_columns(caught.value, request_of_nulls, ROWS, table.storage)
    assert error.message.endswith("Column 'gone' contains only nulls and has no type in the file.")
    inner = "SELECT id, city, CAST(gone AS STRING) AS gone FROM source"
    assert error.hint.endswith(f"SELECT id, city, CAST(gone AS DATE) AS gone FROM ({inner})")


class StagedError(Exception):
    """The job began to read rows."""


class Frame:
    """A frame that has columns, and no rows to read."""

    schema = SimpleNamespace(
        jsonValue=lambda: {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in (("id", "string"), ("city", "integer"), ("gone", "integer"))
            ],
        }
    )

    def __getattr__(self, name: str) -> Any:
        raise StagedError(name)


def test_the_job_logs_the_warning_before_it_reads_rows(
    request_of_nulls: UpsertRequest, caplog: pytest.LogCaptureFixture
) -> None:
    request = replace(request_of_nulls, table_name="trips", record_key=("id",))
    spark: Any = SimpleNamespace()
    frame: Any = Frame()
    with caplog.at_level(logging.WARNING), pytest.raises(StagedError):
        upsert(spark, request, frame)
    assert "The column 'gone' contains only nulls" in caplog.text
