"""Mapping between the attributes of table service plans and Avro fields."""

from collections.abc import Mapping
from typing import Any, TypeVar

from hudi_table_services.hudi_format.record_codec import AvroName, RecordCodec, ValueCodec, list_of, map_of
from hudi_table_services.model import table_service_plans as plans

T = TypeVar("T")

_TEXTS = list_of()
_MAP = map_of()


def _field(name: str, codec: ValueCodec) -> AvroName:
    return AvroName(name, codec)


def _codec(build: type[T], /, **names: str | AvroName) -> RecordCodec[T]:
    typed = {name: AvroName(avro) if isinstance(avro, str) else avro for name, avro in names.items()}
    return RecordCodec(build, typed, {})


def _codec_of_version_1(build: type[T], /, **names: str | AvroName) -> RecordCodec[T]:
    """Return the codec of a record whose version is always 1 and therefore has no attribute."""
    constants: Mapping[str, Any] = {"version": 1}
    return RecordCodec(build, _codec(build, **names).names, constants)


_CLUSTERING_STRATEGY = _codec_of_version_1(
    plans.PlanStrategy, class_name="strategyClassName", parameters=_field("strategyParams", _MAP)
)

_COMPACTION_STRATEGY = _codec_of_version_1(
    plans.PlanStrategy, class_name="compactorClassName", parameters=_field("strategyParams", _MAP)
)

_CLUSTERING_SLICE = _codec_of_version_1(
    plans.ClusteringSlice,
    file_id="fileId",
    partition_path="partitionPath",
    data_file_path="dataFilePath",
    delta_file_paths=_field("deltaFilePaths", _TEXTS),
    bootstrap_file_path="bootstrapFilePath",
)

_CLUSTERING_GROUP = _codec_of_version_1(
    plans.ClusteringGroup,
    slices=_field("slices", list_of(_CLUSTERING_SLICE.value)),
    metrics=_field("metrics", _MAP),
    output_file_groups="numOutputFileGroups",
    extra_metadata=_field("extraMetadata", _MAP),
)

_CLUSTERING_PLAN = _codec_of_version_1(
    plans.ClusteringPlan,
    groups=_field("inputGroups", list_of(_CLUSTERING_GROUP.value)),
    strategy=_field("strategy", _CLUSTERING_STRATEGY.value),
    extra_metadata=_field("extraMetadata", _MAP),
    preserve_hoodie_metadata="preserveHoodieMetadata",
    missing_schedule_partitions=_field("missingSchedulePartitions", _TEXTS),
)

REQUESTED_REPLACE = _codec_of_version_1(
    plans.RequestedReplace,
    operation_type="operationType",
    clustering_plan=_field("clusteringPlan", _CLUSTERING_PLAN.value),
    extra_metadata=_field("extraMetadata", _MAP),
)

_COMPACTION_OPERATION = _codec(
    plans.CompactionOperation,
    base_instant_time="baseInstantTime",
    file_id="fileId",
    partition_path="partitionPath",
    data_file_path="dataFilePath",
    delta_file_paths=_field("deltaFilePaths", _TEXTS),
    metrics=_field("metrics", _MAP),
    bootstrap_file_path="bootstrapFilePath",
)

COMPACTION_PLAN = _codec(
    plans.CompactionPlan,
    operations=_field("operations", list_of(_COMPACTION_OPERATION.value)),
    extra_metadata=_field("extraMetadata", _MAP),
    version="version",
    strategy=_field("strategy", _COMPACTION_STRATEGY.value),
    preserve_hoodie_metadata="preserveHoodieMetadata",
    missing_schedule_partitions=_field("missingSchedulePartitions", _TEXTS),
)

_RETAINED_INSTANT = _codec(plans.RetainedInstant, requested_time="timestamp", action="action", state="state")

_CLEAN_FILE = _codec(plans.CleanFile, path="filePath", is_bootstrap_base_file="isBootstrapBaseFile")

