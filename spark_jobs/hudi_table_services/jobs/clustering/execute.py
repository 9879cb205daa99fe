"""Execute pending clusterings: start each plan, rewrite its groups, check the new files, and commit.

Each plan has its own commit, so that a failing plan does not affect other plans. If an earlier attempt completed a
plan, the job returns that commit. If an earlier attempt died during a plan, the job executes the whole plan again.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from hudi_table_services.commits.commit_point import facts_to_collect
from hudi_table_services.commits.log_checks import refuse_unknown_writes
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.plan_attempt import ClusteringAttempt
from hudi_table_services.commits.plans.incomplete_logs import warnings_of_incomplete_logs
from hudi_table_services.commits.staging_area import StagingArea
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.clustering import (
    ClusteringReport,
    ClusteringRequest,
    ExecuteClusteringRequest,
)
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    FileGroupConflictError,
    HudiTableServiceError,
    InvalidRequestError,
)
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.clustering.file_layouts import footer_of
from hudi_table_services.execution.clustering.rewrite import GroupOutcome, GroupTask, RewriteJob
from hudi_table_services.execution.clustering.run import RewriteGroups, rewrite_groups
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.collected_facts import FactsToCollect
from hudi_table_services.hudi_format.avro_schema import from_avro_json, to_avro_json
from hudi_table_services.jobs.clustering.clustered_table import open_table, refuse_bucket_index, rule_of
from hudi_table_services.jobs.clustering.executed import DroppedPlan, ExecutedPlan, FailedPlan, facts_of
from hudi_table_services.jobs.clustering.group_files import committed_files, group_tasks
from hudi_table_services.jobs.clustering.outdated import missing_files, no_group_left, reason_of_cancellation
from hudi_table_services.jobs.clustering.reporting import ClusteringReporter
from hudi_table_services.jobs.clustering.start import (
    choose_plans,
    remove_leftovers,
    staging_owner,
    without_plans_of_hudi,
)
from hudi_table_services.jobs.writing.file_settings import bloom_settings, parquet_format
from hudi_table_services.model.clustering import SettledSlice
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_service_plans import ClusteringGroup
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_stat import (
    REQUEST_ID_KEY,
    SCHEMA_KEY,
    CommitMetadata,
    WriteOperation,
)
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.planning.clustering.outdated_plans import (
    file_groups_of,
    partitions_of,
    unchanged_groups,
)
from hudi_table_services.planning.clustering.stored_plan import read_plan_settings
from hudi_table_services.planning.file_sizing.write_profile import commit_metadata
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.pending_plans import groups_being_written
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.cleaned_files import naming_lost_files
from hudi_table_services.tables.clustering_history import Clustering, ClusteringHistory
from hudi_table_services.tables.snapshots.log_sizes import refuse_short_logs
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)

_SORTED_ROW_GROUP_BYTES = 16 << 20
"""Largest size of a row group in files with sorted rows, in Arrow bytes."""


def execute_clustering(
    spark: "SparkSession",
    request: ExecuteClusteringRequest,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Execute the plans that the request names, or all pending plans, oldest first.

    If every group of a plan contains a file that is lost or that another writer changed, the plan can never succeed,
    and the job cancels the plan.

    Raises:
        HudiTableServiceError: some plans failed, and all other plans were executed. The error has the class of the
            first retryable failure or, without such a failure, the class of the first failure. The message names all
            failures, and the `evidence` of the error is the report on every plan.
        UnsupportedTableError: the request names a plan that only Hudi can execute. No plan was executed.
    """
    storage = storage or open_storage(request.base_path, request.storage_options)
    return execute_plans(spark, request, request.instants, storage, clock)


def execute_plans(
    spark: "SparkSession",
    request: ExecuteClusteringRequest | ClusteringRequest,
    instants: Sequence[str],
    storage: Storage,
    clock: Clock | None,
) -> JobResult:
    """Execute the named plans, or all pending plans if none is named. Raises the errors of `execute_clustering`."""
    rewrite = partial(rewrite_groups, spark)
    return ClusteringExecution(request, storage, clock or SystemClock(), rewrite, spark).run(instants)


