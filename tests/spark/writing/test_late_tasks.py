"""Tasks that still run after the end of their commit: Spark cannot stop them immediately, so they stop themselves."""

from dataclasses import replace
from pathlib import Path

import pytest

from hudi_table_services.errors import InstantVanishedError, StorageError
from hudi_table_services.execution.file_groups import write_file_group
from hudi_table_services.storage.locks.heartbeat import delete_heartbeat
from hudi_table_services.storage.markers import MarkerStore
from hudi_table_services.storage.stores.local import LocalStorage
from judges.table_files import files_below
from support.spark.file_group_tasks import insert_task, write_job

TIME = "20260101000000000"


def data_and_markers(root: Path) -> list[str]:
    return [path.name for path in files_below(root) if ".parquet" in path.name]


def test_a_task_that_begins_after_the_end_of_its_commit_writes_no_files(tmp_path: Path) -> None:
    job = write_job(str(tmp_path), TIME)
    task = insert_task(job, 1)
    delete_heartbeat(job.storage, TIME)
    with pytest.raises(InstantVanishedError, match=TIME):
        write_file_group(job, task)
    assert data_and_markers(tmp_path) == []
    assert not (tmp_path / ".hoodie" / ".temp").exists()


def test_a_task_that_ends_after_the_end_of_its_commit_removes_its_files(tmp_path: Path) -> None:
    class EndsCommitMeanwhile(LocalStorage):
        def open_writer(self, path: str):  # type: ignore[no-untyped-def]
            delete_heartbeat(self, TIME)
            MarkerStore(self, TIME).sweep()
            return super().open_writer(path)

    plain = write_job(str(tmp_path), TIME)
    task = insert_task(plain, 1)
    job = replace(plain, storage=EndsCommitMeanwhile(str(tmp_path)))
    with pytest.raises(InstantVanishedError, match=TIME):
        write_file_group(job, task)
    assert data_and_markers(tmp_path) == []


def test_a_task_that_fails_after_the_end_of_its_commit_removes_its_files(tmp_path: Path) -> None:
    class FailsAfterTheRollback(LocalStorage):
        def open_writer(self, path: str):  # type: ignore[no-untyped-def]
            delete_heartbeat(self, TIME)
            MarkerStore(self, TIME).sweep()
            MarkerStore(self, TIME).delete()
            super().open_writer(path).close()
            raise StorageError("No space left")

    plain = write_job(str(tmp_path), TIME)
    task = insert_task(plain, 1)
    job = replace(plain, storage=FailsAfterTheRollback(str(tmp_path)))
    with pytest.raises(StorageError, match="No space left"):
        write_file_group(job, task)
    assert data_and_markers(tmp_path) == []


def test_a_sweep_keeps_the_files_of_the_commit_and_removes_those_of_retried_tasks(tmp_path: Path) -> None:
    job = write_job(str(tmp_path), TIME)
    task = insert_task(job, 1)
    counts = write_file_group(job, task).stat.path
    retried = write_file_group(job, replace(task, number=1)).stat.path
    assert MarkerStore(job.storage, TIME).sweep(keep={counts}) == (retried,)
    assert [name for name in data_and_markers(tmp_path) if "marker" not in name] == [Path(counts).name]
