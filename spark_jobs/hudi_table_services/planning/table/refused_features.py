"""Features of a table that this release cannot write."""

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType

_PARTIAL_UPDATES = "hoodie.table.partial.update.mode"
_MERGE_PROPERTIES = "hoodie.record.merge.property."
_TIMELINE_PATH = "hoodie.timeline.path"


def refused_features(config: TableConfig) -> tuple[str, ...]:
    """Unsupported features of the table, as ends of a sentence that starts with "The table"; empty if writable.

    Raises:
        MalformedMetadataError: a property has an impossible value.
    """
    return tuple(feature for feature, present in _features(config).items() if present)


def _features(config: TableConfig) -> dict[str, bool]:
    return {
        "is merge-on-read": config.table_type is not TableType.COPY_ON_WRITE,
        f"has base files of format {config.base_file_format}": config.base_file_format != "PARQUET",
        "has no meta columns (hoodie.populate.meta.fields=false)": not config.populates_meta_fields,
        "drops partition columns from its files": config.drops_partition_columns,
        "was bootstrapped from other files": bool(config.get("hoodie.bootstrap.base.path")),
        "logs changes for CDC": config.get("hoodie.table.cdc.enabled") == "true",
        f"merges partial updates ({_PARTIAL_UPDATES}={config.get(_PARTIAL_UPDATES)})": config.get(
            _PARTIAL_UPDATES
        )
        not in (None, "", "NONE"),
        f"merges by custom rules ({_MERGE_PROPERTIES}*)": any(
            key.startswith(_MERGE_PROPERTIES) for key in config.properties
        ),
        f"keeps its timeline at {config.get(_TIMELINE_PATH)}": config.get(_TIMELINE_PATH)
        not in (None, "", "timeline"),
    }
