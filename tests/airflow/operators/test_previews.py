"""A preview or a dry run changes nothing in the folder of the table, and creates no folder if there is no table."""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowSkipException

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.operators.archive import ArchiveOperator
from airflow_hudi_provider.operators.clean import CleanOperator
from airflow_hudi_provider.operators.clustering import (
    CancelClusteringOperator,
    ClusteringOperator,
    ScheduleClusteringOperator,
)
from airflow_hudi_provider.operators.compaction import (
    CancelCompactionOperator,
    CompactionOperator,
    ScheduleCompactionOperator,
)
from airflow_hudi_provider.operators.health import HudiTableHealthOperator
from airflow_hudi_provider.operators.metadata_table import RebuildMetadataTableOperator
from airflow_hudi_provider.operators.recovery import (
    DeleteSavepointOperator,
    RepairOperator,
    RestoreOperator,
    RollbackOperator,
    SavepointOperator,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.airflow.task_context import TaskInstance, context
from support.compaction import jobs_here
from support.compaction.written_table import WrittenTable, a_row
from support.fixed_clock import FixedClock
from support.jobs_on_tables import later
from support.small_tables import SmallTable

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator

TIME = "20260101000000000"
PREVIEWS: dict[type[Any], dict[str, Any]] = {
    ScheduleClusteringOperator: {"hudi_options": {"hoodie.clustering.expiration.threshold.mins": "1"}},
    ClusteringOperator: {},
    CancelClusteringOperator: {"older_than_minutes": 0},
    ScheduleCompactionOperator: {"ignore_trigger": True},
    CompactionOperator: {"ignore_trigger": True},
    CancelCompactionOperator: {"older_than_minutes": 0},
    CleanOperator: {"commits_retained": 1},
    ArchiveOperator: {
        "min_commits": 2,
        "max_commits": 3,
        "hudi_options": {"hoodie.clean.commits.retained": "1"},
    },
    SavepointOperator: {},
    DeleteSavepointOperator: {"instant": TIME},
    RollbackOperator: {"all_failed": True},
    RestoreOperator: {"savepoint": TIME},
    RepairOperator: {"older_than_hours": 0},
    RebuildMetadataTableOperator: {},
    HudiTableHealthOperator: {},  # only reads, so it has no argument `preview`
}


OF_LOG_FILES = (ScheduleCompactionOperator, CompactionOperator, CancelCompactionOperator)
"""Operators that refuse copy-on-write tables."""


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Map each file and each folder to its size and the time of its last change."""
    found = {str(path): path.stat() for path in [folder, *folder.rglob("*")] if path.exists()}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


def preview(operator: type[Any], base_path: Path, arguments: dict[str, Any]) -> None:
    named = {} if operator is HudiTableHealthOperator else {"preview": True}
    operator(task_id="t", base_path=str(base_path), **named, **arguments).execute(context(ti=TaskInstance()))


@pytest.fixture(autouse=True)
def _spark_connection(connections: Callable[..., None]) -> None:
    # The operators read this connection even for a preview that needs no Spark.
    connections("spark_default", conn_type="spark", host="local[2]")


@pytest.fixture
def table(tmp_path: Path) -> SmallTable:
    """A table with a marker of a dead job, a dead write and enough commits to clean and to archive."""
    clock = FixedClock(datetime.now(timezone.utc) - timedelta(days=2), step=timedelta(minutes=5))
    made = SmallTable(LocalStorage(str(tmp_path / "table")), TableVersion.V9, clock)
    for _ in range(5):
        made.commit(FileGroupId("city=a", "a-0"))
    made.begin()
    marker = tmp_path / "table" / ".hoodie" / ".temp" / TIME
    marker.mkdir(parents=True)
    return made


@pytest.mark.parametrize(
    "operator", [each for each in PREVIEWS if each not in OF_LOG_FILES], ids=lambda each: each.__name__
)
def test_a_preview_changes_no_file_and_no_folder(
    table: SmallTable, tmp_path: Path, operator: type[Any]
) -> None:
    arguments = dict(PREVIEWS[operator])
    if operator in (DeleteSavepointOperator, RestoreOperator):
        saved = SavepointOperator(task_id="s", base_path=table.storage.base_path)
        arguments[next(iter(arguments))] = saved.execute(context(ti=TaskInstance()))["instant"]
    if operator is RebuildMetadataTableOperator:  # needs a table without a pending write
        undo = RollbackOperator(task_id="u", base_path=table.storage.base_path, all_failed=True)
        undo.execute(context(ti=TaskInstance()))
    before = tree(tmp_path / "table")
    with suppress(AirflowSkipException):  # some of the operators have nothing to do
        preview(operator, tmp_path / "table", arguments)
    assert tree(tmp_path / "table") == before


@pytest.mark.parametrize("operator", OF_LOG_FILES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("is_planned", [False, True], ids=["no plan", "plan"])
def test_a_preview_on_a_merge_on_read_table_changes_no_file_and_no_folder(
    tmp_path: Path, operator: type[Any], is_planned: bool
) -> None:
    made = WrittenTable(LocalStorage(str(tmp_path / "table")), clock=later(-1))
    for group in (FileGroupId("city=a", "a-0"), FileGroupId("city=b", "b-0")):
        made.insert({group: [a_row(group.file_id, 1)]})
        made.log({group: [a_row(group.file_id, 2)]})
    if is_planned:
        jobs_here.schedule(made.storage, later(0), partitions=("city=a",))
    before = tree(tmp_path / "table")
    with suppress(AirflowSkipException):  # without a plan, there is nothing to cancel
        preview(operator, tmp_path / "table", PREVIEWS[operator])
    assert tree(tmp_path / "table") == before


@pytest.mark.parametrize("operator", PREVIEWS, ids=lambda each: each.__name__)
def test_a_preview_without_a_table_creates_no_folder(tmp_path: Path, operator: type[Any]) -> None:
    with pytest.raises((HudiTaskError, HudiTaskRefusedError), match="no Hudi table"):
        preview(operator, tmp_path / "none", PREVIEWS[operator])
    assert not (tmp_path / "none").exists()


def test_a_dry_run_takes_no_turn_and_creates_no_folder(
    tmp_path: Path, operator: "Callable[..., UpsertWithSizingOperator]"
) -> None:
    task = operator("result(outcome='planned')", dry_run=True, take_turns=True)
    assert task.execute(context(ti=TaskInstance()))["outcome"] == "planned"
    assert not Path(str(task.base_path)).exists()
