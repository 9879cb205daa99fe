"""The definitions of a table's indexes, which the metadata table contains."""

from collections.abc import Mapping

from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.hudi_format.metadata_table.index_definitions import (
    PATH,
    decode_index_definitions,
)
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.stores.storage import Storage


def read_index_definitions(storage: Storage) -> Mapping[str, IndexDefinition]:
    """Map the name of each index to its definition; empty in table version 6, which has no definitions.

    Raises:
        MalformedMetadataError: the file is damaged.
    """
    try:
        content = storage.read(PATH)
    except ObjectNotFoundError:
        return {}
    with naming(PATH):
        return decode_index_definitions(content)
