"""JSON files of pandas: one object with the values of each column is refused before Spark starts."""

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.sources.source_columns import SourceColumns, columns_or_reason
from hudi_table_services.storage.source_files import first_source_files


def columns(path: Path, **options: str) -> SourceColumns | str:
    source = SourceSpec(path=str(path), format="json", options=options)
    return columns_or_reason(source, first_source_files(str(path), {})[0], is_only_file=True)


def refusal(path: Path, **options: str) -> InvalidRequestError:
    with pytest.raises(InvalidRequestError) as caught:
        columns(path, **options)
    return caught.value


FRAME = pd.DataFrame({"id": [1, 2, 3], 'na"me': ["a", None, "ü"]})


@pytest.mark.parametrize("frame", [FRAME, FRAME[:1], FRAME[FRAME["id"] > 1]], ids=["all", "one", "filtered"])
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


@pytest.mark.parametrize("indent", [0, 2])
def test_a_long_file_of_pandas_is_recognized_by_its_beginning(tmp_path: Path, indent: int) -> None:
    path = tmp_path / "rows.json"
    pd.DataFrame({"id": range(200_000)}).to_json(path, indent=indent)
    assert path.stat().st_size > 1 << 20
    assert "orient=" in refusal(path).hint


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
