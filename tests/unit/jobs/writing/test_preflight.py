"""Checks of a write without Spark: what is refused, what is not checked, and which requests need no check."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import (
    REQUEST_ID_KEY,
    SCHEMA_KEY,
    CommitMetadata,
    WriteOperation,
)
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import create_table
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties

SCHEMA = """{"type": "record", "name": "trips", "fields": [
    {"name": "id", "type": "long"},
    {"name": "city", "type": ["null", "string"], "default": null},
    {"name": "price", "type": ["null", "double"], "default": null}]}"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": [1], "city": ["a"], "price": [1.5]}), tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    return committed(SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9))


def committed(made: SmallTable) -> SmallTable:
    """The table after one commit, which the request ``done`` made."""
    store = made.timeline_store
    extra = {REQUEST_ID_KEY: "done", SCHEMA_KEY: SCHEMA}
    metadata = CommitMetadata(
        operation_type=WriteOperation.UPSERT, partition_to_write_stats={}, extra_metadata=extra
    )
    store.complete(made.begin(), encode_commit_metadata(metadata, TableVersion.V9))
    return made


def request(base: Path, source: object, **fields: Any) -> UpsertRequest:
    spec = source if isinstance(source, SourceSpec) else SourceSpec(path=str(source))
    known = {"table_name": "trips", "record_key": ("id",), "partition_by": ("city",), **fields}
    return UpsertRequest(base_path=str(base / "t"), source=spec, **known)


def csv(path: Path, text: str, **options: str) -> SourceSpec:
    path.write_text(text)
    return SourceSpec(path=str(path), format="csv", options=options)


def refusal(checked: UpsertRequest) -> str:
    with pytest.raises(HudiTableServiceError) as caught:
        check_write(checked)
    return str(caught.value)


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


def test_csv_files_without_inferred_types_get_advice(table: SmallTable, tmp_path: Path) -> None:
    source = csv(tmp_path / "rows.csv", "id,city,price\n1,a,1.5\n", header="true")
    assert "inferSchema=true" in refusal(request(tmp_path, source))
    inferring = replace(source, options={**source.options, "inferSchema": "true"})
    assert check_write(request(tmp_path, inferring)).notes == (
        "The types of the columns are not checked before Spark starts, because the option inferSchema is set.",
    )


def test_csv_files_without_header_get_advice(tmp_path: Path) -> None:
    message = refusal(request(tmp_path, csv(tmp_path / "rows.csv", "1,a,1.5\n")))
    assert "Its columns are: _c0, _c1, _c2." in message
    assert "header=true" in message
    assert "If the files have no header, name the columns in a source query (--source-sql)" in message
    assert "SELECT _c0 AS id, … FROM source" in message


@pytest.mark.parametrize("name", ["csv", "json"])
def test_a_binary_file_that_is_read_as_text_is_refused(tmp_path: Path, rows: Path, name: str) -> None:
    source = SourceSpec(path=str(rows), format=name)
    message = refusal(request(tmp_path, source))
    assert message.startswith(f"The source file {rows} is a Parquet file, but the source has a text format.")
    assert "--source-format" in message


@pytest.mark.parametrize("options", [{}, {"header": "false", "inferSchema": "true"}], ids=["default", "off"])
def test_a_csv_file_whose_first_line_has_the_needed_names_needs_only_header_true(
    tmp_path: Path, options: dict[str, str]
) -> None:
    message = refusal(request(tmp_path, csv(tmp_path / "rows.csv", "id,city,price\n1,a,1.5\n", **options)))
    assert message.startswith(f"The source '{tmp_path / 'rows.csv'}' has no column 'id'")
    assert message.endswith(
        "The first line of the file contains the names of the columns: set the source option header=true."
    )
    assert "_c0" not in message


