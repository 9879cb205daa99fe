"""The file-system lock, which Hudi's writers also use."""

import json
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from obstore.store import MemoryStore

from hudi_table_services.errors import InvalidRequestError, LockNotAcquiredError
from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
    LockOptions,
)
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks import lock as lock_module
from hudi_table_services.storage.locks.lock import FileSystemLock, TableLock, table_lock
from hudi_table_services.storage.locks.storage_based_lock import StorageBasedLock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.object_store import ObjectStoreStorage
from hudi_table_services.storage.stores.storage import Storage
from support.fixed_clock import FixedClock

LOCK = ".hoodie/lock"
HUDI_LOCK = b'{"lockCreateTime":"2026-11-21 05:24:55.786","lockThreadName":"main","lockStacksInfo":[]}'
FEW_RETRIES = LockOptions(retries=2, retry_wait_ms=1, client_retries=0)


@pytest.fixture
def storage() -> Storage:
    return MemoryStorage(uuid4().hex)


def in_the_future(minutes: float) -> FixedClock:
    return FixedClock(SystemClock().now() + timedelta(minutes=minutes))


def test_the_lock_has_the_fields_of_hudis_lock(storage: Storage) -> None:
    with FileSystemLock(storage):
        content = json.loads(storage.read(LOCK))
    assert set(content) == {"lockCreateTime", "lockThreadName", "lockStacksInfo"}
    assert not storage.exists(LOCK)


def test_the_lock_is_released_on_error_and_can_be_taken_again(storage: Storage) -> None:
    lock = FileSystemLock(storage)
    with pytest.raises(ZeroDivisionError), lock:
        raise ZeroDivisionError
    with lock:
        assert storage.exists(LOCK)
        lock.verify()


def test_a_writer_waits_for_a_lock_of_hudi_and_then_fails(storage: Storage) -> None:
    storage.create(LOCK, HUDI_LOCK)
    with (
        pytest.raises(LockNotAcquiredError, match=r"main.*delete the file"),
        FileSystemLock(storage, FEW_RETRIES),
    ):
        pytest.fail("the lock was taken twice")
    assert storage.read(LOCK) == HUDI_LOCK


def test_hudis_lock_never_expires_by_default(storage: Storage) -> None:
    storage.create(LOCK, HUDI_LOCK)
    with pytest.raises(LockNotAcquiredError), FileSystemLock(storage, FEW_RETRIES, in_the_future(100_000)):
        pass


@pytest.mark.parametrize(("age_minutes", "is_taken"), [(9, False), (11, True)])
def test_an_expired_lock_is_taken_over(storage: Storage, age_minutes: int, is_taken: bool) -> None:
    storage.create(LOCK, HUDI_LOCK)
    lock = FileSystemLock(storage, replace(FEW_RETRIES, expire_minutes=10), in_the_future(age_minutes))
    if is_taken:
        with lock:
            assert storage.read(LOCK) != HUDI_LOCK
    else:
        with pytest.raises(LockNotAcquiredError), lock:
            pass


def test_a_lock_of_this_project_expires_if_it_is_not_refreshed(storage: Storage) -> None:
    dead = FileSystemLock(storage)
    dead.__enter__()
    content = storage.read(LOCK)
    dead.__exit__(None, None, None)
    storage.create(LOCK, content)  # simulates that the holder was killed
    with pytest.raises(LockNotAcquiredError), FileSystemLock(storage, FEW_RETRIES, in_the_future(1)):
        pass
    with FileSystemLock(storage, FEW_RETRIES, in_the_future(3)):
        assert storage.read(LOCK) != content


DAMAGED = pytest.mark.parametrize(
    "content",
    [b"", HUDI_LOCK[:40], bytes(byte ^ 0x5A for byte in HUDI_LOCK), b"[]", b"{}"],
    ids=["empty", "half", "noise", "no object", "no name"],
)


@DAMAGED
def test_a_damaged_lock_expires_by_its_age(storage: Storage, content: bytes) -> None:
    storage.create(LOCK, content)
    with (
        pytest.raises(LockNotAcquiredError, match=r"not a valid lock, last changed \d+ s ago.*delete the"),
        FileSystemLock(storage, FEW_RETRIES, in_the_future(1)),
    ):
        pass
    assert storage.read(LOCK) == content
    with FileSystemLock(storage, FEW_RETRIES, in_the_future(3)) as lock:
        lock.verify()
    assert not storage.exists(LOCK)


