"""Tasks that write base files return the statistics of the files, and stage the keys that they add and delete."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hudi_table_services.errors import InstantVanishedError
from hudi_table_services.execution.base_file_reader import keys_of, open_base_file
from hudi_table_services.execution.base_file_writer import COMMIT_TIME, RECORD_KEY
from hudi_table_services.execution.clustering.inputs import InputFile
from hudi_table_services.execution.clustering.rewrite import (
    GroupOutcome,
    GroupTask,
    RewriteJob,
    rewrite_group,
)
from hudi_table_services.execution.file_groups import WriteJob, WriteTask, WrittenFileGroup, write_file_group
from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.staged_keys import KeyStaging, StagedKeys
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    KEY_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedRows,
)
from hudi_table_services.execution.writing.merging import DELETED_ELSEWHERE, Change
from hudi_table_services.execution.writing.routing import RouteTask, RoutingRules, route
from hudi_table_services.execution.writing.tagging import BaseFileRef
from hudi_table_services.model.clustering import Layout, LayoutStrategy
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.storage.locks.heartbeat import delete_heartbeat
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.storage import Storage
from support.spark.file_group_tasks import insert_task, staged, write_job

FIRST, SECOND, CLUSTERING = "20260101000000000", "20260102000000000", "20260103000000000"
FOLDER = ".hoodie/.aux/staging/me"
GROUPS = 4
COLUMNS = (COMMIT_TIME, RECORD_KEY, "c0", "c7", "not there")


def collecting_job(root: Path, instant_time: str) -> WriteJob:
    job = write_job(str(root), instant_time)
    return replace(job, statistics_columns=COLUMNS, key_staging=KeyStaging(FOLDER, GROUPS))


def keys_in(storage: Storage, path: str) -> set[str]:
    with open_base_file(storage, path) as file:
        return {key for keys in keys_of(file) for key in keys.to_pylist()}


def from_footer(storage: Storage, statistics: FileStatistics) -> FileStatistics:
    """Statistics of `COLUMNS`, read from the footer of the file. No column of the file contains NaN."""
    with open_base_file(storage, f"p/{statistics.file_name}") as file:
        return file_statistics("p", statistics.file_name, file.metadata, (), columns=COLUMNS)


def changes_of(storage: Storage, *found: StagedKeys | None) -> tuple[dict[str, str], set[str]]:
    """File ids of the new keys, and the deleted keys."""
    reader = StagedKeysReader(storage, [each for each in found if each is not None])
    changes = [reader.changes(group, GROUPS) for group in range(GROUPS)]
    places = {key: group.file_id for each in changes for key, group in each.locations()}
    return places, {key for each in changes for key in each.deletions()}


def changed_slice(job: WriteJob, base: WrittenFileGroup) -> WriteTask:
    """A task that updates and deletes rows of the file group, and inserts rows. Some of its changes are too old."""
    rows = 300
    kinds = np.arange(rows, dtype=np.int8) % 3
    hits = pa.array(np.arange(rows, dtype=np.int64))
    changes = staged(job, "changes", 1, **{BASE_ROW_COLUMN: hits, CHANGE_COLUMN: pa.array(kinds)})
    schema = pa.schema([*job.data_schema, pa.field(KEY_COLUMN, pa.string())])
    inserts = StagedFileWriter(job.storage, f"{FOLDER}/inserts.arrow", schema)
    values = [pa.array([0.5, 1.5, None])] * len(job.data_schema)
    inserts.write(pa.record_batch([*values, pa.array(["new-1", "new-2", "not yet"])], schema=schema), "p")
    inserts.close()
    base_file = BaseFile.from_file_name(Path(base.stat.path).name)
    current = FileSlice(
        file_group_id=FileGroupId("p", "f-0"), base_instant_time=base_file.instant_time, base_file=base_file
    )
    return WriteTask(
        number=0,
        partition_path="p",
        file_id="f-0",
        current=current,
        changes=tuple(changes.batches),
        inserts=(StagedRows(inserts.batches[0], 0, 2),),
    )


def test_an_insert_returns_statistics_and_all_keys(tmp_path: Path) -> None:
    job = collecting_job(tmp_path, FIRST)
    written = write_file_group(job, insert_task(job, 2))
    assert written.statistics is not None
    assert [found.column for found in written.statistics.ranges] == list(COLUMNS[:-1])
    assert written.statistics == from_footer(job.storage, written.statistics)
    keys = keys_in(job.storage, written.stat.path)
    assert len(keys) == written.stat.num_writes == 100_000
    assert changes_of(job.storage, written.keys) == (dict.fromkeys(keys, "f-0"), set())


def test_a_merge_returns_new_keys_and_deleted_keys(tmp_path: Path) -> None:
    first = collecting_job(tmp_path, FIRST)
    base = write_file_group(first, insert_task(first, 1))
    job = replace(collecting_job(tmp_path, SECOND), ordering_fields=("c1",))
    written = write_file_group(job, changed_slice(job, base))
    before, after = keys_in(job.storage, base.stat.path), keys_in(job.storage, written.stat.path)
    assert 0 < written.older_incoming_count < 200
    assert after - before == {"new-1", "new-2"}
    assert changes_of(job.storage, written.keys) == (
        {"new-1": "f-0", "new-2": "f-0"},
        before - after,
    )
    assert written.keys is not None
    assert written.keys.deleted_count == len(before - after) == written.stat.num_deletes > 100
    assert written.statistics is not None
    assert written.statistics.row_count == len(after)
    assert written.statistics == from_footer(job.storage, written.statistics)


def test_by_default_a_task_collects_neither_statistics_nor_keys(tmp_path: Path) -> None:
    job = write_job(str(tmp_path), FIRST)
    written = write_file_group(job, insert_task(job, 1))
    assert (written.statistics, written.keys) == (None, None)
    assert list(job.storage.list_files(FOLDER)) == []


def test_an_update_in_place_stages_no_keys(tmp_path: Path) -> None:
    first = write_job(str(tmp_path), FIRST)
    base = write_file_group(first, insert_task(first, 1))
    job = collecting_job(tmp_path, SECOND)
    task = replace(changed_slice(job, base), inserts=())
    kept = staged(
        job,
        "updates",
        1,
        **{BASE_ROW_COLUMN: pa.array([0, 1]), CHANGE_COLUMN: pa.array([Change.UPDATE] * 2, pa.int8())},
    )
    written = write_file_group(job, replace(task, changes=tuple(kept.batches)))
    assert (written.stat.num_update_writes, written.keys) == (2, None)
    assert not any("keys-" in stored.path for stored in job.storage.list_files(FOLDER))


def staged_batches(job: WriteJob, name: str, rows: pa.Table, partition: str) -> tuple[StagedBatch, ...]:
    writer = StagedFileWriter(job.storage, f"{FOLDER}/{name}.arrow", rows.schema)
    writer.write(rows.combine_chunks().to_batches()[0], partition)
    writer.close()
    return tuple(writer.batches)


def write_one(job: WriteJob, partition: str, file_id: str, keys: list[str]) -> BaseFileRef:
    """Write a file group with these keys."""
    rows = {field.name: pa.array([1.0] * len(keys)) for field in job.data_schema}
    (batch,) = staged_batches(job, file_id, pa.table({**rows, KEY_COLUMN: keys}), partition)
    task = WriteTask(
        number=0,
        partition_path=partition,
        file_id=file_id,
        current=None,
        inserts=(StagedRows(batch, 0, batch.row_count),),
    )
    return BaseFileRef(partition, file_id, write_file_group(job, task).stat.path)


@pytest.mark.parametrize("loses", [False, True])
def test_a_key_with_duplicates_in_other_partitions_has_the_place_of_the_row_that_stays(
    tmp_path: Path, loses: bool
) -> None:
    """The batch writes two keys into partition `b`. Both partitions contain `twice`; only `a` contains `moves`."""
    first = write_job(str(tmp_path), FIRST)
    targets = (
        write_one(first, "a", "f-a", ["twice", "moves", "stays"]),
        write_one(first, "b", "f-b", ["twice"]),
    )
    job = collecting_job(tmp_path, SECOND)
    rows = {field.name: pa.array([2.0] * 2) for field in job.data_schema}
    batches = staged_batches(job, "batch", pa.table({**rows, KEY_COLUMN: ["twice", "moves"]}), "b")
    tags = pa.table(
        {
            "row": [0, 0, 1],
            "target": [0, 1, 0],
            "base_row": [0, 0, 1],
            "loses": [loses] * 3,
            "deleted": [False] * 3,
        }
    )
    task = RouteTask(
        storage=job.storage,
        folder=FOLDER,
        batches=batches,
        tags=staged_batches(job, "tags", tags, ""),
        targets=targets,
        rules=RoutingRules(moves_rows=True),
    )
    routed = route(task).batches
    found = [write_changed(job, target, routed) for target in targets]
    inserts = tuple(StagedRows(batch, 0, batch.row_count) for batch in routed if batch.file_id is None)
    found.append(
        write_file_group(
            job, WriteTask(number=2, partition_path="b", file_id="f-c", current=None, inserts=inserts)
        ).keys
    )
    expected = {} if loses else {"twice": "f-b", "moves": "f-c"}
    assert changes_of(job.storage, *found) == (expected, set())
    assert sum(batch.delete_count for batch in routed) == (0 if loses else 2)


def write_changed(job: WriteJob, target: BaseFileRef, routed: tuple[StagedBatch, ...]) -> StagedKeys | None:
    base_file = BaseFile.from_file_name(Path(target.path).name)
    current = FileSlice(
        file_group_id=FileGroupId(target.partition_path, target.file_id),
        base_instant_time=base_file.instant_time,
        base_file=base_file,
    )
    task = WriteTask(
        number=1,
        partition_path=target.partition_path,
        file_id=target.file_id,
        current=current,
        changes=tuple(batch for batch in routed if batch.file_id == target.file_id),
    )
    return write_file_group(job, task).keys


def test_the_key_of_a_flagged_row_is_deleted_if_the_merge_also_deletes_the_row(tmp_path: Path) -> None:
    first = write_job(str(tmp_path), FIRST)
    base = write_file_group(first, insert_task(first, 1))
    job = collecting_job(tmp_path, SECOND)
    kinds = [Change.UPDATE, Change.UPDATE | DELETED_ELSEWHERE, Change.DELETE | DELETED_ELSEWHERE]
    changes = staged(
        job,
        "flagged",
        1,
        **{BASE_ROW_COLUMN: pa.array([0, 1, 2]), CHANGE_COLUMN: pa.array(kinds, pa.int8())},
    )
    task = replace(changed_slice(job, base), inserts=(), changes=tuple(changes.batches))
    written = write_file_group(job, task)
    assert (written.stat.num_update_writes, written.stat.num_deletes) == (2, 1)
    assert changes_of(job.storage, written.keys) == ({"key-000000001": "f-0"}, {"key-000000002"})


def test_a_task_that_ends_after_its_commit_deletes_its_staged_keys(tmp_path: Path) -> None:
    class EndsCommitMeanwhile(LocalStorage):
        def open_writer(self, path: str):  # type: ignore[no-untyped-def]
            delete_heartbeat(self, FIRST)
            return super().open_writer(path)

    plain = collecting_job(tmp_path, FIRST)
    task = insert_task(plain, 1)
    job = replace(plain, storage=EndsCommitMeanwhile(str(tmp_path)))
    with pytest.raises(InstantVanishedError, match=FIRST):
        write_file_group(job, task)
    assert list(plain.storage.list_files(FOLDER)) == []


@pytest.mark.parametrize("file_count", [1, 3])
def test_a_clustering_returns_statistics_and_all_keys_of_each_file(tmp_path: Path, file_count: int) -> None:
    first = write_job(str(tmp_path), FIRST)
    stat = write_file_group(first, insert_task(first, 1)).stat
    written = write_job(str(tmp_path), CLUSTERING)
    sorts = ("c0",) if file_count > 1 else ()
    job = RewriteJob(
        storage=written.storage,
        instant_time=CLUSTERING,
        attempt="",
        data_schema=written.data_schema,
        avro_schema_json=written.avro_schema_json,
        parquet=written.parquet,
        bloom=written.bloom,
        layout=Layout(columns=sorts, strategy=LayoutStrategy.LINEAR),
        task_memory_bytes=1 << 30,
        staging_folder=FOLDER,
        statistics_columns=COLUMNS,
        key_staging=KeyStaging(FOLDER, GROUPS),
    )
    file_ids = tuple(f"o-{number}" for number in range(file_count))
    inputs = (InputFile(stat.path, stat.file_size_bytes),)
    outcome = rewrite_group(job, GroupTask(index=0, partition_path="p", inputs=inputs, file_ids=file_ids))
    assert isinstance(outcome, GroupOutcome)
    assert [file.stat.file_id for file in outcome.written] == list(file_ids)
    expected = {
        key: file.stat.file_id for file in outcome.written for key in keys_in(job.storage, file.stat.path)
    }
    assert len(expected) == stat.num_writes
    assert changes_of(job.storage, *(file.keys for file in outcome.written)) == (expected, set())
    for file in outcome.written:
        assert file.statistics is not None
        assert file.statistics == from_footer(job.storage, file.statistics)
