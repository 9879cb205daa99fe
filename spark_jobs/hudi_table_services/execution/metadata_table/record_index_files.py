"""Write the base files of a new record index on Spark: one shuffle brings the keys of each file group together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_table_services.errors import UnsupportedTableError
from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.log_merging.merged_slice import rows_of_slice
from hudi_table_services.execution.log_merging.slice_reading import SliceReading
from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.execution.spark_tasks import map_batches
from hudi_table_services.hudi_format.metadata_table.keys import file_group_of
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation, RecordType
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.options.keys.metadata_table import CREATE_PARTITIONED_RECORD_INDEX
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS = pa.schema([("file_group", pa.int32()), ("record_key", pa.binary()), ("place", pa.int32())])
_SPARK_KEYS = "file_group int, record_key binary, place int"


@dataclass(frozen=True, slots=True)
class IndexedSlice:
    """A live file slice of the table, and the location of all its keys."""

    file_slice: FileSlice
    location: RecordLocation

    @property
    def name(self) -> str:
        """Path of the base file or, if the slice has none, of its first log file."""
        return self.file_slice.paths[0]


WriteGroup = Callable[[int, Sequence[MetadataRecord]], WriteStat]
"""Picklable function that writes records into the base file of the file group with the given number. Executors can
repeat a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordIndexFiles:
    """Writes the base files of a record index.

    Attributes:
        storage: the table.
        reading: how the slices are read; no columns except the record key are needed.
        group_count: number of file groups of the index.
        groups_of_partition: for a partitioned record index, maps each partition of the table to the number of its first
            file group in the index and the count of its file groups. None for a record index of the whole table.
    """

    storage: Storage
    slices: tuple[IndexedSlice, ...]
    reading: SliceReading
    group_count: int
    write_group: WriteGroup
    groups_of_partition: Mapping[str, tuple[int, int]] | None = None

    def write(self, spark: "SparkSession") -> list[WriteStat]:
        """Write a base file for each file group that has keys; return the write stats, sorted by file id.

        Raises:
            UnsupportedTableError: a record key is in two file groups of the table or, if the index is partitioned, in
                two file groups of one partition.
            ExecutionFailedError: a file is missing, or the Spark job failed.
        """
        if not self.slices:
            return []
        numbers = spark.range(0, len(self.slices), 1, len(self.slices))
        keys = map_in_arrow(numbers, self._keys, _SPARK_KEYS)
        routed = keys.repartition(self.group_count, "file_group")
        ordered = routed.sortWithinPartitions("file_group", "record_key")
        description = f"Write a record index of {len(self.slices)} file slices"
        found = map_batches(ordered, self._write_groups, description=description)
        stats = [stat for each in found for stat in each]
        return sorted(stats, key=lambda stat: stat.file_id)

    def _keys(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the keys of the slices whose numbers are in the batches."""
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from self._keys_of(place)

    def _keys_of(self, place: int) -> Iterator[pa.RecordBatch]:
        indexed = self.slices[place]
        first, count = 0, self.group_count
        if self.groups_of_partition is not None:
            first, count = self.groups_of_partition[indexed.location.partition_path]
        for rows in rows_of_slice(self.storage, indexed.file_slice, self.reading):
            keys = rows[RECORD_KEY].to_pylist()
            numbers = pa.array([first + file_group_of(key, count) for key in keys], pa.int32())
            encoded = pa.array([key.encode() for key in keys], pa.binary())
            places = pa.array([place] * len(keys), pa.int32())
            yield pa.record_batch([numbers, encoded, places], schema=_KEYS)

    def _write_groups(self, batches: Iterator[pa.RecordBatch]) -> list[WriteStat]:
        """Write the base files one after another. The rows are sorted by file group and key."""
        rows = (row for batch in batches for row in zip(*_lists(batch), strict=True))
        return [
            self.write_group(number, list(self._records(group)))
            for number, group in groupby(rows, key=lambda row: row[0])
        ]

    def _records(self, rows: Iterable[tuple[int, bytes, int]]) -> Iterator[MetadataRecord]:
        previous: tuple[bytes, int] | None = None
        for _, key, place in rows:
            if previous is not None and previous[0] == key:
                raise self._duplicate(key, previous[1], place)
            previous = key, place
            yield MetadataRecord(
                key=key.decode(), record_type=RecordType.RECORD_INDEX, payload=self.slices[place].location
            )

    def _duplicate(self, key: bytes, one: int, other: int) -> UnsupportedTableError:
        paths = " and ".join(sorted(self.slices[place].name for place in {one, other}))
        text = repr(key.decode()[:200])
        if self.groups_of_partition is not None:
            return UnsupportedTableError(
                f"The record key {text} occurs more than once in a partition of the table: in {paths}.",
                hint="A partitioned record index needs keys that are unique in each partition.",
            )
        return UnsupportedTableError(
            f"The record key {text} occurs more than once in the table: in {paths}.",
            hint="A record index needs keys that are unique in the whole table. If keys are unique in each partition, "
            f"build a partitioned record index with {CREATE_PARTITIONED_RECORD_INDEX}=true.",
        )


def _lists(batch: pa.RecordBatch) -> Sequence[list[Any]]:
    return [column.to_pylist() for column in batch.columns]