def test_a_holder_loses_a_damaged_lock(storage: Storage) -> None:
    with FileSystemLock(storage) as lock:
        storage.write(LOCK, b"")
        with pytest.raises(LockNotAcquiredError, match="changed nothing after it lost the lock"):
            lock.verify()


def set_back_by_a_day() -> FixedClock:
    """Return a clock that is a day behind, so that all modification times on the storage seem to be in the future."""
    return in_the_future(-60 * 24)


def test_the_error_names_a_lock_time_in_the_future(storage: Storage) -> None:
    storage.create(LOCK, HUDI_LOCK)
    with (
        pytest.raises(LockNotAcquiredError, match=r"8[67]\d{3} s ahead of the clock of this machine"),
        FileSystemLock(storage, FEW_RETRIES, set_back_by_a_day()),
    ):
        pass


def test_the_lock_of_a_dead_writer_expires_during_a_wait_even_if_its_time_is_in_the_future(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "OWN_LOCK_EXPIRES_MS", 50)
    content = b'{"lockThreadName":"hudi_table_services 1"}'
    storage.create(LOCK, content)
    many_retries = LockOptions(retries=1000, retry_wait_ms=5, client_retries=0)
    started = time.monotonic()
    with FileSystemLock(storage, many_retries, set_back_by_a_day()):
        assert time.monotonic() - started > 0.05
        assert storage.read(LOCK) != content


def test_a_refreshed_lock_with_a_time_in_the_future_is_never_taken_over(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock_module, "OWN_LOCK_EXPIRES_MS", 400)
    monkeypatch.setattr(lock_module, "_REFRESH_SECONDS", 0.02)
    many_retries = LockOptions(retries=200, retry_wait_ms=5, client_retries=0)
    with FileSystemLock(storage) as held:
        with pytest.raises(LockNotAcquiredError), FileSystemLock(storage, many_retries, set_back_by_a_day()):
            pass
        held.verify()


def test_a_lock_that_another_writer_took_over_is_lost_and_not_released(storage: Storage) -> None:
    with FileSystemLock(storage) as lock:
        storage.write(LOCK, HUDI_LOCK)
        with pytest.raises(LockNotAcquiredError, match="taken over"):
            lock.verify()
    assert storage.read(LOCK) == HUDI_LOCK


def test_options_have_the_keys_and_defaults_of_hudi() -> None:
    assert LockOptions.of({}) == LockOptions()
    options = {
        "hoodie.write.lock.filesystem.expire": "7",
        "hoodie.write.lock.num_retries": "3",
        "hoodie.write.lock.client.num_retries": "4",
        "hoodie.write.lock.wait_time_ms": "5",
        "hoodie.write.lock.wait_time_ms_between_retry": "6",
        "hoodie.write.lock.client.wait_time_ms_between_retry": "8",
        "hoodie.write.lock.filesystem.path": ".hoodie/locks",
        "hoodie.write.lock.provider": IN_PROCESS_PROVIDER,
        "hoodie.write.lock.storage.validity.timeout.secs": "90",
        "hoodie.write.lock.storage.renew.interval.secs": "9",
        "hoodie.unrelated": "x",
    }
    assert LockOptions.of(options) == LockOptions(
        provider=IN_PROCESS_PROVIDER,
        folder=".hoodie/locks",
        expire_minutes=7,
        retries=3,
        client_retries=4,
        wait_ms=5,
        retry_wait_ms=6,
        client_retry_wait_ms=8,
        validity_seconds=90,
        renew_seconds=9,
    )


NUMBERS = (
    "filesystem.expire",
    "num_retries",
    "client.num_retries",
    "wait_time_ms",
    "wait_time_ms_between_retry",
    "client.wait_time_ms_between_retry",
    "storage.validity.timeout.secs",
    "storage.renew.interval.secs",
    "storage.heartbeat.poll.secs",
)


@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("key", [*NUMBERS, "provider", "filesystem.path"])
def test_a_blank_option_means_the_default(key: str, blank: str) -> None:
    assert LockOptions.of({f"hoodie.write.lock.{key}": blank}) == LockOptions()


def test_a_blank_path_means_the_folder_where_hudis_writers_look_for_the_lock() -> None:
    storage = MemoryStorage(uuid4().hex)
    with table_lock(storage, LockOptions.of({"hoodie.write.lock.filesystem.path": " "})):
        assert storage.exists(LOCK)