@dataclass(frozen=True, slots=True)
class _Work:
    """A plan, and the groups of the plan whose files are still the latest files of their file groups."""

    clustering: Clustering
    settings: SettledSlice
    snapshot: TableSnapshot
    groups: tuple[ClusteringGroup, ...]
    tasks: tuple[GroupTask, ...]
    schema: StructType


class ClusteringExecution:
    """The steps of an execution.

    Args:
        rewrite: rewrites the groups of a plan.
        spark: the session whose application id the result contains; None if `rewrite` uses no session.
    """

    def __init__(
        self,
        request: ExecuteClusteringRequest | ClusteringRequest,
        storage: Storage,
        clock: Clock,
        rewrite: RewriteGroups,
        spark: "SparkSession | None" = None,
    ) -> None:
        self._rewrite = rewrite
        self._request = request
        self._options = options = resolve_clustering_options(request)
        self._storage = storage
        self._clock = clock
        self._watch = Stopwatch()
        self._report = ClusteringReporter(request, options.warnings, self._watch, spark)
        self._table = open_table(request, options, storage, clock, executes=True)
        self._rule = rule_of(self._table, options)

    def run(self, instants: Sequence[str]) -> JobResult:
        """Execute the named plans, or all pending plans if none is named. Raises the errors of `execute_clustering`."""
        chosen, missing = choose_plans(
            self._table, self._lock(), instants, self._request.request_id, self._options.expires_after_minutes
        )
        chosen, left_out = without_plans_of_hudi(chosen, are_named=bool(instants))
        self._report.warn_of(left_out)
        ended: list[ExecutedPlan | DroppedPlan] = []
        failed: list[FailedPlan] = []
        for number, clustering in enumerate(chosen, start=1):
            time = clustering.instant.requested_time
            _LOG.info("Executing clustering %s (%d of %d)", time, number, len(chosen))
            try:
                ended.append(self._execute(clustering))
            except HudiTableServiceError as error:
                _LOG.warning("Clustering %s failed: %s", time, error)
                failed.append(FailedPlan(clustering, error))
        executed = [plan for plan in ended if isinstance(plan, ExecutedPlan)]
        dropped = [plan for plan in ended if isinstance(plan, DroppedPlan)]
        if failed:
            raise _one_error(failed, executed, dropped, self._report.partly_failed(failed, executed, dropped))
        remove_leftovers(self._table, self._options.staging_path)
        if not executed:
            return self._report.nothing_executed(missing, dropped)
        return self._report.executed(executed, missing, dropped)

    def _execute(self, clustering: Clustering) -> ExecutedPlan | DroppedPlan:
        if clustering.instant.is_completed:
            return self._reused(clustering)
        try:
            with ClusteringAttempt(
                self._table,
                clustering.instant,
                self._lock(),
                request_id=self._request.request_id,
                wait_seconds=self._options.wait_seconds if self._request.when_held == "wait" else 0,
                expires_after_minutes=self._options.expires_after_minutes,
            ) as attempt:
                try:
                    return self._carry_out(clustering, attempt)
                except FileGroupConflictError:
                    if not attempt.drop_if_outdated(clustering.plan):
                        raise
                    return self._dropped(clustering)
        except HudiTableServiceError:
            # Another attempt may have completed the plan by now: one that was running, or one that seemed dead.
            now = ClusteringHistory.load(self._table.timeline_store, self._table.load_timeline())
            found = now.find(clustering.instant.requested_time)
            if found is not None and found.instant.is_completed:
                return self._reused(found)
            raise

    def _reused(self, clustering: Clustering) -> ExecutedPlan:
        _LOG.info("Clustering %s was already completed.", clustering.instant.requested_time)
        metadata = self._table.timeline_store.commit_metadata(clustering.instant)
        return ExecutedPlan(
            clustering, clustering.instant, metadata, settings=self._settings(clustering), reused=True
        )

    def _settings(self, clustering: Clustering) -> SettledSlice:
        """Settings of the plan. If the plan has no target size or no curve, the setting of the request applies."""
        return read_plan_settings(clustering.plan, self._options.plan)

    def _carry_out(self, clustering: Clustering, attempt: ClusteringAttempt) -> ExecutedPlan:
        with self._watch.phase("load table"):
            work = self._prepare(clustering)
        staging = StagingArea(
            self._storage, self._options.staging_path, self._clock, owner=staging_owner(attempt.instant_time)
        )
        with staging:
            with self._watch.phase("rewrite groups"), naming_lost_files(self._storage, work.snapshot):
                wanted = facts_to_collect(self._table, self._schema_json(work), staging.folder)
                job = self._rewrite_job(work, attempt, staging.folder, wanted)
                what = f"clustering {attempt.instant_time} of {self._table.config.table_name}"
                outcomes = self._rewrite(job, work.tasks, what)
            skipped = (each for outcome in outcomes for each in outcome.skipped)
            self._report.warn_of(warnings_of_incomplete_logs(skipped, "clustering"))
            with self._watch.phase("commit"):
                instant, dropped_groups = attempt.complete(
                    work.snapshot,
                    lambda without: self._metadata(work, outcomes, without),
                    facts_of(outcomes, wanted),
                )
                self._report.warn_of(attempt.warnings)
        return ExecutedPlan(
            clustering,
            instant,
            self._metadata(work, outcomes, dropped_groups),
            settings=work.settings,
            groups=work.groups,
            outcomes=tuple(outcomes),
            dropped_groups=dropped_groups,
        )

    def _prepare(self, clustering: Clustering) -> _Work:
        plan = clustering.plan
        snapshot = load_snapshot(
            self._storage, partitions_of(plan), metadata_enable=self._options.metadata.enable
        )
        refuse_bucket_index(self._table, snapshot, self._options.metadata.enable)
        if not snapshot.schema_json:
            raise InvalidRequestError(f"The table at {self._storage.uri} has no schema yet.")
        refuse_unknown_writes(self._table, snapshot.timeline, clustering.instant)
        groups = self._still_current(clustering, snapshot)
        planned = {each for group in groups for each in file_groups_of(group)}
        slices = (each for each in snapshot.all_slices if each.file_group_id in planned)
        refuse_short_logs(self._table.timeline_store, snapshot, slices)
        schema = from_avro_json(snapshot.schema_json)
        settings = self._settings(clustering)
        for name in settings.layout.columns:
            if name not in schema.names:
                raise InvalidRequestError(
                    f"Clustering {clustering.instant.requested_time} sorts by {name!r}, which the table does not have.",
                    hint="Cancel the plan and schedule a new one.",
                )
        return _Work(clustering, settings, snapshot, groups, group_tasks(groups, snapshot), schema)

    def _still_current(self, clustering: Clustering, snapshot: TableSnapshot) -> tuple[ClusteringGroup, ...]:
        """Return the groups whose files are current, and are not being changed by other writers.

        Raises:
            FileGroupConflictError: there is no such group.
        """
        plan, time = clustering.plan, clustering.instant.requested_time
        written = groups_being_written(self._table.timeline_store, snapshot.timeline)
        unchanged = unchanged_groups(plan, snapshot)
        kept = tuple(group for group in unchanged if written.keys().isdisjoint(file_groups_of(group)))
        if len(kept) == len(plan.groups):
            return kept
        outdated = [group for group in plan.groups if group not in unchanged]
        _LOG.warning(
            "Clustering %s drops %d of its %s. The files of %s are no longer current, and other writers are changing "
            "the files of the other dropped groups.",
            time,
            len(plan.groups) - len(kept),
            counted(len(plan.groups), "group"),
            counted(len(plan.groups) - len(unchanged), "group"),
        )
        missing = missing_files(self._storage, outdated)
        if missing:
            _LOG.warning(
                "Clustering %s names %s that cannot be found, such as %s. If no rollback, restore or clean deleted the "
                "files, they are lost; table_health.py reports lost files.",
                time,
                counted(len(missing), "file"),
                missing[0],
            )
        if not kept:
            raise no_group_left(time, missing)
        return kept

    def _schema_json(self, work: _Work) -> str:
        return to_avro_json(work.schema, self._table.config.table_name, with_meta_fields=False)

    def _rewrite_job(
        self, work: _Work, attempt: ClusteringAttempt, staging_folder: str, wanted: FactsToCollect
    ) -> RewriteJob:
        name = self._table.config.table_name
        parquet = parquet_format(self._options.base_files)
        if work.settings.layout.is_sorted:
            # Readers skip whole row groups, so they skip more rows if the row groups are smaller.
            parquet = replace(parquet, row_group_bytes=min(parquet.row_group_bytes, _SORTED_ROW_GROUP_BYTES))
        return RewriteJob(
            storage=self._storage,
            instant_time=attempt.instant_time,
            attempt=attempt.attempt,
            data_schema=arrow_schema(work.schema, with_meta_fields=False),
            avro_schema_json=to_avro_json(work.schema, name, with_meta_fields=True),
            parquet=replace(parquet, writes_page_index=True),
            bloom=bloom_settings(self._options.base_files),
            layout=work.settings.layout,
            task_memory_bytes=self._options.task_memory_bytes,
            staging_folder=staging_folder,
            footer=footer_of(work.settings),
            statistics_columns=wanted.statistics_columns,
            key_staging=wanted.key_staging,
            merging=self._merging(work),
        )

    def _merging(self, work: _Work) -> LogMerging | None:
        if self._rule is None:
            return None
        return LogMerging(
            rule=self._rule,
            visibility=visibility_of(work.snapshot),
            defaults=column_defaults(self._rule, work.snapshot.schema_json or "", work.schema),
            memory_bytes=self._options.task_memory_bytes // 2,
        )

    def _metadata(
        self, work: _Work, outcomes: Sequence[GroupOutcome], dropped_groups: frozenset[FileGroupId]
    ) -> CommitMetadata:
        # `schema_json` also has the default values of columns, which Hudi needs to merge partial updates.
        extra = {REQUEST_ID_KEY: self._request.request_id, SCHEMA_KEY: work.snapshot.schema_json or ""}
        stats, replaced = committed_files(work.groups, outcomes, dropped_groups)
        return commit_metadata(stats, WriteOperation.CLUSTER, extra, replaced)

    def _dropped(self, clustering: Clustering) -> DroppedPlan:
        missing = missing_files(self._storage, clustering.plan.groups)
        reason = reason_of_cancellation(clustering.instant.requested_time, missing)
        _LOG.warning("%s", reason)
        return DroppedPlan(clustering, reason)

    def _lock(self) -> TableLock:
        return measured_lock(
            self._storage, self._options.lock, self._clock, self._watch, self._request.request_id
        )


def _one_error(
    failed: Sequence[FailedPlan],
    executed: Sequence[ExecutedPlan],
    dropped: Sequence[DroppedPlan],
    report: ClusteringReport,
) -> HudiTableServiceError:
    """Build one error for all failed plans. The error is retryable if one of the failures is retryable."""
    errors = [each.error for each in failed]
    error = next((each for each in errors if each.retryable), errors[0])
    if len(failed) + len(executed) + len(dropped) > 1:
        sentences = [
            f"Clustering {each.clustering.instant.requested_time} failed: {each.error.message}"
            for each in failed
        ]
        if executed:
            times = ", ".join(each.instant.requested_time for each in executed)
            sentences.append(f"These plans are completed nevertheless: {times}.")
        if dropped:
            times = ", ".join(each.clustering.instant.requested_time for each in dropped)
            sentences.append(
                f"These plans were cancelled, because none of their groups can be executed any more: {times}."
            )
        error = type(error)(" ".join(sentences), hint=error.hint)
    error.evidence = report
    return error
