"""The first step of a write: evaluate the input once, check every key, and stage the rows by partition path."""

import logging
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_table_services.contract.text import counted
from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.execution.arrow_schema import arrow_schema, check_list_elements, conform
from hudi_table_services.execution.parquet_format import ParquetFormat, encoded_bytes_per_row
from hudi_table_services.execution.sources.arrow_files import ArrowFiles, UnlikeSparkError, arrow_files
from hudi_table_services.execution.sources.file_parts import FilePart, divide
from hudi_table_services.execution.spark_tasks import (
    default_parallelism,
    map_batches,
    run_tasks,
    translated_errors,
)
from hudi_table_services.execution.staging import KEY_COLUMN, StagedBatch, StagedFileWriter
from hudi_table_services.execution.writing.key_generation import KeyGenerator
from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.schema import StructType
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)

FLUSH_BYTES = 48 << 20
"""Arrow bytes of rows that a worker collects before it splits them by partition and writes them."""

MAX_BATCH_ROWS = 32_768
_STEP = "Stage the incoming rows by partition"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagingSpec:
    """Settings with which a worker stages its part of the input.

    Attributes:
        storage: the table's storage, reconnected in the worker.
        folder: staging folder relative to the base path.
        schema: writer schema without meta columns.
        key_generator: settings for record keys and partition paths.
        parquet: encoding settings, for measuring the record size.
        sample_rows: number of rows per worker for measuring the encoded bytes per row; 0 to measure nothing.
    """

    storage: Storage
    folder: str
    schema: StructType
    key_generator: KeyGeneratorConfig
    parquet: ParquetFormat
    sample_rows: int = 0


@dataclass(frozen=True, slots=True)
class RecordSizeSample:
    """Encoded bytes of some rows of the incoming batch, including meta columns."""

    record_count: int
    size_bytes: float


@dataclass(frozen=True, slots=True)
class StagedInput:
    """The staged rows of a write.

    `batches` are ordered by Spark partition. Within a Spark partition, rows with the same partition path keep their
    order.
    """

    batches: tuple[StagedBatch, ...] = ()
    samples: tuple[RecordSizeSample, ...] = field(default=())

    @property
    def row_count(self) -> int:
        return sum(batch.row_count for batch in self.batches)

    @property
    def partition_paths(self) -> tuple[str, ...]:
        return tuple(sorted({batch.partition_path for batch in self.batches}))

    def of_partition(self, partition_path: str) -> tuple[StagedBatch, ...]:
        return tuple(b for b in self.batches if b.partition_path == partition_path)

    @property
    def bytes_per_record(self) -> float | None:
        """Return the bytes per record, measured on the samples; None if no row was sampled."""
        rows = sum(sample.record_count for sample in self.samples)
        return sum(sample.size_bytes for sample in self.samples) / rows if rows else None


def stage_input(frame: "DataFrame", spec: StagingSpec) -> StagedInput:
    """Evaluate the frame once and stage it.

    Raises:
        InvalidDataError: a key or partition value violates the key generator's rules; nothing was committed.
        InvalidRequestError: a value does not fit the writer schema.
        ExecutionFailedError: the Spark job failed.
    """
    parts = map_batches(
        frame,
        lambda batches: _stage_part(spec, batches),
        description=_STEP,
        may_collect=True,
    )
    parts.sort(key=lambda part: part[0])
    return _united(staged for _, staged in parts)


def stage_source(
    frame: "DataFrame", source: SourceSpec, storage_options: Mapping[str, str], spec: StagingSpec
) -> StagedInput:
    """Stage the rows of a source. Tasks read Parquet files with Arrow if Arrow returns the same rows as Spark.

    Args:
        frame: the rows of the source, as Spark reads them.
        storage_options: settings of an object store.

    Raises:
        HudiTableServiceError: see `stage_input`.
    """
    try:
        files = arrow_files(frame, source, spec.storage.base_path, storage_options)
        return _stage_files(frame.sparkSession, files, spec)
    except UnlikeSparkError as reason:
        _LOG.info("Spark reads the source: %s.", reason)
        return stage_input(frame, spec)


def _stage_files(spark: "SparkSession", files: ArrowFiles, spec: StagingSpec) -> StagedInput:
    """Stage the rows of Parquet files.

    Raises:
        UnlikeSparkError: Spark must read the files. The staging folder may contain rows that the caller must ignore.
        HudiTableServiceError: see `stage_input`.
    """
    _LOG.info("The tasks read the source with Arrow: %s", counted(len(files.sizes), "file", ","))
    with translated_errors(spark, _STEP):
        tasks = divide(files.sizes, default_parallelism(spark))
    parts = run_tasks(
        spark,
        tasks,
        lambda task: _stage_file_parts(spec, files, task),
        description=_STEP,
        weights=[sum(part.stop - part.start for part in task) for task in tasks],
    )
    for part in parts:
        if isinstance(part, UnlikeSparkError):
            raise part
    return _united(part for part in parts if isinstance(part, StagedInput))


