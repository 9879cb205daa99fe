"""``.hoodie/.locks/table_lock.json``: the lock of Hudi's StorageBasedLockProvider (Hudi 1.0.2 to 1.2)."""

import json
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.json_text import decode_json_object

_WHAT = "the table lock"
_LONG = range(-(1 << 63), 1 << 63)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLockFile:
    """Content of the lock file.

    Attributes:
        is_released: whether the owner has released the lock. A release does not delete the file.
        valid_until_ms: epoch milliseconds after which the lock counts as abandoned, unless its owner renews it.
        owner: a UUID in lower case.
    """

    is_released: bool
    valid_until_ms: int
    owner: str


def encode_lock_file(lock: StorageLockFile) -> bytes:
    """Encode as compact JSON, with the fields in Hudi's order."""
    fields = {"expired": lock.is_released, "validUntil": lock.valid_until_ms, "owner": lock.owner}
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def decode_lock_file(data: bytes) -> StorageLockFile:
    """Decode a lock file. Unknown fields, which later releases may add, are skipped, as in Hudi.

    Raises:
        MalformedMetadataError: the data is not a JSON object, or a field is missing or of another type.
    """
    fields = decode_json_object(data, _WHAT)
    is_released, valid_until, owner = (fields.get(name) for name in ("expired", "validUntil", "owner"))
    # In Python a boolean is also an int. In Hudi's JSON a boolean is not a number.
    is_number = isinstance(valid_until, int) and not isinstance(valid_until, bool) and valid_until in _LONG
    if not isinstance(is_released, bool) or not is_number or not isinstance(owner, str):
        raise MalformedMetadataError(f"{_WHAT}: expired, validUntil or owner is missing or of another type.")
    return StorageLockFile(is_released=is_released, valid_until_ms=int(str(valid_until)), owner=owner)
