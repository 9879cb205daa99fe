"""How long a writer waits for the table lock, by Hudi's keys (HoodieLockConfig, LockConfiguration; Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError

FILE_SYSTEM_PROVIDER = "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider"
IN_PROCESS_PROVIDER = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"

_PREFIX = "hoodie.write.lock."


@dataclass(frozen=True, slots=True, kw_only=True)
class LockOptions:
    """Settings of the table lock.

    Attributes:
        provider: `hoodie.write.lock.provider`; the file-system lock is taken for Hudi's in-process lock too.
        folder: `hoodie.write.lock.filesystem.path`, relative to the base path, or absolute and below it.
        expire_minutes: `hoodie.write.lock.filesystem.expire`; age at which any writer's lock is taken for
            abandoned, 0 = never.
        wait_ms: `hoodie.write.lock.wait_time_ms`; longest duration of a round of attempts.
        retries: `hoodie.write.lock.num_retries`; attempts of a round beyond the first.
        retry_wait_ms: `hoodie.write.lock.wait_time_ms_between_retry`.
        client_retries: `hoodie.write.lock.client.num_retries`; rounds beyond the first.
        client_retry_wait_ms: `hoodie.write.lock.client.wait_time_ms_between_retry`.

    Raises:
        InvalidRequestError: a value is out of bounds, or the provider is another one.
    """

    provider: str = FILE_SYSTEM_PROVIDER
    folder: str = ".hoodie"
    expire_minutes: int = 0
    wait_ms: int = 60_000
    retries: int = 15
    retry_wait_ms: int = 1_000
    client_retries: int = 50
    client_retry_wait_ms: int = 5_000

    def __post_init__(self) -> None:
        if self.provider not in (FILE_SYSTEM_PROVIDER, IN_PROCESS_PROVIDER):
            raise InvalidRequestError(
                f"{_PREFIX}provider={self.provider} is not supported.",
                hint=f"All writers of a table must use the same lock: use {FILE_SYSTEM_PROVIDER}.",
            )
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
            provider=hoodie_options.get(_PREFIX + "provider", FILE_SYSTEM_PROVIDER),
            folder=hoodie_options.get(_PREFIX + "filesystem.path", ".hoodie"),
            expire_minutes=number("filesystem.expire", 0),
            wait_ms=number("wait_time_ms", 60_000),
            retries=number("num_retries", 15),
            retry_wait_ms=number("wait_time_ms_between_retry", 1_000),
            client_retries=number("client.num_retries", 50),
            client_retry_wait_ms=number("client.wait_time_ms_between_retry", 5_000),
        )
