"""Build partitions of the metadata table from the files of the table, or drop partitions."""

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.metadata_table_building.contents import BuildSettings
from hudi_table_services.commits.metadata_table_building.drop import drop_partitions
from hudi_table_services.commits.metadata_table_building.rebuild import build_metadata_table
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.metadata_table import (
    ALL,
    MetadataPartitionReport,
    MetadataTableReport,
    RebuildMetadataTableRequest,
)
from hudi_table_services.contract.result import JobResult, Outcome
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.hudi_format.metadata_table.file_groups import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    EXPRESSION_INDEX_PREFIX,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    SECONDARY_INDEX_PREFIX,
)
from hudi_table_services.jobs.metadata_table.preview import preview_report
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.options.metadata_table import MetadataTableOptions, resolve_metadata_table_options
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.metadata_table.index_definition_store import read_index_definitions
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_PARTITION_NAMES = (FILES, COLUMN_STATS, BLOOM_FILTERS, RECORD_INDEX, PARTITION_STATS)


def rebuild_metadata_table(
    request: RebuildMetadataTableRequest,
    *,
    spark: "SparkSession | None" = None,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Drop and build partitions of the metadata table under the table lock. A preview only reports these partitions.

    If a job dies, the properties of the table list only complete partitions, and the next job builds all other
    partitions again.

    Args:
        spark: session that reads the data files; None means that threads of this process read the data files.

    Raises:
        HudiTableServiceError: see the module `errors`.
    """
    options = resolve_metadata_table_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    config = read_table_config(storage)
    # The job can replace even a metadata table that other jobs cannot update, so the check ignores the metadata table.
    check_writable(config, request.table_name, updates_metadata=False, merge_on_read=True, merges_logs=True)
    _refuse_unknown_names(request, config)
    table = TableAccess(storage=storage, clock=clock or SystemClock(), config=config)
    for warning in options.warnings:
        _LOG.warning("%s", warning)
    return _RebuildJob(request, options, table, DataFileReader(storage, spark)).run()


def _refuse_unknown_names(request: RebuildMetadataTableRequest, config: TableConfig) -> None:
    """Refuse to drop a partition with an unknown name. Hudi's names are known, even if the partition does not exist."""
    names = {*_PARTITION_NAMES, *config.metadata_partitions, *config.inflight_metadata_partitions, ALL}
    for name in request.drop:
        if name not in names and not name.startswith((SECONDARY_INDEX_PREFIX, EXPRESSION_INDEX_PREFIX)):
            there = ", ".join(config.metadata_partitions) or "none"
            raise InvalidRequestError(
                f"The metadata table has no partition {name!r}.",
                hint=f"{did_you_mean(name, sorted(names))} Partitions of this table: {there}.".strip(),
            )


class _RebuildJob:
    def __init__(
        self,
        request: RebuildMetadataTableRequest,
        options: MetadataTableOptions,
        table: TableAccess,
        reader: DataFileReader,
    ) -> None:
        self._request = request
        self._options = options
        self._table = table
        self._reader = reader
        self._watch = Stopwatch()
        self._settings = BuildSettings.of(options.indexes)

    def run(self) -> JobResult:
        if self._request.preview:
            with self._watch.phase("plan"):
                report = preview_report(self._table, self._reader, self._request, self._settings)
            return self._result(Outcome.PLANNED, report, reason="preview: nothing was written")
        lock = measured_lock(
            self._table.storage, self._options.lock, self._table.clock, self._watch, self._request.request_id
        )
        with lock:
            report = self._rebuild(lock)
        if not (report.dropped or report.built):
            is_all = ALL in self._request.drop
            names = "partitions" if is_all else ", ".join(self._request.drop)
            reason = f"the metadata table has no {names}"
            return self._result(Outcome.NOTHING_TO_DO, report, reason=reason)
        return self._result(Outcome.COMPLETED, report)

    def _rebuild(self, lock: TableLock) -> MetadataTableReport:
        before = read_table_config(self._table.storage).metadata_partitions
        dropped: tuple[str, ...] = ()
        if self._request.builds:
            # Raise the error about damaged definitions, which prevent the build, before anything is dropped.
            read_index_definitions(self._table.storage)
        if self._request.drop:
            with self._watch.phase("drop"):
                names = (FILES,) if ALL in self._request.drop else self._request.drop
                dropped = drop_partitions(self._table, names, lock)
        if not self._request.builds:
            return MetadataTableReport(partitions_before=before, dropped=dropped)
        with self._watch.phase("build"):
            built = build_metadata_table(
                self._table, self._request.partitions, self._settings, self._reader, lock
            )
        return MetadataTableReport(
            partitions_before=before,
            dropped=dropped,
            is_whole=built.is_whole,
            built=tuple(
                MetadataPartitionReport(
                    name=each.name,
                    file_groups=each.file_groups,
                    records=each.records,
                    size_bytes=each.size_bytes,
                )
                for each in built.partitions
            ),
            data_files=built.data_files,
            data_partitions=built.data_partitions,
        )

    def _result(self, outcome: Outcome, report: MetadataTableReport, *, reason: str = "") -> JobResult:
        return replace(
            JobResult.of(self._request, outcome),
            reason=reason,
            report=report,
            timings_s=self._watch.seconds,
            warnings=self._options.warnings,
        )
