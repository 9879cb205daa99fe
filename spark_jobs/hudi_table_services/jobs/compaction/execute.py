"""Execute pending compactions: start each plan, merge its slices, check the new files, and commit.

Each plan has its own commit, so that a failing plan does not affect other plans. A plan is completed as a whole. If
some slices fail, the plan stays pending, and the next attempt merges only these slices. It uses the files that this
attempt wrote for the other slices.
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from hudi_table_services.commits.commit_point import facts_to_collect
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.plans.compaction_attempt import CompactionAttempt
from hudi_table_services.commits.plans.incomplete_logs import warnings_of_incomplete_logs
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.compaction.compaction import (
    CompactionReport,
    CompactionRequest,
    ExecuteCompactionRequest,
    UnmergedLogs,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.compaction.merge_slice import CompactionJob
from hudi_table_services.execution.compaction.run import MergedSlices, MergeSlices, merge_slices
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts, FactsToCollect
from hudi_table_services.hudi_format.avro_schema import from_avro_json, to_avro_json
from hudi_table_services.jobs.compaction.executed import (
    ExecutedCompaction,
    FailedCompaction,
    unmerged_logs,
)
from hudi_table_services.jobs.compaction.opening import open_table, rule_of
from hudi_table_services.jobs.compaction.planned_tasks import PlannedTasks, planned_tasks
from hudi_table_services.jobs.compaction.reporting import CompactionReporter
from hudi_table_services.jobs.compaction.start import choose_plans, remove_leftovers
from hudi_table_services.jobs.writing.file_settings import bloom_settings, parquet_format
from hudi_table_services.model.compaction.slice_logs import ReadAmplification
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import (
    REQUEST_ID_KEY,
    SCHEMA_KEY,
    CommitMetadata,
    WriteOperation,
    WriteStat,
)
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.planning.compaction.unmerged_logs import read_amplification
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.compaction.compaction_history import Compaction, CompactionHistory
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_NAMED_FAILURES = 3


def execute_compaction(
    spark: "SparkSession",
    request: ExecuteCompactionRequest,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Execute the plans that the request names, or all pending plans, oldest first.

    Raises:
        HudiTableServiceError: some plans failed, and all other plans were executed. The error has the class of the
            first retryable failure or, without such a failure, the class of the first failure. The message names all
            failures, and the `evidence` of the error is the report on every plan.
    """
    storage = storage or open_storage(request.base_path, request.storage_options)
    return execute_plans(spark, request, request.instants, storage, clock)


def execute_plans(
    spark: "SparkSession",
    request: ExecuteCompactionRequest | CompactionRequest,
    instants: Sequence[str],
    storage: Storage,
    clock: Clock | None,
) -> JobResult:
    """Execute the named plans, or all pending plans if none is named. Raises the errors of `execute_compaction`."""
    merge = partial(merge_slices, spark)
    return CompactionExecution(request, storage, clock or SystemClock(), merge, spark).run(instants)


@dataclass(frozen=True, slots=True)
class _Work:
    """A plan, and what its execution needs."""

    compaction: Compaction
    snapshot: TableSnapshot
    planned: PlannedTasks
    schema: StructType


