"""Content of a DELETE block of the metadata table: keys of one partition, which are deleted unconditionally."""

from collections.abc import Sequence

from hudi_table_services.hudi_format.delete_block import decode_items, encode_items
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, to_avro


def encode_deleted_keys(keys: Sequence[str], partition: str) -> bytes:
    """Encode the content of a block that deletes records of one partition of the metadata table."""
    ordering = to_avro(UNCONDITIONAL)
    return encode_items(
        [{"recordKey": key, "partitionPath": partition, "orderingVal": ordering} for key in keys]
    )


def decode_deleted_keys(content: bytes, what: str) -> tuple[str, ...]:
    """Return the deleted keys, in their order. Raises the errors of `decode_delete_block`."""
    return tuple(item["recordKey"] for item in decode_items(content, what))
