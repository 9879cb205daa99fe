"""JSON files of pandas: one object with the values of each column is refused before Spark starts."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.source_columns import SourceColumns, columns_or_reason
from hudi_table_services.execution.sources.text_files import read_start
from hudi_table_services.storage.source_files import first_source_files


def columns(path: Path, **options: str) -> SourceColumns | str:
    source = SourceSpec(path=str(path), format="json", options=options)
    return columns_or_reason(source, first_source_files(str(path), {})[0], is_only_file=True)


def refusal(path: Path, **options: str) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        columns(path, **options)
    return caught.value


FRAME = pd.DataFrame({"id": [1, 2, 3], 'na"me': ["a", None, "ü"]})


@pytest.mark.parametrize("frame", [FRAME, FRAME[:1]], ids=["all", "one"])
@pytest.mark.parametrize("indent", [0, 2])
@pytest.mark.parametrize("options", [{}, {"multiLine": "true"}], ids=["lines", "multiline"])
def test_the_default_form_of_pandas_is_refused_with_the_cure(
    tmp_path: Path, frame: pd.DataFrame, indent: int, options: dict[str, str]
) -> None:
    path = tmp_path / "rows.json"
    frame.to_json(path, indent=indent)
    error = refusal(path, **options)
    assert error.message == (
        f"The source file {path} contains one JSON object with the values of each column, as to_json of pandas writes "
        "it by default. Spark needs one JSON object for each row."
    )
    assert error.hint == 'Write the file with df.to_json(path, orient="records", lines=True).'


@pytest.mark.parametrize(
    ("count", "indent"), [(200_000, 0), (50_000, 0), (30_000, 2)], ids=["cut", "lines", "formatted"]
)
def test_a_long_file_of_pandas_is_recognized_by_its_beginning(
    tmp_path: Path, count: int, indent: int
) -> None:
    path = tmp_path / "rows.json"
    pd.DataFrame({"id": range(count), "name": "x" * 30}).to_json(path, indent=indent)
    assert path.stat().st_size > 1 << 20
    assert "orient=" in refusal(path).hint


LONG = "x" * (1 << 19)


@pytest.mark.parametrize(
    "document",
    [
        {"pages": {"1": LONG, "2": LONG, "3": LONG}, "id": 7},
        {"pages": {"0": LONG, "2": LONG, "3": LONG}, "id": 7},
        {"pages": {"0": LONG + LONG}, "id": 7},
        {"pages": {"0": "a", "1": "b"}, "id": 7, "text": LONG + LONG},
        {"pages": {"0": "a", "1": "b"}, "sizes": {"1": 1}, "text": LONG + LONG},
        {"pages": {"0": "a", "x": "b"}, "sizes": {"0": 1}, "text": LONG + LONG},
        {"pages": [{"0": LONG}], "text": LONG + LONG},
    ],
    ids=range(7),
)
@pytest.mark.parametrize("indent", [None, 2])
def test_rows_longer_than_the_text_that_the_check_reads_are_accepted(
    tmp_path: Path, document: dict[str, object], indent: int | None
) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(document, indent=indent) + "\n")
    assert "reader options" in str(columns(tmp_path / "rows.json", multiLine="true"))
    (tmp_path / "lines.json").write_text(f"{json.dumps(document)}\n" * 2)
    assert "1 MiB or more" in str(columns(tmp_path / "lines.json"))


def test_lines_with_two_such_members_in_a_long_file_are_rows(tmp_path: Path) -> None:
    line = json.dumps({"id": {"0": 1}, "scores": {"0": 1}})
    (tmp_path / "rows.json").write_text(f"{line}\n" * 50_000)
    assert "1 MiB or more" in str(columns(tmp_path / "rows.json"))


def test_a_compressed_file_of_pandas_is_recognized(tmp_path: Path) -> None:
    FRAME.to_json(tmp_path / "rows.json.gz")
    assert gzip.decompress((tmp_path / "rows.json.gz").read_bytes()).startswith(b"{")
    assert "orient=" in refusal(tmp_path / "rows.json.gz").hint


def test_the_form_that_the_cure_names_is_accepted(tmp_path: Path) -> None:
    FRAME.to_json(tmp_path / "rows.json", orient="records", lines=True)
    found = columns(tmp_path / "rows.json")
    assert isinstance(found, SourceColumns)
    assert found.names == ("id", 'na"me')


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"id": {}},
        {"id": 1, "scores": {"0": 1, "1": 2}},
        {"id": {"0": 1}, "scores": {"0": 1, "1": 2}},
        {"id": {"x": 1}, "scores": {"x": 2}},
        {"scores": {"0": 1, "1": 2}},
        {"id": {"1": 1}, "scores": {"1": 2}},
    ],
    ids=str,
)
def test_other_objects_with_objects_are_accepted(tmp_path: Path, document: dict[str, object]) -> None:
    (tmp_path / "rows.json").write_text(json.dumps(document) + "\n")
    assert isinstance(columns(tmp_path / "rows.json"), SourceColumns)


def test_several_lines_with_such_objects_are_rows(tmp_path: Path) -> None:
    line = json.dumps({"scores": {"0": 1, "1": 2}})
    (tmp_path / "rows.json").write_text(f"{line}\n" * 2)
    assert isinstance(columns(tmp_path / "rows.json"), SourceColumns)
    (tmp_path / "rows.json").write_text(f"{line}\n" * 100_000)
    assert "1 MiB or more" in str(columns(tmp_path / "rows.json"))


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"id": 1}\n{"id": 2, "name": "a"}\n', encoding="utf-8-sig")
    found = columns(path)
    assert isinstance(found, SourceColumns)
    assert found.names == ("id", "name")
    path.write_text(str(FRAME.to_json()), encoding="utf-8-sig")
    assert "orient=" in refusal(path).hint


@pytest.mark.parametrize("character", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1c"], ids=ascii)
def test_only_the_line_breaks_of_spark_end_a_line(tmp_path: Path, character: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(f'{{"id": "a{character}b"}}\n{{"id": "c"}}\n')
    columns(path)  # does not refuse the first line as a part of a document
    start = read_start(first_source_files(str(path), {})[0])
    assert start.lines(9) == (f'{{"id": "a{character}b"}}', '{"id": "c"}')


@pytest.mark.parametrize("line_break", ["\n", "\r", "\r\n"], ids=ascii)
def test_each_line_break_of_spark_ends_a_line(tmp_path: Path, line_break: str) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(f'{{"id": 1}}{line_break}{{"name": 2}}{line_break}'.encode())
    found = columns(path)
    assert isinstance(found, SourceColumns)
    assert found.names == ("id", "name")


def test_the_error_about_a_damaged_gzip_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.json.gz"
    packed = bytearray(gzip.compress(b'{"id": 1}\n' * 100))
    packed[10:14] = b"\xff" * 4
    path.write_bytes(packed)
    assert refusal(path).message.startswith(f"The source file {path} is damaged: gzip cannot decompress it (")
