"""Check without Spark whether a job may build the metadata table of a table."""

from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import check_writable


def check_table(request: RebuildMetadataTableRequest) -> None:
    """Refuse a table that `rebuild.rebuild_metadata_table` would refuse because of its properties.

    Raises:
        InvalidRequestError, UnsupportedTableError, TableNotFoundError: the job cannot change this table.
        CorruptTableError, StorageError: the properties cannot be read.
    """
    config = read_table_config(open_storage(request.base_path, request.storage_options))
    check_writable(config, request.table_name, updates_metadata=False, merge_on_read=True, merges_logs=True)
