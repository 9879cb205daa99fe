"""No plan, marker or manifest makes a job read or delete files outside the table's folder.

A user with write access to the table may have forged these files. Each test creates a file that is outside the table
and has the name of a data file. The test then names this file in one kind of metadata file, and runs the job that reads
this metadata.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ExecuteClusteringRequest
from hudi_table_services.contract.config_check import CheckConfigRequest
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
)
from hudi_table_services.errors import CorruptTableError, HudiTableServiceError
from hudi_table_services.hudi_format.commit_metadata import encode_commit_metadata
from hudi_table_services.hudi_format.table_service_plans import (
    encode_clean_plan,
    encode_requested_replace,
    encode_restore_plan,
    encode_rollback_plan,
    encode_savepoint_metadata,
)
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.clustering.execute import execute_clustering
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.restore import restore
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint, delete_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_service_plans import (
    CleanFile,
    CleanPlan,
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    InstantReference,
    RestorePlan,
    RollbackPlan,
    SavepointMetadata,
    SavepointPartition,
)
from hudi_table_services.model.table_service_plans import RollbackRequest as PlannedRequest
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation, WriteStat
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.table_store import update_properties
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable, base_file_name

A = FileGroupId("a", "f1")
OUTSIDE_PARTITIONS = ("../outside", "/outside")
NO_FLOOR = {"hoodie.airflow.clean.floor.hours": "0"}


class Attacked:
    """A table of three commits, and files outside of the table's folder that do not belong to the table."""

    def __init__(self, folder: Path, version: TableVersion) -> None:
        self.folder = folder
        clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=2), step=timedelta(minutes=1))
        self.table = SmallTable(LocalStorage(str(folder / "t")), version, clock)
        self.done = [self.table.commit(A) for _ in range(3)]
        for name in [*self.names(), ".hoodie_partition_metadata", "passwd"]:
            for place in (folder / "outside", folder):
                place.mkdir(exist_ok=True)
                (place / name).write_text("not of the table")
        self.outside = self.files_outside()
        self.data = self.data_files()

    def names(self) -> list[str]:
        return [base_file_name("f1", i.requested_time) for i in self.done]

    def files_outside(self) -> dict[str, str]:
        table = self.folder / "t"
        paths = (p for p in self.folder.rglob("*") if p.is_file() and table not in p.parents)
        return {str(path): path.read_text() for path in paths}

    def data_files(self) -> set[str]:
        return {path.name for path in (self.folder / "t").rglob("*.parquet")}

    def is_unharmed(self) -> bool:
        return self.files_outside() == self.outside and self.data_files() == self.data

    def run(self, job: str) -> None:
        base = {"base_path": str(self.folder / "t")}
        last = self.done[-1].requested_time
        jobs: dict[str, Callable[[], object]] = {
            "clean": lambda: clean(CleanRequest(**base, options=NO_FLOOR)),
            "rollback of failed writes": lambda: rollback(RollbackRequest(**base, all_failed=True)),
            "rollback": lambda: rollback(RollbackRequest(**base, instants=(last,))),
            "restore": lambda: restore(RestoreRequest(**base, savepoint=self.done[0].requested_time)),
            "savepoint": lambda: create_savepoint(CreateSavepointRequest(**base)),
            "no savepoint": lambda: delete_savepoint(
                DeleteSavepointRequest(**base, instants=(self.done[0].requested_time,))
            ),
            "archive": lambda: archive(
                ArchiveRequest(
                    **base, min_commits=2, max_commits=3, options={"hoodie.clean.commits.retained": "1"}
                )
            ),
            "repair": lambda: repair_orphan_files(
                RepairOrphansRequest(**base, execute=True, older_than_hours=0)
            ),
            "health": lambda: table_health(HealthRequest(**base)),
            "check config": lambda: check_table_config(CheckConfigRequest(**base)),
        }
        jobs[job]()


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda version: version.name)
def attacked(request: pytest.FixtureRequest, tmp_path: Path) -> Attacked:
    return Attacked(tmp_path, request.param)


def assert_refused(attacked: Attacked, job: str) -> None:
    """Check that two attempts of the job report a corrupt table, and that neither attempt changes a data file."""
    for _ in range(2):
        with pytest.raises(CorruptTableError):
            attacked.run(job)
        assert attacked.is_unharmed()


def assert_harmless(attacked: Attacked) -> None:
    """Check that every job succeeds or ends with an error of `errors`, and that files outside are unchanged."""
    for job in (
        "health",
        "check config",
        "savepoint",
        "no savepoint",
        "clean",
        "archive",
        "repair",
        "rollback",
        "restore",
    ):
        with suppress(HudiTableServiceError):
            attacked.run(job)
        assert attacked.files_outside() == attacked.outside, job


