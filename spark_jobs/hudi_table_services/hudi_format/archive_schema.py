"""Avro schema of a record in the archive of table version 6 (HoodieArchivedMetaEntry, Hudi 0.15)."""

from collections.abc import Mapping
from typing import Any

from hudi_table_services.hudi_format import timeline_schemas as schemas
from hudi_table_services.hudi_format.avro_container import AvroSchema


def _named_once(avro_type: Any, seen: set[str]) -> Any:
    """Replace the second and each later use of a record type by the record's name, as Avro requires."""
    if isinstance(avro_type, list):
        return [_named_once(each, seen) for each in avro_type]
    if not isinstance(avro_type, Mapping):
        return avro_type
    if avro_type["type"] == "record":
        full_name = f"{avro_type['namespace']}.{avro_type['name']}"
        if full_name in seen:
            return full_name
        seen.add(full_name)
        fields = [{**f, "type": _named_once(f["type"], seen)} for f in avro_type["fields"]]
        return {**avro_type, "fields": fields}
    inner = "items" if avro_type["type"] == "array" else "values"
    return {**avro_type, inner: _named_once(avro_type[inner], seen)}


def _nullable(name: str, avro_type: Any) -> dict[str, Any]:
    return {"name": name, "type": ["null", avro_type], "default": None}


# This schema omits two fields of Hudi's schema: compactions of releases before 0.8, and indexes of a metadata table.
# Readers read the missing fields as null.
ARCHIVED_META_ENTRY: AvroSchema = _named_once(
    {
        "type": "record",
        "name": "HoodieArchivedMetaEntry",
        "namespace": schemas.COMMIT_METADATA["namespace"],
        "fields": [
            _nullable("hoodieCommitMetadata", schemas.COMMIT_METADATA),
            _nullable("hoodieCleanMetadata", schemas.CLEAN_METADATA),
            _nullable("hoodieRollbackMetadata", schemas.ROLLBACK_METADATA),
            _nullable("hoodieSavePointMetadata", schemas.SAVEPOINT_METADATA),
            _nullable("commitTime", "string"),
            _nullable("actionType", "string"),
            {"name": "version", "type": ["int", "null"], "default": 1},
            _nullable("hoodieCompactionPlan", schemas.COMPACTION_PLAN),
            _nullable("hoodieCleanerPlan", schemas.CLEAN_PLAN),
            _nullable("actionState", "string"),
            _nullable("hoodieReplaceCommitMetadata", schemas.REPLACE_COMMIT_METADATA),
            _nullable("hoodieRequestedReplaceMetadata", schemas.REQUESTED_REPLACE),
            _nullable("HoodieInflightReplaceMetadata", schemas.COMMIT_METADATA),
            _nullable("stateTransitionTime", "string"),
        ],
    },
    set(),
)
