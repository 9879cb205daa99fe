"""Jobs begin in a process without pyarrow, such as an Airflow worker without the extra `engine`."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.clustering import ClusteringRequest, ExecuteClusteringRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import create_table
from hudi_table_services.tables.reading.change_positions import POSITION_KEY
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, table_properties
from support.spark.log_tables import new_log_table

PROGRAM = """
import logging, sys
sys.modules["pyarrow"] = None
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.services.registry import script
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
begun = script(sys.argv[1])
try:
    result = begun.start_without_spark(begun.read(sys.stdin.read()))
    print("early result:", result and result.outcome.value)
except HudiTableServiceError as error:
    print("refused:", error)
"""


def checked(tmp_path: Path, source: SourceSpec) -> str:
    request = UpsertRequest(
        base_path=str(tmp_path / "t"), table_name="trips", record_key=("key",), source=source
    )
    return begun("upsert_with_sizing.py", request)


def begun(script: str, request: JobRequest) -> str:
    command = [sys.executable, "-c", PROGRAM, script]
    ended = subprocess.run(command, input=request.to_json(), capture_output=True, text=True, check=True)
    return ended.stdout


def csv(tmp_path: Path) -> SourceSpec:
    (tmp_path / "a.csv").write_text("id,city\n1,a\n")
    return SourceSpec(path=str(tmp_path / "a.csv"), format="csv", options={"header": "true"})


@pytest.mark.parametrize("case", ["missing source", "wrong key", "no header"])
def test_a_wrong_source_is_refused(tmp_path: Path, case: str) -> None:
    source = csv(tmp_path)
    expected = "a.csv' has no column 'key'"
    if case == "missing source":
        source, expected = SourceSpec(path=str(tmp_path / "none")), "does not exist"
    elif case == "no header":
        source, expected = SourceSpec(path=source.path, format="csv"), "header=true"
    output = checked(tmp_path, source)
    assert output.startswith("refused: ")
    assert expected in output


def test_a_table_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    properties = {**table_properties(TableVersion.V6), "hoodie.table.base.file.format": "ORC"}
    create_table(LocalStorage(str(tmp_path / "t")), properties, FixedClock())
    assert "base files of format ORC" in checked(tmp_path, csv(tmp_path))


def test_a_merge_on_read_table_is_checked(tmp_path: Path) -> None:
    properties = {**table_properties(TableVersion.V6), "hoodie.table.type": "MERGE_ON_READ"}
    properties["hoodie.table.recordkey.fields"] = "key"
    create_table(LocalStorage(str(tmp_path / "t")), properties, FixedClock())
    assert "has no column 'key'" in checked(tmp_path, csv(tmp_path))
    (tmp_path / "a.csv").write_text("key,city\n1,a\n")
    source = SourceSpec(path=str(tmp_path / "a.csv"), format="csv", options={"header": "true"})
    assert checked(tmp_path, source).splitlines()[-1] == "early result: None"


def test_the_footer_of_a_parquet_file_is_left_to_spark(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    assert checked(tmp_path, SourceSpec(path=str(tmp_path / "a.parquet"))).splitlines() == [
        "The columns are not checked before Spark starts, because this process has no package pyarrow, which reads "
        "Parquet files.",
        "early result: None",
    ]


def test_a_clustering_with_nothing_to_do_ends_early(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    output = begun("run_clustering.py", ClusteringRequest(base_path=table.storage.base_path))
    assert output.splitlines()[-1] == "early result: nothing_to_do"


def test_an_execution_without_plans_ends_early(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    leftover = tmp_path / "t" / ".hoodie" / ".temp" / "20260101000000001"
    leftover.mkdir(parents=True)  # the search for leftovers of earlier attempts needs no pyarrow either
    request = ExecuteClusteringRequest(base_path=table.storage.base_path)
    assert begun("execute_clustering.py", request).splitlines()[-1] == "early result: nothing_to_do"


def test_an_execution_of_a_plan_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    request = ExecuteClusteringRequest(base_path=table.storage.base_path, instants=("20260101000000000",))
    assert begun("execute_clustering.py", request).startswith(
        "refused: There is no instant 20260101000000000"
    )


def test_an_execution_of_a_table_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    request = ExecuteClusteringRequest(base_path=str(tmp_path / "none"))
    assert begun("execute_clustering.py", request).startswith("refused: ")


def test_a_build_of_an_index_is_refused_for_the_wrong_table(tmp_path: Path) -> None:
    table = SmallTable(LocalStorage(str(tmp_path / "t")), TableVersion.V9)
    request = RebuildMetadataTableRequest(
        base_path=table.storage.base_path, table_name="people", partitions=("record_index",)
    )
    assert "is called 'trips'" in begun("rebuild_metadata_table.py", request)


@pytest.mark.parametrize("archived", [False, True])
def test_a_load_of_changes_is_checked_unless_an_archive_needs_pyarrow(tmp_path: Path, archived: bool) -> None:
    """The archive of a table of version 9 is Parquet, and may contain the position or the commit of the request."""
    source, target = (new_log_table(tmp_path / name, 9) for name in "st")
    source.write([("a", 1, "p", "1")])
    stored = {f"_{POSITION_KEY}c": source.newest()[0].visible_from}
    for number in range(8):
        target.write([("a", number, "p", "1")], options=stored)
    if archived:
        options = {"hoodie.clean.commits.retained": "1"}
        archive(
            ArchiveRequest(base_path=str(target.base_path), options=options, min_commits=2, max_commits=3)
        )
    spec = SourceSpec(table=str(source.base_path), chain="c")
    request = UpsertRequest(base_path=str(target.base_path), request_id="new", source=spec)
    lines = begun("upsert_with_sizing.py", request).splitlines()
    if archived:
        assert lines[-2].startswith("The load is not checked before Spark starts: The timeline history")
    assert lines[-1] == f"early result: {None if archived else 'nothing_to_do'}"
