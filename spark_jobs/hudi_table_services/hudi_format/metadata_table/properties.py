"""`hoodie.properties` of a metadata table (HoodieMetadataWriteUtils; Hudi 0.15, 1.0 and 1.2)."""

from datetime import datetime

from hudi_table_services.hudi_format.table_properties import encode_properties
from hudi_table_services.model.table_version import TableVersion, TimelineLayout

_SUFFIX = "_metadata"
_OF_ALL_VERSIONS = {
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.base.file.format": "HFILE",
    "hoodie.table.recordkey.fields": "key",
    "hoodie.populate.meta.fields": "false",
    "hoodie.datasource.write.drop.partition.columns": "false",
    "hoodie.compaction.payload.class": "org.apache.hudi.metadata.HoodieMetadataPayload",
}
_OF_LAYOUT_1 = {
    "hoodie.archivelog.folder": "archived",
    "hoodie.table.keygenerator.class": "org.apache.hudi.metadata.HoodieTableMetadataKeyGenerator",
    "hoodie.compaction.record.merger.strategy": "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5",
}
_OF_LAYOUT_2 = {
    "hoodie.archivelog.folder": "history",
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
    "hoodie.table.keygenerator.type": "HOODIE_TABLE_METADATA",
    "hoodie.record.merge.mode": "CUSTOM",
    "hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000",
}


def metadata_table_properties(table_name: str, version: TableVersion) -> dict[str, str]:
    """Return the properties of a new metadata table, without the checksum.

    Args:
        table_name: name of the table that the metadata table describes.
        version: table version of that table, which is also the version of its metadata table.
    """
    pairs = {
        "hoodie.table.name": f"{table_name}{_SUFFIX}",
        "hoodie.table.version": str(version.value),
        "hoodie.timeline.layout.version": str(version.layout.value),
        **_OF_ALL_VERSIONS,
    }
    if version.layout is TimelineLayout.V1:
        return pairs | _OF_LAYOUT_1
    return pairs | _OF_LAYOUT_2 | {"hoodie.table.initial.version": str(version.value)}


def encode_metadata_table_properties(table_name: str, version: TableVersion, *, saved_at: datetime) -> bytes:
    """Encode the file `hoodie.properties` of a new metadata table, with the checksum."""
    return encode_properties(metadata_table_properties(table_name, version), saved_at=saved_at)
