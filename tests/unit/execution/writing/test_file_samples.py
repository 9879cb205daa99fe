"""The base files whose footers are read for the estimate of the record size: few, even with many partitions."""

import io
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.execution.writing import file_samples
from hudi_table_services.execution.writing.file_samples import sample_base_files
from hudi_table_services.model.file_sizing import FileSample
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from support.small_tables import FileGroupId, SmallTable

MANY, FEW = 12, 3
FILES = 4


def footers(rows: int = 1) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": ["x"] * rows}), sink)
    return sink.getvalue()


@pytest.fixture(scope="module")
def table() -> SmallTable:
    """A table with `FILES` files in each of `MANY` partitions. In each partition, the last file is the newest."""
    found = SmallTable(MemoryStorage(uuid4().hex))
    for number in range(FILES):
        groups = [FileGroupId(f"p{partition:02d}", f"f{number}") for partition in range(MANY)]
        found.commit(*groups, data=footers())
    return found


def sampled(table: SmallTable, partitions: int) -> list[FileSample]:
    snapshot = load_snapshot(table.storage)
    return list(sample_base_files(table.storage, snapshot, [f"p{n:02d}" for n in range(partitions)]))


def by_partition(samples: list[FileSample]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for sample in samples:
        found.setdefault(sample.partition_path, []).append(sample.file_id)
    return found


def test_all_files_of_few_partitions_are_read(table: SmallTable) -> None:
    assert len(sampled(table, FEW)) == FEW * FILES


@pytest.mark.parametrize(("most", "files"), [(MANY * FILES, 4), (MANY * 2, 2), (MANY + 1, 1)])
def test_fewer_files_of_each_partition_are_read_if_there_are_many(
    table: SmallTable, monkeypatch: pytest.MonkeyPatch, most: int, files: int
) -> None:
    monkeypatch.setattr(file_samples, "MAX_SAMPLES", most)
    found = by_partition(sampled(table, MANY))
    assert len(found) == MANY
    newest = [f"f{number}" for number in range(FILES)][::-1][:files]
    assert all(ids == newest for ids in found.values())


def test_files_of_every_third_partition_are_read_if_there_are_more_partitions_than_samples(
    table: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_samples, "MAX_SAMPLES", 4)
    assert by_partition(sampled(table, MANY)) == {f"p{n:02d}": ["f3"] for n in (0, 3, 6, 9)}


def test_a_new_partition_is_estimated_from_other_partitions(table: SmallTable) -> None:
    snapshot = load_snapshot(table.storage)
    assert len(sample_base_files(table.storage, snapshot, ["new"])) == file_samples.MAX_SAMPLES_PER_PARTITION
