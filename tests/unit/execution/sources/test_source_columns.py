"""Columns of a source as this package reads them without Spark. `tests/spark/sources` compares them with Spark's."""

import gzip
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.source_columns import SourceColumns, read_source_columns
from hudi_table_services.model.schema import (
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    Field,
    StructType,
)
from hudi_table_services.storage.source_files import first_source_files


def columns(path: Path, name: str, options: Mapping[str, str] | None = None) -> SourceColumns | None:
    source = SourceSpec(path=str(path), format=name, options=options or {})
    return read_source_columns(source, first_source_files(str(path), {})[0])


def csv_names(folder: Path, text: str, **options: str) -> tuple[str, ...] | None:
    path = folder / "rows.csv"
    path.write_text(text)
    found = columns(path, "csv", options)
    return found.names if found is not None else None


def test_the_footer_of_a_parquet_file_gives_names_and_types(tmp_path: Path) -> None:
    columns_of_file = {
        "id": pa.array([1], pa.int16()),
        "big": pa.array([1], pa.uint32()),
        "at": pa.array([0], pa.timestamp("us", "UTC")),
        "local": pa.array([0], pa.timestamp("ms")),
        "tags": pa.array([["a"]], pa.list_(pa.string())),
        "inner": pa.array([{"x": 1.5}], pa.struct([("x", pa.float64())])),
        "kind": pa.array(["a"]).dictionary_encode(),
        "_hoodie_commit_time": pa.array(["1"]),
    }
    pq.write_table(pa.table(columns_of_file), tmp_path / "a.parquet")
    found = columns(tmp_path / "a.parquet", "parquet")
    assert found is not None
    assert found.types is not None
    assert {field.name: str(field.type) for field in found.types.fields} == {
        "id": "int",
        "big": "long",
        "at": "timestamp",
        "local": "timestamp_ntz",
        "tags": "array<string>",
        "inner": "struct<x:double>",
        "kind": "string",
    }


def typed(*columns: tuple[str, DataType]) -> StructType:
    return StructType(tuple(Field(name, data_type) for name, data_type in columns))


def test_a_column_of_unknown_type_does_not_hide_the_types_of_other_columns(tmp_path: Path) -> None:
    inner = pa.array([{"at": 0}], pa.struct([("at", pa.timestamp("ns"))]))
    pq.write_table(pa.table({"id": [1], "inner": inner, "name": ["a"]}), tmp_path / "a.parquet")
    found = columns(tmp_path / "a.parquet", "parquet")
    assert found == SourceColumns(("id", "inner", "name"), typed(("id", LONG), ("name", STRING)))
    assert found.untyped == ("inner",)
    assert found.reason == "only Spark knows the types of these columns: inner"


def test_timestamps_have_the_types_with_which_the_job_reads_them(tmp_path: Path) -> None:
    table = {"at": pa.array([0], pa.timestamp("ns")), "utc": pa.array([0], pa.timestamp("ns", "UTC"))}
    for int96, local in ((False, TIMESTAMP_NTZ), (True, TIMESTAMP)):
        path = tmp_path / f"{int96}.parquet"
        pq.write_table(pa.table(table), path, use_deprecated_int96_timestamps=int96)
        found = columns(path, "parquet")
        assert found == SourceColumns(("at", "utc"), typed(("at", local), ("utc", TIMESTAMP)))


def test_partition_folders_add_columns(tmp_path: Path) -> None:
    (tmp_path / "in" / "day=1" / "Kind=a").mkdir(parents=True)
    columns_of_file = {"id": [1], "kind": [2]}
    pq.write_table(pa.table(columns_of_file), tmp_path / "in" / "day=1" / "Kind=a" / "a.parquet")
    found = columns(tmp_path / "in", "parquet")
    assert found == SourceColumns(("id", "Kind", "day"), typed(("id", LONG)))
    assert found.reason == "Spark infers the types of the columns in the names of folders: day, Kind"


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pytest.raises(InvalidRequestError, match=r"a\.csv is not a Parquet file.*--source-format"):
        columns(tmp_path / "a.csv", "parquet")


