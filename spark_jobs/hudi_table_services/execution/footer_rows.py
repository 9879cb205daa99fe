"""Read the number of rows of a base file from its footer."""

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.storage.stores.storage import Storage


def footer_row_count(storage: Storage, path: str) -> int:
    """Return the number of rows that the footer of a Parquet file contains. Only the end of the file is read.

    Raises:
        StorageError: the file cannot be read.
        MalformedMetadataError: the file is not a Parquet file.
    """
    try:
        with storage.open_reader(path) as source:
            return int(pq.read_metadata(source).num_rows)
    except pa.ArrowException as error:
        raise MalformedMetadataError(f"{path} has no readable Parquet footer: {error}") from error
