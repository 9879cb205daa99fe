"""The metadata table lists data files that do not exist: errors report this, and no job makes the loss worse."""

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.errors import (
    CorruptTableError,
    ExecutionFailedError,
    InvalidRequestError,
    ObjectNotFoundError,
    StorageError,
    UnhealthyTableError,
)
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned, naming_lost_files
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.metadata_table.maintained_tables import A, B, Write, access, copied, maintained, ticking
from support.reading.read_here import read, window

VERSIONS = pytest.mark.parametrize("version", [TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
SAYS_SO = r"The metadata table lists a/.*\.parquet, but the storage does not have this file"


def with_lost_file(version: TableVersion) -> tuple[Storage, TableSnapshot, str]:
    """A table that lost the newest base file of group A, its snapshot before the loss, and the path of the file."""
    storage = copied(maintained(version))
    snapshot = load_snapshot(storage)
    assert snapshot.is_from_metadata_table
    (path,) = (s.base_file_path or "" for s in snapshot.all_slices if s.file_group_id == A)
    storage.delete(path)
    return storage, snapshot, path


@VERSIONS
def test_the_metadata_table_still_lists_a_lost_file(version: TableVersion) -> None:
    storage, _, path = with_lost_file(version)
    assert path in {s.base_file_path for s in load_snapshot(storage).all_slices}


@VERSIONS
@pytest.mark.parametrize("kind", [ObjectNotFoundError, ExecutionFailedError])
@pytest.mark.parametrize("job", ["write", "clustering"])
def test_the_error_of_a_job_says_that_the_metadata_table_lists_the_file(
    version: TableVersion, kind: type[ObjectNotFoundError | ExecutionFailedError], job: str
) -> None:
    storage, snapshot, path = with_lost_file(version)
    context = (
        conflict_where_cleaned(access(storage, ticking()), lambda: snapshot)
        if job == "write"
        else naming_lost_files(storage, snapshot)
    )
    with pytest.raises(CorruptTableError, match=SAYS_SO) as caught, context:
        raise kind("It could not be read.", path=path)
    assert caught.value.path == path
    assert not caught.value.retryable
    for cure in ("table_health.py", "rebuild_metadata_table.py", "backup"):
        assert cure in caught.value.hint


@VERSIONS
def test_an_error_about_another_file_does_not_change(version: TableVersion) -> None:
    storage, snapshot, path = with_lost_file(version)
    (kept,) = (s.base_file_path or "" for s in snapshot.all_slices if s.file_group_id == B)
    listed_in_folders = load_snapshot(storage, metadata_enable=False)
    for found, name in ((snapshot, kept), (snapshot, ""), (listed_in_folders, path)):
        with pytest.raises(StorageError, match="It could not be read"), naming_lost_files(storage, found):
            raise ObjectNotFoundError("It could not be read.", path=name)


@VERSIONS
def test_a_read_of_a_window_names_a_lost_file(version: TableVersion) -> None:
    """Airflow's hook reads the rows of a window in this way."""
    storage, _, path = with_lost_file(version)
    end = max(each.visible_from for each in load_snapshot(storage).timeline.completed_writes)
    with pytest.raises(InvalidRequestError, match=f"{path}, do not exist any more"):
        read(storage, window("earliest", end))


@VERSIONS
def test_a_clean_deletes_no_older_version_of_a_lost_file(version: TableVersion) -> None:
    """A clean lists folders. Without the lost file, the older slice is the newest one, so the clean keeps it."""
    storage, _, path = with_lost_file(version)
    Write((B,), "w3", 3)(storage, ticking(1))
    before = {f.name for f in storage.list_files("a")}
    clean(CleanRequest(base_path="/t", commits_retained=1), storage=storage, clock=ticking(2))
    assert {f.name for f in storage.list_files("a")} == before
    with pytest.raises(UnhealthyTableError) as caught:
        table_health(HealthRequest(base_path="/t"), storage=storage, clock=ticking(3))
    report = caught.value.evidence
    assert isinstance(report, HealthReport)
    assert (report.measures["missing_files"], report.measures["metadata_missing_files"]) == (1, 1)
    assert any(path in text for text in report.metadata_table_state.difference_examples)
