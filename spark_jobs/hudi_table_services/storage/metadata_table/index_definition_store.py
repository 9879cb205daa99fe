"""Read the file with the definitions of the indexes in a table's metadata table."""

from collections.abc import Mapping

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.metadata_table.index_definitions import (
    PATH,
    decode_index_definitions,
)
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.options.keys.metadata_index import COLUMN_STATS_COLUMNS
from hudi_table_services.storage.stores.storage import Storage

_CURE = (
    "Restore the file from a backup. Without a backup, delete the file and run rebuild_metadata_table.py: the job "
    f"builds the indexes again. Columns in {COLUMN_STATS_COLUMNS} get statistics; without this key, Hudi's default "
    "columns get statistics."
)


def read_index_definitions(storage: Storage) -> Mapping[str, IndexDefinition]:
    """Map the name of each index to its definition; empty in table version 6, which has no definitions.

    Raises:
        MalformedMetadataError: the file is damaged. The error names the file, and its hint describes the repair.
    """
    try:
        content = storage.read(PATH)
    except ObjectNotFoundError:
        return {}
    try:
        return decode_index_definitions(content)
    except MalformedMetadataError as error:
        raise MalformedMetadataError(f"{PATH}: {error.message}", path=PATH, hint=_CURE) from error
