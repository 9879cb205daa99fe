"""The archive of table version 6: log files that contain state files of instants (HoodieArchivedTimeline, Hudi 0.15).

An instant has one record per state. An archive can contain the records of one instant twice. If a writer dies after it
wrote the archive and before it deleted the instant, the next writer archives the instant again.
"""

import functools
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import fastavro

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format import timeline_schemas as schemas
from hudi_table_services.hudi_format.archive_schema import ARCHIVED_META_ENTRY
from hudi_table_services.hudi_format.avro_container import MAGIC as CONTAINER_MAGIC
from hudi_table_services.hudi_format.avro_container import decode_container
from hudi_table_services.hudi_format.commit_metadata import (
    commit_of_record,
    commit_record,
    decode_commit_metadata,
)
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    decode_blocks,
    decode_records,
    encode_block,
    encode_records,
)
from hudi_table_services.model.archival import ArchivedWrite
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.write_stat import CommitMetadata, WriteOperation

_NAME = re.compile(r"\.commits_\.archive\.(\d+)(?:_[\w-]+)?", re.ASCII)
_WRITE_TOKEN = "1-0-1"  # noqa: S105 - not a secret: Hudi's constant for archives
_EMPTY_COMMIT = CommitMetadata(
    operation_type=WriteOperation.UNKNOWN, partition_to_write_stats={}, extra_metadata={"ROLLING_STAT": ""}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedState:
    """One state file of an instant, to be archived.

    Attributes:
        content: bytes of the state file; may be empty, except for a completed instant.
        changed_at: time at which the state file was written, in the format of instant times.
    """

    instant: Instant
    content: bytes
    changed_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRecord:
    """One record of the archive: an instant in one state, and the record's values by Hudi's field names."""

    instant: Instant
    values: Mapping[str, Any]


def archive_file_name(number: int) -> str:
    """Return the name of an archive file; numbers begin at 1."""
    return f".commits_.archive.{number}_{_WRITE_TOKEN}"


def archive_file_number(name: str) -> int | None:
    """Return the number of an archive file; None for other names, such as the name of a plan to merge archive files."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def encode_archive(states: Iterable[ArchivedState], records_per_block: int) -> bytes:
    """Encode state files as the content of one archive file.

    Raises:
        MalformedMetadataError: the content of a state file cannot be read; the message names the instant.
    """
    remaining = iter(states)
    blocks = []
    while batch := list(islice(remaining, records_per_block)):
        content = encode_records([_encoded(state) for state in batch])
        headers = {int(HeaderKey.SCHEMA): _schema_text()}
        blocks.append(
            encode_block(LogBlock(block_type=BlockType.AVRO_DATA, headers=headers, content=content))
        )
    return b"".join(blocks)


def decode_archive(data: bytes) -> Iterator[ArchivedRecord]:
    """Yield the records of an archive file in order. Records with an unknown action or state are skipped.

    Raises:
        MalformedMetadataError: a complete block does not contain archive records.
    """
    for block in decode_blocks(data):
        if block.block_type != BlockType.AVRO_DATA:
            continue
        schema = _parsed_schema(block.headers.get(int(HeaderKey.SCHEMA), ""))
        for encoded in decode_records(block.content):
            record = _record(schema, encoded)
            if record is not None:
                yield record


def archived_writes(records: Iterable[ArchivedRecord]) -> dict[tuple[str, Action], ArchivedWrite]:
    """Map the identity of each completed write to the write.

    Raises:
        MalformedMetadataError: a completed write has no metadata.
    """
    found = {}
    for record in records:
        instant = record.instant
        if instant.is_completed and instant.action.writes_data:
            replaces = instant.action is Action.REPLACE_COMMIT
            values = record.values.get("hoodieReplaceCommitMetadata" if replaces else "hoodieCommitMetadata")
            if values is None:
                raise MalformedMetadataError(
                    f"The archive has no metadata for the completed {instant.action.value} "
                    f"{instant.requested_time}."
                )
            found[instant.identity] = ArchivedWrite(instant=instant, metadata=commit_of_record(values))
    return found


@functools.cache
def _schema_text() -> str:
    return json.dumps(ARCHIVED_META_ENTRY, separators=(",", ":"))


@functools.lru_cache(maxsize=8)
def _parsed_schema(text: str) -> Any:
    try:
        return fastavro.parse_schema(json.loads(text))
    except Exception as error:  # fastavro raises many kinds of error for damaged text
        raise MalformedMetadataError(f"The schema of an archive block cannot be read: {error!r}") from error


def _record(schema: Any, encoded: bytes) -> ArchivedRecord | None:
    try:
        values = fastavro.schemaless_reader(io.BytesIO(encoded), schema, None)
    except Exception as error:  # fastavro raises many kinds of error for damaged bytes
        raise MalformedMetadataError(f"A record of the archive cannot be read: {error!r}") from error
    if not isinstance(values, dict):
        raise MalformedMetadataError("An entry of the archive is not an Avro record.")
    instant = _instant(values)
    return ArchivedRecord(instant=instant, values=values) if instant is not None else None


def _instant(values: Mapping[str, Any]) -> Instant | None:
    time, action, state = (values.get(name) for name in ("commitTime", "actionType", "actionState"))
    try:
        # Releases before 0.6 archived completed instants only, and stored no state.
        known_state = InstantState(state.lower()) if isinstance(state, str) else InstantState.COMPLETED
        return Instant(requested_time=str(time or ""), action=Action(action), state=known_state)
    except ValueError:
        return None


def _encoded(state: ArchivedState) -> bytes:
    instant = state.instant
    try:
        record: dict[str, Any] = {
            "commitTime": instant.requested_time,
            "actionType": instant.action.value,
            "actionState": instant.state.name,
            "stateTransitionTime": state.changed_at,
            # The field is null in every real file, although the schema's default is 1.
            "version": None,
            **_content_field_if_readable(state),
        }
    except MalformedMetadataError as error:
        raise MalformedMetadataError(
            f"{instant.action.value} {instant.requested_time} ({instant.state.value}): {error.message}",
            hint="This instant and all later instants stay on the active timeline.",
        ) from error
    body = io.BytesIO()
    fastavro.schemaless_writer(body, _parsed_schema(_schema_text()), record)
    return body.getvalue()


def _content_field_if_readable(state: ArchivedState) -> dict[str, Any]:
    """Return the field with the content of a state file.

    The requested and inflight files of a completed instant serve only as information. If they cannot be decoded, they
    are archived without content.
    """
    if state.instant.is_completed:
        return _content_field(state)
    try:
        return _content_field(state)
    except MalformedMetadataError:
        return {}


def _content_field(state: ArchivedState) -> dict[str, Any]:
    """Return the field with the content of a state file; no field if the file of a table service is empty."""
    action, is_completed = state.instant.action.comparable, state.instant.is_completed
    if state.instant.action in (Action.COMPACTION, Action.LOG_COMPACTION):
        if not state.content or state.instant.state is not InstantState.REQUESTED:
            return {}
        return {"hoodieCompactionPlan": _container(schemas.COMPACTION_PLAN, state.content)}
    if action in (Action.COMMIT, Action.DELTA_COMMIT):
        metadata = decode_commit_metadata(state.content) if state.content or is_completed else _EMPTY_COMMIT
        return {"hoodieCommitMetadata": commit_record(metadata)}
    if action is Action.REPLACE_COMMIT and state.instant.state is not InstantState.REQUESTED:
        return _content_field_of_replace(state)
    if not state.content and not is_completed:
        return {}
    field = _SERVICES.get((action, is_completed))
    return {field[0]: _container(field[1], state.content)} if field else {}


def _content_field_of_replace(state: ArchivedState) -> dict[str, Any]:
    if state.instant.is_completed:
        return {"hoodieReplaceCommitMetadata": commit_record(decode_commit_metadata(state.content))}
    # Hudi's inflight file of a clustering is empty or repeats the plan.
    if not state.content or state.content.startswith(CONTAINER_MAGIC):
        return {}
    return {"HoodieInflightReplaceMetadata": commit_record(decode_commit_metadata(state.content))}


def _container(schema: Mapping[str, Any], content: bytes) -> dict[str, Any]:
    return decode_container(schema, content)


_SERVICES: Mapping[tuple[Action, bool], tuple[str, Mapping[str, Any]]] = {
    (Action.REPLACE_COMMIT, False): ("hoodieRequestedReplaceMetadata", schemas.REQUESTED_REPLACE),
    (Action.CLEAN, False): ("hoodieCleanerPlan", schemas.CLEAN_PLAN),
    (Action.CLEAN, True): ("hoodieCleanMetadata", schemas.CLEAN_METADATA),
    (Action.ROLLBACK, True): ("hoodieRollbackMetadata", schemas.ROLLBACK_METADATA),
    (Action.SAVEPOINT, True): ("hoodieSavePointMetadata", schemas.SAVEPOINT_METADATA),
}


def written_states(records: Sequence[ArchivedRecord]) -> frozenset[tuple[str, Action]]:
    """Return the identities of the instants whose completed state is among the records."""
    return frozenset(record.instant.identity for record in records if record.instant.is_completed)
