"""Index blocks of an HFile: the location of each data block, and the smallest key that the block can contain.

::

    root:                     for each block: offset (int64) | size on disk (int32) | length of the key (vlong) | key
    leaf and intermediate:    count (int32) | count + 1 positions (int32) | for each block: offset | size on disk | key

Hudi's own writer (Hudi 1.1 and later) writes only a root. HBase, with which Hudi up to 1.0 writes its HFiles, adds
leaves when the index grows beyond 128 KiB. Format: HFileRootIndexBlock and HFileLeafIndexBlock of Hudi 1.2.
"""

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hudi_table_services.hudi_format.hfile.blocks import MAX_DISK_BYTES
from hudi_table_services.hudi_format.hfile.byte_reader import ByteReader, vlong_bytes
from hudi_table_services.hudi_format.hfile.cells import decode_index_key, encode_key

_LOCATION = struct.Struct(">qi")


@dataclass(frozen=True, slots=True)
class BlockLocation:
    """The location of a block in a file.

    Attributes:
        disk_bytes: length in the file, with header and checksums.
        first_key: lower bound of the block's keys: its first key, or a shorter key that sorts before it.
    """

    offset: int
    disk_bytes: int
    first_key: bytes

    @property
    def end(self) -> int:
        return self.offset + self.disk_bytes


def encode_root_index(locations: Sequence[BlockLocation], *, with_suffix: bool) -> bytes:
    """Encode the content of a root index."""
    keys = (encode_key(location.first_key, with_suffix=with_suffix) for location in locations)
    return b"".join(
        _LOCATION.pack(location.offset, location.disk_bytes) + vlong_bytes(len(key)) + key
        for location, key in zip(locations, keys, strict=True)
    )


def decode_root_index(content: bytes, count: int, levels: int, what: str) -> list[BlockLocation]:
    """Return the locations in a root index.

    Args:
        count: number of entries, from the trailer.
        levels: number of levels of the whole index. If there are several, the root has more bytes after its entries;
            these bytes are ignored.

    Raises:
        MalformedMetadataError: the index is damaged, its keys are not ascending, or its blocks overlap.
    """
    reader, locations = ByteReader(content, what), list[BlockLocation]()
    for _ in range(count):
        offset, disk_bytes = reader.int64(), reader.int32()
        key = decode_index_key(reader.take(reader.vlong()), what)
        _append(locations, BlockLocation(offset, disk_bytes, key), reader)
    if levels == 1 and reader.left:
        raise reader.error(
            f"the index has {reader.left} bytes after the {count} entries that the trailer declares"
        )
    return locations


def decode_leaf_index(content: bytes, what: str) -> list[BlockLocation]:
    """Return the locations in a leaf index or intermediate index.

    Raises:
        MalformedMetadataError: for the same reasons as in `decode_root_index`.
    """
    reader, locations = ByteReader(content, what), list[BlockLocation]()
    count = reader.int32()
    if not 0 <= count <= reader.left // 4:
        raise reader.error(f"the index declares {count} entries, but has room for 0 to {reader.left // 4}")
    positions = [reader.int32() for _ in range(count + 1)]
    start = reader.position
    for position, following in pairwise(positions):
        if reader.position != start + position:
            raise reader.error(
                f"the entry that the index declares at byte {start + position} starts elsewhere"
            )
        offset, disk_bytes = reader.int64(), reader.int32()
        key = decode_index_key(reader.take(following - position - _LOCATION.size), what)
        _append(locations, BlockLocation(offset, disk_bytes, key), reader)
    return locations


def holding(locations: Sequence[BlockLocation], keys: Sequence[bytes]) -> list[BlockLocation]:
    """Return the locations of the blocks that can contain one of the keys, in the order of the file."""
    starts = [location.first_key for location in locations]
    places = {bisect_right(starts, key) - 1 for key in keys}
    return [locations[place] for place in sorted(places) if place >= 0]


def holding_prefixes(locations: Sequence[BlockLocation], prefixes: Sequence[bytes]) -> list[BlockLocation]:
    """Return the locations of the blocks that can contain a key with one of the prefixes, in the order of the file."""
    starts = [location.first_key for location in locations]
    places: set[int] = set()
    for prefix in prefixes:
        first = max(0, bisect_right(starts, prefix) - 1)
        after = after_prefix(prefix)
        places.update(range(first, len(starts) if after is None else bisect_left(starts, after)))
    return [locations[place] for place in sorted(places)]


def after_prefix(prefix: bytes) -> bytes | None:
    """Return the smallest key that is greater than all keys with the prefix; None if there is no such key."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _append(locations: list[BlockLocation], location: BlockLocation, reader: ByteReader) -> None:
    if location.offset < 0 or not 1 <= location.disk_bytes <= MAX_DISK_BYTES:
        raise reader.error(
            f"an index entry locates a block of {location.disk_bytes} bytes at {location.offset}, which is not possible"
        )
    if locations and not (
        locations[-1].first_key < location.first_key and locations[-1].end <= location.offset
    ):
        raise reader.error("the index entries are not in ascending order")
    locations.append(location)
