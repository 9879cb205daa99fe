"""Divide a planned read into the partitions of a Python data source, and read one of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import InputPartition

from hudi_table_services.execution.python_worker import prepare_worker
from hudi_table_services.execution.reading.scan_frame import read_parts
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import SliceReader
from hudi_table_services.model.reading.predicate import Predicate
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.reading.planned_reads import plan_read, slice_reader
from hudi_table_services.tables.reading.table_scan import TableScan

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_PARALLELISM = 16
"""Number of tasks of a small read. The process in which Spark plans a read does not know the size of the cluster."""


class ScanPartition(InputPartition):
    """The parts of slices that one Spark task reads."""

    def __init__(self, reader: SliceReader, parts: Sequence[SlicePart]) -> None:
        super().__init__(None)
        self.reader = reader
        self.parts = tuple(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The columns and rows that a data source returns.

    Attributes:
        columns: names of the columns of the result.
        filters: conditions that all rows of the result fulfil.
    """

    columns: tuple[str, ...]
    filters: tuple[Predicate, ...] = ()

    def plan(self, storage: Storage, options: Mapping[str, str]) -> TableScan:
        """Plan a read of these columns and rows. Raises the errors of `plan_read`."""
        return plan_read(storage, options, columns=self.columns, filters=self.filters)


def scan_partitions(storage: Storage, scan: TableScan) -> list[ScanPartition]:
    """Return one partition for each Spark task; none if the read opens no slice."""
    if not scan.plan.slices:
        return []
    reader = slice_reader(storage, scan)
    return [ScanPartition(reader, group) for group in reader.work.groups(scan.plan.slices, _PARALLELISM)]


def rows_of_partition(partition: InputPartition) -> "Iterator[RecordBatch]":
    """Yield the rows of a partition that `scan_partitions` made."""
    assert isinstance(partition, ScanPartition)  # noqa: S101 - there are no other partitions
    prepare_worker()
    yield from read_parts(partition.reader, partition.parts)
