"""Hudi's storage-based lock: its content, its validity, and puts without a response."""

import json
import threading
import time
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from obstore.store import MemoryStore

from hudi_table_services.errors import (
    LockNotAcquiredError,
    MalformedMetadataError,
    StorageError,
)
from hudi_table_services.hudi_format.lock_file import StorageLockFile, decode_lock_file, encode_lock_file
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.storage_based_lock import StorageBasedLock
from hudi_table_services.storage.stores.conditional import ConditionalStorage, ObjectVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock

LOCK = ".hoodie/.locks/table_lock.json"
FEW_RETRIES = LockOptions(retries=2, retry_wait_ms=1, client_retries=0)
NOW_MS = 1_767_323_045_678
"""The time of the fixed clock."""


@pytest.fixture(params=[MemoryStorage, ObjectStoreStorage])
def storage(request: pytest.FixtureRequest) -> MemoryStorage | ObjectStoreStorage:
    if request.param is MemoryStorage:
        return MemoryStorage(uuid4().hex)
    return ObjectStoreStorage("s3://bucket/trips", MemoryStore())


Place = MemoryStorage | ObjectStoreStorage


def content(storage: Place) -> StorageLockFile:
    return decode_lock_file(storage.read(LOCK))


def foreign(valid_until_ms: int, *, expired: bool = False) -> bytes:
    return json.dumps({"expired": expired, "validUntil": valid_until_ms, "owner": str(uuid4())}).encode()


def later(**by: float) -> FixedClock:
    return FixedClock(FixedClock().moment + timedelta(**by))


def test_the_content_of_the_lock_equals_the_output_of_hudis_json_library() -> None:
    lock = StorageLockFile(is_released=False, valid_until_ms=1700000000000, owner="0a1b")
    assert encode_lock_file(lock) == b'{"expired":false,"validUntil":1700000000000,"owner":"0a1b"}'
    assert decode_lock_file(encode_lock_file(lock)) == lock


def test_unknown_fields_of_the_lock_are_ignored() -> None:
    data = b'{ "owner" : "x", "expired" : true, "region" : "eu", "validUntil" : -1 }'
    assert decode_lock_file(data) == StorageLockFile(is_released=True, valid_until_ms=-1, owner="x")


def test_a_held_lock_has_an_owner_and_a_validity_and_a_released_lock_is_marked_as_expired(
    storage: Place,
) -> None:
    with StorageBasedLock(storage, LockOptions(), FixedClock()):
        held = content(storage)
        assert (held.is_released, held.valid_until_ms) == (False, NOW_MS + 300_000)
        assert str(UUID(held.owner)) == held.owner
    assert content(storage) == StorageLockFile(
        is_released=True, valid_until_ms=held.valid_until_ms, owner=held.owner
    )
    with StorageBasedLock(storage, LockOptions(), FixedClock()):
        assert content(storage).owner != held.owner


@pytest.mark.parametrize(
    ("valid_until_ms", "is_taken"),
    [
        (NOW_MS + 1, False),
        (NOW_MS - 500, False),
        (NOW_MS - 501, True),
        (NOW_MS + 10**15, False),
        (2**63 - 1, False),
        (-(2**63), True),
    ],
)
def test_a_lock_is_taken_over_only_after_its_expiry_plus_the_clock_drift(
    storage: Place, valid_until_ms: int, is_taken: bool
) -> None:
    theirs = foreign(valid_until_ms)
    storage.create(LOCK, theirs)
    lock = StorageBasedLock(storage, FEW_RETRIES, FixedClock())
    if is_taken:
        with lock:
            assert storage.read(LOCK) != theirs
    else:
        with pytest.raises(LockNotAcquiredError, match=str(valid_until_ms)), lock:
            pytest.fail("the lock was taken twice")
        assert storage.read(LOCK) == theirs


def test_a_released_lock_is_free_before_its_validity_ends(storage: Place) -> None:
    storage.create(LOCK, foreign(2**63 - 1, expired=True))
    with StorageBasedLock(storage, FEW_RETRIES, FixedClock()) as lock:
        lock.verify()


@pytest.mark.parametrize(
    "garbage",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"expired":true}',
        b'{"expired":"true","validUntil":1,"owner":"x"}',
        b'{"expired":true,"validUntil":true,"owner":"x"}',
        b'{"expired":true,"validUntil":1.5,"owner":"x"}',
        b'{"expired":true,"validUntil":9223372036854775808,"owner":"x"}',
        b'{"expired":true,"validUntil":1,"owner":null}',
        b'{"lockCreateTime":"2026-11-21 05:24:55.786","lockThreadName":"main","lockStacksInfo":[]}',
    ],
)
def test_an_invalid_lock_is_an_error_and_is_never_taken_over(storage: Place, garbage: bytes) -> None:
    storage.create(LOCK, garbage)
    with (
        pytest.raises(MalformedMetadataError, match=r"table_lock.json.*then delete it"),
        StorageBasedLock(storage, FEW_RETRIES, later(days=10_000)),
    ):
        pytest.fail("the lock was taken")
    assert storage.read(LOCK) == garbage


def test_a_renewed_lock_is_not_taken_over(storage: Place) -> None:
    clock = FixedClock()
    with StorageBasedLock(storage, LockOptions(validity_seconds=10, renew_seconds=1), clock):
        clock.moment += timedelta(seconds=8)
        deadline = time.monotonic() + 10
        while content(storage).valid_until_ms != NOW_MS + 18_000 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert content(storage).valid_until_ms == NOW_MS + 18_000
        with (
            pytest.raises(LockNotAcquiredError),
            StorageBasedLock(storage, FEW_RETRIES, later(seconds=18)),
        ):
            pass


