"""Plans and results of table services as Avro container files (TimelineMetadataUtils, Hudi 0.15 and 1.2).

Every `decode_…` function raises MalformedMetadataError if the bytes are not a container file of its kind. The file of a
pending instant can be empty; the caller decides how to treat an empty file.
"""

from collections.abc import Mapping

from hudi_table_services.hudi_format import timeline_schemas as schemas
from hudi_table_services.hudi_format.avro_container import container_notes, decode_container, encode_container
from hudi_table_services.hudi_format.plan_codecs import (
    CLEAN_METADATA,
    CLEAN_PLAN,
    COMPACTION_PLAN,
    REQUESTED_REPLACE,
    RESTORE_METADATA,
    RESTORE_PLAN,
    ROLLBACK_METADATA,
    ROLLBACK_PLAN,
    SAVEPOINT_METADATA,
)
from hudi_table_services.model.table_service_plans import (
    CLUSTER,
    NO_UNDO_NOTE,
    CleanMetadata,
    CleanPlan,
    ClusteringPlan,
    CompactionPlan,
    RequestedReplace,
    RestoreMetadata,
    RestorePlan,
    RollbackMetadata,
    RollbackPlan,
    SavepointMetadata,
    UndoNote,
    UndoReason,
)
from hudi_table_services.model.write_stat import REQUEST_ID_KEY

_OWN = {"airflow.writer": "airflow"}
_UNDO_REASON_KEY = "airflow.undo_reason"


def encode_requested_replace(
    plan: ClusteringPlan | None, extra_metadata: Mapping[str, str] | None = None
) -> bytes:
    """Encode a requested replace commit. Without a plan, all fields are null, as for an overwrite."""
    requested = RequestedReplace(
        operation_type=CLUSTER, clustering_plan=plan, extra_metadata=extra_metadata or {}
    )
    record = REQUESTED_REPLACE.to_avro(requested)
    if plan is None:
        record = dict.fromkeys(record)
    return encode_container(schemas.REQUESTED_REPLACE, record)


def decode_requested_replace(data: bytes) -> RequestedReplace:
    """Decode ``replacecommit.requested`` or ``clustering.requested``."""
    return REQUESTED_REPLACE.from_avro(decode_container(schemas.REQUESTED_REPLACE, data))


def encode_compaction_plan(plan: CompactionPlan) -> bytes:
    """Encode ``compaction.requested``."""
    return encode_container(schemas.COMPACTION_PLAN, COMPACTION_PLAN.to_avro(plan))


def decode_compaction_plan(data: bytes) -> CompactionPlan:
    """Decode ``compaction.requested`` or ``logcompaction.requested``."""
    return COMPACTION_PLAN.from_avro(decode_container(schemas.COMPACTION_PLAN, data))


def encode_clean_plan(plan: CleanPlan) -> bytes:
    """Encode ``clean.requested``. Hudi fails on relative paths in plans of version 2."""
    return encode_container(schemas.CLEAN_PLAN, CLEAN_PLAN.to_avro(plan))


def decode_clean_plan(data: bytes) -> CleanPlan:
    """Decode ``clean.requested`` or, in table version 6, ``clean.inflight``."""
    return CLEAN_PLAN.from_avro(decode_container(schemas.CLEAN_PLAN, data))


def encode_clean_metadata(metadata: CleanMetadata) -> bytes:
    """Encode a completed clean."""
    return encode_container(schemas.CLEAN_METADATA, CLEAN_METADATA.to_avro(metadata))


def decode_clean_metadata(data: bytes) -> CleanMetadata:
    """Decode a completed clean."""
    return CLEAN_METADATA.from_avro(decode_container(schemas.CLEAN_METADATA, data))


def encode_rollback_plan(plan: RollbackPlan, note: UndoNote = NO_UNDO_NOTE) -> bytes:
    """Encode ``rollback.requested``. The file's header contains the note, and names this project as the writer."""
    reason = "" if note.reason is None else note.reason.value
    known = {
        key: text for key, text in ((_UNDO_REASON_KEY, reason), (REQUEST_ID_KEY, note.request_id)) if text
    }
    return encode_container(schemas.ROLLBACK_PLAN, ROLLBACK_PLAN.to_avro(plan), {**_OWN, **known})


def decode_undo_note(data: bytes) -> UndoNote:
    """Decode the note in the header of ``rollback.requested``. A reason of a later release becomes None."""
    notes = container_notes(data)
    reason = next((each for each in UndoReason if each.value == notes.get(_UNDO_REASON_KEY)), None)
    return UndoNote(reason=reason, request_id=notes.get(REQUEST_ID_KEY, ""))


def is_own_rollback_plan(data: bytes) -> bool:
    """Whether the header of a rollback plan names this project as the writer. Hudi writes no such entry."""
    return _OWN.items() <= container_notes(data).items()


def decode_rollback_plan(data: bytes) -> RollbackPlan:
    """Decode ``rollback.requested``."""
    return ROLLBACK_PLAN.from_avro(decode_container(schemas.ROLLBACK_PLAN, data))


def encode_rollback_metadata(metadata: RollbackMetadata) -> bytes:
    """Encode a completed rollback."""
    return encode_container(schemas.ROLLBACK_METADATA, ROLLBACK_METADATA.to_avro(metadata))


def decode_rollback_metadata(data: bytes) -> RollbackMetadata:
    """Decode a completed rollback."""
    return ROLLBACK_METADATA.from_avro(decode_container(schemas.ROLLBACK_METADATA, data))


def encode_savepoint_metadata(metadata: SavepointMetadata, notes: Mapping[str, str] | None = None) -> bytes:
    """Encode a completed savepoint. The file's header contains the notes, because the record has no field for them."""
    return encode_container(schemas.SAVEPOINT_METADATA, SAVEPOINT_METADATA.to_avro(metadata), notes)


def decode_savepoint_metadata(data: bytes) -> SavepointMetadata:
    """Decode a completed savepoint."""
    return SAVEPOINT_METADATA.from_avro(decode_container(schemas.SAVEPOINT_METADATA, data))


def encode_restore_plan(plan: RestorePlan, notes: Mapping[str, str] | None = None) -> bytes:
    """Encode ``restore.requested``. The file's header contains the notes, because the record has no field for them."""
    return encode_container(schemas.RESTORE_PLAN, RESTORE_PLAN.to_avro(plan), notes)


def decode_restore_plan(data: bytes) -> RestorePlan:
    """Decode ``restore.requested``."""
    return RESTORE_PLAN.from_avro(decode_container(schemas.RESTORE_PLAN, data))


def encode_restore_metadata(metadata: RestoreMetadata) -> bytes:
    """Encode a completed restore."""
    return encode_container(schemas.RESTORE_METADATA, RESTORE_METADATA.to_avro(metadata))


def decode_restore_metadata(data: bytes) -> RestoreMetadata:
    """Decode a completed restore."""
    return RESTORE_METADATA.from_avro(decode_container(schemas.RESTORE_METADATA, data))
