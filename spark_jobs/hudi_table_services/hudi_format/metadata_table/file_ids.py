"""Convert file ids between strings and the numbers of the record index.

A file id that Hudi creates is a UUID and a number, ``<uuid>-<number>``, or only a UUID. The record index stores the two
halves of the UUID as signed integers of 64 bits, and the number (HoodieMetadataPayload.createRecordIndexUpdate, Hudi
1.2).
"""

import uuid
from functools import lru_cache

from hudi_table_services.errors import MalformedMetadataError

NO_NUMBER = -1
_UUID_LENGTH = 36
_SIGN, _MASK = 1 << 63, (1 << 64) - 1
_MAX_NUMBER = 0x7FFFFFFF
# Many records of a record index have the same file id, so a cache saves most conversions.
_CACHED_IDS = 4096


def is_uuid_file_id(file_id: str) -> bool:
    """Whether a file id can be stored as numbers without loss."""
    try:
        return join_file_id(*_parts(file_id)) == file_id
    except ValueError:
        return False


@lru_cache(maxsize=_CACHED_IDS)
def split_file_id(file_id: str) -> tuple[int, int, int]:
    """Return high half, low half and number of a file id; the number is -1 if the id is only a UUID.

    Raises:
        MalformedMetadataError: the id is not a UUID with or without a number.
    """
    if not is_uuid_file_id(file_id):
        raise MalformedMetadataError(f"The file id {file_id!r} is not a UUID, with or without a number.")
    return _parts(file_id)


@lru_cache(maxsize=_CACHED_IDS)
def join_file_id(high: int, low: int, number: int) -> str:
    """Return the file id that consists of two halves and a number; the inverse of `split_file_id`."""
    text = str(uuid.UUID(int=(high & _MASK) << 64 | low & _MASK))
    return text if number == NO_NUMBER else f"{text}-{number}"


def _parts(file_id: str) -> tuple[int, int, int]:
    text, _, number = (
        (file_id, "", str(NO_NUMBER)) if len(file_id) == _UUID_LENGTH else file_id.rpartition("-")
    )
    value = uuid.UUID(text).int
    if not NO_NUMBER <= int(number) <= _MAX_NUMBER:
        raise ValueError("the number does not fit into 32 bits")
    return _signed(value >> 64), _signed(value & _MASK), int(number)


def _signed(value: int) -> int:
    return value - (1 << 64) if value & _SIGN else value