@pytest.mark.parametrize("partition", OUTSIDE_PARTITIONS)
@pytest.mark.parametrize("is_bare", [True, False], ids=["names", "paths"])
def test_a_clean_plan_with_a_file_outside_is_refused(
    attacked: Attacked, partition: str, is_bare: bool
) -> None:
    outside, inside = attacked.names()[0], attacked.names()[1]
    path = f"{attacked.folder}/t/{partition}/{outside}"
    good = CleanFile(path=f"{attacked.folder}/t/a/{inside}")
    plan = CleanPlan(
        policy="KEEP_LATEST_COMMITS",
        files_to_delete={"a": (good,)} if is_bare else {"a": (good,), partition: (CleanFile(path=path),)},
        file_names_to_delete={partition: (outside,)} if is_bare else {},
    )
    attacked.table.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))
    assert_refused(attacked, "clean")


@pytest.mark.parametrize("partition", [*OUTSIDE_PARTITIONS, ".hoodie", ".hoodie/metadata"])
def test_a_clean_plan_that_deletes_a_partition_outside_is_refused(attacked: Attacked, partition: str) -> None:
    plan = CleanPlan(policy="KEEP_LATEST_COMMITS", partitions_to_delete=(partition,))
    attacked.table.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))
    assert_refused(attacked, "clean")


@pytest.mark.parametrize("job", ["clean", "rollback of failed writes"])
@pytest.mark.parametrize("partition", OUTSIDE_PARTITIONS)
def test_a_rollback_plan_with_a_file_outside_is_refused(attacked: Attacked, partition: str, job: str) -> None:
    last = attacked.done[-1]
    path = f"{attacked.folder}/t/{partition}/{attacked.names()[-1]}"
    plan = RollbackPlan(
        instant_to_rollback=InstantReference(requested_time=last.requested_time, action="commit"),
        requests=(PlannedRequest(partition_path=partition, files_to_delete=(path,)),),
    )
    attacked.table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    assert_refused(attacked, job)
    assert last in attacked.table.timeline_store.load()


@pytest.mark.parametrize("time", ["../../outside", "20260101000000000\n"])
def test_a_rollback_plan_whose_instant_is_a_path_is_refused(attacked: Attacked, time: str) -> None:
    (attacked.folder / "t/.hoodie/.heartbeat").mkdir(parents=True)
    plan = RollbackPlan(instant_to_rollback=InstantReference(requested_time=time, action="commit"))
    attacked.table.timeline_store.request(Action.ROLLBACK, encode_rollback_plan(plan))
    assert_refused(attacked, "rollback of failed writes")


@pytest.mark.parametrize(
    "path", [*(f"{p}/{{name}}" for p in OUTSIDE_PARTITIONS), "../outside/passwd", "/etc/passwd"]
)
def test_markers_of_a_dead_write_for_files_outside_are_ignored(attacked: Attacked, path: str) -> None:
    """Hudi's timeline server lists markers in a file, which may contain any text."""
    dead = attacked.table.begin()
    folder = attacked.folder / "t/.hoodie/.temp" / dead.requested_time
    folder.mkdir(parents=True)
    name = base_file_name("f1", dead.requested_time)
    for place in (attacked.folder / "outside", attacked.folder):
        (place / name).write_text("not of the table")
    attacked.outside = attacked.files_outside()
    (folder / "MARKERS0").write_text(f"{path.format(name=name)}.marker.CREATE\n")
    attacked.run("rollback of failed writes")
    assert attacked.is_unharmed()
    assert not attacked.table.timeline_store.load().pending


@pytest.mark.parametrize("path", [*(f"{p}/{{name}}" for p in OUTSIDE_PARTITIONS), "../outside/passwd"])
@pytest.mark.parametrize("job", ["rollback", "restore"])
def test_a_commit_whose_metadata_names_a_file_outside_is_not_undone(
    attacked: Attacked, path: str, job: str
) -> None:
    table = attacked.table
    if job == "restore":
        savepoint(attacked, attacked.done[0], "a", attacked.names()[0])
    pending = table.begin()
    name = base_file_name("f1", pending.requested_time)
    (attacked.folder / "outside" / name).write_text("not of the table")
    (attacked.folder / name).write_text("not of the table")
    attacked.outside = attacked.files_outside()
    stat = WriteStat(file_id="f1", partition_path="a", path=path.format(name=name), file_size_bytes=4)
    metadata = CommitMetadata(operation_type=WriteOperation.UPSERT, partition_to_write_stats={"a": (stat,)})
    attacked.done.append(
        table.timeline_store.complete(pending, encode_commit_metadata(metadata, table.version))
    )
    assert_refused(attacked, job)


