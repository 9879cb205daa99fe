"""Checks of writes: rows without a record key."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import csv, refusal, request

from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write


def test_rows_without_record_key_are_refused_with_file_and_number(tmp_path: Path) -> None:
    ids = pa.array([1, None, 3, None])
    pq.write_table(pa.table({"id": ids, "city": ["a"] * 4}), tmp_path / "rows.parquet", row_group_size=2)
    message = refusal(request(tmp_path, tmp_path / "rows.parquet"))
    assert (
        f"The record key (id) is null in 2 of 4 rows of the source file {tmp_path}/rows.parquet." in message
    )
    assert "SELECT * FROM source WHERE id IS NOT NULL" in message


def test_rows_without_record_key_in_a_struct_are_refused(tmp_path: Path) -> None:
    inner = pa.array([{"id": 1}, None, {"id": None}])
    pq.write_table(pa.table({"inner": inner, "city": ["a"] * 3}), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", record_key=("inner.id",)))
    assert "The record key (inner.id) is null in 2 of 3 rows" in message


@pytest.mark.parametrize(("second", "refused"), [([None, 1, 1], False), ([None, None, 1], True)])
def test_a_key_of_two_columns_is_refused_only_if_a_row_has_neither(
    tmp_path: Path, second: list[int | None], refused: bool
) -> None:
    columns = {"a": pa.array([None, None, 1]), "b": pa.array(second), "city": ["x"] * 3}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    checked = request(tmp_path, tmp_path / "rows.parquet", record_key=("a", "b"))
    if refused:
        assert "(a, b) is null in at least 1 of 3 rows" in refusal(checked)
    else:
        assert check_write(checked) == CheckedWrite()


def test_nulls_in_a_key_without_statistics_or_in_a_partition_column_are_accepted(tmp_path: Path) -> None:
    columns = {"id": pa.array([1, None]), "city": pa.array(["a", None])}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", write_statistics=["city"])
    assert check_write(request(tmp_path, tmp_path / "rows.parquet")) == CheckedWrite()


@pytest.mark.parametrize(("key", "is_explained"), [("id", True), ("other", False)])
def test_a_record_key_that_is_the_index_of_a_pandas_frame_gets_advice(
    tmp_path: Path, key: str, is_explained: bool
) -> None:
    index = {"kind": "range", "name": "id", "start": 0, "stop": 1, "step": 1}
    described = {b"pandas": json.dumps({"index_columns": [index], "columns": []}).encode()}
    pq.write_table(pa.table({"city": ["a"]}).replace_schema_metadata(described), tmp_path / "rows.parquet")
    message = refusal(request(tmp_path, tmp_path / "rows.parquet", record_key=(key,)))
    assert f"has no column {key!r}" in message
    assert ("Write the file with reset_index()" in message) is is_explained


@pytest.mark.parametrize("options", [{}, {"inferSchema": "true"}, {"sep": ";"}])
def test_empty_keys_in_a_small_csv_file_are_refused(tmp_path: Path, options: dict[str, str]) -> None:
    text = "id,city\n1,a\n\n,b\r\n3,\n".replace(",", options.get("sep", ","))
    source = csv(tmp_path / "rows.csv", text, header="true", **options)
    message = refusal(request(tmp_path, source))
    assert f"The record key (id) is null in 1 of 3 rows of the source file {tmp_path}/rows.csv." in message


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('id,city\n"",a\n', {}),
        ("id,city\n,a\n1\n", {}),
        ("id,city\n,a\n", {"nullValue": "-"}),
        ("id,city\n,a\n", {"mode": "DROPMALFORMED"}),
        ("id,city\n1,\n", {}),
    ],
)
def test_empty_values_are_left_to_spark_if_other_columns_or_unusual_files_contain_them(
    tmp_path: Path, text: str, options: dict[str, str]
) -> None:
    source = csv(tmp_path / "rows.csv", text, header="true", **options)
    assert check_write(request(tmp_path, source)).result is None
