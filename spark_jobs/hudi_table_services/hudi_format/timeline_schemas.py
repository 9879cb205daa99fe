"""Avro schemas of timeline files: fields, order and defaults as in files of Hudi 0.15.0 and 1.2.0.

If the schemas of two releases differ, this module uses the schema of the later release. Earlier releases can read
records with this schema, because they skip unknown fields. The order inside a union matters, because the default must
have the type of the first branch.
"""

from collections.abc import Sequence
from typing import Any

from hudi_table_services.hudi_format.avro_container import AvroSchema

_NAMESPACE = "org.apache.hudi.avro.model"

_Type = Any
_Field = dict[str, Any]


def _record(name: str, *fields: _Field) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": _NAMESPACE, "fields": list(fields)}


def _required(name: str, avro_type: _Type) -> _Field:
    return {"name": name, "type": avro_type}


def _optional(name: str, avro_type: _Type) -> _Field:
    return {"name": name, "type": ["null", avro_type], "default": None}


def _optionals(avro_type: _Type, *names: str) -> list[_Field]:
    return [_optional(name, avro_type) for name in names]


def _version(default: int = 1) -> _Field:
    return {"name": "version", "type": ["int", "null"], "default": default}


def _array(items: _Type) -> _Type:
    return {"type": "array", "items": items}


def _map(values: _Type) -> _Type:
    return {"type": "map", "values": values}


def _named(schema: AvroSchema) -> str:
    """Return the full name of a record. The name replaces the second and each later use of the record in one schema."""
    return f"{schema['namespace']}.{schema['name']}"


_STRINGS = _array("string")
_STRING_MAP = _map("string")

_RUNTIME_STATS = _record(
    "HoodieRuntimeStats", *_optionals("long", "totalScanTime", "totalCreateTime", "totalUpsertTime")
)

WRITE_STAT = _record(
    "HoodieWriteStat",
    *_optionals("string", "fileId", "path", "prevCommit"),
    *_optionals("long", "numWrites", "numDeletes", "numUpdateWrites", "totalWriteBytes", "totalWriteErrors"),
    _optional("partitionPath", "string"),
    *_optionals("long", "totalLogRecords", "totalLogFiles", "totalUpdatedRecordsCompacted", "numInserts"),
    *_optionals("long", "totalLogBlocks", "totalCorruptLogBlock", "totalRollbackBlocks", "fileSizeInBytes"),
    *_optionals("int", "logVersion"),
    *_optionals("long", "logOffset"),
    _optional("baseFile", "string"),
    _optional("logFiles", _STRINGS),
    _optional("cdcStats", _map("long")),
    _optional("prevBaseFile", "string"),
    *_optionals("long", "minEventTime", "maxEventTime"),
    _optional("runtimeStats", _RUNTIME_STATS),
    *_optionals("long", "totalLogFilesCompacted", "totalLogReadTimeMs", "totalLogSizeCompacted"),
    _optional("tempPath", "string"),
    _optional("numUpdates", "long"),
)

_COMMIT_FIELDS: Sequence[_Field] = (
    _optional("partitionToWriteStats", _map(_array(WRITE_STAT))),
    _optional("compacted", "boolean"),
    _optional("extraMetadata", _STRING_MAP),
    _version(),
    _optional("operationType", "string"),
)

COMMIT_METADATA = _record("HoodieCommitMetadata", *_COMMIT_FIELDS)

REPLACE_COMMIT_METADATA = _record(
    "HoodieReplaceCommitMetadata", *_COMMIT_FIELDS, _optional("partitionToReplaceFileIds", _map(_STRINGS))
)

_SLICE_INFO = _record(
    "HoodieSliceInfo",
    _optional("dataFilePath", "string"),
    _optional("deltaFilePaths", _STRINGS),
    _required("fileId", ["null", "string"]),
    _optional("partitionPath", "string"),
    _optional("bootstrapFilePath", "string"),
    _version(),
)

_CLUSTERING_GROUP = _record(
    "HoodieClusteringGroup",
    _optional("slices", _array(_SLICE_INFO)),
    _optional("metrics", _map("double")),
    {"name": "numOutputFileGroups", "type": ["int", "null"], "default": 1},
    _optional("extraMetadata", _STRING_MAP),
    _version(),
)

_CLUSTERING_STRATEGY = _record(
    "HoodieClusteringStrategy",
    _optional("strategyClassName", "string"),
    _optional("strategyParams", _STRING_MAP),
    _version(),
)

_CLUSTERING_PLAN = _record(
    "HoodieClusteringPlan",
    _optional("inputGroups", _array(_CLUSTERING_GROUP)),
    _optional("strategy", _CLUSTERING_STRATEGY),
    _optional("extraMetadata", _STRING_MAP),
    _version(),
    _optional("preserveHoodieMetadata", "boolean"),
    _optional("missingSchedulePartitions", _STRINGS),
)

REQUESTED_REPLACE = _record(
    "HoodieRequestedReplaceMetadata",
    _optional("operationType", "string"),
    _optional("clusteringPlan", _CLUSTERING_PLAN),
    _optional("extraMetadata", _STRING_MAP),
    _version(),
)

_COMPACTION_OPERATION = _record(
    "HoodieCompactionOperation",
    _required("baseInstantTime", ["null", "string"]),
    _optional("deltaFilePaths", _STRINGS),
    _optional("dataFilePath", "string"),
    _required("fileId", ["null", "string"]),
    _optional("partitionPath", "string"),
    _optional("metrics", _map("double")),
    _optional("bootstrapFilePath", "string"),
)

