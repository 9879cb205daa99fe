"""Write the files of a batch on Spark's executors, after each row has been assigned its place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hudi_table_services.contract.text import counted
from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.file_groups import (
    WriteJob,
    WrittenFileGroup,
    new_file_id,
)
from hudi_table_services.execution.log_merging.slice_reading import LogMerging
from hudi_table_services.execution.metadata_table.collected_facts import CollectedFacts, FactsToCollect
from hudi_table_services.execution.metadata_table.row_changes import StagedRowChanges, stage_replaced_rows
from hudi_table_services.execution.spark_tasks import run_tasks
from hudi_table_services.execution.task_groups import BYTES_OF_A_FILE
from hudi_table_services.execution.writing.log_writing import LogSettings, write_bucket
from hudi_table_services.execution.writing.task_assignment import assign_tasks
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.jobs.writing.batch_placement import PlacedBatch
from hudi_table_services.jobs.writing.log_settings import log_targets
from hudi_table_services.jobs.writing.table_access import table_rule
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.file_sizing import FileSizingPlan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import OVERWRITE, WriteOperation
from hudi_table_services.storage.file_slices import visibility_of
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPLACES = (*OVERWRITE, WriteOperation.DELETE_PARTITION)
"""Operations that replace file groups."""


def write_job(
    storage: Storage, instant_time: str, config: TableConfig, settings: WriteSettings, wanted: FactsToCollect
) -> WriteJob:
    """Return the settings that all tasks of the write share.

    Args:
        instant_time: requested time of the write. The names of its files contain this time.
        wanted: the facts that the tasks collect for the metadata table.
    """
    return WriteJob(
        storage=storage,
        instant_time=instant_time,
        data_schema=arrow_schema(settings.writer_schema, with_meta_fields=False),
        avro_schema_json=to_avro_json(settings.writer_schema, config.table_name, with_meta_fields=True),
        parquet=settings.parquet,
        bloom=settings.bloom,
        ordering_fields=settings.merge_fields,
        statistics_columns=wanted.statistics_columns,
        key_staging=wanted.key_staging,
        secondary=wanted.secondary,
        small_row_group_bytes=settings.small_row_group_bytes,
    )


def write_action(config: TableConfig, operation: WriteOperation) -> Action:
    """Action of the instant of a write."""
    if operation in REPLACES:
        return Action.REPLACE_COMMIT
    return Action.DELTA_COMMIT if config.table_type is TableType.MERGE_ON_READ else Action.COMMIT


def write_batch(
    spark: "SparkSession",
    job: WriteJob,
    placed: PlacedBatch,
    plan: FileSizingPlan,
    table_name: str,
    logs: LogSettings | None = None,
) -> list[WrittenFileGroup]:
    """Write every file group of the plan. Readers do not see the files before the commit.

    Args:
        logs: encoding of log files; None if the table is copy-on-write. In a merge-on-read table, changes of a file
            group are written into a log file, unless rows are added to the base file of the file group.

    Raises:
        HudiTableServiceError: see `run_tasks`.
    """
    targets = None if logs is None else log_targets(placed.snapshot, job.instant_time)
    tasks = assign_tasks(plan, placed.routed.batches, placed.snapshot, new_file_id, targets)
    return run_tasks(
        spark,
        tasks,
        lambda task: write_bucket(job, logs, task),
        description=f"Write {counted(len(tasks), 'file group')} of {table_name} at {job.instant_time}",
        weights=[task.expected_bytes + BYTES_OF_A_FILE for task in tasks],
        measure=lambda written: (written.stat.num_writes, written.stat.file_size_bytes),
    )


def collected_facts(
    spark: "SparkSession",
    storage: Storage,
    wanted: FactsToCollect,
    settings: WriteSettings,
    written: Sequence[WrittenFileGroup],
    replaced: "ReplacedSlices",
) -> CollectedFacts:
    """Collect the facts that the metadata table needs about the files of a write.

    Args:
        replaced: slices that the write replaces. The record index and the secondary indexes lose the keys of these
            slices, except keys that the write adds again.

    Raises:
        HudiTableServiceError: see `run_tasks`.
    """
    staged = [StagedRowChanges(each.keys, each.secondary) for each in written]
    staging, secondary = wanted.key_staging, wanted.secondary
    if (staging is not None or secondary) and replaced.slices:
        data_schema = arrow_schema(settings.writer_schema, with_meta_fields=False)
        merging = replaced.merging
        staged += run_tasks(
            spark,
            replaced.slices,
            lambda each: stage_replaced_rows(storage, staging, secondary, data_schema, each, merging),
            description=f"Read the keys of {counted(len(replaced.slices), 'replaced file group')}",
            weights=[file_slice.size_bytes + BYTES_OF_A_FILE for file_slice in replaced.slices],
            measure=_key_counts,
        )
    facts = CollectedFacts.of(
        wanted,
        [each.statistics for each in written],
        [each.keys for each in staged],
        [entry for each in staged for entry in each.secondary],
    )
    stats = [each.stat for each in written if each.keys_depend_on_compaction]
    return replace(
        facts, depend_on_compactions=frozenset(FileGroupId(s.partition_path, s.file_id) for s in stats)
    )


@dataclass(frozen=True, slots=True)
class ReplacedSlices:
    """Newest slices of the file groups that a write replaces.

    Attributes:
        merging: how their log files are merged; None for a copy-on-write table.
    """

    slices: tuple[FileSlice, ...]
    merging: LogMerging | None = None


def overwritten(
    operation: WriteOperation, snapshot: TableSnapshot, plan: FileSizingPlan
) -> Sequence[str] | None:
    """Return the partitions whose file groups the write replaces; None if the operation replaces none."""
    if operation not in REPLACES:
        return None
    everything = operation is WriteOperation.INSERT_OVERWRITE_TABLE
    return snapshot.partitions if everything else [p.partition_path for p in plan.partitions]


def replaced_slices(
    snapshot: TableSnapshot, replaced: Mapping[str, tuple[str, ...]] | None
) -> ReplacedSlices:
    """Newest slices of replaced file groups.

    Args:
        replaced: partition path → ids of file groups; None if the write replaces no file group.

    Raises:
        UnsupportedTableError: see `table_rule`.
    """
    rule = table_rule(snapshot.config)
    slices = tuple(
        found
        for path, ids in (replaced or {}).items()
        for found in snapshot.slices_of(path)
        if found.file_group_id.file_id in ids
    )
    return ReplacedSlices(slices, None if rule is None else LogMerging(rule, visibility_of(snapshot)))


def _key_counts(staged: StagedRowChanges) -> tuple[int, int]:
    return staged.deleted_count, staged.size_bytes
