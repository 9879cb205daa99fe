"""Compute `keys.file_group_of` for a whole column of record keys at once (HashID, HoodieTableMetadataUtil)."""

import numpy as np

from hudi_table_services.hudi_format.java_hash import Bytes, Offsets, Positions, hashes_of_strings


def file_groups_of(offsets: Offsets, data: Bytes, group_count: int) -> Positions:
    """Return the number of the file group of each of n keys, as `keys.file_group_of` computes it for one key.

    Args:
        offsets: n + 1 positions in `data`; key i starts at position i and ends before position i + 1.
        data: UTF-8 bytes of all keys.
        group_count: number of file groups of the partition of the metadata table, at least 1.
    """
    hashes = hashes_of_strings(offsets, data).view(np.int32)
    # The absolute value of Java's smallest integer needs more than 32 bits.
    groups: Positions = np.abs(hashes.astype(np.int64)) % group_count
    return groups
