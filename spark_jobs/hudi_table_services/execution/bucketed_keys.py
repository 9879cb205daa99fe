"""Find the buckets of record keys, and check that stored keys are in the file groups of their buckets.

If a write used another number of buckets or other hash fields than earlier writes, it would add a second row of a
stored key to another file group. Hudi stores neither the number of buckets nor the hash fields in the table. Therefore
a write first calculates the buckets of stored keys, and checks that the keys are in the file groups of these buckets.
"""

import pyarrow as pa

from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidDataError, InvalidRequestError
from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.execution.numpy_types import Integers
from hudi_table_services.hudi_format.bucket_hash import AMBIGUOUS, BucketHash
from hudi_table_services.hudi_format.bucket_ids import bucket_number
from hudi_table_services.options.keys.bucket_index import HASH_FIELD, NUM_BUCKETS


def index_buckets(rule: BucketHash, keys: pa.StringArray) -> Integers:
    """Return the number of the bucket of each key.

    Raises:
        InvalidDataError: two releases of Hudi that can write the table assign a key to different buckets.
    """
    numbers: Integers = rule.buckets_of(*utf8_buffers(keys))
    is_ambiguous = numbers == AMBIGUOUS
    if is_ambiguous.any():
        example = keys.filter(pa.array(is_ambiguous))[0].as_py()
        raise InvalidDataError(
            f"{counted(int(is_ambiguous.sum()), 'row')} of {len(keys)} have a record key that Hudi 0.15 and Hudi 1.2 "
            f"assign to different buckets, for example {example!r}. With such a key, one of the two releases would not "
            "find the row.",
            hint="Use keys without a colon, or a table of version 8 or 9, in which the rule of Hudi 1.2 applies.",
        )
    return numbers


def check_index_buckets(rule: BucketHash, keys: pa.StringArray, numbers: Integers, file_id: str) -> None:
    """Refuse a write if its rule does not assign each key of a file group to the bucket of this file group.

    Args:
        keys: keys that the file group has.
        numbers: for each key, the number of the bucket to which the rule assigns the key.

    Raises:
        InvalidRequestError: the rule assigns a key to another bucket.
    """
    owner = bucket_number(file_id)
    is_elsewhere = numbers != (AMBIGUOUS if owner is None else owner)
    if not is_elsewhere.any():
        return
    row = int(is_elsewhere.argmax())
    raise InvalidRequestError(
        f"The file group {file_id} has the key {keys[row].as_py()!r}, which belongs to bucket {numbers[row]} of "
        f"{rule.bucket_count} if the hash fields are {', '.join(rule.hash_fields)}. An earlier write used other "
        "options. With the options of this write, the key would get a second row.",
        hint=f"Set {NUM_BUCKETS} and {HASH_FIELD} to the values of the earlier writes of the table.",
    )
