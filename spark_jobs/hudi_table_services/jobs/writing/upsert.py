"""The write job: stage the batch, find each row's place, plan the file sizes, write the files, and commit.

The job performs every operation that adds, changes or removes rows of a table. Until its plan is checked, the job
changes no rows of the table: it writes staged rows, rolls back dead attempts, and releases file groups of pending
clustering plans. The write is committed when its completed instant exists.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hudi_table_services.commits.attempt import CommitAttempt
from hudi_table_services.commits.checks import require_same_schema
from hudi_table_services.commits.commit_point import facts_to_collect
from hudi_table_services.commits.measured_lock import measured_lock
from hudi_table_services.commits.pending_writes import clear_pending_writes
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import (
    FileGroupConflictError,
    InvalidRequestError,
    TableExistsError,
)
from hudi_table_services.execution.arrow_schema import schema_from_spark_json
from hudi_table_services.execution.sources.source import read_source
from hudi_table_services.execution.writing.record_index import RecordIndex
from hudi_table_services.execution.writing.stage_input import StagedInput
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.jobs.writing.batch_placement import (
    PlacedBatch,
    lookup_for,
    place_rows,
    plan_batch,
    refuse_duplicates,
    stage_batch,
    without_unchanged_rows,
)
from hudi_table_services.jobs.writing.batch_writing import (
    collected_facts,
    overwritten,
    replaced_slices,
    write_action,
    write_batch,
    write_job,
)
from hudi_table_services.jobs.writing.duplicate_check import DuplicateCheck, duplicate_check_for
from hudi_table_services.jobs.writing.log_settings import log_settings
from hudi_table_services.jobs.writing.new_table import new_table_config
from hudi_table_services.jobs.writing.ordering_checks import check_ordering_columns
from hudi_table_services.jobs.writing.own_commit import own_archived_commit, own_commit
from hudi_table_services.jobs.writing.partition_advice import partition_warnings, time_warnings
from hudi_table_services.jobs.writing.pending_clusterings import preview_release, release_file_groups
from hudi_table_services.jobs.writing.reporting import Report
from hudi_table_services.jobs.writing.searched_files import searched_files
from hudi_table_services.jobs.writing.source_advice import (
    explain_null_columns,
    explain_text_columns,
    null_column_warnings,
    text_column_warnings,
)
from hudi_table_services.jobs.writing.table_access import delete_leftovers, open_table, staging_area
from hudi_table_services.jobs.writing.write_opening import open_write
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.file_sizing import FileSizingPlan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.schema import StructType
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY, SCHEMA_KEY, WriteOperation, load_id_in
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.file_sizing.write_profile import (
    ReplacedIds,
    commit_metadata,
    replaced_file_ids,
    workload_profile,
)
from hudi_table_services.planning.table.table_changes import partition_matches
from hudi_table_services.storage.clock import Clock, SystemClock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import create_table, find_table_config
from hudi_table_services.tables.cleaned_files import conflict_where_cleaned
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY
from hudi_table_services.tables.request_lookup import refuse_second_write
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.table import TableAccess

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LOG = logging.getLogger(__name__)
_NO_ROWS = StructType(())


def upsert(
    spark: "SparkSession",
    request: UpsertRequest,
    source: "DataFrame | None" = None,
    *,
    storage: Storage | None = None,
    clock: Clock | None = None,
) -> JobResult:
    """Execute one write request, or return the result if an earlier attempt has already completed it.

    Args:
        source: rows to write. If None, the job reads the source of the request. `delete_partition` needs no source.
        storage, clock: for tests. The defaults are the storage of the base path and the clock of the system.

    Raises:
        HudiTableServiceError: see the module `errors`. The table is unchanged unless the error class says otherwise.
    """
    options = resolve_options(request)
    storage = storage or open_storage(request.base_path, request.storage_options)
    return _UpsertJob(spark, request, options, storage, clock or SystemClock()).run(source)


class _UpsertJob:
    def __init__(
        self,
        spark: "SparkSession",
        request: UpsertRequest,
        options: WriteOptions,
        storage: Storage,
        clock: Clock,
    ) -> None:
        self._spark = spark
        self._request = request
        self._options = options
        self._storage = storage
        self._clock = clock
        self._watch = Stopwatch()
        self._schema_json: str | None = None
        self._replaced_plans: list[str] = []
        self._planned_with: TableSnapshot | None = None
        self._searched = Timeline()
        self._has_read_source = False
        self._report = Report(spark, request, options, self._watch)

    def run(self, source: "DataFrame | None") -> JobResult:
        try:
            return self._run(source)
        except TableExistsError as conflict:
            if self._options.retries_on_conflict == 0:
                raise
            # The table that another writer created defines keys, partitions and schema, so read the rows again.
            _LOG.warning("%s Starting again with that table.", conflict.message)
            return self._run(source)

    def _run(self, source: "DataFrame | None") -> JobResult:
        with self._watch.phase("open table"):
            config = find_table_config(self._storage)
            if config is not None:
                table = self._access(config)
                if (done := self._finish_own_commit(table)) is not None:
                    return done  # the source of a completed write may no longer exist
            if source is None and self._request.source is not None:
                source = read_source(self._spark, self._request.source, self._request.storage_options)
                self._has_read_source = True
            settings = self._settings(config, source)
            self._report.warn(*settings.warnings)
        if config is None:
            created = new_table_config(self._storage, self._request, self._options, settings)
            table = self._access(created, exists=False)
        if self._options.operation is WriteOperation.DELETE_PARTITION:
            return self._with_retries(table, lambda table: self._delete_partitions(table, settings))
        if source is None:
            message = f"Operation {self._request.operation} needs a source."
            raise InvalidRequestError(message, hint="Set --source-path.")
        with staging_area(table, self._request, self._options) as staging:
            staged = self._stage(source, staging.folder, table, settings)
            return self._with_retries(
                table, lambda table: self._write_staged(staged, staging.folder, table, settings)
            )

    def _with_retries(self, table: TableAccess, write: Callable[[TableAccess], JobResult]) -> JobResult:
        """Run the write. After a conflict, place, plan and write the staged rows again, without staging them again."""
        for retries_left in range(self._options.retries_on_conflict, -1, -1):
            try:
                with conflict_where_cleaned(table, lambda: self._planned_with, self._request.request_id):
                    return write(table)
            except FileGroupConflictError as conflict:
                if not retries_left:
                    raise
                _LOG.warning("%s Trying again; retries left: %d", conflict.message, retries_left)
                table = replace(table, exists=True)
        raise AssertionError("unreachable")

    def _write_staged(
        self, staged: StagedInput, folder: str, table: TableAccess, settings: WriteSettings
    ) -> JobResult:
        placed = self._place(staged, folder, table, settings)
        with self._watch.phase("plan"):
            plan = plan_batch(table, placed, self._options)
        self._report.log_plan(plan)
        if self._request.dry_run:
            self._replaced(placed.snapshot, overwritten(settings.operation, placed.snapshot, plan))
            return self._report.planned(placed, plan, settings)
        if plan.is_empty and not self._options.commits_without_rows(table.exists, placed.snapshot.all_slices):
            return self._report.nothing_to_do(placed)
        check = duplicate_check_for(self._spark, folder, table, self._options, settings, placed)
        return self._write(table, settings, placed, plan, folder, check)

    def _access(self, config: TableConfig, *, exists: bool = True) -> TableAccess:
        return open_table(self._storage, self._clock, self._request, self._options, config, exists=exists)

    def _finish_own_commit(self, table: TableAccess) -> JobResult | None:
        """Return the result of the commit that an earlier attempt of this request completed, or None.

        An attempt may complete during the search, so the method searches again after rolling back dead attempts.
        """
        before = self._searched = table.load_timeline()
        if (done := own_commit(table, before, self._request, self._report)) is not None:
            delete_leftovers(table, self._request, self._options)
            return done
        if (done := own_archived_commit(table, self._request, self._report)) is not None:
            return done
        self._clear_dead_attempts(table)
        later = table.load_timeline().since(before)
        if (done := own_commit(table, later, self._request, self._report)) is not None:
            delete_leftovers(table, self._request, self._options)
        return done

    def _clear_dead_attempts(self, table: TableAccess) -> None:
        if not self._request.dry_run:
            policy = self._options.failed_writes_policy
            load = load_id_in(self._options.extra_metadata)
            clear_pending_writes(table, self._lock(), self._request.request_id, policy, load)

    def _settings(self, config: TableConfig | None, source: "DataFrame | None") -> WriteSettings:
        batch = schema_from_spark_json(source.schema.jsonValue()) if source is not None else _NO_ROWS
        given = self._request.source
        try:
            settings, self._schema_json = open_write(self._storage, self._options, config, batch, given)
        except InvalidRequestError as refusal:
            if config is None or source is None:
                raise
            explained = explain_null_columns(refusal, self._request, batch, self._storage)
            raise explain_text_columns(explained, source, given, self._storage) from refusal
        self._report.warn(*null_column_warnings(self._request, batch, self._schema_json))
        if config is not None:
            check_ordering_columns(config, self._schema_json, settings)
        elif source is not None:
            texts = text_column_warnings(source, self._request, batch, settings.combine_fields)
            self._report.warn(*time_warnings(settings), *texts)
        return settings

    def _stage(
        self, source: "DataFrame", folder: str, table: TableAccess, settings: WriteSettings
    ) -> StagedInput:
        with self._watch.phase("stage rows"):
            request = self._request if self._has_read_source else None
            staged = stage_batch(source, request, table, folder, settings)
        self._report.warn(*partition_warnings(self._options, settings, staged, table))
        return staged

    def _place(
        self, staged: StagedInput, folder: str, table: TableAccess, settings: WriteSettings
    ) -> PlacedBatch:
        lookup = lookup_for(self._spark, self._options, settings, table.config)
        with self._watch.phase("find rows"):
            everywhere = lookup.is_global and lookup.searches_files
            whole_table = everywhere or self._options.operation is WriteOperation.INSERT_OVERWRITE_TABLE
            snapshot = self._snapshot(table, None if whole_table else staged.partition_paths)
            require_same_schema(self._schema_json, snapshot.schema_json)
            index = RecordIndex(self._spark, self._storage, folder, lookup)
            files = searched_files(self._spark, table, staged, snapshot, self._options, lookup)
            self._report.warn(*files.warnings)
            placed = place_rows(index, staged, snapshot, files)
            if self._request.skip_unchanged:
                placed = without_unchanged_rows(self._spark, self._storage, folder, settings, placed)
        refuse_duplicates(placed, self._options)
        changed = placed.changed_file_groups(self._options.operation)
        if self._release(table, snapshot, changed):
            return self._place(staged, folder, table, settings)
        return replace(placed, snapshot=self._preview(table, snapshot, changed))

    def _release(self, table: TableAccess, snapshot: TableSnapshot, changed: set[FileGroupId]) -> bool:
        """Release the file groups from pending plans. If the result is True, the caller must load the table again."""
        if self._request.dry_run or changed.isdisjoint(snapshot.clustering_file_groups):
            return False
        options = self._options.pending_clustering
        self._replaced_plans.extend(release_file_groups(table, changed, options, self._lock()))
        return changed.isdisjoint(load_snapshot(self._storage, ()).clustering_file_groups)

    def _preview(
        self, table: TableAccess, snapshot: TableSnapshot, changed: set[FileGroupId]
    ) -> TableSnapshot:
        """In a dry run, return the table as it would be after `_release`; otherwise return the table itself."""
        if self._request.dry_run:
            snapshot, messages = preview_release(table, snapshot, changed, self._options.pending_clustering)
            self._report.warn(*messages)
        return snapshot

    def _snapshot(self, table: TableAccess, partitions: tuple[str, ...] | None) -> TableSnapshot:
        if not table.exists:
            return TableSnapshot(config=table.config, timeline=Timeline())
        enable = self._options.metadata.enable
        snapshot = self._planned_with = load_snapshot(self._storage, partitions, metadata_enable=enable)
        if not self._request.dry_run:
            id_, again = self._request.request_id, self._request.can_be_repeated
            refuse_second_write(table, self._searched, snapshot.timeline, id_, in_archive=again)
        return snapshot

    def _write(
        self,
        table: TableAccess,
        settings: WriteSettings,
        placed: PlacedBatch,
        plan: FileSizingPlan,
        folder: str,
        check: DuplicateCheck | None,
    ) -> JobResult:
        if not table.exists:
            create_table(self._storage, table.config.properties, self._clock)
            table = replace(table, exists=True)
            created = replace(placed.snapshot, schema_json=table.config.create_schema_json)
            placed = replace(placed, snapshot=created)
        replaced = self._replaced(placed.snapshot, overwritten(settings.operation, placed.snapshot, plan))
        extra = self._extra_metadata(table.config, settings)
        with self._attempt(table, placed.snapshot, write_action(table.config, settings.operation)) as attempt:
            attempt.start(workload_profile(plan, placed.snapshot, settings.operation, extra, replaced))
            with self._watch.phase("write files"):
                wanted = facts_to_collect(table, extra[SCHEMA_KEY], folder)
                job = write_job(self._storage, attempt.instant_time, table.config, settings, wanted)
                logs = log_settings(placed.snapshot, self._options, settings)
                written = write_batch(self._spark, job, placed, plan, table.config.table_name, logs)
                replaced_files = replaced_slices(placed.snapshot, replaced)
                facts = collected_facts(self._spark, self._storage, wanted, settings, written, replaced_files)
            metadata = commit_metadata([w.stat for w in written], settings.operation, extra, replaced)
            with self._watch.phase("commit"):
                instant = attempt.complete(metadata, check, facts, placed.reinserted_file_groups)
            self._report.warn(*attempt.warnings)
        return self._report.completed(placed, plan, written, settings, instant, metadata)

    def _replaced(self, snapshot: TableSnapshot, partitions: Sequence[str] | None) -> ReplacedIds | None:
        replaced = None if partitions is None else replaced_file_ids(snapshot, partitions)
        self._report.replacing(self._storage, snapshot, replaced)
        return replaced

    def _delete_partitions(self, table: TableAccess, settings: WriteSettings) -> JobResult:
        """Mark all file groups of the partitions as replaced, without writing new file groups."""
        snapshot = self._snapshot(replace(table, exists=True), None)
        require_same_schema(self._schema_json, snapshot.schema_json)
        patterns = self._options.partitions_to_delete
        partitions = [p for p in snapshot.partitions if partition_matches(p, patterns)]
        deleted = {s.file_group_id for p in partitions for s in snapshot.slices_of(p)}
        if self._release(table, snapshot, deleted):
            return self._delete_partitions(table, settings)
        snapshot = self._preview(table, snapshot, deleted)
        replaced = self._replaced(snapshot, partitions)
        if not replaced or self._request.dry_run:
            return self._report.partitions_deleted(snapshot, replaced, None)
        extra = self._extra_metadata(table.config, settings)
        metadata = commit_metadata([], settings.operation, extra, replaced)
        attempt_on = self._attempt(table, snapshot, Action.REPLACE_COMMIT)
        with staging_area(table, self._request, self._options) as staging, attempt_on as attempt:
            attempt.start(metadata)
            wanted = facts_to_collect(table, extra[SCHEMA_KEY], staging.folder)
            replaced_files = replaced_slices(snapshot, replaced)
            facts = collected_facts(self._spark, self._storage, wanted, settings, [], replaced_files)
            instant = attempt.complete(metadata, facts=facts)
            self._report.warn(*attempt.warnings)
        return self._report.partitions_deleted(snapshot, replaced, instant)

    def _attempt(self, table: TableAccess, snapshot: TableSnapshot, action: Action) -> CommitAttempt:
        strategy = self._options.conflict_strategy
        return CommitAttempt(table, snapshot, action, self._lock(), self._request.request_id, strategy)

    def _extra_metadata(self, config: TableConfig, settings: WriteSettings) -> dict[str, str]:
        schema = to_avro_json(settings.writer_schema, config.table_name, with_meta_fields=False)
        replaced = {GAVE_WAY_KEY: ",".join(self._replaced_plans)} if self._replaced_plans else {}
        own = {REQUEST_ID_KEY: self._request.request_id, SCHEMA_KEY: schema}
        return {**self._options.extra_metadata, **replaced, **own}

    def _lock(self) -> TableLock:
        id_, options = self._request.request_id, self._options.lock
        return measured_lock(self._storage, options, self._clock, self._watch, id_)
