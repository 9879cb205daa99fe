"""Refuse to delete files that the metadata table lists although they belong to no instant."""

from collections.abc import Collection

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.options.keys.writing import METADATA_ENABLE
from hudi_table_services.storage.metadata_table.table_listing import list_from_metadata_table
from hudi_table_services.storage.metadata_table.unusable import UnusableMetadataTable
from hudi_table_services.storage.table_store import METADATA_TABLE, read_table_config
from hudi_table_services.tables.table import TableAccess


def refuse_listed(table: TableAccess, paths: Collection[str]) -> None:
    """Raise an error if the metadata table lists one of the files. Call this function under the table lock.

    Hudi builds a metadata table from the folders, so the metadata table can list orphans. If an orphan is deleted,
    readers that use the metadata table fail, because they expect the file.

    Args:
        paths: files that are about to be deleted, relative to the base path.

    Raises:
        UnsupportedTableError: the metadata table lists one of the files.
        CorruptTableError: the metadata table cannot be read.
    """
    config = read_table_config(table.storage)
    if not config.metadata_partitions:
        return
    listed = list_from_metadata_table(table.storage, config, table.load_timeline(), table.clock)
    cure = f"Run the request again with {METADATA_ENABLE}=false, which deletes the metadata table; then build it again "
    cure += "with rebuild_metadata_table.py."
    if isinstance(listed, UnusableMetadataTable):
        raise CorruptTableError(
            f"The metadata table cannot be read: {listed.message}",
            path=listed.path or METADATA_TABLE,
            hint=f"Nothing was deleted. {cure}",
        )
    names = {stored.path for files in listed.files.values() for stored in files}
    found = sorted(names.intersection(paths))
    if found:
        raise UnsupportedTableError(
            f"The metadata table lists the orphan {found[0]}, so readers that use the metadata table expect the file.",
            path=found[0],
            hint=f"Nothing was deleted. {cure}",
        )
