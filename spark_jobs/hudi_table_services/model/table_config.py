"""Table configuration: a typed view of ``.hoodie/hoodie.properties`` (HoodieTableConfig, Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.model.table_version import TableType, TableVersion, TimelineLayout


class RecordMergeMode(str, Enum):
    """Rule that decides which of two versions of a record stays in the table (HoodieRecordMergeMode).

    EVENT_TIME_ORDERING: the version with the larger ordering value stays. If the ordering values are equal, the version
        of the later commit stays.
    COMMIT_TIME_ORDERING: the version of the later commit stays.
    CUSTOM: a payload class decides. Writes to such tables are refused.
    """

    COMMIT_TIME_ORDERING = "COMMIT_TIME_ORDERING"
    EVENT_TIME_ORDERING = "EVENT_TIME_ORDERING"
    CUSTOM = "CUSTOM"


DEFAULT_PAYLOAD = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
EVENT_TIME_PAYLOADS = frozenset({DEFAULT_PAYLOAD, "org.apache.hudi.common.model.EventTimeAvroPayload"})
OVERWRITE_PAYLOAD = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"
PARTIAL_UPDATE_PAYLOAD = "org.apache.hudi.common.model.PartialUpdateAvroPayload"
OVERWRITE_NON_DEFAULTS_PAYLOAD = "org.apache.hudi.common.model.OverwriteNonDefaultsWithLatestAvroPayload"

EVENT_TIME_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
"""Id of the merge strategy that corresponds to EVENT_TIME_ORDERING (HoodieRecordMerger)."""
COMMIT_TIME_STRATEGY = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
"""Id of the merge strategy that corresponds to COMMIT_TIME_ORDERING (HoodieRecordMerger)."""


def mode_of_payload(payload: str) -> RecordMergeMode:
    """Return the merge mode that corresponds to a payload class; CUSTOM if no other mode does."""
    if payload in EVENT_TIME_PAYLOADS:
        return RecordMergeMode.EVENT_TIME_ORDERING
    if payload == OVERWRITE_PAYLOAD:
        return RecordMergeMode.COMMIT_TIME_ORDERING
    return RecordMergeMode.CUSTOM


def _fields(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


@dataclass(frozen=True, slots=True)
class TableConfig:
    """Properties of a table, with typed accessors. The values contain no escapes. Unknown keys are included."""

    properties: Mapping[str, str]

    def get(self, key: str) -> str | None:
        return self.properties.get(key)

    def _flag(self, key: str, default: bool) -> bool:
        text = self.properties.get(key)
        return default if text is None else text.strip().lower() == "true"

    @property
    def table_name(self) -> str:
        name = self.properties.get("hoodie.table.name", "")
        if not name:
            raise MalformedMetadataError("hoodie.properties has no hoodie.table.name.")
        return name

    @property
    def database_name(self) -> str:
        return self.properties.get("hoodie.database.name", "")

    @property
    def table_version(self) -> TableVersion:
        return TableVersion.parse(self.properties.get("hoodie.table.version", "(absent)"))

    @property
    def table_type(self) -> TableType:
        text = self.properties.get("hoodie.table.type", TableType.COPY_ON_WRITE.value)
        try:
            return TableType(text)
        except ValueError:
            raise MalformedMetadataError(f"hoodie.table.type is {text!r}.") from None

    @property
    def record_key_fields(self) -> tuple[str, ...]:
        return _fields(self.properties.get("hoodie.table.recordkey.fields"))

    @property
    def partition_fields(self) -> tuple[str, ...]:
        """Return the column names, without the types in ``field:TYPE`` items of the custom key generator."""
        return tuple(f.split(":")[0] for f in _fields(self.properties.get("hoodie.table.partition.fields")))

    @property
    def formatted_time_fields(self) -> tuple[str, ...]:
        """Return the partition columns whose path segments are formatted times instead of the column's values."""
        generator = self.properties.get("hoodie.table.keygenerator.type") or self.properties.get(
            "hoodie.table.keygenerator.class", ""
        )
        if "TIMESTAMP" in generator.upper():
            return self.partition_fields
        typed = (f.split(":") for f in _fields(self.properties.get("hoodie.table.partition.fields")))
        return tuple(parts[0] for parts in typed if parts[-1].upper() == "TIMESTAMP" and len(parts) > 1)

    @property
    def partition_time_format(self) -> str:
        """Return the Joda pattern of the path segments for `formatted_time_fields`; empty without such a column."""
        if not self.formatted_time_fields:
            return ""
        names = (
            "hoodie.keygen.timebased.output.dateformat",
            "hoodie.deltastreamer.keygen.timebased.output.dateformat",
        )
        return next((self.properties[name] for name in names if name in self.properties), "")

    @property
    def ordering_fields(self) -> tuple[str, ...]:
        return _fields(
            self.properties.get("hoodie.table.ordering.fields")
            or self.properties.get("hoodie.table.precombine.field")
        )

    @property
    def hive_style_partitioning(self) -> bool:
        return self._flag("hoodie.datasource.write.hive_style_partitioning", False)

    @property
    def url_encodes_partitions(self) -> bool:
        """Whether special characters of partition values are written as ``%XX``."""
        return self._flag("hoodie.datasource.write.partitionpath.urlencode", False)

    @property
    def populates_meta_fields(self) -> bool:
        return self._flag("hoodie.populate.meta.fields", True)

    @property
    def drops_partition_columns(self) -> bool:
        return self._flag("hoodie.datasource.write.drop.partition.columns", False)

    @property
    def base_file_format(self) -> str:
        return self.properties.get("hoodie.table.base.file.format", "PARQUET").upper()

    @property
    def metadata_partitions(self) -> tuple[str, ...]:
        """Return the partitions of the metadata table that readers use. If a partition is stale, readers miss rows."""
        return _fields(self.properties.get("hoodie.table.metadata.partitions"))

    @property
    def inflight_metadata_partitions(self) -> tuple[str, ...]:
        return _fields(self.properties.get("hoodie.table.metadata.partitions.inflight"))

    @property
    def timeline_timezone_is_utc(self) -> bool:
        """Whether instant times are in UTC. If not, they are in the local zone of the writer (Hudi's default)."""
        return self.properties.get("hoodie.table.timeline.timezone", "LOCAL").upper() == "UTC"

    @property
    def archive_folder(self) -> str:
        """Return the folder of archived instants, relative to the base path. It is inside the timeline folder."""
        layout = self.table_version.layout
        if layout is TimelineLayout.V1:
            name = self.properties.get("hoodie.archivelog.folder") or "archived"
        else:
            name = self.properties.get("hoodie.timeline.history.path") or "history"
        return f"{layout.timeline_folder}/{name}"

    @property
    def create_schema_json(self) -> str | None:
        return self.properties.get("hoodie.table.create.schema")

    @property
    def record_merge_mode(self) -> RecordMergeMode:
        """Return the stored mode, or the mode that Hudi infers from payload class and ordering fields."""
        stored = self.properties.get("hoodie.record.merge.mode")
        if stored is not None:
            try:
                return RecordMergeMode(stored)
            except ValueError:
                raise MalformedMetadataError(f"hoodie.record.merge.mode is {stored!r}.") from None
        payload = self.properties.get("hoodie.compaction.payload.class")
        if payload is None:
            has_order = bool(self.ordering_fields)
            return RecordMergeMode.EVENT_TIME_ORDERING if has_order else RecordMergeMode.COMMIT_TIME_ORDERING
        return mode_of_payload(payload)
