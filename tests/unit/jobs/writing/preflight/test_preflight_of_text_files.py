"""Checks of writes of CSV and JSON files: formats, reader options, headers, columns."""

from dataclasses import replace
from pathlib import Path

import pytest
from checked_writes import csv, refusal, request

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.writing.preflight import CheckedWrite, check_write
from support.small_tables import SmallTable


def test_csv_files_without_inferred_types_get_advice(table: SmallTable, tmp_path: Path) -> None:
    source = csv(tmp_path / "rows.csv", "id,city,price\n1,a,1.5\n", header="true")
    assert "inferSchema=true" in refusal(request(tmp_path, source))
    inferring = replace(source, options={**source.options, "inferSchema": "true"})
    assert check_write(request(tmp_path, inferring)).notes == (
        "The types of the columns are not checked before Spark starts, because the option inferSchema is set.",
    )


def test_csv_files_without_header_get_advice(tmp_path: Path) -> None:
    message = refusal(request(tmp_path, csv(tmp_path / "rows.csv", "1,a,1.5\n")))
    assert "The columns of the source are: _c0, _c1, _c2." in message
    assert "header=true" in message
    assert "If the files have no header, name the columns in a source query (--source-sql)" in message
    assert "SELECT _c0 AS id, … FROM source. Also set the source option inferSchema=true" in message
    inferring = csv(tmp_path / "rows.csv", "1,a,1.5\n", inferSchema="true")
    assert "inferSchema" not in refusal(request(tmp_path, inferring))


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
    types = " Also set the source option inferSchema=true, because otherwise every column is text."
    assert message.endswith(
        "The first line of the file contains the names of the columns: set the source option header=true."
        f"{'' if options else types}"
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


@pytest.mark.parametrize("text", ["b.csv", "0.csv"])
def test_files_of_several_formats_are_refused(tmp_path: Path, rows: Path, text: str) -> None:
    (tmp_path / "in").mkdir()
    rows.rename(tmp_path / "in" / "a.parquet")
    (tmp_path / "in" / text).write_text("id\n1\n")
    mixed = refusal(request(tmp_path, tmp_path / "in"))
    assert "in/a.parquet and " in mixed
    assert f"in/{text}, but the request reads all of them as parquet. Give a pattern" in mixed
    assert check_write(request(tmp_path, tmp_path / "in" / "*.parquet")) == CheckedWrite()


def test_csv_columns_with_repeated_or_empty_names_get_the_names_of_spark(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "id,city,City,\n1,a,b,c\n", header="true")
    assert "The columns of the source are: id, city1, City2, _c3." in refusal(request(tmp_path, source))
    checked = check_write(request(tmp_path, source, partition_by=("city1",)))
    assert checked.notes == ()
    (warning,) = checked.warnings
    assert "contains the column name 'city' 2 times. Spark names these columns city1 and City2." in warning


def test_names_that_look_like_values_get_advice(tmp_path: Path) -> None:
    source = csv(tmp_path / "a.csv", "1,paris,10.5\n2,rome,7.5\n", header="true")
    message = refusal(request(tmp_path, source))
    assert (
        "If the files have no header, remove the source option header=true, and name the columns" in message
    )
    assert "SELECT _c0 AS id, … FROM source" in message


def test_a_wrong_key_of_json_lines_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1}\n\n{"city": "a", "inner": {"x": 1}}\n')
    source = SourceSpec(path=str(path), format="json")
    assert "The columns of the source are: id, city, inner." in refusal(
        request(tmp_path, source, record_key=("key",))
    )
    (note,) = check_write(request(tmp_path, source)).notes
    assert "infers the types of JSON values" in note


def test_the_error_names_an_empty_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"")
    source = SourceSpec(path=str(path), format="csv", options={"header": "true"})
    with pytest.raises(InvalidRequestError, match="rows.csv is empty"):
        check_write(request(tmp_path, source))


@pytest.mark.parametrize(("separator", "name"), [(";", ";"), ("|", "|"), ("\t", "\\t")])
def test_a_csv_file_with_another_separator_gets_the_option(tmp_path: Path, separator: str, name: str) -> None:
    text = separator.join(("id", "city")) + "\n" + separator.join(("1", "a")) + "\n"
    message = refusal(request(tmp_path, csv(tmp_path / "rows.csv", text, header="true")))
    assert message.endswith(f"To separate its values, set --source-option sep='{name}'.")
    message = refusal(request(tmp_path, csv(tmp_path / "rows.csv", text)))
    assert f"--source-option sep='{name}'. If the first line contains the names of the columns" in message
    read = csv(tmp_path / "rows.csv", text, header="true", sep=separator)
    assert check_write(request(tmp_path, read)) == CheckedWrite()


