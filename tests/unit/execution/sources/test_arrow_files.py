"""Arrow reads a source only if Spark would read the same values."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.writing import is_same_store
from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.execution.sources.arrow_files import ArrowFiles, UnlikeSparkError, reads_alike
from hudi_table_services.execution.sources.file_parts import FilePart, divide
from hudi_table_services.storage.source_files import source_files

INSTANT, LOCAL = pa.timestamp("us", "Europe/Paris"), pa.timestamp("ms")
PEOPLE = {
    "type": "struct",
    "fields": [{"name": "age", "type": "integer"}, {"name": "name", "type": "string"}],
}
LIST, MAP = (
    {"type": "array", "elementType": "long"},
    {
        "type": "map",
        "keyType": "string",
        "valueType": "double",
    },
)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.bool_(), "boolean"),
        (pa.int8(), "byte"),
        (pa.int16(), "short"),
        (pa.int32(), "integer"),
        (pa.int64(), "long"),
        (pa.float32(), "float"),
        (pa.float64(), "double"),
        (pa.string(), "string"),
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.large_binary(), "binary"),
        (pa.date32(), "date"),
        (pa.decimal128(12, 2), "decimal(12,2)"),
        (INSTANT, "timestamp"),
        (LOCAL, "timestamp_ntz"),
        (pa.list_(pa.int64()), LIST),
        (pa.map_(pa.string(), pa.float64()), MAP),
        (pa.struct({"age": pa.int32(), "name": pa.string()}), PEOPLE),
    ],
    ids=str,
)
def test_arrow_and_spark_read_equal_values_of_these_types(found: pa.DataType, wanted: Any) -> None:
    assert reads_alike(found, wanted)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (pa.int32(), "long"),
        (pa.uint32(), "long"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.binary(), "string"),
        (pa.decimal128(12, 3), "decimal(12,2)"),
        (pa.timestamp("ns"), "timestamp_ntz"),
        (pa.timestamp("ns", "UTC"), "timestamp"),
        (INSTANT, "timestamp_ntz"),
        (LOCAL, "timestamp"),
        (pa.duration("us"), "long"),
        (pa.time64("us"), "long"),
        (pa.list_(pa.int32()), LIST),
        (pa.list_(pa.int64()), "string"),
        (pa.string(), LIST),
        (pa.map_(pa.int32(), pa.float64()), MAP),
        (pa.struct({"name": pa.string(), "age": pa.int32()}), PEOPLE),
        (pa.struct({"age": pa.int32()}), PEOPLE),
        (pa.null(), "void"),
        (pa.string(), {"type": "udt", "class": "a.B"}),
    ],
    ids=str,
)
def test_arrow_and_spark_may_read_different_values_of_these_types(found: pa.DataType, wanted: Any) -> None:
    assert not reads_alike(found, wanted)


def files(folder: Path, types: Mapping[str, Any]) -> ArrowFiles:
    return ArrowFiles(tuple(source_files(str(folder), {})), types)


def rows_of(found: ArrowFiles, *columns: str) -> list[dict[str, Any]]:
    tasks = divide(found.sizes, 1)
    return [row for task in tasks for batch in found.batches(task, columns) for row in batch.to_pylist()]


def test_rows_of_several_files_are_in_the_order_of_the_files(tmp_path: Path) -> None:
    for name, first in (("b", 3), ("a", 0)):
        rows = pa.table({"id": [first, first + 1, first + 2], "unused": ["x"] * 3})
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=2)
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "c.parquet")
    found = files(tmp_path, {"id": "long", "unused": "string"})
    assert rows_of(found, "id", "not_in_the_files") == [{"id": number} for number in range(6)]


def write(folder: Path, rows: pa.Table, metadata: Mapping[str, str] | None = None) -> None:
    pq.write_table(rows.replace_schema_metadata(dict(metadata or {})), folder / "rows.parquet")


@pytest.mark.parametrize(
    ("rows", "metadata", "reason"),
    [
        ({"id": [1]}, {"org.apache.spark.version": "2.4.8"}, "Julian"),
        ({"id": [1]}, {"org.apache.spark.version": "3.5.8", "org.apache.spark.legacyDateTime": ""}, "Julian"),
        ({"ID": [1]}, {}, "'ID' differs only in case"),
        ({"id": ["1"]}, {}, "'id' has the type string, not long"),
    ],
    ids=["Spark 2", "legacy dates", "case", "type"],
)
def test_a_file_that_spark_may_read_in_another_way_is_refused(
    tmp_path: Path, rows: dict[str, list[Any]], metadata: dict[str, str], reason: str
) -> None:
    write(tmp_path, pa.table(rows), metadata)
    found = files(tmp_path, {"id": "long"})
    with pytest.raises(UnlikeSparkError, match=reason):
        found.check_first()
    with pytest.raises(UnlikeSparkError, match=reason):
        rows_of(found, "id")


def test_files_of_current_spark_and_other_writers_are_read(tmp_path: Path) -> None:
    write(tmp_path, pa.table({"id": [1]}), {"org.apache.spark.version": "4.2.0"})
    found = files(tmp_path, {"id": "long"})
    found.check_first()
    assert rows_of(found, "id") == [{"id": 1}]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    write(tmp_path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["id", "id"]))
    with pytest.raises(UnlikeSparkError, match="two columns have the same name"):
        files(tmp_path, {"id": "long"}).check_first()


def test_a_damaged_file_is_left_to_spark_and_a_missing_file_is_an_error(tmp_path: Path) -> None:
    write(tmp_path, pa.table({"id": list(range(10_000))}))
    path = tmp_path / "rows.parquet"
    content = path.read_bytes()
    found = files(tmp_path, {"id": "long"})
    path.write_bytes(content[:-3])
    with pytest.raises(UnlikeSparkError, match="Arrow cannot read"):
        rows_of(found, "id")
    path.write_bytes(b"\xff" * 2_000 + content[2_000:])
    with pytest.raises(UnlikeSparkError, match="Arrow cannot read"):
        rows_of(found, "id")
    path.unlink()
    with pytest.raises(ObjectNotFoundError):
        list(found.batches([FilePart(0, 0, 10)], ["id"]))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("/data/in", "file:///lake/t", True),
        ("in.parquet", "/lake/t", True),
        ("s3a://lake/in", "s3://lake/t", True),
        ("s3://landing/in", "s3://lake/t", False),
        ("/data/in", "s3://lake/t", False),
        ("hdfs://name:8020/in", "hdfs://name:8020/t", True),
        ("hdfs://name:8020/in", "hdfs://other:8020/t", False),
    ],
)
def test_the_source_must_be_in_the_store_of_the_table(one: str, other: str, expected: bool) -> None:
    assert is_same_store(one, other) is expected
