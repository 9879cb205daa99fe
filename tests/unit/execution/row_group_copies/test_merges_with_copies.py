"""A write that copies row groups gives the same rows, counts and statistics as a write that decodes all of them."""

import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    FILE_NAME,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.file_groups import (
    WriteJob,
    WriteTask,
    WrittenFileGroup,
    write_file_group,
)
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.staging import (
    BASE_ROW_COLUMN,
    CHANGE_COLUMN,
    KEY_COLUMN,
    StagedBatch,
    StagedFileWriter,
    StagedRows,
)
from hudi_table_services.execution.writing.merging import Change
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.storage.locks.heartbeat import Heartbeat
from hudi_table_services.storage.stores.memory import MemoryStorage

FIRST, SECOND = "20260101000000000", "20260102000000000"
GROUP_ROWS, GROUPS = 10, 6
DATA = pa.schema([("k", pa.string()), ("n", pa.int64()), ("x", pa.float64())])
FOLDER = ".hoodie/.aux/staging/me"


@dataclass(frozen=True)
class Incoming:
    """The rows of a write: changes by number of the base row, and the number of inserts."""

    changes: Mapping[int, Change]
    inserts: int


INCOMING = st.builds(
    Incoming,
    st.dictionaries(st.integers(0, GROUPS * GROUP_ROWS - 1), st.sampled_from(Change), max_size=15),
    st.integers(0, 25),
)


def rows(first: int, count: int, factor: int) -> list[pa.Array]:
    numbers = range(first, first + count)
    floats = [None if each % 3 == 0 else float("nan") if each % 17 == 0 else each / 2 for each in numbers]
    return [
        pa.array([f"k{each:04}" for each in numbers]),
        pa.array([each * factor for each in numbers], pa.int64()),
        pa.array(floats, pa.float64()),
    ]


def job_at(storage: MemoryStorage, time: str) -> WriteJob:
    return WriteJob(
        storage=storage,
        instant_time=time,
        data_schema=DATA,
        avro_schema_json="{}",
        parquet=ParquetFormat(row_group_bytes=GROUP_ROWS),
        bloom=BloomSettings(),
        ordering_fields=("n",),
        statistics_columns=(COMMIT_TIME, "n", "x"),
    )


def staged(storage: MemoryStorage, name: str, columns: dict[str, pa.Array]) -> tuple[StagedBatch, ...]:
    batch = pa.record_batch(columns)
    writer = StagedFileWriter(storage, f"{FOLDER}/{name}.arrow", batch.schema)
    writer.write(batch, "p")
    writer.close()
    return tuple(writer.batches)


def first_version(storage: MemoryStorage) -> FileSlice:
    """A file with several row groups of ten rows, one for each `write` of the writer."""
    job = job_at(storage, FIRST)
    base_file = BaseFile(file_id="f-0", write_token="0-0-0", instant_time=FIRST)
    spec = BaseFileSpec(
        base_file=base_file,
        partition_path="p",
        expected_rows=GROUPS * GROUP_ROWS,
        data_schema=DATA,
        avro_schema_json="{}",
        marker_kind=MarkerKind.CREATE,
    )
    with BaseFileWriter(storage, spec, job.parquet, job.bloom) as writer:
        for number in range(GROUPS):
            columns = rows(number * GROUP_ROWS, GROUP_ROWS, 10)
            meta = {
                COMMIT_TIME: pa.repeat(FIRST, GROUP_ROWS),
                SEQUENCE_NUMBER: pa.array([f"{number}_{row}" for row in range(GROUP_ROWS)]),
                RECORD_KEY: columns[0],
            }
            writer.write(pa.table({**meta, **dict(zip(DATA.names, columns, strict=True))}))
    return FileSlice(file_group_id=FileGroupId("p", "f-0"), base_instant_time=FIRST, base_file=base_file)


def write(incoming: Incoming, *, small_bytes: int) -> tuple[WrittenFileGroup, pq.ParquetFile]:
    """Merge the rows into the file. With `small_bytes` of 1, every unchanged row group is copied."""
    storage = MemoryStorage(uuid4().hex)
    current = first_version(storage)
    job = replace(job_at(storage, SECOND), small_row_group_bytes=small_bytes)
    changes: tuple[StagedBatch, ...] = ()
    if incoming.changes:
        hits = sorted(incoming.changes)
        # Every second change has a smaller ordering value than the stored row.
        numbers = [each * (20 if each % 2 else 5) for each in hits]
        columns = {
            "k": pa.array([f"k{each:04}" for each in hits]),
            "n": pa.array(numbers, pa.int64()),
            "x": pa.array([1.0] * len(hits)),
            KEY_COLUMN: pa.array([f"k{each:04}" for each in hits]),
            BASE_ROW_COLUMN: pa.array(hits, pa.int64()),
            CHANGE_COLUMN: pa.array([incoming.changes[each] for each in hits], pa.int8()),
        }
        changes = staged(storage, "changes", columns)
    inserts: tuple[StagedRows, ...] = ()
    if incoming.inserts:
        new = rows(1000, incoming.inserts, 1)
        columns = {**dict(zip(DATA.names, new, strict=True)), KEY_COLUMN: new[0]}
        inserts = tuple(StagedRows(each, 0, each.row_count) for each in staged(storage, "inserts", columns))
    task = WriteTask(
        number=0, partition_path="p", file_id="f-0", current=current, inserts=inserts, changes=changes
    )
    with Heartbeat(storage, SECOND, owner="me"):
        written = write_file_group(job, task)
    return written, pq.ParquetFile(io.BytesIO(storage.read(written.stat.path)))


def encoding_apart(written: WrittenFileGroup) -> WrittenFileGroup:
    """The outcome without sizes and times."""
    assert written.statistics is not None
    ranges = tuple(
        replace(each, total_size_bytes=0, total_uncompressed_bytes=0) for each in written.statistics.ranges
    )
    stat = replace(written.stat, path="", file_size_bytes=0, total_upsert_time_ms=0)
    statistics = replace(written.statistics, file_name="", ranges=ranges)
    return replace(written, stat=stat, data_size_bytes=0, statistics=statistics)


@given(INCOMING)
def test_copies_change_neither_the_rows_nor_the_outcome(incoming: Incoming) -> None:
    copying, joined = write(incoming, small_bytes=1)
    decoding, expected = write(incoming, small_bytes=0)
    assert encoding_apart(copying) == encoding_apart(decoding)
    found, wanted = (file.read().drop_columns([FILE_NAME]).sort_by(RECORD_KEY) for file in (joined, expected))
    assert found.equals(wanted) or found.to_pydict().__repr__() == wanted.to_pydict().__repr__()  # NaN
    assert decode_key_footer(joined.metadata.metadata) == decode_key_footer(expected.metadata.metadata)
    [name] = set(joined.read([FILE_NAME])[FILE_NAME].to_pylist() or [copying.stat.path[2:]])
    assert name == copying.stat.path.removeprefix("p/")


def test_only_row_groups_with_changes_are_decoded() -> None:
    incoming = Incoming({0: Change.UPDATE, 25: Change.DELETE_ALWAYS}, inserts=3)
    _, joined = write(incoming, small_bytes=1)
    sizes = [joined.metadata.row_group(number).num_rows for number in range(joined.metadata.num_row_groups)]
    assert sizes[:4] == [GROUP_ROWS] * 4
    keys = joined.read([RECORD_KEY])[RECORD_KEY].to_pylist()
    assert keys[:30] == [f"k{each:04}" for each in (*range(10, 20), *range(30, 50))]
    assert sum(sizes) == GROUPS * GROUP_ROWS - 1 + 3