def _stage_file_parts(
    spec: StagingSpec, files: ArrowFiles, parts: tuple[FilePart, ...]
) -> StagedInput | UnlikeSparkError:
    """Stage some parts of the files.

    The function returns an UnlikeSparkError instead of raising it, because Spark repeats a task that raises an error.
    """
    stager = _Stager(spec)
    try:
        for batch in files.batches(parts, [field.name for field in spec.schema.fields]):
            stager.add(batch)
    except UnlikeSparkError as reason:
        stager.finish()  # closes the staged file
        return reason
    return stager.finish()


def _united(parts: Iterable[StagedInput]) -> StagedInput:
    parts = tuple(parts)
    return StagedInput(
        tuple(batch for part in parts for batch in part.batches),
        tuple(sample for part in parts for sample in part.samples),
    )


def _stage_part(spec: StagingSpec, batches: Iterator[pa.RecordBatch]) -> tuple[int, StagedInput]:
    stager = _Stager(spec)
    for batch in batches:
        stager.add(batch)
    return _task_partition(), stager.finish()


def _task_partition() -> int:
    """Return the number of the Spark partition. Rows are ordered by this number, in whatever order the tasks end."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


class _Stager:
    def __init__(self, spec: StagingSpec) -> None:
        self._spec = spec
        self._target = arrow_schema(spec.schema, with_meta_fields=False)
        self._keys = KeyGenerator(spec.key_generator, spec.schema)
        self._pending: list[pa.RecordBatch] = []
        self._pending_bytes = 0
        self._writer: StagedFileWriter | None = None
        self._samples: list[RecordSizeSample] = []

    def add(self, batch: pa.RecordBatch) -> None:
        if batch.num_rows == 0:
            return
        self._pending.append(batch)
        self._pending_bytes += batch.nbytes
        if self._pending_bytes >= FLUSH_BYTES:
            self._flush()

    def finish(self) -> StagedInput:
        self._flush()
        if self._writer is None:
            return StagedInput()
        self._writer.close()
        return StagedInput(tuple(self._writer.batches), tuple(self._samples))

    def _flush(self) -> None:
        if not self._pending:
            return
        raw = pa.Table.from_batches(self._pending)
        self._pending, self._pending_bytes = [], 0
        table = conform(raw, self._target)
        check_list_elements(table)
        keys = self._keys.record_keys(table)
        partition_paths = self._keys.partition_paths(table)
        table = table.append_column(pa.field(KEY_COLUMN, pa.string()), keys)
        if self._spec.sample_rows and not self._samples:
            self._sample(table)
        for partition_path, part in split_by_value(table, partition_paths):
            self._write(part, partition_path)

    def _sample(self, table: pa.Table) -> None:
        head = table.slice(0, self._spec.sample_rows)
        size = encoded_bytes_per_row(head, self._spec.parquet) * head.num_rows
        self._samples.append(RecordSizeSample(head.num_rows, size))

    def _write(self, table: pa.Table, partition_path: str) -> None:
        if self._writer is None:
            path = f"{self._spec.folder}/in-{uuid.uuid4().hex}.arrow"
            self._writer = StagedFileWriter(self._spec.storage, path, table.schema)
        for batch in table.combine_chunks().to_batches(max_chunksize=MAX_BATCH_ROWS):
            self._writer.write(batch, partition_path)


def split_by_value(table: pa.Table, values: pa.Array | pa.ChunkedArray) -> Iterator[tuple[str, pa.Table]]:
    """Split the rows by the values of a string column without nulls. Rows with the same value keep their order."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks() if values.num_chunks != 1 else values.chunk(0)
    encoded = values if isinstance(values, pa.DictionaryArray) else pc.dictionary_encode(values)
    names = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    if len(names) == 1 or (codes.size and (codes == codes[0]).all()):
        yield names[codes[0]], table
        return
    order = np.argsort(codes, kind="stable")
    table = table.take(pa.array(order))
    ordered = codes[order]
    cuts = np.flatnonzero(np.diff(ordered)) + 1
    start = 0
    for stop in [*cuts.tolist(), len(ordered)]:
        yield names[ordered[start]], table.slice(start, stop - start)
        start = stop