def test_blanks_around_an_option_are_ignored() -> None:
    options = {"hoodie.write.lock.filesystem.path": " locks ", "hoodie.write.lock.num_retries": " 3 "}
    assert LockOptions.of(options) == LockOptions(folder="locks", retries=3)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_retries", "many"),
        ("filesystem.expire", "-1"),
        ("storage.renew.interval.secs", "0"),
        ("storage.validity.timeout.secs", "9"),
        ("storage.validity.timeout.secs", "299"),
    ],
)
def test_the_error_names_an_option_that_is_out_of_bounds(key: str, value: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"{key}={value}"):
        LockOptions.of({f"hoodie.write.lock.{key}": value})


@pytest.mark.parametrize(
    ("provider", "where"),
    [
        ("org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider", "in a ZooKeeper ensemble"),
        (
            "org.apache.hudi.client.transaction.lock.ZookeeperBasedImplicitBasePathLockProvider",
            "in a ZooKeeper ensemble",
        ),
        ("org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider", "in a DynamoDB table"),
        (
            "org.apache.hudi.aws.transaction.lock.DynamoDBBasedImplicitPartitionKeyLockProvider",
            "in a DynamoDB table",
        ),
        ("org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider", "in a Hive metastore"),
        ("ZookeeperBasedLockProvider", "in a ZooKeeper ensemble"),
        ("org.example.LockOfOurOwn", "is not supported"),
    ],
)
def test_the_error_for_an_unsupported_lock_names_alternatives(provider: str, where: str) -> None:
    with pytest.raises(InvalidRequestError) as refusal:
        LockOptions.of({"hoodie.write.lock.provider": provider})
    assert f"hoodie.write.lock.provider={provider}" in str(refusal.value)
    assert where in str(refusal.value)
    assert FILE_SYSTEM_PROVIDER in refusal.value.hint
    assert STORAGE_BASED_PROVIDER in refusal.value.hint


def test_a_supported_lock_may_be_named_without_its_package() -> None:
    options = LockOptions.of({"hoodie.write.lock.provider": "StorageBasedLockProvider"})
    assert options.provider == STORAGE_BASED_PROVIDER


def object_store() -> Storage:
    return ObjectStoreStorage("s3://bucket/trips", MemoryStore())


@pytest.mark.parametrize("provider", ["", IN_PROCESS_PROVIDER])
def test_a_request_without_provider_gets_the_lock_that_suits_the_storage(
    storage: Storage, provider: str, tmp_path: Path
) -> None:
    options = LockOptions(provider=provider)
    for place in (storage, LocalStorage(str(tmp_path))):
        assert isinstance(table_lock(place, options), FileSystemLock)
    assert isinstance(table_lock(object_store(), options), StorageBasedLock)


def test_a_request_gets_the_lock_that_its_options_name(storage: Storage) -> None:
    assert isinstance(table_lock(storage, LockOptions(provider=FILE_SYSTEM_PROVIDER)), FileSystemLock)
    for place in (storage, object_store()):
        assert isinstance(table_lock(place, LockOptions(provider=STORAGE_BASED_PROVIDER)), StorageBasedLock)


def test_object_stores_do_not_support_the_file_system_lock() -> None:
    with pytest.raises(
        InvalidRequestError, match=r"FileSystemBasedLockProvider.*s3://bucket/trips"
    ) as refusal:
        table_lock(object_store(), LockOptions(provider=FILE_SYSTEM_PROVIDER))
    assert "StorageBasedLockProvider" in refusal.value.hint


def test_local_file_systems_do_not_support_the_storage_based_lock(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match=r"conditional puts.*FileSystemBasedLockProvider"):
        table_lock(LocalStorage(str(tmp_path)), LockOptions(provider=STORAGE_BASED_PROVIDER))


def lock_in(storage: Storage, folder: str) -> TableLock:
    return table_lock(storage, LockOptions(folder=folder))


def test_the_lock_folder_may_be_an_absolute_path_as_in_hudi(storage: Storage, tmp_path: Path) -> None:
    local = LocalStorage(str(tmp_path))
    places = [(storage, storage.uri), (local, str(tmp_path)), (local, local.uri)]
    for place, base in places:
        for folder in (".hoodie/locks", f"{base}/.hoodie/locks/"):
            with lock_in(place, folder):
                assert place.exists(".hoodie/locks/lock")


@pytest.mark.parametrize("folder", ["/elsewhere", "s3://bucket/locks"])
def test_a_lock_outside_of_the_table_is_refused(storage: Storage, folder: str) -> None:
    with pytest.raises(InvalidRequestError, match=folder):
        lock_in(storage, folder)
