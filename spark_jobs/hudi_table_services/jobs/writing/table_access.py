"""Open the table of a write, and refuse tables and options that do not fit together. The functions need no pyarrow."""

import logging

from hudi_table_services.commits.finished_writes import remove_traces_of_finished_writes
from hudi_table_services.commits.staging_area import StagingArea
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError, StorageError, UnsupportedTableError
from hudi_table_services.model.merging.merge_rule import Fill, MergeRule
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType
from hudi_table_services.model.write_stat import WriteOperation, load_id_in
from hudi_table_services.options.keys.log_files import TABLE_TYPE
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.table import TableAccess, check_writable

_LOG = logging.getLogger(__name__)


def open_table(
    storage: Storage,
    clock: Clock,
    request: UpsertRequest,
    options: WriteOptions,
    config: TableConfig,
    *,
    exists: bool = True,
) -> TableAccess:
    """Open the table of a write, after the checks of `check_table` if the table exists.

    Args:
        config: properties of the table or, if it does not exist yet, the properties that it will have.
    """
    if exists:
        check_table(request, options, config)
    else:
        _check_merge_on_read(options, config)
    return TableAccess(storage=storage, clock=clock, config=config, exists=exists, metadata=options.metadata)


def check_table(request: UpsertRequest, options: WriteOptions, config: TableConfig) -> None:
    """Refuse a table that a write cannot change safely, or options that contradict the table.

    Raises:
        InvalidRequestError: the table has another name or type, or an option does not work for its type.
        CorruptTableError: the properties may be truncated.
        UnsupportedTableError: this release cannot write the table; the message names the version or feature.
    """
    updates = _updates_metadata(request, options)
    check_writable(config, request.table_name, updates_metadata=updates, merge_on_read=True)
    if options.table_type not in (None, config.table_type):
        key = TABLE_TYPE.name_in(request.options)
        raise InvalidRequestError(
            f"The table is of the type {config.table_type.value}, but the request sets {key}="
            f"{options.new_table_type.value}.",
            hint=f"Remove {key}, because the type of a table does not change.",
        )
    _check_merge_on_read(options, config)


def staging_area(table: TableAccess, request: UpsertRequest, options: WriteOptions) -> StagingArea:
    """Return the folder in which the write stages its rows."""
    # All loads of changes from one position have the same request id. A load must not delete the rows that the running
    # load of another caller has staged, so the folder belongs to the caller.
    owner = load_id_in(options.extra_metadata) or request.request_id
    # A dry run must not delete the staged rows of a running write with the same request id.
    return StagingArea(
        table.storage,
        options.staging_path,
        table.clock,
        owner="" if request.dry_run else owner,
        leaves_no_folder=request.dry_run or not table.exists,
    )


def delete_leftovers(table: TableAccess, request: UpsertRequest, options: WriteOptions) -> None:
    """Delete the temporary files of an attempt that committed and then died. A dry run deletes nothing."""
    if request.dry_run:
        return
    try:
        staging_area(table, request, options).remove_abandoned()
        remove_traces_of_finished_writes(table)
    except StorageError as failure:
        _LOG.warning("Temporary files of an earlier attempt were not deleted: %s", failure)


def table_rule(config: TableConfig) -> MergeRule | None:
    """Rule by which readers merge the log files of a table; None for a copy-on-write table.

    Raises:
        UnsupportedTableError: see `merge_rule`.
    """
    return merge_rule(config) if config.table_type is TableType.MERGE_ON_READ else None


def _updates_metadata(request: UpsertRequest, options: WriteOptions) -> bool:
    return not request.dry_run and options.metadata.enable is not False


def _check_merge_on_read(options: WriteOptions, config: TableConfig) -> None:
    rule = table_rule(config)
    if rule is None:
        return
    _check_rule(rule)
    moves = options.index_type.is_global and options.update_partition_path
    if moves and rule.orders_base_rows and options.operation is WriteOperation.UPSERT:
        raise InvalidRequestError(
            f"With the index {options.index_type.value}, a row whose partition changes is moved, and this release does "
            "not compare the ordering values of moved rows with those in log files.",
            hint="Set the option …update.partition.path of the index to false, or use an index that is not global.",
        )


def _check_rule(rule: MergeRule) -> None:
    if rule.fill is not Fill.NOTHING:
        raise UnsupportedTableError("The table merges partial updates, which this release does not write.")
    if rule.delete_marker is not None:
        raise UnsupportedTableError(
            f"The table marks deletes in the column {rule.delete_marker.field}, which this release does not write."
        )
