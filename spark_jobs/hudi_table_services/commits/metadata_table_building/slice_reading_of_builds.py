"""Choose how a build reads the file slices of a table. A build merges log files in the same way as readers."""

from collections.abc import Iterable

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.log_merging.column_defaults import column_defaults
from hudi_table_services.execution.log_merging.slice_reading import LogMerging, SliceReading
from hudi_table_services.model.merging.merge_rule import MergeOrder, MergeRule
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.tables.metadata_content import TableContent

_NO_LOGS = MergeRule(ordering_fields=(), order=MergeOrder.BY_ARRIVAL, orders_base_rows=False)
"""Rule of a copy-on-write table, which has no log files to merge."""


def slice_reading(content: TableContent, config: TableConfig, columns: Iterable[str] = ()) -> SliceReading:
    """Return how to read the record keys and some columns of the live file slices.

    Args:
        columns: names of top-level columns of the user to read, in addition to the record key.

    Raises:
        UnsupportedTableError: see `merge_rule` and `column_defaults`.
    """
    rule = _NO_LOGS if config.table_type is TableType.COPY_ON_WRITE else merge_rule(config)
    has_own_times = config.table_version.has_own_log_instants
    visibility = Visibility.of(content.timeline, has_own_log_instants=has_own_times)
    defaults = column_defaults(rule, content.schema_json, content.schema) if content.schema_json else {}
    data_schema = arrow_schema(content.schema, with_meta_fields=False)
    return LogMerging(rule, visibility, defaults).reading(data_schema, columns)
