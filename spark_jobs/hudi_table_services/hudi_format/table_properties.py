"""``hoodie.properties``: Java properties text with a checksum (HoodieTableConfig, Hudi 0.15 and 1.2).

The checksum covers only the names of database and table. Hudi refuses every access to a table whose checksum is wrong,
but accepts a table without a checksum.
"""

import zlib
from collections.abc import Mapping
from datetime import datetime, timezone

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.java_properties import java_date, load_properties, store_properties

CHECKSUM = "hoodie.table.checksum"

_DATABASE_NAME = "hoodie.database.name"
_TABLE_NAME = "hoodie.table.name"


def decode_properties(data: bytes) -> dict[str, str]:
    """Return the key-value pairs of the file, without escapes. This function does not check the checksum.

    Raises:
        MalformedMetadataError: the file has an escape that no Java program writes.
    """
    return load_properties(data, "hoodie.properties")


def encode_properties(properties: Mapping[str, str], *, saved_at: datetime) -> bytes:
    """Encode the file with a new checksum as its last pair.

    Args:
        properties: key-value pairs, without escapes; must contain `hoodie.table.name`.
        saved_at: time for the comment lines, with time zone.

    Raises:
        MalformedMetadataError: the properties have no table name.
    """
    table = properties.get(_TABLE_NAME)
    if not table:
        raise MalformedMetadataError("Table properties have no hoodie.table.name, which the checksum covers.")
    pairs = {key: value for key, value in properties.items() if key != CHECKSUM}
    pairs[CHECKSUM] = table_checksum(properties.get(_DATABASE_NAME, ""), table)
    instant = saved_at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return store_properties(pairs, [f"Properties saved on {instant}", java_date(saved_at)])


def table_checksum(database: str, table: str) -> str:
    """Return the CRC-32 of ``database.table``, unsigned, in decimal.

    Without a database, the checked string starts with the dot.
    """
    return str(zlib.crc32(f"{database}.{table}".encode()))


def checksum_is_valid(properties: Mapping[str, str]) -> bool:
    """Whether the stored checksum is right or absent."""
    stored = properties.get(CHECKSUM)
    names = (properties.get(_DATABASE_NAME, ""), properties.get(_TABLE_NAME, ""))
    return stored is None or stored.strip() == table_checksum(*names)
