"""Checks of writes: sources and types that only Spark can check, and what is checked beside them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from checked_writes import refusal, request

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write
from support.small_tables import SmallTable


@pytest.mark.parametrize(
    ("source", "fields", "reason"),
    [
        (SourceSpec(format="jdbc", options={"url": "jdbc:x"}), {}, "its format is jdbc"),
        (SourceSpec(path="hdfs://host/x"), {}, "may not see the file system"),
        (SourceSpec(path="s3://other/x"), {}, "another bucket"),
        (
            SourceSpec(path="/none", options={"pathGlobFilter": "*.x"}),
            {},
            "its options select some of its files",
        ),
    ],
)
def test_a_source_that_this_process_cannot_check_is_left_to_spark(
    tmp_path: Path, source: SourceSpec, fields: dict[str, Any], reason: str
) -> None:
    (note,) = check_write(request(tmp_path, source, **fields)).notes
    assert reason in note


def test_paths_on_another_file_system_are_left_to_spark(tmp_path: Path) -> None:
    (note,) = check_write(request(tmp_path, tmp_path / "none"), source_is_local=False).notes
    assert "may not see the file system" in note
    with pytest.raises(InvalidRequestError):
        check_write(request(tmp_path, f"file://{tmp_path}/none"), source_is_local=False)


def test_the_columns_of_a_query_are_left_to_spark(tmp_path: Path, rows: Path) -> None:
    source = SourceSpec(path=str(rows), sql="SELECT id AS k FROM source")
    (note,) = check_write(request(tmp_path, source, record_key=("k",))).notes
    assert "a query defines them" in note


def test_the_check_of_the_source_can_be_switched_off(tmp_path: Path) -> None:
    assert check_write(request(tmp_path, tmp_path / "none", check_source=False)) == CheckedWrite()


def one_line(name: str, text: str, **options: str) -> tuple[str, bytes, dict[str, str]]:
    return name, text.encode(), options


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (one_line("a.orc", "ORC"), "the format orc"),
        (one_line("a.avro", "Obj"), "the format avro"),
        (one_line("a.csv", "id,city\n", header="true", encoding="UTF-16"), "options encoding"),
        (one_line("a.csv", "id,city\n", header="true", multiLine="true"), "options multiline"),
        (one_line("a.csv", "id,city\n", header="true", escape="x"), "options escape"),
        (
            one_line("a.csv", "id;;city\n", header="true", sep=";;"),
            "the separator or the quote of the CSV file",
        ),
        (one_line("a.csv", "\ufeffid,city\n", header="true"), "byte order mark"),
        (one_line("a.csv.bz2", "id,city\n", header="true"), "another codec than gzip"),
        (one_line("a.json", '{"id": 1}\n', mode="PERMISSIVE"), "without reader options"),
        (one_line("a.json", "{'id': 1}\n"), "not a JSON document according to the standard"),
        (one_line("a.json", '[{"id": 1}]\n'), "not a JSON object"),
        (one_line("a.json.gz", ""), "compressed"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_line_says_why_the_columns_are_not_checked(
    tmp_path: Path, file: tuple[str, bytes, dict[str, str]], reason: str
) -> None:
    name, content, options = file
    (tmp_path / name).write_bytes(content)
    source_format = name.split(".")[1]
    source = SourceSpec(path=str(tmp_path / name), format=source_format, options=options)
    (note,) = check_write(request(tmp_path, source, record_key=("none",))).notes
    assert note.startswith("The columns are not checked before Spark starts, because ")
    assert reason in note


def test_merged_columns_of_parquet_files_are_left_to_spark(tmp_path: Path, rows: Path) -> None:
    source = SourceSpec(path=str(rows), options={"mergeSchema": "true"})
    (note,) = check_write(request(tmp_path, source, record_key=("none",))).notes
    assert "mergeSchema" in note


def test_types_that_the_check_does_not_know_are_named(tmp_path: Path) -> None:
    took = pa.array([0], pa.duration("us"))
    pq.write_table(pa.table({"id": [1], "city": ["a"], "took": took}), tmp_path / "rows.parquet")
    (note,) = check_write(request(tmp_path, tmp_path / "rows.parquet")).notes
    assert note.startswith("The types of some columns are not checked before Spark starts")
    assert note.endswith("only Spark knows the types of these columns: took.")


UNKNOWN = {
    "duration": pa.array([0], pa.duration("us")),
    "time of day": pa.array([0], pa.time64("us")),
    "member in nanoseconds": pa.array([{"at": 0}], pa.struct([("at", pa.timestamp("ns"))])),
    "nanoseconds": pa.array([0], pa.timestamp("ns")),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_column_of_unknown_type_does_not_switch_off_the_check_of_the_others(
    table: SmallTable, tmp_path: Path, kind: str
) -> None:
    def checked(**columns: Any) -> UpsertRequest:
        given = {"id": [1], "city": ["a"], "price": [1.5], "other": UNKNOWN[kind], **columns}
        pq.write_table(
            pa.table({name: each for name, each in given.items() if each is not None}),
            tmp_path / "rows.parquet",
        )
        return request(tmp_path, tmp_path / "rows.parquet")

    check_write(checked())
    assert "Column 'price' is double in the table and array<double> in the rows" in refusal(
        checked(price=[[1.5]])
    )
    assert "The rows have no column 'price', which the table has" in refusal(checked(price=None))
    assert "the names differ only in case" in refusal(checked(price=None, Price=[1.5]))


@pytest.mark.parametrize("kind", UNKNOWN)
@pytest.mark.parametrize("name", ["price", "_hoodie_is_deleted"])
def test_a_column_of_unknown_type_is_checked_by_name_only(
    table: SmallTable, tmp_path: Path, kind: str, name: str
) -> None:
    columns = {"id": [1], "city": ["a"], "price": [1.5], name: UNKNOWN[kind]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    if kind == "nanoseconds":
        assert name in refusal(request(tmp_path, tmp_path / "rows.parquet"))
    else:
        assert len(check_write(request(tmp_path, tmp_path / "rows.parquet")).notes) == 1


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("kind", ["duration", "nanoseconds"])
def test_timestamps_without_zone_are_refused_beside_a_column_of_unknown_type(
    tmp_path: Path, unit: str, kind: str
) -> None:
    at = pa.array([0], pa.timestamp(unit))
    pq.write_table(pa.table({"id": [1], "at": at, "other": UNKNOWN[kind]}), tmp_path / "rows.parquet")
    refuses = request(tmp_path, tmp_path / "rows.parquet", partition_by=(), timestamps_without_zone="refuse")
    assert "Column 'at' is a timestamp without zone" in refusal(refuses)


def test_the_columns_of_files_are_checked_although_folders_add_columns(
    table: SmallTable, tmp_path: Path
) -> None:
    (tmp_path / "in" / "city=a").mkdir(parents=True)
    for price, accepted in (([1.5], True), ([[1.5]], False)):
        pq.write_table(pa.table({"id": [1], "price": price}), tmp_path / "in" / "city=a" / "a.parquet")
        if accepted:
            (note,) = check_write(request(tmp_path, tmp_path / "in")).notes
            assert "in the names of folders: city" in note
        else:
            assert "Column 'price' is double" in refusal(request(tmp_path, tmp_path / "in"))


@pytest.mark.parametrize("options", [{}, {"hoodie.keygen.timebased.timestamp.type": "DATE_STRING"}])
def test_a_partition_by_time_of_unknown_type_is_left_to_spark(
    tmp_path: Path, options: dict[str, str]
) -> None:
    (tmp_path / "in" / "day=2026-01-01").mkdir(parents=True)
    flag = {"id": [1], "_hoodie_is_deleted": ["no"]}
    for columns, accepted in (({"id": [1]}, True), (flag, False)):
        pq.write_table(pa.table(columns), tmp_path / "in" / "day=2026-01-01" / "a.parquet")
        given = {**options, "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd"} if options else {}
        checked = request(tmp_path, tmp_path / "in", partition_by=("day:day",), options=given)
        if accepted:
            assert len(check_write(checked).notes) == 1
        else:
            assert "must be boolean" in refusal(checked)


def test_several_files_of_json_lines_are_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.json").write_text('{"id": 1}\n')
    (note,) = check_write(request(tmp_path, SourceSpec(path=str(tmp_path / "in"), format="json"))).notes
    assert "only a single JSON file" in note
