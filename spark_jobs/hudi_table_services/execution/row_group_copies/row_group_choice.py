"""Choose the row groups of a base file that a write copies instead of decoding them.

A row group with a changed or deleted row is always decoded. A small row group is joined with other rows that the write
encodes, as in a log-structured merge tree: only with at least as many rows. So repeated inserts of a few rows encode
each row only a few times, and the number of small row groups stays small.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_ROW_GROUPS = 1000


@dataclass(frozen=True, slots=True)
class StoredRowGroup:
    """A row group of the file that a write replaces.

    Attributes:
        encoded_bytes: bytes of its pages before compression.
        is_changed: whether the write changes or deletes one of its rows.
    """

    row_count: int
    encoded_bytes: int
    is_changed: bool


def row_groups_to_copy(
    row_groups: Sequence[StoredRowGroup], new_rows: int, small_bytes: int
) -> tuple[int, ...]:
    """Return the numbers of the row groups to copy, in ascending order.

    Args:
        row_groups: all row groups of the file. If there are more than a thousand, none is copied, so that the new file
            has fewer.
        new_rows: number of rows that the write adds to the file.
        small_bytes: a row group with fewer encoded bytes is small. 0: no row group is copied.
    """
    if not small_bytes or len(row_groups) > _MOST_ROW_GROUPS:
        return ()
    decoded = {number for number, each in enumerate(row_groups) if each.is_changed or not each.row_count}
    encoded_rows = new_rows + sum(row_groups[number].row_count for number in decoded)
    unchanged = (number for number in range(len(row_groups)) if number not in decoded)
    small = [number for number in unchanged if row_groups[number].encoded_bytes < small_bytes]
    for number in sorted(small, key=lambda each: row_groups[each].row_count):
        if row_groups[number].row_count <= encoded_rows:
            decoded.add(number)
            encoded_rows += row_groups[number].row_count
    return tuple(number for number in range(len(row_groups)) if number not in decoded)