def savepoint(attacked: Attacked, instant: Instant, partition: str, *names: str) -> None:
    store = attacked.table.timeline_store
    pending = Instant(
        requested_time=instant.requested_time, action=Action.SAVEPOINT, state=InstantState.INFLIGHT
    )
    attacked.table.storage.create(store.path_of(pending), b"")
    kept = SavepointMetadata(
        saved_by="test",
        saved_at_ms=0,
        comments="",
        partitions={partition: SavepointPartition(partition_path=partition, file_names=names)},
    )
    store.complete(pending, encode_savepoint_metadata(kept))


@pytest.mark.parametrize("partition", OUTSIDE_PARTITIONS)
def test_a_savepoint_with_a_file_outside_is_harmless(attacked: Attacked, partition: str) -> None:
    savepoint(attacked, attacked.done[0], partition, attacked.names()[0])
    assert_refused(attacked, "restore")
    assert_harmless(attacked)


@pytest.mark.parametrize("time", ["../../outside"])
def test_a_restore_plan_whose_instant_is_a_path_is_harmless(attacked: Attacked, time: str) -> None:
    savepoint(attacked, attacked.done[0], "a", attacked.names()[0])
    plan = RestorePlan(
        instants_to_rollback=(InstantReference(requested_time=time, action="commit"),),
        savepoint_to_restore=attacked.done[0].requested_time,
    )
    attacked.table.timeline_store.request(Action.RESTORE, encode_restore_plan(plan))
    assert_harmless(attacked)


@pytest.mark.parametrize("partition", OUTSIDE_PARTITIONS)
def test_a_clustering_plan_with_a_file_outside_is_harmless(attacked: Attacked, partition: str) -> None:
    path = f"{attacked.folder}/t/{partition}/{attacked.names()[-1]}"
    piece = ClusteringSlice(file_id="f1", partition_path=partition, data_file_path=path)
    plan = encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)))
    is_new = attacked.table.version.layout.has_completion_time_in_names
    attacked.table.timeline_store.request(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, plan)
    assert_harmless(attacked)


@pytest.mark.parametrize("place", ["../../outside", ".."])
@pytest.mark.parametrize(
    ("version", "key"),
    [
        (TableVersion.V6, "hoodie.archivelog.folder"),
        (TableVersion.V9, "hoodie.timeline.path"),
        (TableVersion.V9, "hoodie.timeline.history.path"),
    ],
)
def test_properties_with_a_folder_outside_are_harmless(
    tmp_path: Path, version: TableVersion, key: str, place: str
) -> None:
    attacked = Attacked(tmp_path, version)
    update_properties(attacked.table.storage, {key: place}, attacked.table.clock)
    assert_harmless(attacked)


def test_a_manifest_of_the_history_with_a_file_outside_is_harmless(tmp_path: Path) -> None:
    attacked = Attacked(tmp_path, TableVersion.V9)
    history = attacked.folder / "t/.hoodie/timeline/history"
    history.mkdir(parents=True, exist_ok=True)
    (history / "_version_").write_text("1")
    (history / "manifest_1").write_text(
        '{"files": [{"fileName": "../../../../outside/1_2_0.parquet", "fileLen": 4}]}'
    )
    (attacked.folder / "outside/1_2_0.parquet").write_text("not of the table")
    attacked.outside = attacked.files_outside()
    assert_harmless(attacked)


@pytest.mark.parametrize("partition", OUTSIDE_PARTITIONS)
def test_a_clustering_plan_with_a_file_outside_is_not_executed(attacked: Attacked, partition: str) -> None:
    """The job refuses the plan before it reads a file, so that the test needs no Spark."""
    path = f"{attacked.folder}/t/{partition}/{attacked.names()[-1]}"
    piece = ClusteringSlice(file_id="f1", partition_path=partition, data_file_path=path)
    plan = encode_requested_replace(ClusteringPlan(groups=(ClusteringGroup(slices=(piece,)),)))
    is_new = attacked.table.version.layout.has_completion_time_in_names
    attacked.table.timeline_store.request(Action.CLUSTERING if is_new else Action.REPLACE_COMMIT, plan)
    no_spark: Any = None
    with pytest.raises(HudiTableServiceError):
        execute_clustering(no_spark, ExecuteClusteringRequest(base_path=f"{attacked.folder}/t"))
    assert attacked.is_unharmed()