class CompactionExecution:
    """The steps of an execution.

    Args:
        merge: merges the slices of a plan.
        spark: the session whose application id the result contains; None if `merge` uses no session.
    """

    def __init__(
        self,
        request: ExecuteCompactionRequest | CompactionRequest,
        storage: Storage,
        clock: Clock,
        merge: MergeSlices,
        spark: "SparkSession | None" = None,
    ) -> None:
        self._merge = merge
        self._request = request
        self._options = options = resolve_compaction_options(request)
        self._storage = storage
        self._clock = clock
        self._watch = Stopwatch()
        self._report = CompactionReporter(request, options.warnings, self._watch, spark)
        updates_metadata = options.metadata.enable is not False
        self._table = open_table(request, options, storage, clock, updates_metadata=updates_metadata)
        self._rule = rule_of(self._table, options)
        self._before: dict[str, ReadAmplification] = {}

    def run(self, instants: Sequence[str]) -> JobResult:
        """Execute the named plans, or all pending plans if none is named. Raises the errors of `execute_compaction`."""
        chosen, missing = choose_plans(
            self._table, self._lock(), instants, self._request.request_id, self._options.expires_after_minutes
        )
        executed: list[ExecutedCompaction] = []
        failed: list[FailedCompaction] = []
        for number, compaction in enumerate(chosen, start=1):
            time = compaction.instant.requested_time
            _LOG.info("Executing compaction %s (%d of %d)", time, number, len(chosen))
            try:
                executed.append(self._execute(compaction))
            except HudiTableServiceError as error:
                _LOG.warning("Compaction %s failed: %s", time, error)
                failed.append(FailedCompaction(compaction, error))
        if failed:
            raise _one_error(failed, executed, self._report.partly_failed(failed, executed))
        remove_leftovers(self._table)
        if not executed:
            return self._report.nothing_executed(missing)
        return self._report.executed(executed, missing, *self._logs_before_and_after())

    def _execute(self, compaction: Compaction) -> ExecutedCompaction:
        if compaction.instant.is_completed:
            return self._reused(compaction)
        try:
            with CompactionAttempt(
                self._table,
                compaction.instant,
                self._lock(),
                request_id=self._request.request_id,
                wait_seconds=self._options.wait_seconds if self._request.when_held == "wait" else 0,
                expires_after_minutes=self._options.expires_after_minutes,
            ) as attempt:
                return self._carry_out(compaction, attempt)
        except HudiTableServiceError:
            # Another attempt may have completed the plan by now: one that was running, or one that seemed dead.
            found = CompactionHistory.load(self._table.timeline_store).current(
                compaction.instant.requested_time
            )
            if found is not None and found.instant.is_completed:
                return self._reused(found)
            raise

    def _reused(self, compaction: Compaction) -> ExecutedCompaction:
        _LOG.info("Compaction %s was already completed.", compaction.instant.requested_time)
        metadata = self._table.timeline_store.commit_metadata(compaction.instant)
        return ExecutedCompaction(
            compaction=compaction,
            instant=compaction.instant,
            metadata=metadata,
            base_bytes={},
            is_reused=True,
        )

    def _carry_out(self, compaction: Compaction, attempt: CompactionAttempt) -> ExecutedCompaction:
        with self._watch.phase("load table"):
            work = self._prepare(compaction)
            attempt.refuse_older_writes(work.snapshot, compaction.file_groups)
        with self._watch.phase("merge slices"):
            wanted = facts_to_collect(self._table, self._schema_json(work), self._options.staging_path)
            job = self._compaction_job(work, attempt, wanted)
            what = f"compaction {attempt.instant_time} of {self._table.config.table_name}"
            found = self._merge(job, work.planned.tasks, what)
        if found.failed:
            raise _slices_failed(compaction, found)
        skipped = (each for merged in found.merged for each in merged.skipped)
        self._report.warn_of(warnings_of_incomplete_logs(skipped, "compaction"))
        with self._watch.phase("commit"):
            metadata = self._metadata(work, [each.stat for each in found.merged])
            instant = attempt.complete(
                work.snapshot, metadata, _facts(found, wanted), file_groups=compaction.file_groups
            )
        return ExecutedCompaction(
            compaction=compaction,
            instant=instant,
            metadata=metadata,
            outcomes=found.merged,
            base_bytes=work.planned.base_bytes,
            replaced_groups=work.planned.replaced_groups,
        )

    def _prepare(self, compaction: Compaction) -> _Work:
        snapshot = load_snapshot(
            self._storage, compaction.partitions, metadata_enable=self._options.metadata.enable
        )
        if not snapshot.schema_json:
            raise InvalidRequestError(f"The table at {self._storage.uri} has no schema yet.")
        planned = planned_tasks(compaction, snapshot, self._table.timeline_store)
        refuse_short_logs(self._table.timeline_store, snapshot, (task.file_slice for task in planned.tasks))
        self._note_logs(snapshot)
        return _Work(compaction, snapshot, planned, from_avro_json(snapshot.schema_json))

    def _schema_json(self, work: _Work) -> str:
        return to_avro_json(work.schema, self._table.config.table_name, with_meta_fields=False)

    def _compaction_job(
        self, work: _Work, attempt: CompactionAttempt, wanted: FactsToCollect
    ) -> CompactionJob:
        config = self._table.config
        has_own_times = config.table_version.has_own_log_instants
        return CompactionJob(
            storage=self._storage,
            instant_time=attempt.instant_time,
            attempt=attempt.attempt,
            merging=LogMerging(
                rule=self._rule,
                visibility=Visibility.of(work.snapshot.timeline, has_own_log_instants=has_own_times),
                defaults=column_defaults(self._rule, work.snapshot.schema_json or "", work.schema),
                memory_bytes=self._options.task_memory_bytes,
            ),
            data_schema=arrow_schema(work.schema, with_meta_fields=False),
            avro_schema_json=to_avro_json(work.schema, config.table_name, with_meta_fields=True),
            parquet=parquet_format(self._options.base_files),
            bloom=bloom_settings(self._options.base_files),
            records_folder=attempt.records_folder,
            names_previous_file=has_own_times,
            statistics_columns=wanted.statistics_columns,
        )

    def _metadata(self, work: _Work, stats: Sequence[WriteStat]) -> CommitMetadata:
        by_partition: dict[str, list[WriteStat]] = defaultdict(list)
        for stat in stats:
            by_partition[stat.partition_path].append(stat)
        return CommitMetadata(
            operation_type=WriteOperation.COMPACT,
            partition_to_write_stats={path: tuple(found) for path, found in by_partition.items()},
            # The schema is stored as it is: it can contain default values of columns, which later merges need.
            extra_metadata={
                SCHEMA_KEY: work.snapshot.schema_json or "",
                REQUEST_ID_KEY: self._request.request_id,
            },
            compacted=True,
        )

    def _note_logs(self, snapshot: TableSnapshot) -> None:
        """Remember the log files of each partition as they are before the first plan of this job merges log files."""
        for path, slices in snapshot.file_slices.items():
            if path not in self._before:
                self._before[path] = read_amplification(_only(snapshot, {path: slices}))

    def _logs_before_and_after(self) -> tuple[UnmergedLogs | None, UnmergedLogs | None]:
        """Return the log files of the compacted partitions before the job and now; None if nothing was executed."""
        if not self._before:
            return None, None
        now = load_snapshot(self._storage, tuple(self._before), metadata_enable=self._options.metadata.enable)
        return unmerged_logs(_joined(self._before)), unmerged_logs(read_amplification(now))

    def _lock(self) -> TableLock:
        return measured_lock(
            self._storage, self._options.lock, self._clock, self._watch, self._request.request_id
        )


