"""Read the staged keys of a commit in the driver, for one file group of the record index at a time."""

import io
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from hudi_table_services.execution.base_file_writer import RECORD_KEY, utf8_buffers
from hudi_table_services.execution.metadata_table.staged_keys import DELETED_COLUMN, StagedKeys
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.hudi_format.metadata_table.key_groups import file_groups_of
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.stores.storage import Storage

_CACHED_BYTES = 64 << 20
_CHUNK_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyChanges:
    """Changes of one file group of the record index, as Arrow arrays.

    An object needs memory for the keys, and in addition about 12 bytes per key.

    Attributes:
        new_keys: keys that have a new location, in ascending order of their UTF-8 bytes, each key once.
        places: for each new key the position of its file group in `file_groups`.
        file_groups: file groups of the table.
        deleted_keys: keys that no file group contains after the commit, in the same order, each key once. They do not
            include keys that the commit deleted from one file group and added to another.
    """

    new_keys: pa.StringArray
    places: Integers
    file_groups: tuple[FileGroupId, ...]
    deleted_keys: pa.StringArray

    @property
    def is_empty(self) -> bool:
        return len(self.new_keys) == len(self.deleted_keys) == 0

    def locations(self) -> Iterator[tuple[str, FileGroupId]]:
        """Yield each new key with its file group, in order. Convert only a few keys at a time to Python objects."""
        for start in range(0, len(self.new_keys), _CHUNK_ROWS):
            keys = self.new_keys.slice(start, _CHUNK_ROWS).to_pylist()
            places = self.places[start : start + _CHUNK_ROWS].tolist()
            yield from ((key, self.file_groups[place]) for key, place in zip(keys, places, strict=True))

    def deletions(self) -> Iterator[str]:
        """Yield each deleted key, in order. Convert only a few keys at a time to Python objects."""
        for start in range(0, len(self.deleted_keys), _CHUNK_ROWS):
            yield from self.deleted_keys.slice(start, _CHUNK_ROWS).to_pylist()


class StagedKeysReader:
    """Reads the keys that all tasks of a commit staged.

    The reader keeps the keys of one file group of the record index in memory, and staged files of at most
    `cached_bytes`. It reads these files only once, and opens the other files again for each file group.

    Args:
        staged: results of the tasks, in any order. If two results have the same new key, the later result is used.
        cached_bytes: maximum size of the staged files (compressed) to keep in memory.
    """

    def __init__(
        self, storage: Storage, staged: Sequence[StagedKeys], cached_bytes: int = _CACHED_BYTES
    ) -> None:
        self._storage = storage
        self._staged = tuple(staged)
        small = _smallest(self._staged, cached_bytes)
        self._cached: Mapping[str, bytes] = dict(
            zip(small, map_in_parallel(storage.read, small), strict=True)
        )

    def by_partition(self) -> dict[str, "StagedKeysReader"]:
        """Map each partition of the table to a reader for the keys of its file groups. The readers share a cache."""
        staged: dict[str, list[StagedKeys]] = defaultdict(list)
        for each in self._staged:
            staged[each.file_group_id.partition_path].append(each)
        readers = {}
        for path, found in staged.items():
            reader = readers[path] = StagedKeysReader(self._storage, found, cached_bytes=0)
            reader._cached = self._cached
        return readers

    def changes(self, group: int, group_count: int) -> KeyChanges:
        """Return the changes of one file group of the record index.

        Args:
            group: number of the file group.
            group_count: number of file groups that the record index has now. If the tasks received a different number,
                the reader reads all keys and selects the keys of the file group.

        Raises:
            ObjectNotFoundError: a staged file was deleted.
        """
        wanted = [staged for staged in self._staged if staged.batches_of(group, group_count)]
        tables = map_in_parallel(lambda staged: self._keys(staged, group, group_count), wanted)
        file_groups = tuple(dict.fromkeys(staged.file_group_id for staged in wanted))
        place_of = {file_group: place for place, file_group in enumerate(file_groups)}
        new = [_column(table, is_deleted=False) for table in tables]
        places = [
            np.full(len(keys), place_of[staged.file_group_id], dtype=np.int32)
            for keys, staged in zip(new, wanted, strict=True)
        ]
        keys, last = _ascending(_concatenated(new))
        deleted, _ = _ascending(_concatenated([_column(table, is_deleted=True) for table in tables]))
        return KeyChanges(
            new_keys=keys,
            places=np.concatenate([np.empty(0, np.int32), *places])[last],
            file_groups=file_groups,
            deleted_keys=deleted.filter(pc.invert(pc.is_in(deleted, value_set=keys))),
        )

    def _keys(self, staged: StagedKeys, group: int, group_count: int) -> pa.Table:
        with self._open(staged.path) as source:
            reader = ipc.open_file(source)
            indices = staged.batches_of(group, group_count)
            table = pa.Table.from_batches([reader.get_batch(index) for index in indices]).combine_chunks()
        if group_count == staged.group_count:
            return table
        mask = file_groups_of(*utf8_buffers(_concatenated([table[RECORD_KEY]])), group_count) == group
        return table.filter(pa.array(mask))

    def _open(self, path: str) -> BinaryIO:
        content = self._cached.get(path)
        return self._storage.open_reader(path) if content is None else io.BytesIO(content)


def _smallest(staged: Sequence[StagedKeys], limit_bytes: int) -> list[str]:
    """Return the paths of the smallest files, which together have at most `limit_bytes`."""
    paths: list[str] = []
    for each in sorted(staged, key=lambda each: each.size_bytes):
        limit_bytes -= each.size_bytes
        if limit_bytes < 0:
            break
        paths.append(each.path)
    return paths


def _column(table: pa.Table, *, is_deleted: bool) -> pa.ChunkedArray:
    flags = table[DELETED_COLUMN]
    return table[RECORD_KEY].filter(flags if is_deleted else pc.invert(flags))


def _concatenated(columns: Sequence[pa.ChunkedArray]) -> pa.StringArray:
    chunks = [chunk for column in columns for chunk in column.chunks]
    return pa.concat_arrays([pa.array([], pa.string()), *chunks])


def _ascending(keys: pa.StringArray) -> tuple[pa.StringArray, Integers]:
    """Return the distinct keys in ascending order of their bytes, and the position of each key's last occurrence."""
    order = pc.array_sort_indices(keys)  # stable
    ordered = keys.take(order)
    is_last = np.ones(len(keys), dtype=bool)
    if len(keys) > 1:
        is_last[:-1] = pc.not_equal(ordered.slice(0, len(keys) - 1), ordered.slice(1)).to_numpy(
            zero_copy_only=False
        )
    return ordered.filter(pa.array(is_last)), order.to_numpy()[is_last].astype(np.int64)
