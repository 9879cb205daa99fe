"""Lines of CSV and JSON files that are no rows, and warnings about the rows of new tables."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from spark.sources.user_files import csv, stored, write


@pytest.mark.parametrize("text", ["id,name\n1,a\n2,b,more\n", "id,name\n1,a\n2\n"])
@pytest.mark.parametrize("inferred", ["true", "false"])
def test_a_line_of_a_csv_file_with_too_many_or_too_few_values_is_refused_with_the_line(
    spark: SparkSession, tmp_path: Path, text: str, inferred: str
) -> None:
    source = csv(tmp_path, text, inferSchema=inferred)
    with pytest.raises(InvalidDataError, match=re.escape(repr(text.splitlines()[-1]))) as refused:
        write(spark, tmp_path, source)
    assert "mode=PERMISSIVE" in refused.value.hint
    assert not (tmp_path / "t").exists()
    write(spark, tmp_path, replace(source, options={**source.options, "mode": "PERMISSIVE"}))
    assert [str(key) for (key,) in stored(tmp_path, "id")] == ["1", "2"]


def test_a_line_of_a_json_file_that_is_no_document_is_refused_with_the_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines = tmp_path / "rows.json"
    lines.write_text('{"id": 1, "name": "a"}\n{"id": 2, "name":\n')
    source = SourceSpec(path=str(lines), format="json")
    for sql in (None, "SELECT id, name FROM source WHERE id IS NOT NULL"):
        with pytest.raises(InvalidDataError, match='is not a JSON document: \'{"id": 2, "name":\''):
            write(spark, tmp_path, replace(source, sql=sql))
    assert not (tmp_path / "t").exists()
    write(spark, tmp_path, replace(source, options={"mode": "DROPMALFORMED"}))
    assert stored(tmp_path, "id") == [(1,)]


def test_a_csv_file_whose_columns_all_become_texts_gives_a_warning_unless_the_request_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = csv(tmp_path, "id,price\n1,2.5\n")
    (warning,) = write(spark, tmp_path, replace(source, options={"header": "true"})).warnings
    assert "All columns of the new table are strings" in warning
    chosen = replace(source, options={"header": "true", "inferSchema": "false"})
    assert not write(spark, tmp_path / "u", chosen).warnings


def test_rows_without_a_partition_value_and_rows_with_the_key_of_another_row_give_warnings(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = "".join(f"{number % 5},{'' if number == 9 else 'x'}\n" for number in range(10))
    source = csv(tmp_path, f"id,city\n{rows}", inferSchema="true")
    found = write(spark, tmp_path, source, partition_by=("city",)).warnings
    assert any("no value of the partition column 'city'" in each for each in found)
    assert any("rows are not in the table" in each and "record key (id)" in each for each in found)


def test_two_quotes_in_a_value_in_quotes_mean_one_quote_unless_the_request_chooses_the_escape_character(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = csv(tmp_path, 'id,name\n1,"He said ""hi"", twice"\n2,"C:\\dir\\"\n', inferSchema="true")
    write(spark, tmp_path, source)
    assert stored(tmp_path, "id", "name") == [(1, 'He said "hi", twice'), (2, "C:\\dir\\")]
    chosen = csv(tmp_path, 'id,name\n1,"an \\" escaped quote"\n', inferSchema="true", escape="\\")
    write(spark, tmp_path, chosen)
    assert stored(tmp_path, "id", "name")[0] == (1, 'an " escaped quote')


def test_the_error_about_dates_in_another_form_proposes_the_form(spark: SparkSession, tmp_path: Path) -> None:
    german = {"inferSchema": "true", "dateFormat": "dd.MM.yyyy"}
    write(spark, tmp_path, csv(tmp_path, "id,day\n1,31.12.2026\n", **german))
    forgotten = csv(tmp_path, "id,day\n1,01.02.2026\n2,02.02.2026\n", inferSchema="true")
    with pytest.raises(InvalidRequestError, match="'01.02.2026'") as refused:
        write(spark, tmp_path, forgotten)
    assert (
        refused.value.hint
        == "Set the source option dateFormat to the form of these texts, such as dateFormat=dd.MM.yyyy"
    )
