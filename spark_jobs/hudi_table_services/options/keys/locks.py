"""Keys of the table lock (HoodieLockConfig, LockConfiguration, StorageBasedLockConfig; Hudi 1.2)."""

from hudi_table_services.options.kinds import Text, WholeNumber
from hudi_table_services.options.option import ALL_SERVICES, option

LOCK_PROVIDER = option(
    "hoodie.write.lock.provider",
    "",
    "class of the table lock: FileSystemBasedLockProvider or StorageBasedLockProvider; absent: the lock for the "
    "table's storage (docs/concurrency.md) [Hudi: ZooKeeper]",
    Text(),
    services=ALL_SERVICES,
)
LOCK_FOLDER = option(
    "hoodie.write.lock.filesystem.path",
    ".hoodie",
    "file-system lock: folder of the lock file, relative to the base path",
    Text(),
    services=ALL_SERVICES,
)
LOCK_EXPIRE = option(
    "hoodie.write.lock.filesystem.expire",
    0,
    "file-system lock: age in minutes at which a lock counts as abandoned; 0 = never",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_VALIDITY = option(
    "hoodie.write.lock.storage.validity.timeout.secs",
    300,
    "storage-based lock: seconds for which the lock stays valid after its last renewal",
    WholeNumber(least=10),
    services=ALL_SERVICES,
)
LOCK_RENEWAL = option(
    "hoodie.write.lock.storage.renew.interval.secs",
    30,
    "storage-based lock: seconds between renewals, at most a tenth of the validity",
    WholeNumber(least=1),
    "hoodie.write.lock.storage.heartbeat.poll.secs",
    services=ALL_SERVICES,
)
LOCK_WAIT = option(
    "hoodie.write.lock.wait_time_ms",
    60_000,
    "maximum duration of one round of attempts to get the lock, in milliseconds",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_RETRIES = option(
    "hoodie.write.lock.num_retries",
    15,
    "number of further attempts per round after the first one",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_RETRY_WAIT = option(
    "hoodie.write.lock.wait_time_ms_between_retry",
    1000,
    "pause between two attempts of a round, in milliseconds",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_CLIENT_RETRIES = option(
    "hoodie.write.lock.client.num_retries",
    50,
    "number of further rounds after the first one",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_CLIENT_RETRY_WAIT = option(
    "hoodie.write.lock.client.wait_time_ms_between_retry",
    5000,
    "pause between two rounds, in milliseconds",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
