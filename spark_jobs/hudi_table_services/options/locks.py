"""Which table lock a writer takes and how long it waits for it.

By Hudi's keys (HoodieLockConfig, LockConfiguration, StorageBasedLockConfig; Hudi 1.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError

FILE_SYSTEM_PROVIDER = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
STORAGE_BASED_PROVIDER = "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
IN_PROCESS_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_SUPPORTED = {
    name.rpartition(".")[2]: name
    for name in (FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, IN_PROCESS_PROVIDER)
}

_PREFIX = "hoodie.write.lock."
_RENEWAL = "storage.renew.interval.secs"
_LEAST_VALIDITY_SECONDS = 10
_RENEWALS_PER_VALIDITY = 10

_USE = (
    f"Use {FILE_SYSTEM_PROVIDER} on file systems and {STORAGE_BASED_PROVIDER} (Hudi 1.0.2 and later) on object "
    "stores, here and for all other writers of the table."
)
_ELSEWHERE = {
    "Zookeeper": "keeps the lock in a ZooKeeper ensemble",
    "DynamoDB": "keeps the lock in a DynamoDB table",
    "HiveMetastore": "keeps the lock in a Hive metastore",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """Settings of the table lock.

    Attributes:
        provider: `hoodie.write.lock.provider`; empty, or Hudi's in-process lock: the one that fits the storage.
        folder: `hoodie.write.lock.filesystem.path`, relative to the base path, or absolute and below it.
        expire_minutes: `hoodie.write.lock.filesystem.expire`; age at which any writer's lock is taken for
            abandoned, 0 = never.
        wait_ms: `hoodie.write.lock.wait_time_ms`; longest duration of a round of attempts.
        retries: `hoodie.write.lock.num_retries`; attempts of a round beyond the first.
        retry_wait_ms: `hoodie.write.lock.wait_time_ms_between_retry`.
        client_retries: `hoodie.write.lock.client.num_retries`; rounds beyond the first.
        client_retry_wait_ms: `hoodie.write.lock.client.wait_time_ms_between_retry`.
        validity_seconds: `hoodie.write.lock.storage.validity.timeout.secs`; how long a storage-based lock outlives
            its last renewal.
        renew_seconds: `hoodie.write.lock.storage.renew.interval.secs`.

    Raises:
        InvalidRequestError: a value is out of bounds, or the provider is another one.
    """

    provider: str = ""
    folder: str = ".hoodie"
    expire_minutes: int = 0
    wait_ms: int = 60_000
    retries: int = 15
    retry_wait_ms: int = 1_000
    client_retries: int = 50
    client_retry_wait_ms: int = 5_000
    validity_seconds: int = 300
    renew_seconds: int = 30

    def __post_init__(self) -> None:
        if self.provider and self.provider not in _SUPPORTED.values():
            raise _refusal(self.provider)
        bounds = {
            "filesystem.expire": self.expire_minutes,
            "wait_time_ms": self.wait_ms,
            "num_retries": self.retries,
            "wait_time_ms_between_retry": self.retry_wait_ms,
            "client.num_retries": self.client_retries,
            "client.wait_time_ms_between_retry": self.client_retry_wait_ms,
        }
        for key, value in bounds.items():
            if value < 0:
                raise InvalidRequestError(f"{_PREFIX}{key}={value} is below 0.")
        self._check_lease()

    def _check_lease(self) -> None:
        validity = f"{_PREFIX}storage.validity.timeout.secs={self.validity_seconds}"
        if self.renew_seconds < 1:
            raise InvalidRequestError(f"{_PREFIX}{_RENEWAL}={self.renew_seconds} is below 1.")
        if self.validity_seconds < _LEAST_VALIDITY_SECONDS:
            raise InvalidRequestError(f"{validity} is below {_LEAST_VALIDITY_SECONDS}.")
        if self.validity_seconds < self.renew_seconds * _RENEWALS_PER_VALIDITY:
            raise InvalidRequestError(
                f"{validity} is below {_RENEWALS_PER_VALIDITY} times {_PREFIX}{_RENEWAL}={self.renew_seconds}.",
                hint="A lock must outlive some renewals that fail.",
            )

    @classmethod
    def of(cls, hoodie_options: Mapping[str, str]) -> "LockOptions":
        """Settings from the options of a request; keys that do not concern the lock are passed over."""

        def number(key: str, default: int) -> int:
            text = hoodie_options.get(_PREFIX + key, str(default))
            try:
                return int(text)
            except ValueError:
                raise InvalidRequestError(f"{_PREFIX}{key}={text} is not a whole number.") from None

        return cls(
            provider=_full_name(hoodie_options.get(_PREFIX + "provider", "")),
            folder=hoodie_options.get(_PREFIX + "filesystem.path", ".hoodie"),
            expire_minutes=number("filesystem.expire", 0),
            wait_ms=number("wait_time_ms", 60_000),
            retries=number("num_retries", 15),
            retry_wait_ms=number("wait_time_ms_between_retry", 1_000),
            client_retries=number("client.num_retries", 50),
            client_retry_wait_ms=number("client.wait_time_ms_between_retry", 5_000),
            validity_seconds=number("storage.validity.timeout.secs", 300),
            renew_seconds=number(_RENEWAL, 30),
        )


def _full_name(provider: str) -> str:
    """A class of Hudi's may be named without its package."""
    return _SUPPORTED.get(provider, provider)


def _refusal(provider: str) -> InvalidRequestError:
    name = provider.rpartition(".")[2]
    reasons = [f", which {reason}," for start, reason in _ELSEWHERE.items() if name.startswith(start)]
    return InvalidRequestError(
        f"{_PREFIX}provider={provider}{''.join(reasons)} is not supported: writers without the same lock overwrite "
        "each other.",
        hint=_USE,
    )
