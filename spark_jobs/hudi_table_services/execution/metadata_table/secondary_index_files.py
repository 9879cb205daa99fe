"""Write the base files of a new secondary index on Spark: one shuffle brings the keys of each file group together."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_table_services.execution.log_merging.merged_slice import rows_of_slice
from hudi_table_services.execution.log_merging.slice_reading import SliceReading
from hudi_table_services.execution.metadata_table.secondary_keys import SecondaryKeyGroups, all_secondary_keys
from hudi_table_services.execution.python_worker import map_in_arrow
from hudi_table_services.execution.spark_tasks import map_batches
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import (
    MetadataRecord,
    RecordType,
    SecondaryIndex,
    SecondaryIndexEntry,
)
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_KEYS = pa.schema([("file_group", pa.int32()), ("key", pa.binary())])
_SPARK_KEYS = "file_group int, key binary"

WriteGroup = Callable[[int, Sequence[MetadataRecord]], WriteStat]
"""Picklable function that writes records into the base file of the file group with the given number. Executors can
repeat a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondaryIndexFiles:
    """Writes the base files of a secondary index.

    Attributes:
        storage: the table.
        slices: the live file slices of the table.
        reading: how the slices are read. Its columns include the indexed column, or the struct that contains this
            column. A file without the indexed column has nulls.
        group_count: number of file groups of the index.
    """

    storage: Storage
    index: SecondaryIndex
    slices: tuple[FileSlice, ...]
    reading: SliceReading
    group_count: int
    write_group: WriteGroup

    def write(self, spark: "SparkSession") -> list[WriteStat]:
        """Write a base file for each file group that has keys; return the write stats, sorted by file id.

        Raises:
            ExecutionFailedError: a file is missing, or the Spark job failed.
        """
        if not self.slices:
            return []
        numbers = spark.range(0, len(self.slices), 1, len(self.slices))
        keys = map_in_arrow(numbers, self._keys, _SPARK_KEYS)
        ordered = keys.repartition(self.group_count, "file_group").sortWithinPartitions("file_group", "key")
        description = f"Write {self.index.name} of {len(self.slices)} file slices"
        found = map_batches(ordered, self._write_groups, description=description)
        return sorted((stat for stats in found for stat in stats), key=lambda stat: stat.file_id)

    def _keys(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the keys of the slices whose numbers are in the batches."""
        for batch in batches:
            for place in batch.column(0).to_pylist():
                yield from self._keys_of(self.slices[place])

    def _keys_of(self, file_slice: FileSlice) -> Iterator[pa.RecordBatch]:
        groups = SecondaryKeyGroups(self.index.is_grouped_by_value)
        for rows in rows_of_slice(self.storage, file_slice, self.reading):
            for keys in all_secondary_keys(self.index, rows).chunks:
                numbers = pa.array(groups.of(keys, self.group_count), pa.int32())
                yield pa.record_batch([numbers, keys.cast(pa.binary())], schema=_KEYS)

    def _write_groups(self, batches: Iterator[pa.RecordBatch]) -> list[WriteStat]:
        """Write the base files one after another. The rows are sorted by file group and key."""
        rows = (row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))
        return [
            self.write_group(number, _records(key for _, key in group))
            for number, group in groupby(rows, key=lambda row: row[0])
        ]


def _records(keys: Iterable[bytes]) -> list[MetadataRecord]:
    """Return one record for each distinct key.

    A key occurs twice only if the table has two rows with the same record key and the same value of the indexed column.
    """
    return [
        MetadataRecord(
            key=key.decode(), record_type=RecordType.SECONDARY_INDEX, payload=SecondaryIndexEntry()
        )
        for key, _ in groupby(keys)
    ]
