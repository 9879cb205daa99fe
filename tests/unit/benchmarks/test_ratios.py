"""The ratios of a run: targets against Hudi, other formats and plain Parquet; the files of an Iceberg table."""

import json
from pathlib import Path
from typing import Any

import fastavro
import pytest

from bench.report import report
from bench.results import MEMORY_TARGET, Ratio, Result, ratios
from bench.scenarios import System, scenario_named
from bench.tables import _iceberg_files


def a_result(scenario: str, system: System, seconds: float, **fields: Any) -> Result:
    return Result(
        **{
            "scenario": scenario,
            "system": system,
            "seconds": (seconds,),
            "peak_memory_bytes": (100,),
            "write_seconds": (seconds,),
            "row_count": 1,
            "file_count": 1,
            "storage_bytes": 10,
            "correct": True,
            **fields,
        }
    )


def test_an_insert_is_compared_with_all_systems_and_with_plain_parquet() -> None:
    results = [
        a_result("first_insert", System.OURS, 2.0),
        a_result("first_insert", System.HUDI, 18.0, peak_memory_bytes=(400,)),
        a_result("first_insert", System.DELTA, 3.0),
        a_result("first_insert", System.ICEBERG, 1.0),
        a_result("plain_write_partitioned", System.SPARK, 5.0),
    ]
    found = {(each.what, each.against): each for each in ratios(scenario_named("first_insert"), results)}
    assert {key: each.value for key, each in found.items()} == {
        ("speed", System.HUDI): 9.0,
        ("memory", System.HUDI): 0.25,
        ("speed", System.DELTA): 1.5,
        ("speed", System.ICEBERG): 0.5,
        ("speed", System.SPARK): 2.5,
    }
    assert found["memory", System.HUDI].target == MEMORY_TARGET
    assert {key for key, each in found.items() if not each.is_reached} == {("speed", System.ICEBERG)}


def test_the_report_names_the_slowest_write_after_the_first_and_missed_targets() -> None:
    result = a_result("twenty_inserts", System.OURS, 4.0, write_seconds=(3.0, 0.4, 0.6))
    missed = Ratio(scenario="twenty_inserts", what="speed", against=System.HUDI, value=5.0, target=6.0)
    text = report([result], [missed])
    assert "slowest later write 0.60 s" in text
    assert "NOT REACHED" in text


def write_avro(path: Path, rows: list[dict[str, Any]], schema: dict[str, Any]) -> str:
    with path.open("wb") as file:
        fastavro.writer(file, fastavro.parse_schema(schema), rows)
    return f"file:{path}"


def record(name: str, **types: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": t} for n, t in types.items()]}


@pytest.mark.parametrize("snapshot", [1, 2])
def test_the_files_of_an_iceberg_table_are_those_of_its_newest_snapshot(
    tmp_path: Path, snapshot: int
) -> None:
    folder = tmp_path / "metadata"
    folder.mkdir()
    data_file = record("data", content="int", file_path="string")
    entry = record("entry", status="int", data_file=data_file)

    def manifest(number: int, *files: tuple[str, int]) -> str:
        rows = [
            {"status": status, "data_file": {"content": 0, "file_path": f"file:{tmp_path}/{name}"}}
            for name, status in files
        ]
        return write_avro(folder / f"m{number}.avro", rows, entry)

    first, second = manifest(1, ("a b", 1), ("old", 1)), manifest(2, ("old", 2), ("new", 1))
    lists = {
        1: write_avro(folder / "l1.avro", [{"manifest_path": first}], record("l", manifest_path="string")),
        2: write_avro(folder / "l2.avro", [{"manifest_path": second}], record("l", manifest_path="string")),
    }
    document = {
        "current-snapshot-id": snapshot,
        "snapshots": [{"snapshot-id": number, "manifest-list": path} for number, path in lists.items()],
    }
    (folder / "version-hint.text").write_text("3\n")
    (folder / "v3.metadata.json").write_text(json.dumps(document))
    expected = {1: ["a b", "old"], 2: ["new"]}[snapshot]
    assert _iceberg_files(tmp_path) == [tmp_path / name for name in expected]