@pytest.mark.parametrize("options", [{"header": "true"}, {}], ids=["header", "no header"])
def test_json_lines_that_are_read_as_csv_get_the_format(tmp_path: Path, options: dict[str, str]) -> None:
    source = csv(tmp_path / "rows.txt", '{"id": 1, "city": "a"}\n', **options)
    assert refusal(request(tmp_path, source)).endswith(
        "The source looks like JSON. Set --source-format=json."
    )


@pytest.mark.parametrize(
    ("line", "advice"),
    [("id,city", "Set --source-format=csv"), ("id;city", "header=true"), ("id", "multiLine=true")],
)
def test_lines_without_json_get_the_format_csv_if_they_have_separators(
    tmp_path: Path, line: str, advice: str
) -> None:
    (tmp_path / "rows.txt").write_text(f"{line}\n1\n")
    message = refusal(request(tmp_path, SourceSpec(path=str(tmp_path / "rows.txt"), format="json")))
    assert "is not a JSON document" in message
    assert advice in message


def test_a_csv_column_of_times_without_inferred_types_gets_the_option_first(tmp_path: Path) -> None:
    source = csv(tmp_path / "rows.csv", "id,at\n1,2026-01-02 03:04:05\n", header="true")
    message = refusal(request(tmp_path, source, partition_by=("at:day",)))
    assert "column 'at' was read as text. Set --source-option inferSchema=true." in message
    inferring = replace(source, options={**source.options, "inferSchema": "true"})
    assert check_write(request(tmp_path, inferring, partition_by=("at:day",))).warnings == ()


@pytest.mark.parametrize(
    ("text", "options", "example"),
    [
        ("id,city,reading\n1,a,\n2,a,124\n3,a,24\n", {"header": "true"}, "'124'"),
        ("id,city,reading\n1,a,-\n2,a,1.5\n3,a,24\n", {"header": "true", "nullValue": "-"}, "'1.5'"),
        ("id,city,reading\n1,a,2026-01-02 03:04\n2,a,2026-01-02\n", {"header": "true"}, "'2026-01-02 03:04'"),
        ("id,city,reading\n1,a,2026-01-02 03:04:05\n", {"header": "true"}, ""),
        ("id,city,reading\n1,a,124\n2,a,unknown\n", {"header": "true"}, ""),
        ("id,city,reading\n1,a,124\n", {"header": "true", "inferSchema": "true"}, ""),
        ("id,city,reading\n", {"header": "true"}, ""),
        ("id,city,reading\n1,a,1\n2,a," + "x" * 200_000 + "\n3,a,10\n", {"header": "true"}, "'1'"),
    ],
    ids=["whole", "nulls", "times", "one form", "text", "inferred", "no rows", "long"],
)
def test_an_ordering_field_of_numbers_that_a_new_table_stores_as_text_gives_a_warning(
    tmp_path: Path, text: str, options: dict[str, str], example: str
) -> None:
    source = csv(tmp_path / "rows.csv", text, **options)
    warnings = check_write(request(tmp_path, source, ordering_field="reading")).warnings
    assert len(warnings) == bool(example)
    assert all(f"such as {example}" in each for each in warnings)
    assert all("--source-option inferSchema=true" in each for each in warnings)
    assert check_write(request(tmp_path, source, ordering_field="city")).warnings == ()


def test_a_header_of_some_numbers_and_times_looks_like_values(tmp_path: Path) -> None:
    first = "o-00000,2026-03-01 08:00:00,DE,open,x,12.50"
    message = refusal(request(tmp_path, csv(tmp_path / "a.csv", f"{first}\n{first}\n", header="true")))
    assert (
        "These names look like values. If the files have no header, remove the source option header=true"
        in message
    )
    assert "SELECT _c0 AS id, … FROM source" in message


def test_a_header_with_years_and_a_similar_name_does_not_look_like_values(tmp_path: Path) -> None:
    message = refusal(request(tmp_path, csv(tmp_path / "a.csv", "idd,2024,2025\n1,2,3\n", header="true")))
    assert "Did you mean 'idd'?" in message
    assert "look like values" not in message
