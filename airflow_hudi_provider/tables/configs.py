"""Read the properties of a table for programs that only read tables."""

from typing import TYPE_CHECKING

from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.model.table_config import TableConfig
    from hudi_table_services.storage.stores.storage import Storage


def find_config(storage: "Storage") -> "TableConfig | None":
    """Implement `HudiHook.find_table_config`."""
    from hudi_table_services.storage.table_store import find_table_config, no_table

    try:
        return find_table_config(storage)
    except InvalidRequestError:
        # The hint of this error is advice for a load, which needs an empty folder. Readers need a table.
        raise no_table(storage) from None


def require_config(storage: "Storage") -> "TableConfig":
    """Implement `HudiHook.table_config`."""
    from hudi_table_services.storage.table_store import no_table

    config = find_config(storage)
    if config is None:
        raise no_table(storage)
    return config
