"""Open the table of a compaction job, and refuse tables that this release cannot compact."""

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.compaction.compaction_job_options import CompactionJobOptions
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable


def open_table(
    request: JobRequest,
    options: CompactionJobOptions,
    storage: Storage,
    clock: Clock,
    *,
    updates_metadata: bool,
) -> TableAccess:
    """Open the table.

    Args:
        updates_metadata: see `check_writable`.

    Raises:
        InvalidRequestError: the table has another name, or is copy-on-write.
        TableNotFoundError, CorruptTableError, UnsupportedTableError: see `read_table_config` and `check_writable`.
    """
    config = read_table_config(storage)
    check_writable(
        config,
        request.table_name,
        updates_metadata=updates_metadata,
        merge_on_read=True,
        merges_logs=True,
    )
    if config.table_type is not TableType.MERGE_ON_READ:
        raise InvalidRequestError(
            f"The table {config.table_name!r} is copy-on-write, so it has no log files to compact.",
            hint="To combine small files of a copy-on-write table, use run_clustering.py.",
        )
    return TableAccess(storage=storage, clock=clock, config=config, metadata=options.metadata)


def rule_of(table: TableAccess, options: CompactionJobOptions) -> MergeRule:
    """The rule by which the table merges log files.

    Raises:
        UnsupportedTableError, InvalidRequestError, MalformedMetadataError: see `merge_rule`.
    """
    return merge_rule(table.config, options.merge_settings)
