"""Open the table of a clustering job, and refuse tables that this release cannot cluster."""

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.hudi_format.bucket_ids import CONSISTENT_HASHING_FOLDER, has_bucket_ids
from hudi_table_services.model.merging.merge_rule import MergeRule
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.clustering_job_options import ClusteringJobOptions
from hudi_table_services.planning.table.merge_rules import merge_rule
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
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


def refuse_bucket_index(table: TableAccess, snapshot: TableSnapshot, metadata_enable: bool | None) -> None:
    """Refuse a table with a bucket index of Hudi: a clustering would move rows out of the file groups of their buckets.

    Hudi does not cluster tables with a simple bucket index either (HoodieSimpleBucketLayout, Hudi 0.15 and 1.2).

    Args:
        snapshot: the whole table, or some of its partitions.
        metadata_enable: see `load_snapshot`.

    Raises:
        UnsupportedTableError: all file ids of the table begin with numbers of buckets, or Hudi has stored the buckets
            of a partition (consistent hashing).
    """
    found = ""
    if has_bucket_ids({each.file_group_id.file_id for each in snapshot.all_slices}):
        whole = load_snapshot(table.storage, metadata_enable=metadata_enable).all_slices
        ids = {each.file_group_id.file_id for each in whole}
        if has_bucket_ids(ids):
            found = (
                f"its {counted(len(ids), 'file id')} begin with numbers of buckets, for example {min(ids)}"
            )
    is_merge_on_read = table.config.table_type is TableType.MERGE_ON_READ
    if not found and is_merge_on_read and table.storage.list_folder(CONSISTENT_HASHING_FOLDER).folders:
        found = f"consistent hashing, {CONSISTENT_HASHING_FOLDER}"
    if found:
        raise UnsupportedTableError(
            f"The table has a bucket index ({found}), so it cannot be clustered: each key must stay in the file group "
            "of its bucket.",
            hint="Do not cluster this table. Compactions merge its log files. To change the number of files, overwrite "
            "the table with another number of buckets.",
        )


def rule_of(table: TableAccess, options: ClusteringJobOptions) -> MergeRule | None:
    """Return the rule by which a merge-on-read table merges log files; None for a copy-on-write table.

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
