"""Open the table of a clustering job, and refuse tables that this release cannot cluster."""

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess, check_writable


def open_table(
    request: JobRequest,
    options: ClusteringJobOptions,
    storage: Storage,
    clock: Clock,
    *,
    executes: bool,
) -> TableAccess:
    """Open the table.

    Args:
        executes: whether the job is going to execute plans, so that it changes the metadata table.

    Raises:
        InvalidRequestError: the table has another name.
        TableNotFoundError, CorruptTableError, UnsupportedTableError: see `read_table_config` and `check_writable`.
    """
    config = read_table_config(storage)
    check_writable(
        config,
        request.table_name,
        updates_metadata=executes and options.metadata.enable is not False,
        merge_on_read=True,
        merges_logs=True,
    )
    return TableAccess(storage=storage, clock=clock, config=config, metadata=options.metadata)


def rule_of(table: TableAccess, options: ClusteringJobOptions) -> MergeRule | None:
    """The rule by which a merge-on-read table merges log files; None for a copy-on-write table.

    Raises:
        UnsupportedTableError, InvalidRequestError, MalformedMetadataError: see `merge_rule`.
    """
    if table.config.table_type is not TableType.MERGE_ON_READ:
        if options.merge_settings:
            raise InvalidRequestError(
                f"{next(iter(options.merge_settings))} has no effect, because the table is copy-on-write.",
                hint="Remove the key from the request.",
            )
        return None
    return merge_rule(table.config, options.merge_settings)
