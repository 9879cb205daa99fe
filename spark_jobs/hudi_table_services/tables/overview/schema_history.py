"""Read the schemas that a table has had, from the schema in each of its latest writes."""

from hudi_table_services.hudi_format.shown_schema import shown_columns
from hudi_table_services.model.overview.table_overview import SchemaHistory, SchemaVersion
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.write_history import HistoryEnd
from hudi_table_services.model.write_stat import SCHEMA_KEY
from hudi_table_services.planning.table.schema_changes import schema_versions
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.recent_writes import latest_writes

SEARCHED_WRITES = 200
"""Largest number of writes that are read. Each write of the active timeline requires one read."""


def schema_history(
    storage: Storage, store: TimelineStore, snapshot: TableSnapshot, *, latest: int = SEARCHED_WRITES
) -> SchemaHistory:
    """Return the schemas of the latest writes, active or archived, oldest first.

    If no write contains a schema, the result contains the schema in the properties of the table, if there is one.

    Args:
        snapshot: properties and timeline of the table; file slices are not needed.
        latest: largest number of writes to read.

    Raises:
        CorruptTableError: a completed instant of the active timeline cannot be read; the message names the instant.
        MalformedMetadataError: the schema in a write is not an Avro record.
    """
    found = latest_writes(storage, store, snapshot, latest=latest)
    schemas: list[SchemaVersion] = []
    before = ""
    for instant, metadata in reversed(found.writes):
        text = metadata.extra_metadata.get(SCHEMA_KEY) or ""
        if text and text != before:
            schemas.append(
                SchemaVersion(
                    instant_time=instant.requested_time,
                    operation=metadata.operation_type.value.lower(),
                    columns=shown_columns(text),
                )
            )
            before = text
    if not schemas and snapshot.config.create_schema_json:
        schemas.append(SchemaVersion(columns=shown_columns(snapshot.config.create_schema_json)))
    return SchemaHistory(
        versions=schema_versions(schemas),
        is_whole=found.end is HistoryEnd.NOTHING_OLDER,
        searched_writes=len(found.writes),
    )
