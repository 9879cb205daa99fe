"""The snippets of docs/readers.md work, with the paths and addresses of the tests."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from hudi_table_services.contract.result import Outcome
from judges.hudi_judge import judge_python
from readers.servers import READERS_PYTHON, REPOSITORY, Metastore, Sync, Trino

PAGE = (REPOSITORY / "docs" / "readers.md").read_text(encoding="utf-8")
PATH, ADDRESS = '"/data/lake/flights"', "thrift://metastore:9083"
BY_MONTH = "[(1, 14), (2, 13), (3, 13)]"


def snippet(title: str, language: str) -> str:
    """Return the first block in a language below a heading of the page."""
    section = PAGE.split(f"\n## {title}\n", 1)[1]
    found = re.search(rf"```{language}\n(.*?)```", section.split("\n## ", 1)[0], re.DOTALL)
    assert found, f"docs/readers.md has no {language} block below {title}"
    return found[1]


def run(python: Path, text: str, folder: Path, **variables: str) -> str:
    """Run a program in a new process, and return its output."""
    script = folder / "snippet.py"
    script.write_text(text)
    done = subprocess.run(
        [python, script],
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=300,
        check=False,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def named_flights(flights: Mapping[int, Path], sync: Sync) -> str:
    """The table of version 6 under the name of the page, ``lake.flights``."""
    assert sync(flights[6], database="lake", catalog_table="flights").outcome is Outcome.COMPLETED
    return "flights"


def test_the_snippet_for_trino_returns_the_expected_rows(named_flights: str, trino: Trino) -> None:
    for line in snippet("Trino", "properties").splitlines():
        name = line.partition("=")[0]
        assert name in trino.catalog or name == "fs.native-s3.enabled", line
    rows = trino.query(snippet("Trino", "sql"))
    assert rows == [[1, 14, pytest.approx(195.0)], [2, 13, pytest.approx(190.0)]]


@pytest.mark.parametrize("version", [6, 9])
def test_the_snippet_for_spark_returns_the_expected_rows(
    flights: Mapping[int, Path], sync: Sync, metastore: Metastore, tmp_path: Path, version: int
) -> None:
    name = f"spark{version}"
    sync(flights[version], database="lake", catalog_table=name)
    text = snippet("Spark", "python").replace(PATH, repr(str(flights[version])))
    text = text.replace(ADDRESS, metastore.uri).replace("lake.flights", f"lake.{name}")
    quick = "--driver-java-options -XX:TieredStopAtLevel=1 --driver-memory 1g pyspark-shell"
    output = run(
        judge_python(), text, tmp_path, PYSPARK_SUBMIT_ARGS=quick, PYSPARK_PYTHON=str(judge_python())
    )
    assert "40 14" in output


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_snippet_for_pandas_returns_the_expected_rows(
    flights: Mapping[int, Path], tmp_path: Path, version: int
) -> None:
    text = snippet("pandas", "python").replace(PATH, repr(str(flights[version])))
    output = run(READERS_PYTHON, text, tmp_path)
    assert [float(number) for number in re.findall(r"^\d\s+(\S+)$", output, re.MULTILINE)] == [
        195.0,
        190.0,
        200.0,
    ]


@pytest.mark.parametrize("version", [6, 8, 9])
def test_the_snippet_for_duckdb_returns_the_expected_rows(
    flights: Mapping[int, Path], tmp_path: Path, version: int
) -> None:
    text = snippet("DuckDB", "python").replace(PATH, repr(str(flights[version])))
    assert run(READERS_PYTHON, text, tmp_path).strip() == BY_MONTH
