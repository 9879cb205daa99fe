"""Read the rows of a small table, or of some partitions, on a worker."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

if TYPE_CHECKING:
    from pyarrow import Table

    from hudi_table_services.storage.stores.storage import Storage


def read_rows(
    storage: "Storage", partitions: Sequence[str], query_type: str, columns: Sequence[str] | None
) -> "Table":
    """Implement `HudiHook.read_rows`."""
    from hudi_table_services.tables.views.table_rows import read_table_rows

    try:
        return read_table_rows(storage, partitions, query_type=query_type, columns=columns)
    except ModuleNotFoundError as error:
        raise HudiTaskRefusedError(
            f"The package {error.name}, which reads the rows, is not installed. Run: pip install "
            "'airflow-provider-hudi[engine]'."
        ) from error