def _only(snapshot: TableSnapshot, file_slices: Mapping[str, tuple[FileSlice, ...]]) -> TableSnapshot:
    return TableSnapshot(config=snapshot.config, timeline=snapshot.timeline, file_slices=file_slices)


def _joined(found: Mapping[str, ReadAmplification]) -> ReadAmplification:
    return ReadAmplification(
        slices=tuple(each for part in found.values() for each in part.slices),
        slices_total=sum(part.slices_total for part in found.values()),
        base_bytes_total=sum(part.base_bytes_total for part in found.values()),
    )


def _facts(found: MergedSlices, wanted: FactsToCollect) -> CollectedFacts:
    """Collect facts for the metadata table. A compaction moves no key to another file group, so it stages no keys."""
    return CollectedFacts.of(wanted, [each.statistics for each in found.merged], keys=())


def _slices_failed(compaction: Compaction, found: MergedSlices) -> HudiTableServiceError:
    """Build one error for all failed slices. The error is retryable if one of the failures is retryable."""
    errors = [each.error for each in found.failed]
    error = next((each for each in errors if each.retryable), errors[0])
    total = len(found.failed) + len(found.merged)
    if total == 1:
        return error
    named = " ".join(each.message for each in errors[:_NAMED_FAILURES])
    more = f" And {len(errors) - _NAMED_FAILURES} more." if len(errors) > _NAMED_FAILURES else ""
    kept = f"The next execution uses the new files of the other {counted(len(found.merged), 'file slice')}. "
    return type(error)(
        f"{len(errors)} of {counted(total, 'file slice')} of compaction {compaction.instant.requested_time} failed. "
        f"{named}{more}",
        hint=f"{kept if found.merged else ''}{error.hint}",
    )


def _one_error(
    failed: Sequence[FailedCompaction],
    executed: Sequence[ExecutedCompaction],
    report: CompactionReport,
) -> HudiTableServiceError:
    """Build one error for all failed plans. The error is retryable if one of the failures is retryable."""
    errors = [each.error for each in failed]
    error = next((each for each in errors if each.retryable), errors[0])
    if len(failed) + len(executed) > 1:
        sentences = [
            f"Compaction {each.compaction.instant.requested_time} failed: {each.error.message}"
            for each in failed
        ]
        if executed:
            times = ", ".join(each.instant.requested_time for each in executed)
            sentences.append(f"These plans are completed nevertheless: {times}.")
        error = type(error)(" ".join(sentences), hint=error.hint)
    error.evidence = report
    return error
