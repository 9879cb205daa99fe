"""Read which writer holds the table lock now. Nothing is written, and no lock is taken."""

from hudi_table_services.errors import HudiTableServiceError, MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.json_text import decode_json_object
from hudi_table_services.hudi_format.lock_file import decode_lock_file
from hudi_table_services.model.overview.table_overview import LockHolder
from hudi_table_services.options.keys.locks import LOCK_FOLDER
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.locks.lock import OWN_LOCK_EXPIRES_MS, OWNER_NAME
from hudi_table_services.storage.locks.storage_based_lock import LOCK_PATH
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage


def lock_holder(storage: Storage, clock: Clock) -> LockHolder | None:
    """Return the holder of the table lock, or None if the lock is free.

    The function searches for both locks of Hudi: the file-system lock in its default folder, and the storage-based
    lock. It finds neither file-system locks in other folders nor locks outside of the table's storage.

    Raises:
        StorageError: the storage does not answer.
    """
    return _storage_based(storage, clock) or _file_system(storage, clock)


def _storage_based(storage: Storage, clock: Clock) -> LockHolder | None:
    try:
        data, changed_ms = storage.read(LOCK_PATH), storage.modified_ms(LOCK_PATH)
    except ObjectNotFoundError:
        return None
    try:
        lock = decode_lock_file(data)
    except MalformedMetadataError as error:
        return LockHolder(path=LOCK_PATH, changed_ms=changed_ms, problem=error.message)
    if lock.is_released:
        return None
    return LockHolder(
        path=LOCK_PATH,
        owner=lock.owner,
        request_id=lock.owner.partition(" ")[2],  # owners of Hudi contain no space
        is_expired=_now_ms(clock) > lock.valid_until_ms,
        changed_ms=changed_ms,
        valid_until_ms=lock.valid_until_ms,
    )


def _file_system(storage: Storage, clock: Clock) -> LockHolder | None:
    path = join_path(LOCK_FOLDER.default_value, "lock")
    try:
        data, changed_ms = storage.read(path), storage.modified_ms(path)
    except ObjectNotFoundError:
        return None
    try:
        owner = str(decode_json_object(data, "the table lock").get("lockThreadName") or "")
    except HudiTableServiceError as error:
        return LockHolder(path=path, changed_ms=changed_ms, problem=error.message)
    # Locks of Hudi expire only if Hudi's writers configure an expiry time. Locks of this project expire if they are not
    # refreshed.
    valid_until_ms = changed_ms + OWN_LOCK_EXPIRES_MS if owner.startswith(OWNER_NAME) else None
    return LockHolder(
        path=path,
        owner=owner,
        request_id=" ".join(owner.split(" ")[2:]) if owner.startswith(OWNER_NAME) else "",
        is_expired=valid_until_ms is not None and _now_ms(clock) > valid_until_ms,
        changed_ms=changed_ms,
        valid_until_ms=valid_until_ms,
    )


def _now_ms(clock: Clock) -> int:
    return int(clock.now().timestamp() * 1000)