@pytest.mark.parametrize(
    ("source_format", "options", "meant"),
    [
        ("cvs", {}, "Did you mean 'csv'?"),
        ("parqet", {}, "Did you mean 'parquet'?"),
        ("csv", {"headers": "true"}, "Did you mean 'header'?"),
        ("csv", {"inferschma": "true"}, "Did you mean 'inferSchema'?"),
    ],
)
def test_misspelled_formats_and_options_are_refused(
    tmp_path: Path, source_format: str, options: dict[str, str], meant: str
) -> None:
    (tmp_path / "rows.csv").write_text("id,city\n1,a\n")
    source = SourceSpec(path=str(tmp_path / "rows.csv"), format=source_format, options=options)
    assert meant in refusal(request(tmp_path, source))


def test_a_reader_option_that_is_neither_true_nor_false_is_refused(tmp_path: Path) -> None:
    source = csv(tmp_path / "rows.csv", "id,city\n1,a\n", header="yes")
    assert refusal(request(tmp_path, source)) == (
        "The source option header is 'yes', but Spark accepts only true or false. Set header=true or header=false."
    )
    assert check_write(request(tmp_path, replace(source, options={"header": "TRUE"}))) == CheckedWrite()
    assert "multiLine is '1'" in refusal(
        request(tmp_path, replace(source, format="JSON", options={"multiLine": "1"}))
    )


def test_files_of_several_formats_are_refused(tmp_path: Path, rows: Path) -> None:
    (tmp_path / "in").mkdir()
    rows.rename(tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / "b.csv").write_text("id\n1\n")
    mixed = refusal(request(tmp_path, tmp_path / "in"))
    assert "in/a.parquet and " in mixed
    assert "in/b.csv. Its format is parquet. Give a pattern" in mixed
    assert check_write(request(tmp_path, tmp_path / "in" / "*.parquet")) == CheckedWrite()


def test_csv_columns_with_repeated_or_empty_names_get_the_names_of_spark(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,city,City,\n1,a,b,c\n", header="true")
    assert "Its columns are: id, city1, City2, _c3." in refusal(request(tmp_path, source))
    assert check_write(request(tmp_path, source, partition_by=("city1",))) == CheckedWrite()


def test_names_that_look_like_values_get_advice(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "1,paris,10.5\n2,rome,7.5\n", header="true")
    message = refusal(request(tmp_path, source))
    assert (
        "If the files have no header, remove the source option header=true, and name the columns" in message
    )
    assert "SELECT _c0 AS id, … FROM source" in message


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
        (one_line("a.csv", "id;;city\n", header="true", sep=";;"), "separator or quote"),
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


def test_nulls_are_not_refused_without_statistics_or_in_a_partition_column(tmp_path: Path) -> None:
    columns = {"id": pa.array([1, None]), "city": pa.array(["a", None])}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", write_statistics=["city"])
    assert check_write(request(tmp_path, tmp_path / "rows.parquet")) == CheckedWrite()


def test_a_wrong_key_of_json_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1}\n\n{"city": "a", "inner": {"x": 1}}\n')
    source = SourceSpec(path=str(path), format="json")
    assert "Its columns are: id, city, inner." in refusal(request(tmp_path, source, record_key=("key",)))
    (note,) = check_write(request(tmp_path, source)).notes
    assert "infers the types of JSON values" in note


def test_several_files_of_json_lines_are_left_to_spark(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a", "b"):
        (tmp_path / "in" / f"{name}.json").write_text('{"id": 1}\n')
    (note,) = check_write(request(tmp_path, SourceSpec(path=str(tmp_path / "in"), format="json"))).notes
    assert "only a single JSON file" in note


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
        ("b.csv", "id,at\n1,2026-01-02T03:04\n", {"header": "true", "inferSchema": "true"}, ":year)."),
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
def test_a_partition_by_a_unit_of_time_of_json_needs_a_query(column: str, tmp_path: Path) -> None:
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


def test_an_empty_csv_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"")
    source = SourceSpec(path=str(path), format="csv", options={"header": "true"})
    with pytest.raises(InvalidRequestError, match="rows.csv is empty"):
        check_write(request(tmp_path, source))


def test_a_delete_without_the_partition_column_is_explained(table: SmallTable, tmp_path: Path) -> None:
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
