"""Options of the table lock. They determine which lock a job uses, and how long the job waits for the lock.

The keys are Hudi's (HoodieLockConfig, LockConfiguration, StorageBasedLockConfig; Hudi 1.2).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.options.keys.locks import (
    LOCK_CLIENT_RETRIES,
    LOCK_CLIENT_RETRY_WAIT,
    LOCK_EXPIRE,
    LOCK_FOLDER,
    LOCK_PROVIDER,
    LOCK_RENEWAL,
    LOCK_RETRIES,
    LOCK_RETRY_WAIT,
    LOCK_VALIDITY,
    LOCK_WAIT,
)
from hudi_table_services.options.reader import OptionReader

FILE_SYSTEM_PROVIDER = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
STORAGE_BASED_PROVIDER = "org.apache.hudi.client.transaction.lock.StorageBasedLockProvider"
IN_PROCESS_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_SUPPORTED = {
    name.rpartition(".")[2]: name
    for name in (FILE_SYSTEM_PROVIDER, STORAGE_BASED_PROVIDER, IN_PROCESS_PROVIDER)
}

_RENEWALS_PER_VALIDITY = 10

_USE = (
    f"Use {FILE_SYSTEM_PROVIDER} on file systems and {STORAGE_BASED_PROVIDER} (Hudi 1.0.2 and later) on object "
    "stores, for this job and for all other writers of the table."
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
        provider: `hoodie.write.lock.provider`. If it is empty or names Hudi's in-process lock, the type of storage
            decides which lock the job uses.
        folder: `hoodie.write.lock.filesystem.path`: a path relative to the base path, or an absolute path below it.
        expire_minutes: `hoodie.write.lock.filesystem.expire`: age at which a lock counts as abandoned, even if its
            writer is alive. 0 means that a lock never counts as abandoned.
        wait_ms: `hoodie.write.lock.wait_time_ms`: maximum duration of one round of attempts to get the lock.
        retries: `hoodie.write.lock.num_retries`: number of attempts in one round after the first attempt.
        retry_wait_ms: `hoodie.write.lock.wait_time_ms_between_retry`: wait between two attempts of a round.
        client_retries: `hoodie.write.lock.client.num_retries`: number of rounds after the first round.
        client_retry_wait_ms: `hoodie.write.lock.client.wait_time_ms_between_retry`: wait between two rounds.
        validity_seconds: `hoodie.write.lock.storage.validity.timeout.secs`: how long a storage-based lock stays valid
            after its last renewal.
        renew_seconds: `hoodie.write.lock.storage.renew.interval.secs`: interval between two renewals.

    Raises:
        InvalidRequestError: a value is out of bounds, or the lock provider is not supported.
    """

    provider: str = LOCK_PROVIDER.default_value
    folder: str = LOCK_FOLDER.default_value
    expire_minutes: int = LOCK_EXPIRE.default_value
    wait_ms: int = LOCK_WAIT.default_value
    retries: int = LOCK_RETRIES.default_value
    retry_wait_ms: int = LOCK_RETRY_WAIT.default_value
    client_retries: int = LOCK_CLIENT_RETRIES.default_value
    client_retry_wait_ms: int = LOCK_CLIENT_RETRY_WAIT.default_value
    validity_seconds: int = LOCK_VALIDITY.default_value
    renew_seconds: int = LOCK_RENEWAL.default_value

    def __post_init__(self) -> None:
        if self.provider and self.provider not in _SUPPORTED.values():
            raise _refusal(self.provider)
        numbers = {
            LOCK_EXPIRE: self.expire_minutes,
            LOCK_WAIT: self.wait_ms,
            LOCK_RETRIES: self.retries,
            LOCK_RETRY_WAIT: self.retry_wait_ms,
            LOCK_CLIENT_RETRIES: self.client_retries,
            LOCK_CLIENT_RETRY_WAIT: self.client_retry_wait_ms,
            LOCK_VALIDITY: self.validity_seconds,
            LOCK_RENEWAL: self.renew_seconds,
        }
        for option, value in numbers.items():
            option.parse(str(value))
        if self.validity_seconds < self.renew_seconds * _RENEWALS_PER_VALIDITY:
            raise InvalidRequestError(
                f"{LOCK_VALIDITY}={self.validity_seconds} is below {_RENEWALS_PER_VALIDITY} times "
                f"{LOCK_RENEWAL}={self.renew_seconds}.",
                hint="A lock must stay valid even if some renewals fail.",
            )

    @classmethod
    def of(cls, hoodie_options: Mapping[str, str]) -> "LockOptions":
        """Build the settings from the lock options of a request. All other options are ignored."""
        reader = OptionReader(hoodie_options)
        return cls(
            provider=_full_name(reader[LOCK_PROVIDER]),
            folder=reader[LOCK_FOLDER],
            expire_minutes=reader[LOCK_EXPIRE],
            wait_ms=reader[LOCK_WAIT],
            retries=reader[LOCK_RETRIES],
            retry_wait_ms=reader[LOCK_RETRY_WAIT],
            client_retries=reader[LOCK_CLIENT_RETRIES],
            client_retry_wait_ms=reader[LOCK_CLIENT_RETRY_WAIT],
            validity_seconds=reader[LOCK_VALIDITY],
            renew_seconds=reader[LOCK_RENEWAL],
        )


def _full_name(provider: str) -> str:
    """Add the package to the name of one of Hudi's lock providers."""
    return _SUPPORTED.get(provider, provider)


def _refusal(provider: str) -> InvalidRequestError:
    name = provider.rpartition(".")[2]
    reasons = [f", which {reason}," for start, reason in _ELSEWHERE.items() if name.startswith(start)]
    return InvalidRequestError(
        f"{LOCK_PROVIDER}={provider}{''.join(reasons)} is not supported: writers without the same lock overwrite "
        "each other.",
        hint=_USE,
    )
