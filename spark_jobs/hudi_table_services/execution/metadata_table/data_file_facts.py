"""Read the facts that the metadata table stores about data files: statistics of columns and bloom filters."""

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.execution.base_file_reader import open_base_file
from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.execution.metadata_table.log_statistics import log_statistics
from hudi_table_services.execution.metadata_table.row_statistics import completed_from_rows
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import BaseFileBloom, FileStatistics
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import READ_THREADS, map_in_parallel
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_LOG_INTERVAL_S = 5.0
_Fact = TypeVar("_Fact")


@dataclass(frozen=True, slots=True, order=True)
class DataFile:
    """A base file or a log file of the table."""

    partition_path: str
    file_name: str
    size_bytes: int

    @property
    def is_log_file(self) -> bool:
        """Whether the file is a log file: its name begins with a dot."""
        return self.file_name.startswith(".")

    @property
    def path(self) -> str:
        """Path relative to the base path."""
        return join_path(self.partition_path, self.file_name)


@dataclass(frozen=True, slots=True)
class DataFileReader:
    """Reads facts about many files in parallel, and logs the progress.

    Attributes:
        spark: session whose tasks read the statistics; None means that threads of this process read them.
    """

    storage: Storage
    spark: "SparkSession | None" = None

    def statistics(self, files: Sequence[DataFile], columns: Collection[str]) -> list[FileStatistics]:
        """Return the statistics of each file, in the order of the files.

        Most statistics are in the footer. Rows are read only for columns whose statistics the footer lacks.

        Args:
            columns: columns whose bounds are needed.

        Raises:
            CorruptTableError: a file is not a Parquet file, or is damaged.
            ObjectNotFoundError, ExecutionFailedError: a file does not exist.
        """
        work = partial(statistics_of, self.storage, frozenset(columns))
        phase = f"Read the column statistics of {len(files)} data files"
        if self.spark is None:
            return _in_threads(work, files, phase)
        weights = [BYTES_OF_A_FILE] * len(files)
        return run_tasks(self.spark, files, work, description=phase, weights=weights)

    def row_count(self, files: Sequence[DataFile]) -> int:
        """Return the number of rows of all files together, from their footers.

        Raises:
            CorruptTableError: a file is not a Parquet file, or is damaged.
            ObjectNotFoundError: a file does not exist.
        """
        return sum(
            _in_threads(partial(_rows_of, self.storage), files, f"Count the rows of {len(files)} base files")
        )

    def blooms(self, files: Sequence[DataFile]) -> Iterator[BaseFileBloom]:
        """Yield the bloom filter of each file that has one, in the order of the files.

        Only few bloom filters are in memory at a time.

        Raises:
            CorruptTableError: a file is not a Parquet file, or is damaged.
            ObjectNotFoundError: a file does not exist.
        """
        for start in range(0, len(files), READ_THREADS):
            batch = files[start : start + READ_THREADS]
            found = map_in_parallel(partial(_bloom_of, self.storage), batch)
            yield from (bloom for bloom in found if bloom is not None)


def statistics_of(storage: Storage, columns: Collection[str], file: DataFile) -> FileStatistics:
    """Return the statistics of one file.

    Raises CorruptTableError and ObjectNotFoundError as `row_count` does, and the errors of `log_statistics`.
    """
    if file.is_log_file:
        return log_statistics(storage, file.partition_path, file.file_name, columns)
    with _opened(storage, file) as opened:
        known = file_statistics(file.partition_path, file.file_name, opened.metadata)
        return completed_from_rows(opened, known, columns)


def _rows_of(storage: Storage, file: DataFile) -> int:
    with _opened(storage, file) as opened:
        return int(opened.metadata.num_rows)


@contextmanager
def _opened(storage: Storage, file: DataFile) -> Iterator[pq.ParquetFile]:
    try:
        with naming(file.path), open_base_file(storage, file.path, file.size_bytes) as opened:
            yield opened
    except pa.ArrowInvalid as error:
        raise CorruptTableError(
            f"{file.path} is not a complete Parquet file: {error}",
            path=file.path,
            hint="Restore the file from a backup, or roll back the write that created it.",
        ) from error


def _bloom_of(storage: Storage, file: DataFile) -> BaseFileBloom | None:
    with _opened(storage, file) as opened:
        footer = decode_key_footer(opened.metadata.metadata or {})
    if footer.bloom_text is None:
        return None
    return BaseFileBloom(
        partition_path=file.partition_path,
        base_file=BaseFile.from_file_name(file.file_name, file.size_bytes),
        text=footer.bloom_text,
        type_code=footer.bloom_type,
    )


def _in_threads(work: Callable[[DataFile], _Fact], files: Sequence[DataFile], phase: str) -> list[_Fact]:
    _LOG.info("%s", phase)
    started = logged = time.monotonic()
    found: list[_Fact] = []
    with ThreadPoolExecutor(READ_THREADS) as pool:
        for fact in pool.map(work, files):
            found.append(fact)
            now = time.monotonic()
            if now - logged >= _LOG_INTERVAL_S:
                logged = now
                _log(phase, len(found), len(files), now - started)
    return found


def _log(phase: str, done: int, total: int, elapsed_s: float) -> None:
    remaining_s = round(elapsed_s * (total - done) / done, 1)
    progress = JobProgress(
        phase=phase, done=done, total=total, elapsed_s=round(elapsed_s, 1), remaining_s=remaining_s
    )
    _LOG.info("%s", progress.text, extra={PROGRESS_FIELD: progress})
