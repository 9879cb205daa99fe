"""Read a table without Spark. This package writes nothing."""

from collections.abc import Collection, Mapping

from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.archive.archived_completions import use_lookup
from hudi_table_services.storage.stores.storage import Storage


def _archived_completions(
    storage: Storage, config: TableConfig, instants: Collection[str]
) -> Mapping[str, str]:
    # Imported here because almost no table needs the archive to find its file slices.
    from hudi_table_services.tables.archived_timeline import archived_completions

    return archived_completions(storage, config, instants)


use_lookup(_archived_completions)