_COMPACTION_STRATEGY = _record(
    "HoodieCompactionStrategy",
    _optional("compactorClassName", "string"),
    _optional("strategyParams", _STRING_MAP),
    _version(),
)

COMPACTION_PLAN = _record(
    "HoodieCompactionPlan",
    _optional("operations", _array(_COMPACTION_OPERATION)),
    _optional("extraMetadata", _STRING_MAP),
    _version(),
    _optional("strategy", _COMPACTION_STRATEGY),
    {"name": "preserveHoodieMetadata", "type": ["boolean", "null"], "default": False},
    _optional("missingSchedulePartitions", _STRINGS),
)

_ACTION_INSTANT = _record(
    "HoodieActionInstant",
    _required("timestamp", "string"),
    _required("action", "string"),
    _required("state", "string"),
)

_CLEAN_FILE_INFO = _record(
    "HoodieCleanFileInfo", _optional("filePath", "string"), _optional("isBootstrapBaseFile", "boolean")
)

_LAST_COMPLETED_COMMIT = {"name": "lastCompletedCommitTimestamp", "type": "string", "default": ""}

CLEAN_PLAN = _record(
    "HoodieCleanerPlan",
    _optional("earliestInstantToRetain", _ACTION_INSTANT),
    _LAST_COMPLETED_COMMIT,
    _required("policy", "string"),
    _optional("filesToBeDeletedPerPartition", _map(_STRINGS)),
    _version(),
    _optional("filePathsToBeDeletedPerPartition", _map(_array(_CLEAN_FILE_INFO))),
    _optional("partitionsToBeDeleted", _STRINGS),
    _optional("extraMetadata", _STRING_MAP),
)

_CLEAN_PARTITION = _record(
    "HoodieCleanPartitionMetadata",
    _required("partitionPath", "string"),
    _required("policy", "string"),
    _required("deletePathPatterns", _STRINGS),
    _required("successDeleteFiles", _STRINGS),
    _required("failedDeleteFiles", _STRINGS),
    _optional("isPartitionDeleted", "boolean"),
)

CLEAN_METADATA = _record(
    "HoodieCleanMetadata",
    _required("startCleanTime", "string"),
    _required("timeTakenInMillis", "long"),
    _required("totalFilesDeleted", "int"),
    _required("earliestCommitToRetain", "string"),
    _LAST_COMPLETED_COMMIT,
    _required("partitionMetadata", _map(_CLEAN_PARTITION)),
    _version(),
    _optional("bootstrapPartitionMetadata", _map(_named(_CLEAN_PARTITION))),
    _optional("extraMetadata", _STRING_MAP),
)

_INSTANT_INFO = _record("HoodieInstantInfo", _required("commitTime", "string"), _required("action", "string"))

_ROLLBACK_REQUEST = _record(
    "HoodieRollbackRequest",
    _required("partitionPath", "string"),
    *_optionals("string", "fileId", "latestBaseInstant"),
    {"name": "filesToBeDeleted", "type": _STRINGS, "default": []},
    _optional("logBlocksToBeDeleted", _map("long")),
)

ROLLBACK_PLAN = _record(
    "HoodieRollbackPlan",
    _optional("instantToRollback", _INSTANT_INFO),
    _optional("RollbackRequests", _array(_ROLLBACK_REQUEST)),
    _version(),
)

_ROLLBACK_PARTITION = _record(
    "HoodieRollbackPartitionMetadata",
    _required("partitionPath", "string"),
    _required("successDeleteFiles", _STRINGS),
    _required("failedDeleteFiles", _STRINGS),
    _optional("rollbackLogFiles", _map("long")),
    _optional("logFilesFromFailedCommit", _map("long")),
)

ROLLBACK_METADATA = _record(
    "HoodieRollbackMetadata",
    _required("startRollbackTime", "string"),
    _required("timeTakenInMillis", "long"),
    _required("totalFilesDeleted", "int"),
    _required("commitsRollback", _STRINGS),
    _required("partitionMetadata", _map(_ROLLBACK_PARTITION)),
    _version(),
    {"name": "instantsRollback", "type": _array(_INSTANT_INFO), "default": []},
)

_SAVEPOINT_PARTITION = _record(
    "HoodieSavepointPartitionMetadata",
    _required("partitionPath", "string"),
    _required("savepointDataFile", _STRINGS),
)

SAVEPOINT_METADATA = _record(
    "HoodieSavepointMetadata",
    _required("savepointedBy", "string"),
    _required("savepointedAt", "long"),
    _required("comments", "string"),
    _required("partitionMetadata", _map(_SAVEPOINT_PARTITION)),
    _version(),
)

RESTORE_PLAN = _record(
    "HoodieRestorePlan",
    {"name": "instantsToRollback", "type": _array(_INSTANT_INFO), "default": []},
    _version(2),
    _optional("savepointToRestoreTimestamp", "string"),
)

RESTORE_METADATA = _record(
    "HoodieRestoreMetadata",
    _required("startRestoreTime", "string"),
    _required("timeTakenInMillis", "long"),
    _required("instantsToRollback", _STRINGS),
    _required("hoodieRestoreMetadata", _map(_array(["null", ROLLBACK_METADATA]))),
    _version(),
    {"name": "restoreInstantInfo", "type": _array(_named(_INSTANT_INFO)), "default": []},
)
