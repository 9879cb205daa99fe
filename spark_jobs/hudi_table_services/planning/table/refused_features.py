"""Find the features of a table that this release cannot write."""

from collections.abc import Mapping

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType

_TABLE_TYPE = "hoodie.table.type"
_FORMAT = "hoodie.table.base.file.format"
_META_FIELDS = "hoodie.populate.meta.fields"
_DROPS_COLUMNS = "hoodie.datasource.write.drop.partition.columns"
_BOOTSTRAP = "hoodie.bootstrap.base.path"
_CDC = "hoodie.table.cdc.enabled"
_PARTIAL_UPDATES = "hoodie.table.partial.update.mode"
_MERGE_PROPERTIES = "hoodie.record.merge.property."
_TIMELINE_PATH = "hoodie.timeline.path"


def refused_features(
    config: TableConfig, *, merge_on_read: bool = False, merges_logs: bool = False
) -> Mapping[str, str]:
    """Return the features of the table that this release cannot write, as phrases that follow the words "The table".

    Args:
        merge_on_read: whether the caller handles merge-on-read tables.
        merges_logs: whether the caller also merges log files. Such a caller must call `merge_rules.merge_rule`, which
            refuses merges that this release does not know.

    Returns:
        Maps each feature to the name of the table property that shows the feature; empty if this release can write the
        table.

    Raises:
        MalformedMetadataError: a property has an impossible value.
    """
    has_logs = config.table_type is not TableType.COPY_ON_WRITE
    merges_logs = has_logs and merges_logs
    partial, path = config.get(_PARTIAL_UPDATES), config.get(_TIMELINE_PATH)
    merge = next((key for key in sorted(config.properties) if key.startswith(_MERGE_PROPERTIES)), "")
    features = (
        ("is merge-on-read", _TABLE_TYPE, has_logs and not merge_on_read),
        (
            f"has base files of format {config.base_file_format}",
            _FORMAT,
            config.base_file_format != "PARQUET",
        ),
        (f"has no meta columns ({_META_FIELDS}=false)", _META_FIELDS, not config.populates_meta_fields),
        ("drops partition columns from its files", _DROPS_COLUMNS, config.drops_partition_columns),
        ("was bootstrapped from other files", _BOOTSTRAP, bool(config.get(_BOOTSTRAP))),
        ("logs changes for CDC", _CDC, config.get(_CDC) == "true"),
        (
            f"merges partial updates ({_PARTIAL_UPDATES}={partial})",
            _PARTIAL_UPDATES,
            partial not in (None, "", "NONE") and not merges_logs,
        ),
        (f"merges by custom rules ({_MERGE_PROPERTIES}*)", merge, bool(merge) and not merges_logs),
        (f"keeps its timeline at {path}", _TIMELINE_PATH, path not in (None, "", "timeline")),
    )
    return {feature: name for feature, name, is_present in features if is_present}
