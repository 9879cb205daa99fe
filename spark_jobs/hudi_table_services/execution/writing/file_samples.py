"""Read row counts and footer sizes of some base files, for the estimate of the record size."""

import struct
from collections.abc import Collection

import pyarrow.parquet as pq

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import FileSample
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

MAX_SAMPLES_PER_PARTITION = 16
MAX_SAMPLES = 256
"""Largest number of footers that are read for one plan. Each footer costs three requests, and the driver reads eight
footers at the same time, so 256 footers take some seconds on an object store."""

_TRAILER_BYTES = 8


def sample_base_files(
    storage: Storage, snapshot: TableSnapshot, partition_paths: Collection[str]
) -> tuple[FileSample, ...]:
    """Read the footers of a bounded number of files in each partition. Prefer newer files, and then larger files.

    The more partitions there are, the fewer files of each partition are read, so that at most `MAX_SAMPLES` files are
    read in total. If there are more partitions than `MAX_SAMPLES`, only every n-th partition in sorted order is sampled
    (n = 2, 3, …); the other partitions get the estimate of the whole table.

    If none of the given partitions has a file, the function samples files of other partitions, because the rows of a
    new partition probably resemble the table's rows.
    """
    paths = [path for path in sorted(partition_paths) if snapshot.slices_of(path)]
    step = -(-len(paths) // MAX_SAMPLES) or 1
    sampled = paths[::step]
    limit = min(MAX_SAMPLES_PER_PARTITION, MAX_SAMPLES // max(1, len(sampled)))
    chosen = [s for path in sampled for s in _choose(snapshot.slices_of(path), limit)]
    if not chosen:
        chosen = list(_choose(snapshot.all_slices))
    return tuple(map_in_parallel(lambda file_slice: _sample(storage, file_slice), chosen))


def _choose(slices: tuple[FileSlice, ...], limit: int = MAX_SAMPLES_PER_PARTITION) -> list[FileSlice]:
    with_base = [s for s in slices if s.base_file is not None]
    with_base.sort(key=lambda s: (s.base_instant_time, s.size_bytes, s.file_group_id), reverse=True)
    return with_base[:limit]


def _sample(storage: Storage, file_slice: FileSlice) -> FileSample:
    base_file, path = file_slice.base_file, file_slice.base_file_path
    assert base_file is not None  # noqa: S101 - `_choose` keeps slices with a base file
    assert path is not None  # noqa: S101 - follows from the base file
    with storage.open_reader(path) as source:
        source.seek(base_file.size_bytes - _TRAILER_BYTES)
        (footer_bytes,) = struct.unpack("<i", source.read(4))
        source.seek(0)
        rows = pq.ParquetFile(source, pre_buffer=False).metadata.num_rows
    return FileSample(
        partition_path=file_slice.file_group_id.partition_path,
        file_id=base_file.file_id,
        instant_time=base_file.instant_time,
        record_count=rows,
        file_size_bytes=base_file.size_bytes,
        footer_size_bytes=footer_bytes + _TRAILER_BYTES,
    )


def stored_keys(
    storage: Storage, slices: Collection[FileSlice]
) -> tuple[tuple[FileGroupId, tuple[str, str]], ...]:
    """Return some file groups, each with the smallest and the greatest key in the footer of its base file.

    Base files without a key range in the footer are left out.
    """
    chosen = _choose(tuple(slices))
    ranges = map_in_parallel(lambda file_slice: _key_range(storage, file_slice), chosen)
    pairs = zip(chosen, ranges, strict=True)
    return tuple((each.file_group_id, found) for each, found in pairs if found is not None)


def _key_range(storage: Storage, file_slice: FileSlice) -> tuple[str, str] | None:
    path = file_slice.base_file_path
    assert path is not None  # noqa: S101 - `_choose` keeps slices with a base file
    with storage.open_reader(path) as source:
        metadata = pq.ParquetFile(source, pre_buffer=False).metadata.metadata
    return decode_key_footer(metadata or {}).key_range


def any_record_key(storage: Storage, snapshot: TableSnapshot) -> str:
    """Return any stored record key of the table, or an empty string if the table has no rows."""
    for file_slice in snapshot.all_slices:
        path = file_slice.base_file_path
        if path is None:
            continue
        with storage.open_reader(path) as source:
            for batch in pq.ParquetFile(source, pre_buffer=False).iter_batches(1, columns=[RECORD_KEY]):
                return str(batch.column(0)[0].as_py())
    return ""
