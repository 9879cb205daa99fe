"""Tasks that merge a base file stage exactly the entries of secondary indexes that change."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.file_groups import WriteJob, WriteTask, WrittenFileGroup, write_file_group
from hudi_table_services.execution.metadata_table.key_changes import StagedKeysReader
from hudi_table_services.execution.metadata_table.row_changes import secondary_staging
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    KEY_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedRows,
)
from hudi_table_services.execution.writing.merging import DELETED_ELSEWHERE, Change
from hudi_table_services.hudi_format.metadata_table.keys import secondary_index_key
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import SecondaryIndex
from support.spark.file_group_tasks import write_job

FIRST, SECOND = "20260101000000000", "20260102000000000"
FOLDER = ".hoodie/.aux/staging/me"
GROUPS = 3
INDEX = SecondaryIndex(name="secondary_index_x", column="c0", is_grouped_by_value=True)
Rows = dict[str, float | None]


def a_job(root: Path, instant_time: str) -> WriteJob:
    staging = secondary_staging(FOLDER, INDEX, GROUPS)
    return replace(write_job(str(root), instant_time), secondary=(staging,))


def staged(
    job: WriteJob, name: str, values: Rows, ordering: float = 1.0, **columns: pa.Array
) -> tuple[StagedBatch, ...]:
    """Stage rows with these values of the indexed column."""
    row_count = len(values)
    data = {field.name: pa.array([ordering] * row_count, field.type) for field in job.data_schema}
    data["c0"] = pa.array(list(values.values()), pa.float64())
    rows = pa.table({**data, KEY_COLUMN: pa.array(list(values), pa.string()), **columns})
    writer = StagedFileWriter(job.storage, f"{FOLDER}/{name}.arrow", rows.schema)
    writer.write(rows.combine_chunks().to_batches()[0], "p")
    writer.close()
    return tuple(writer.batches)


def inserted(job: WriteJob, values: Rows) -> WrittenFileGroup:
    (batch,) = staged(job, "inserts", values)
    runs = (StagedRows(batch, 0, batch.row_count),)
    return write_file_group(
        job, WriteTask(number=0, partition_path="p", file_id="f-0", current=None, inserts=runs)
    )


def changed(
    job: WriteJob, base: WrittenFileGroup, values: Rows, kinds: list[int], ordering: float = 1.0
) -> WrittenFileGroup:
    """Change the first rows of a file group."""
    columns = {
        BASE_ROW_COLUMN: pa.array(range(len(values)), pa.int64()),
        CHANGE_COLUMN: pa.array(kinds, pa.int8()),
    }
    base_file = BaseFile.from_file_name(Path(base.stat.path).name)
    current = FileSlice(
        file_group_id=FileGroupId("p", "f-0"), base_instant_time=base_file.instant_time, base_file=base_file
    )
    task = WriteTask(
        number=0,
        partition_path="p",
        file_id="f-0",
        current=current,
        changes=staged(job, "changes", values, ordering, **columns),
    )
    return write_file_group(job, task)


def changes_of(job: WriteJob, written: WrittenFileGroup) -> tuple[set[str], set[str]]:
    """New and deleted keys of the index."""
    reader = StagedKeysReader(job.storage, [entry.keys for entry in written.secondary])
    found = [reader.changes(group, GROUPS) for group in range(GROUPS)]
    new = {key for each in found for key, _ in each.locations()}
    return new, {key for each in found for key in each.deletions()}


def entries_in(root: Path, written: WrittenFileGroup) -> set[str]:
    """Keys of the index that the rows of a file need."""
    rows = pq.read_table(root / written.stat.path, columns=[RECORD_KEY, "c0"], partitioning=None).to_pylist()
    return {secondary_index_key(None if r["c0"] is None else str(r["c0"]), r[RECORD_KEY]) for r in rows}


def test_an_insert_stages_the_entries_of_all_rows(tmp_path: Path) -> None:
    job = a_job(tmp_path, FIRST)
    written = inserted(job, {"a": 1.5, "b": None, "c": -0.0})
    assert changes_of(job, written) == ({"1.5$a", "\0$b", "-0.0$c"}, set())
    assert entries_in(tmp_path, written) == {"1.5$a", "\0$b", "-0.0$c"}


def test_a_merge_stages_the_old_and_the_new_entries_of_changed_rows(tmp_path: Path) -> None:
    first = a_job(tmp_path, FIRST)
    base = inserted(first, {"a": 1.0, "b": 2.0, "c": None, "d": 4.0, "e": 5.0, "f": 6.0, "same": 7.0})
    job = a_job(tmp_path, SECOND)
    values: Rows = {"a": 1.5, "b": None, "c": 3.5, "d": 4.5, "e": 5.5, "f": 6.0}
    kinds = [*[Change.UPDATE] * 3, Change.DELETE, Change.DELETE_ALWAYS, Change.UPDATE]
    written = changed(job, base, values, list(kinds))
    new, deleted = changes_of(job, written)
    assert new == {"1.5$a", "\0$b", "3.5$c"}
    assert deleted == {"1.0$a", "2.0$b", "\0$c", "4.0$d", "5.0$e"}
    assert (entries_in(tmp_path, base) - deleted) | new == entries_in(tmp_path, written)


def test_rows_that_are_too_old_change_no_entry(tmp_path: Path) -> None:
    base = inserted(a_job(tmp_path, FIRST), {"a": 1.0, "b": 2.0})
    job = replace(a_job(tmp_path, SECOND), ordering_fields=("c1",))
    written = changed(job, base, {"a": 1.5, "b": 2.5}, [Change.UPDATE, Change.DELETE], ordering=0.5)
    assert written.older_incoming_count == 2
    assert written.secondary == ()


@pytest.mark.parametrize(("loses", "entry"), [(False, "1.5$a"), (True, "1.0$a")])
def test_a_row_that_stays_keeps_its_entry_if_the_commit_deletes_its_duplicate(
    tmp_path: Path, loses: bool, entry: str
) -> None:
    """A task for another partition stages the deletion of the same entry if the duplicate has the same value."""
    base = inserted(a_job(tmp_path, FIRST), {"a": 1.0})
    job = replace(a_job(tmp_path, SECOND), ordering_fields=("c1",))
    kinds = [Change.UPDATE | DELETED_ELSEWHERE]
    written = changed(job, base, {"a": 1.5}, kinds, ordering=0.5 if loses else 2.0)
    new, deleted = changes_of(job, written)
    assert new == {entry}
    assert deleted == (set() if loses else {"1.0$a"})