CLEAN_PLAN = _codec(
    plans.CleanPlan,
    policy="policy",
    earliest_instant_to_retain=_field("earliestInstantToRetain", _RETAINED_INSTANT.value),
    last_completed_commit_time="lastCompletedCommitTimestamp",
    file_names_to_delete=_field("filesToBeDeletedPerPartition", map_of(_TEXTS)),
    version="version",
    files_to_delete=_field("filePathsToBeDeletedPerPartition", map_of(list_of(_CLEAN_FILE.value))),
    partitions_to_delete=_field("partitionsToBeDeleted", _TEXTS),
    extra_metadata=_field("extraMetadata", _MAP),
)

_CLEAN_PARTITION = _codec(
    plans.CleanPartition,
    partition_path="partitionPath",
    policy="policy",
    delete_path_patterns=_field("deletePathPatterns", _TEXTS),
    deleted_files=_field("successDeleteFiles", _TEXTS),
    failed_files=_field("failedDeleteFiles", _TEXTS),
    is_partition_deleted="isPartitionDeleted",
)

CLEAN_METADATA = _codec(
    plans.CleanMetadata,
    start_clean_time="startCleanTime",
    time_taken_ms="timeTakenInMillis",
    total_files_deleted="totalFilesDeleted",
    partitions=_field("partitionMetadata", map_of(_CLEAN_PARTITION.value)),
    earliest_commit_to_retain="earliestCommitToRetain",
    last_completed_commit_time="lastCompletedCommitTimestamp",
    version="version",
    bootstrap_partitions=_field("bootstrapPartitionMetadata", map_of(_CLEAN_PARTITION.value)),
    extra_metadata=_field("extraMetadata", _MAP),
)

_INSTANT = _codec(plans.InstantReference, requested_time="commitTime", action="action")

_ROLLBACK_REQUEST = _codec(
    plans.RollbackRequest,
    partition_path="partitionPath",
    file_id="fileId",
    latest_base_instant="latestBaseInstant",
    files_to_delete=_field("filesToBeDeleted", _TEXTS),
    log_blocks_to_delete=_field("logBlocksToBeDeleted", _MAP),
)

ROLLBACK_PLAN = _codec(
    plans.RollbackPlan,
    instant_to_rollback=_field("instantToRollback", _INSTANT.value),
    requests=_field("RollbackRequests", list_of(_ROLLBACK_REQUEST.value)),
    version="version",
)

_ROLLBACK_PARTITION = _codec(
    plans.RollbackPartition,
    partition_path="partitionPath",
    deleted_files=_field("successDeleteFiles", _TEXTS),
    failed_files=_field("failedDeleteFiles", _TEXTS),
    rollback_log_files=_field("rollbackLogFiles", _MAP),
    log_files_of_failed_commit=_field("logFilesFromFailedCommit", _MAP),
)

ROLLBACK_METADATA = _codec(
    plans.RollbackMetadata,
    start_rollback_time="startRollbackTime",
    time_taken_ms="timeTakenInMillis",
    total_files_deleted="totalFilesDeleted",
    commits_rolled_back=_field("commitsRollback", _TEXTS),
    partitions=_field("partitionMetadata", map_of(_ROLLBACK_PARTITION.value)),
    version="version",
    instants_rolled_back=_field("instantsRollback", list_of(_INSTANT.value)),
)

_SAVEPOINT_PARTITION = _codec(
    plans.SavepointPartition, partition_path="partitionPath", file_names=_field("savepointDataFile", _TEXTS)
)

SAVEPOINT_METADATA = _codec(
    plans.SavepointMetadata,
    saved_by="savepointedBy",
    saved_at_ms="savepointedAt",
    comments="comments",
    partitions=_field("partitionMetadata", map_of(_SAVEPOINT_PARTITION.value)),
    version="version",
)

RESTORE_PLAN = _codec(
    plans.RestorePlan,
    instants_to_rollback=_field("instantsToRollback", list_of(_INSTANT.value)),
    version="version",
    savepoint_to_restore="savepointToRestoreTimestamp",
)

RESTORE_METADATA = _codec(
    plans.RestoreMetadata,
    start_restore_time="startRestoreTime",
    time_taken_ms="timeTakenInMillis",
    instants_rolled_back=_field("instantsToRollback", _TEXTS),
    rollbacks=_field("hoodieRestoreMetadata", map_of(list_of(ROLLBACK_METADATA.value))),
    version="version",
    restored_instants=_field("restoreInstantInfo", list_of(_INSTANT.value)),
)
