"""Check with the bloom filter in the footer of a base file whether the file can have wanted record keys."""

from collections.abc import Collection

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.hudi_format.footer import decode_key_footer


def may_have_keys(file: pq.ParquetFile, keys: Collection[str]) -> bool:
    """Return whether the file may have one of the keys. True for a file without a readable bloom filter.

    The function does not use the key range in the footer, because Hudi compares keys by UTF-16 code units, and because
    the column ranges of the row groups exclude the same files.
    """
    try:
        bloom = decode_key_footer(file.metadata.metadata or {}).bloom_filter()
    except MalformedMetadataError:
        return True  # A read does not need the filter.
    if bloom is None or not keys:
        return bool(keys)
    return bool(bloom.contains(*utf8_buffers(pa.array(sorted(keys), pa.string()))).any())
