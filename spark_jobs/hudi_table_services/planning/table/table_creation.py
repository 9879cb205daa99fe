"""Build the properties of a new table (HoodieTableMetaClient's table builder, Hudi 0.15 and 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.model.key_generator import KeyGeneratorConfig
from hudi_table_services.model.table_config import (
    COMMIT_TIME_STRATEGY,
    DEFAULT_PAYLOAD,
    EVENT_TIME_STRATEGY,
    OVERWRITE_PAYLOAD,
    RecordMergeMode,
)
from hudi_table_services.model.table_version import TableType, TableVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTable:
    """Settings of a new table.

    Attributes:
        create_schema_json: Avro JSON schema of the first batch, without meta columns.
        ordering_fields: columns that decide which of two records wins; empty if the record of the later commit wins.
    """

    table_name: str
    table_version: TableVersion
    table_type: TableType
    key_generator: KeyGeneratorConfig
    ordering_fields: tuple[str, ...]
    merge_mode: RecordMergeMode
    create_schema_json: str
    database_name: str = ""


def new_table_properties(table: NewTable) -> dict[str, str]:
    """Return the entries of ``hoodie.properties``. A table of version 6 must not have keys of later versions."""
    version = table.table_version
    properties = {
        "hoodie.table.name": table.table_name,
        "hoodie.table.type": table.table_type.value,
        "hoodie.table.version": str(int(version)),
        "hoodie.timeline.layout.version": str(int(version.layout)),
        "hoodie.table.base.file.format": "PARQUET",
        "hoodie.archivelog.folder": "archived",
        "hoodie.populate.meta.fields": "true",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.datasource.write.drop.partition.columns": "false",
        "hoodie.table.create.schema": table.create_schema_json,
    }
    if table.database_name:
        properties["hoodie.database.name"] = table.database_name
    properties.update(_merge_properties(table))
    properties.update(_ordering_properties(table))
    properties.update(_layout_two_properties(version))
    properties.update(table.key_generator.table_properties(version))
    return properties


def _merge_properties(table: NewTable) -> Mapping[str, str]:
    """Return the properties that decide which of two records wins, under the keys of the table's version."""
    by_event_time = table.merge_mode is RecordMergeMode.EVENT_TIME_ORDERING
    payload = DEFAULT_PAYLOAD if by_event_time else OVERWRITE_PAYLOAD
    if not table.table_version.has_merge_mode:
        return {"hoodie.compaction.payload.class": payload}
    mode = {"hoodie.record.merge.mode": table.merge_mode.value}
    if table.table_version.names_ordering_fields:
        return mode
    strategy = EVENT_TIME_STRATEGY if by_event_time else COMMIT_TIME_STRATEGY
    return {
        **mode,
        "hoodie.compaction.payload.class": payload,
        "hoodie.record.merge.strategy.id": strategy,
    }


def _ordering_properties(table: NewTable) -> Mapping[str, str]:
    if not table.ordering_fields:
        return {}
    key = (
        "hoodie.table.ordering.fields"
        if table.table_version.names_ordering_fields
        else "hoodie.table.precombine.field"
    )
    return {key: ",".join(table.ordering_fields)}


def _layout_two_properties(version: TableVersion) -> Mapping[str, str]:
    if not version.layout.has_completion_time_in_names:
        return {}
    properties = {
        "hoodie.table.initial.version": str(int(version)),
        "hoodie.timeline.path": "timeline",
        "hoodie.timeline.history.path": "history",
    }
    if version.names_ordering_fields:
        properties["hoodie.table.format"] = "native"
    return properties
