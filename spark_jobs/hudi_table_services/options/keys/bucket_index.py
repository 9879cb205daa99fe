"""Keys of the bucket index (HoodieIndexConfig, Hudi 0.15 and 1.2).

Hudi stores none of these keys in the table, so every write must give the same values.
"""

from hudi_table_services.options.kinds import Names, WholeNumber
from hudi_table_services.options.option import fixed, option

NUM_BUCKETS = option(
    "hoodie.bucket.index.num.buckets",
    256,
    "BUCKET: number of buckets of each partition, at most 100000; the same number in every write of the table",
    WholeNumber(least=1),
)
HASH_FIELD = option(
    "hoodie.bucket.index.hash.field",
    "",
    "BUCKET: the key fields whose values determine the bucket; absent: all key fields",
    Names(),
)
BUCKET_ENGINE = fixed(
    "hoodie.index.bucket.engine",
    "SIMPLE",
    "BUCKET: how a key finds its bucket; jobs do not support CONSISTENT_HASHING",
)
