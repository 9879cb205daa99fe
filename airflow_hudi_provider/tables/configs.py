"""Read the properties of a table for programs that only read tables."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.storage.stores.storage import Storage


def find_config(storage: "Storage") -> "TableConfig | None":
    """Implement `HudiHook.find_table_config`."""
    from hudi_table_services.storage.table_store import find_table_to_read

    return find_table_to_read(storage)


def require_config(storage: "Storage") -> "TableConfig":
    """Implement `HudiHook.table_config`."""
    from hudi_table_services.storage.table_store import no_table

    config = find_config(storage)
    if config is None:
        raise no_table(storage)
    return config