def test_a_spreadsheet_is_refused_with_the_way_to_load_its_rows(tmp_path: Path) -> None:
    (tmp_path / "a.XLSX").write_bytes(b"PK\x03\x04 and more")
    with pytest.raises(InvalidRequestError, match=r"a\.XLSX is not a Parquet file.*Convert the spreadsheet"):
        columns(tmp_path / "a.XLSX", "parquet")


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("a.csv", "Set --source-format=csv."),
        ("a.CSV.gz", "Set --source-format=csv."),
        ("a.tsv", r"Set --source-format=csv and --source-option sep='\t'."),
        ("a.json", "Set --source-format=json."),
        ("a.jsonl", "Set --source-format=json."),
        ("a.NDJSON", "Set --source-format=json."),
        ("a.orc", "Set --source-format=orc."),
        ("a.avro", "Set --source-format=avro."),
        ("a.dat", "Set --source-format to the format of the file, such as csv or json."),
    ],
)
def test_a_file_that_is_not_a_parquet_file_gets_the_format_that_its_name_states(
    tmp_path: Path, name: str, cure: str
) -> None:
    (tmp_path / name).write_text("id\n1\n")
    with pytest.raises(InvalidRequestError, match="is not a Parquet file") as refused:
        columns(tmp_path / name, "parquet")
    assert refused.value.hint == cure


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("id,name\n1,a\n", {"header": "true"}, ("id", "name")),
        ("\n\nid,name\n", {"header": "TRUE"}, ("id", "name")),
        ("1;a;2\n", {"sep": ";"}, ("_c0", "_c1", "_c2")),
        ('"a,b",c\n', {"HEADER": "true"}, ("a,b", "c")),
        ("id,id\n", {"header": "true"}, ("id0", "id1")),
        ("id,\n", {"header": "true"}, ("id", "_c1")),
        ("id,name\n", {"header": "true", "nullvalue": "name"}, ("id", "_c1")),
        ("id,name\n", {"header": "true", "comment": "#"}, None),
        ('"a""b",c\n', {"header": "true"}, None),
    ],
)
def test_the_first_line_of_a_csv_file_gives_the_names(
    tmp_path: Path, text: str, options: dict[str, str], expected: tuple[str, ...] | None
) -> None:
    assert csv_names(tmp_path, text, **options) == expected


def test_csv_columns_are_text_unless_spark_infers_types(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"id,name\n1,a\n"))
    plain = columns(path, "csv", {"header": "true"})
    assert plain is not None
    assert plain.types is not None
    assert {str(field.type) for field in plain.types.fields} == {"string"}
    assert columns(path, "csv", {"header": "true", "inferSchema": "true"}) == SourceColumns(
        ("id", "name"), None
    )


def test_only_whole_lines_at_the_beginning_of_a_long_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,name\n" + "1,ä\n" * 400_000)
    found = columns(tmp_path / "a.csv", "csv", {"header": "true"})
    assert found is not None
    assert found.names == ("id", "name")


@pytest.mark.parametrize("text", ['[\n {"id": 1}\n]\n', '{\n "id": 1\n}\n', "id\n"])
def test_documents_over_several_lines_need_an_option(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(InvalidRequestError, match="multiLine=true"):
        columns(tmp_path / "a.json", "json")
    assert columns(tmp_path / "a.json", "json", {"multiline": "true"}) is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("{'id': 1}\n", {}),
        ("// a comment\n{}\n", {"allowComments": "true"}),
        ("a header\n{}\n", {"mode": "DROPMALFORMED"}),
        ('[{"id": 1}]\n', {}),
    ],
)
def test_texts_that_spark_accepts_are_not_refused(tmp_path: Path, text: str, options: dict[str, str]) -> None:
    (tmp_path / "a.json").write_text(text)
    assert columns(tmp_path / "a.json", "json", options) is None


def test_the_columns_of_json_lines_stay_unknown(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"id": 1}\n{"id": 2, "name": "a"}\n')
    assert columns(tmp_path / "a.json", "json") is None


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('id,name\n1,"two\nlines"\n2,b\n', {}),
        ('id,name\n1,"three\nlines, ""quoted""\nend"\n', {"header": "true"}),
        ("id;name\n1;'two\nlines'\n", {"sep": ";", "quote": "'"}),
    ],
)
def test_a_value_with_a_line_break_is_refused_because_spark_reads_each_line_as_a_row(
    tmp_path: Path, text: str, options: Mapping[str, str]
) -> None:
    with pytest.raises(InvalidRequestError, match="value in quotes with a line break") as refused:
        csv_names(tmp_path, text, **options)
    assert "multiLine=true" in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        'id,name\n1,"a"\n2,"b,c"\n',
        'id,size\n1,5" pipe\n2,6" pipe\n',
        'id,name\n1,"never closed\n2,b\n',
        'id,name\n1,"an \\" escaped quote"\n2,"another \\" one"\n',
    ],
)
def test_quotes_without_a_line_break_are_accepted(tmp_path: Path, text: str) -> None:
    assert csv_names(tmp_path, text) == ("_c0", "_c1")


@pytest.mark.parametrize("name", ["csv", "json"])
def test_a_text_file_in_another_encoding_than_utf_8_is_refused_unless_the_request_names_the_encoding(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"rows.{name}"
    path.write_bytes('{"id": 1, "name": "Zoë"}\n'.encode("latin-1"))
    with pytest.raises(InvalidRequestError, match="not encoded in UTF-8") as refused:
        columns(path, name)
    assert "encoding=ISO-8859-1" in refused.value.hint
    assert columns(path, name, {"encoding": "ISO-8859-1"}) is None
