"""Keys of the table lock (HoodieLockConfig, LockConfiguration, StorageBasedLockConfig; Hudi 1.2)."""

from hudi_table_services.options.kinds import Text, WholeNumber
from hudi_table_services.options.option import ALL_SERVICES, option

LOCK_PROVIDER = option(
    "hoodie.write.lock.provider",
    "",
    "the file-system or the storage-based lock; left out: the one that fits the storage "
    "(docs/concurrency.md) [Hudi: ZooKeeper]",
    Text(),
    services=ALL_SERVICES,
)
LOCK_FOLDER = option(
    "hoodie.write.lock.filesystem.path",
    ".hoodie",
    "folder of the lock, in the table",
    Text(),
    services=ALL_SERVICES,
)
LOCK_EXPIRE = option(
    "hoodie.write.lock.filesystem.expire",
    0,
    "minutes until a lock is abandoned; 0 = never",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_VALIDITY = option(
    "hoodie.write.lock.storage.validity.timeout.secs",
    300,
    "how long a storage-based lock outlives its last renewal",
    WholeNumber(least=10),
    services=ALL_SERVICES,
)
LOCK_RENEWAL = option(
    "hoodie.write.lock.storage.renew.interval.secs",
    30,
    "pause between renewals, at most a tenth of the validity",
    WholeNumber(least=1),
    "hoodie.write.lock.storage.heartbeat.poll.secs",
    services=ALL_SERVICES,
)
LOCK_WAIT = option(
    "hoodie.write.lock.wait_time_ms",
    60_000,
    "longest wait of one round",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_RETRIES = option(
    "hoodie.write.lock.num_retries",
    15,
    "attempts of a round beyond the first",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_RETRY_WAIT = option(
    "hoodie.write.lock.wait_time_ms_between_retry",
    1000,
    "pause between attempts",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_CLIENT_RETRIES = option(
    "hoodie.write.lock.client.num_retries",
    50,
    "rounds beyond the first",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
LOCK_CLIENT_RETRY_WAIT = option(
    "hoodie.write.lock.client.wait_time_ms_between_retry",
    5000,
    "pause between rounds",
    WholeNumber(least=0),
    services=ALL_SERVICES,
)
