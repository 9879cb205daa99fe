"""Divide log entries and keys of a base file into buckets by the hashes of the keys. Buckets are Arrow IPC files."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.execution.log_merging.log_entries import KEY
from hudi_table_services.execution.numpy_types import Flags
from hudi_table_services.hudi_format.murmur_hash import key_blocks

BUCKET_COUNT = 32
LARGEST_DEPTH = 3
"""How often the same log entries are divided at most: first into buckets, and then, if a bucket is still too large,
into smaller buckets."""

_FILTER_SIZE = 1 << 22
_COMPRESSION = "lz4"
_Hashes = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class KeySpill:
    """Files of the buckets.

    Attributes:
        buckets: numbers of the buckets that have log entries.
    """

    folder: Path
    buckets: tuple[int, ...]

    @contextmanager
    def entries(self, bucket: int) -> Iterator[Iterator[pa.Table]]:
        """Open the log entries of a bucket, in merge order."""
        with _opened(self.folder / f"entries-{bucket}.arrow") as tables:
            yield tables

    @contextmanager
    def base(self, bucket: int) -> Iterator[Iterator[pa.Table]]:
        """Open, in file order, the keys of the base file that can also occur in the bucket's log entries."""
        with _opened(self.folder / f"base-{bucket}.arrow") as tables:
            yield tables

    def delete(self, bucket: int) -> None:
        for name in ("entries", "base"):
            (self.folder / f"{name}-{bucket}.arrow").unlink(missing_ok=True)


def split_by_key(folder: Path, entries: Iterable[pa.Table], base: Iterable[pa.Table], depth: int) -> KeySpill:
    """Write the rows of both inputs into files of `folder`, so that equal keys are in the same bucket.

    Args:
        depth: how often these rows were already divided. Each depth divides by a different hash.
    """
    seen = np.zeros(_FILTER_SIZE, dtype=bool)
    with _Buckets(folder, "entries") as entry_files:
        for table in entries:
            hashes = _hashes(table[KEY], depth)
            seen[hashes % np.uint32(_FILTER_SIZE)] = True
            entry_files.write(table, hashes)
    with _Buckets(folder, "base") as base_files:
        for table in base:
            hashes = _hashes(table[KEY], depth)
            # Most base rows have no log entry, so their keys are not written.
            wanted: Flags = seen[hashes % np.uint32(_FILTER_SIZE)]
            base_files.write(table.filter(pa.array(wanted)), hashes[wanted])
    return KeySpill(folder, entry_files.numbers)


@contextmanager
def _opened(path: Path) -> Iterator[Iterator[pa.Table]]:
    if not path.exists():
        yield iter(())
        return
    with pa.OSFile(str(path)) as source, ipc.open_stream(source) as reader:
        yield (pa.Table.from_batches([batch]) for batch in reader)


class _Buckets:
    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._files = ExitStack()
        self._writers: dict[int, ipc.RecordBatchStreamWriter] = {}

    def __enter__(self) -> "_Buckets":
        return self

    def __exit__(self, *error: object) -> None:
        self._files.close()

    @property
    def numbers(self) -> tuple[int, ...]:
        """Return the numbers of the buckets that have rows."""
        return tuple(sorted(self._writers))

    def write(self, table: pa.Table, hashes: _Hashes) -> None:
        """Append each row to the file of its bucket."""
        buckets = (hashes >> np.uint32(22)) % np.uint32(BUCKET_COUNT)
        order = np.argsort(buckets, kind="stable")
        bounds = np.searchsorted(buckets[order], np.arange(BUCKET_COUNT + 1))
        rows = table.take(pa.array(order)).combine_chunks()
        for bucket in range(BUCKET_COUNT):
            count = int(bounds[bucket + 1] - bounds[bucket])
            if count:
                self._writer(bucket, table.schema).write_table(rows.slice(bounds[bucket], count))

    def _writer(self, bucket: int, schema: pa.Schema) -> ipc.RecordBatchStreamWriter:
        if bucket not in self._writers:
            sink = self._files.enter_context(
                pa.OSFile(str(self._folder / f"{self._name}-{bucket}.arrow"), "wb")
            )
            options = ipc.IpcWriteOptions(compression=_COMPRESSION)
            self._writers[bucket] = self._files.enter_context(ipc.new_stream(sink, schema, options=options))
        return self._writers[bucket]


def _hashes(keys: pa.ChunkedArray, depth: int) -> _Hashes:
    """Return the hash of each key. The hashes of different depths are independent."""
    result = np.empty(len(keys), dtype=np.uint32)
    if not len(keys):
        return result
    offsets, data = utf8_buffers(keys.combine_chunks())
    for block in key_blocks(offsets, data):
        for _ in range(depth + 1):
            block.next_positions(1)
        result[block.rows] = block.state
    return result