def test_verify_renews_the_lock_for_the_whole_validity(storage: Place) -> None:
    clock = FixedClock()
    with StorageBasedLock(storage, LockOptions(), clock) as lock:
        clock.moment += timedelta(seconds=299)
        lock.verify()
        assert content(storage).valid_until_ms == NOW_MS + 599_000


def test_an_expired_lock_is_lost_even_if_no_writer_took_it(storage: Place) -> None:
    clock = FixedClock()
    with StorageBasedLock(storage, LockOptions(), clock) as lock:
        before = storage.read(LOCK)
        clock.moment += timedelta(seconds=301)
        for _ in range(2):  # the lock stays lost
            with pytest.raises(LockNotAcquiredError, match="expired or was taken over"):
                lock.verify()
        assert storage.read(LOCK) == before
    assert storage.read(LOCK) == before


def test_a_lock_that_another_writer_took_over_is_lost_and_not_released(storage: Place) -> None:
    clock = FixedClock()
    with StorageBasedLock(storage, LockOptions(), clock) as first_holder:
        with StorageBasedLock(storage, FEW_RETRIES, later(seconds=301)) as successor:
            theirs = storage.read(LOCK)
            # The clock of the first holder does not advance, so the lock has not expired for this holder.
            with pytest.raises(LockNotAcquiredError, match="taken over"):
                first_holder.verify()
            successor.verify()
        released = storage.read(LOCK)
        assert decode_lock_file(theirs).owner == decode_lock_file(released).owner
    assert storage.read(LOCK) == released


@pytest.mark.parametrize("change", ["deleted", "garbage", "another owner"])
def test_a_holder_whose_lock_was_changed_or_deleted_does_not_continue(storage: Place, change: str) -> None:
    with StorageBasedLock(storage, LockOptions(), FixedClock()) as lock:
        if change == "deleted":
            storage.delete(LOCK)
        else:
            storage.write(LOCK, b"garbage" if change == "garbage" else foreign(NOW_MS + 1))
        with pytest.raises(LockNotAcquiredError):
            lock.verify()
        left = storage.exists(LOCK) and storage.read(LOCK)
    assert (storage.exists(LOCK) and storage.read(LOCK)) == left


@dataclass
class UnansweredPuts(FaultyStorage):
    """A storage whose conditional puts get no response.

    Attributes:
        silent_puts: for each of the next puts, whether it succeeds without a response; later puts get a response.
    """

    silent_puts: list[bool] = field(default_factory=list)

    def read_versioned(self, path: str) -> tuple[bytes, ObjectVersion]:
        assert isinstance(self.inner, ConditionalStorage)
        return self.inner.read_versioned(path)

    def put_if(self, path: str, data: bytes, expected: ObjectVersion | None) -> ObjectVersion:
        assert isinstance(self.inner, ConditionalStorage)
        if not self.silent_puts:
            return self.inner.put_if(path, data, expected)
        if self.silent_puts.pop(0):
            self.inner.put_if(path, data, expected)
        raise StorageError("no answer")


def test_a_lock_is_held_even_if_the_response_to_its_acquisition_was_lost(storage: Place) -> None:
    with StorageBasedLock(UnansweredPuts(storage, silent_puts=[True]), FEW_RETRIES, FixedClock()) as lock:
        assert not content(storage).is_released
        lock.verify()
    assert content(storage).is_released


def test_a_failed_acquisition_raises_the_error_of_the_storage(storage: Place) -> None:
    with (
        pytest.raises(StorageError, match="no answer"),
        StorageBasedLock(UnansweredPuts(storage, silent_puts=[False]), FEW_RETRIES, FixedClock()),
    ):
        pass
    assert not storage.exists(LOCK)


def test_a_lock_is_released_even_if_the_response_to_its_release_was_lost(
    storage: Place, caplog: pytest.LogCaptureFixture
) -> None:
    unsure = UnansweredPuts(storage)
    with StorageBasedLock(unsure, FEW_RETRIES, FixedClock()):
        unsure.silent_puts = [True]
    assert content(storage).is_released
    assert caplog.messages == []


def test_a_failed_release_is_retried(storage: Place) -> None:
    unsure = UnansweredPuts(storage)
    with StorageBasedLock(unsure, FEW_RETRIES, FixedClock()):
        unsure.silent_puts = [False, False]
    assert content(storage).is_released


def test_a_late_renewal_by_the_holder_does_not_lose_the_lock(
    storage: Place,
) -> None:
    clock = FixedClock()
    with StorageBasedLock(storage, LockOptions(), clock) as lock:
        ours = content(storage)
        late = StorageLockFile(is_released=False, valid_until_ms=ours.valid_until_ms + 1, owner=ours.owner)
        _, version = storage.read_versioned(LOCK)
        storage.put_if(LOCK, encode_lock_file(late), version)
        lock.verify()
        assert content(storage).owner == ours.owner
    assert content(storage).is_released


def test_a_lock_is_released_on_error_and_can_be_taken_again(storage: Place) -> None:
    lock = StorageBasedLock(storage, FEW_RETRIES)
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    with lock:
        lock.verify()


def test_releasing_the_lock_ends_its_thread(storage: Place) -> None:
    before = threading.active_count()
    with StorageBasedLock(storage):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
