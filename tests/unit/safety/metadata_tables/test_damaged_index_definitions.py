"""The file with the definitions of indexes is damaged: jobs that need it change nothing and fail; checks report it."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.config_check import CheckConfigRequest, ConfigReport
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    RepairOrphansRequest,
    RollbackRequest,
)
from hudi_table_services.errors import CorruptTableError, UnhealthyTableError, UnsafeConfigError
from hudi_table_services.hudi_format.metadata_table.index_definitions import PATH
from hudi_table_services.jobs.check_config import check_table_config
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.jobs.metadata_table.rebuild import rebuild_metadata_table
from hudi_table_services.jobs.recovery.repair_orphans import repair_orphan_files
from hudi_table_services.jobs.recovery.rollback import rollback
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.metadata_table.table_listing import ListedTable
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from support.fixed_clock import FixedClock
from support.metadata_table.maintained_table_jobs import to_cluster
from support.metadata_table.maintained_tables import (
    A,
    B,
    C,
    Write,
    access,
    copied,
    listing,
    maintained,
    rebuilt_statistics,
    statistics,
    ticking,
)

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V8, TableVersion.V9], ids=lambda v: v.name)
NO_METADATA_TABLE = {"hoodie.metadata.enable": "false"}
RunJob = Callable[[Storage, Clock], object]

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "noise": lambda data: bytes(byte ^ 0x5A for byte in data),
    "other": lambda data: b'{"indexDefinitions": {"column_stats": []}}',
}


def damaged(version: TableVersion, damage: str = "half") -> MemoryStorage:
    """A table with outdated files, whose definitions are damaged."""
    storage = copied(maintained(version))
    Write((A, B), "w3", 3)(storage, ticking(0.5))
    storage.write(PATH, DAMAGES[damage](storage.read(PATH)))
    return storage


def now() -> FixedClock:
    return FixedClock(datetime.now(timezone.utc) + timedelta(days=2), timedelta(milliseconds=1))


def to_rebuild(**fields: tuple[str, ...]) -> RunJob:
    request = RebuildMetadataTableRequest(base_path="/t", **fields)  # type: ignore[arg-type]
    return lambda storage, clock: rebuild_metadata_table(request, storage=storage, clock=clock)


def to_clean(storage: Storage, clock: Clock) -> object:
    return clean(CleanRequest(base_path="/t", commits_retained=1), storage=storage, clock=clock)


REFUSED: dict[str, RunJob] = {
    "write": Write((A, C), "w4", 4),
    "replacing write": Write((A,), "w4", 4, replaces={"b": (B.file_id,)}),
    "clean": to_clean,
    "rebuild": to_rebuild(),
    "rebuild after a drop": to_rebuild(drop=("all",), partitions=("files",)),
    "preview": lambda storage, clock: rebuild_metadata_table(
        RebuildMetadataTableRequest(base_path="/t", preview=True), storage=storage, clock=clock
    ),
}
ALLOWED: dict[str, RunJob] = {
    "savepoint": lambda s, c: create_savepoint(CreateSavepointRequest(base_path="/t"), storage=s, clock=c),
    "rollback": lambda s, c: rollback(
        RollbackRequest(
            base_path="/t",
            instants=(access(s, c).load_timeline().completed_writes[-1].requested_time,),
        ),
        storage=s,
        clock=c,
    ),
    "drop": to_rebuild(drop=("all",)),
    "search for orphans": lambda s, c: repair_orphan_files(
        RepairOrphansRequest(base_path="/t"), storage=s, clock=c
    ),
}


def content(storage: Storage) -> dict[str, bytes]:
    """Return the content of all files except the lock and heartbeats, which stay for a while after a job."""
    found = {f.path: storage.read(f.path) for f in storage.list_files()}
    return {p: data for p, data in found.items() if not p.startswith((".hoodie/lock", ".hoodie/.heartbeat"))}


def assert_names_file_and_cure(text: str) -> None:
    assert PATH in text
    assert "from a backup" in text
    assert "rebuild_metadata_table.py" in text


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("job", REFUSED)
def test_a_job_that_needs_the_definitions_refuses_the_table_without_a_change(
    version: TableVersion, damage: str, job: str
) -> None:
    storage = damaged(version, damage)
    before = content(storage)
    with pytest.raises(CorruptTableError) as caught:
        REFUSED[job](storage, now())
    assert caught.value.path == PATH
    assert_names_file_and_cure(str(caught.value))
    assert content(storage) == before


@VERSIONS
def test_an_execution_of_a_clustering_is_refused_and_its_plan_stays(version: TableVersion) -> None:
    storage = copied(maintained(version))
    run = to_cluster(storage, ticking(0.5))
    storage.write(PATH, b"")
    before = content(storage)
    with pytest.raises(CorruptTableError) as caught:
        run(storage, now())
    assert_names_file_and_cure(str(caught.value))
    assert content(storage) == before


@VERSIONS
@pytest.mark.parametrize("job", ALLOWED)
def test_other_jobs_do_not_need_the_definitions(version: TableVersion, job: str) -> None:
    ALLOWED[job](damaged(version), now())


@VERSIONS
def test_a_write_that_deletes_the_metadata_table_does_not_need_the_definitions(version: TableVersion) -> None:
    storage = damaged(version)
    request = CleanRequest(base_path="/t", commits_retained=1, options=NO_METADATA_TABLE)
    clean(request, storage=storage, clock=now())
    assert read_table_config(storage).metadata_partitions == ()


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_check_of_settings_reports_the_damage(version: TableVersion, damage: str) -> None:
    storage = damaged(version, damage)
    with pytest.raises(UnsafeConfigError) as caught:
        check_table_config(CheckConfigRequest(base_path="/t"), storage=storage)
    report = caught.value.evidence
    assert isinstance(report, ConfigReport)
    (finding,) = (each for each in report.findings if each.rule == "index-definitions-damaged")
    assert PATH in finding.reason
    assert_names_file_and_cure(f"{finding.reason} {finding.cure}")


@VERSIONS
def test_without_a_metadata_table_the_damage_is_no_finding(version: TableVersion) -> None:
    storage = damaged(version)
    check_table_config(CheckConfigRequest(base_path="/t", options=NO_METADATA_TABLE), storage=storage)
    to_rebuild(drop=("all",))(storage, now())
    check_table_config(CheckConfigRequest(base_path="/t"), storage=storage)


@VERSIONS
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_health_report_names_file_and_cure(version: TableVersion, damage: str) -> None:
    storage = damaged(version, damage)
    with pytest.raises(UnhealthyTableError) as caught:
        table_health(
            HealthRequest(base_path="/t", fail_above={"metadata_unusable": 0}), storage=storage, clock=now()
        )
    report = caught.value.evidence
    state = report.metadata_table_state  # type: ignore[union-attr]
    assert report.measures["metadata_unusable"] == 1  # type: ignore[union-attr]
    assert state.path == PATH
    assert_names_file_and_cure(state.refusal)


@VERSIONS
def test_deleting_the_file_and_building_the_metadata_table_again_cures_the_damage(
    version: TableVersion,
) -> None:
    """The damaged file is deleted, and the metadata table is built again."""
    storage = damaged(version)
    storage.delete(PATH)
    with pytest.raises(CorruptTableError, match="does not define"):
        Write((A, C), "w4", 4)(storage, now())
    to_rebuild()(storage, now())
    assert read_table_config(storage).metadata_partitions == ("column_stats", "files", "partition_stats")
    Write((A, C), "w4", 4)(storage, now())
    assert isinstance(listing(storage), ListedTable)
    assert statistics(storage) == rebuilt_statistics(storage)
    table_health(HealthRequest(base_path="/t"), storage=storage, clock=now())
