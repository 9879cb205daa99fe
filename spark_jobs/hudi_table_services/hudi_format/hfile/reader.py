"""Read an HFile by ranges of bytes. A look-up in a large file fetches only the file's end, its index and a few blocks.

For any bytes, the reader either returns the content of the file, or raises CorruptTableError or
UnsupportedTableError. To detect damage, the reader checks the magic and the sizes of each block, checksums, the order
of keys within and between blocks, and the number of entries.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.hfile import index
from hudi_table_services.hudi_format.hfile.blocks import Block, BlockType, decode_block
from hudi_table_services.hudi_format.hfile.cells import Entry, FoundCells, decode_cells, find_cells
from hudi_table_services.hudi_format.hfile.index import BlockLocation
from hudi_table_services.hudi_format.hfile.trailer import (
    TRAILER_BYTES,
    Trailer,
    decode_file_info,
    decode_trailer,
)
from hudi_table_services.hudi_format.hfile.writer import CELL_VERSION, SCHEMA

ReadRange = Callable[[int, int], bytes]
"""Function that reads a range of a file. Its arguments are offset and length; it returns exactly `length` bytes."""

_TAIL_BYTES = 64 << 10
_MOST_BYTES_PER_READ = 8 << 20
_CELL_VERSION = (1).to_bytes(4, "big")
_Choose = Callable[[Sequence[BlockLocation]], list[BlockLocation]]
_DataBlock = tuple[bytes, BlockLocation, bytes | None, str]
"""Content and location of a data block, the exclusive upper bound of its keys, and its name for error messages."""


class HFileReader:
    """One open file.

    Args:
        read: returns a range of the file's bytes.
        file_bytes: length of the file.
        what: name of the file, for error messages.

    Raises:
        MalformedMetadataError: the file is not an HFile, or its end is damaged.
        UnsupportedTableError: the file has a form that Hudi does not write.
    """

    def __init__(self, read: ReadRange, file_bytes: int, what: str) -> None:
        self._read = read
        self._what = what
        if file_bytes < TRAILER_BYTES:
            raise MalformedMetadataError(f"{what}: {file_bytes} bytes are too few for an HFile.")
        tail_offset = max(0, file_bytes - _TAIL_BYTES)
        tail = self._bytes(tail_offset, file_bytes - tail_offset)
        self.trailer: Trailer = decode_trailer(tail[-TRAILER_BYTES:], file_bytes, what)
        missing = tail_offset - self.trailer.load_on_open_offset
        if missing > 0:
            tail = self._bytes(self.trailer.load_on_open_offset, missing) + tail
        self._open_section = tail[max(0, -missing) : -TRAILER_BYTES]
        self._roots = self._root_locations()

    @property
    def entry_count(self) -> int:
        return self.trailer.entry_count

    @cached_property
    def file_info(self) -> Mapping[str, bytes]:
        """Return the key-value pairs of the file info."""
        start = self.trailer.file_info_offset - self.trailer.load_on_open_offset
        block = self._decoded(self._open_section[start:], BlockType.FILE_INFO, "file info")
        pairs = decode_file_info(block.content, f"{self._what}: file info")
        if self.entry_count and pairs.get(CELL_VERSION) != _CELL_VERSION:
            raise MalformedMetadataError(
                f"{self._what}: {CELL_VERSION} in the file info is missing or is not 1."
            )
        return pairs

    @property
    def schema(self) -> str:
        """Return the Avro schema of the values, as JSON. Raises MalformedMetadataError if the file has no schema."""
        text = self.file_info.get(SCHEMA)
        if text is None:
            raise MalformedMetadataError(f"{self._what}: the file info has no Avro schema.")
        return text.decode("utf-8", "replace")

    def entries(self) -> Iterator[Entry]:
        """Yield all entries in the order of their keys, and check their number at the end."""
        count = 0
        for entry in self._entries(list):
            count += 1
            yield entry
        if count != self.entry_count:
            raise MalformedMetadataError(
                f"{self._what}: the number of entries is {count}, but the trailer declares {self.entry_count}."
            )

    def find(self, keys: Collection[bytes]) -> Iterator[Entry]:
        """Yield the entries with one of the keys, in the order of their keys."""
        wanted, ordered = frozenset(keys), sorted(keys)
        for block in self._data_blocks(lambda locations: index.holding(locations, ordered)):
            content, location, bound, _ = block
            found = find_cells(content, wanted)
            if found is not None and _is_within(found, location, bound):
                yield from found.entries
            else:
                yield from (entry for entry in _decoded_within(*block) if entry[0] in wanted)

    def find_prefixes(self, prefixes: Collection[bytes]) -> Iterator[Entry]:
        """Yield the entries whose keys start with one of the prefixes, in the order of their keys."""
        starts = tuple(sorted(prefixes))
        for entry in self._entries(lambda locations: index.holding_prefixes(locations, starts)):
            if entry[0].startswith(starts):
                yield entry

    # ------------------------------------------------------------------ index

    def _root_locations(self) -> list[BlockLocation]:
        trailer = self.trailer
        block = self._decoded(self._open_section, BlockType.ROOT_INDEX, "index")
        if not trailer.entry_count:
            if trailer.data_index_count or block.content:
                raise MalformedMetadataError(
                    f"{self._what}: the trailer declares 0 entries, but the index has blocks."
                )
            return []
        what = f"{self._what}: index"
        locations = index.decode_root_index(
            block.content, trailer.data_index_count, trailer.data_index_levels, what
        )
        if not locations:
            raise MalformedMetadataError(
                f"{what}: the index locates no block, but the trailer declares {trailer.entry_count} entries."
            )
        self._check_extent(locations)
        if trailer.data_index_levels == 1:
            self._check_gaps(locations)
        return locations

    def _check_extent(self, locations: Sequence[BlockLocation]) -> None:
        if locations and locations[-1].end > self.trailer.load_on_open_offset:
            raise MalformedMetadataError(
                f"{self._what}: the index locates a block that ends at {locations[-1].end}, but the index itself "
                f"starts at {self.trailer.load_on_open_offset}."
            )

    def _check_gaps(self, locations: Sequence[BlockLocation]) -> None:
        """Refuse an index that leaves out a block, because a look-up would miss the keys in that block."""
        first, last = self.trailer.first_data_offset, self.trailer.last_data_offset
        ends = [first, *(location.end for location in locations[:-1])]
        if [location.offset for location in locations] != ends or locations[-1].offset != last:
            raise MalformedMetadataError(
                f"{self._what}: the trailer declares data blocks from {first} to {last}, but the index locates a "
                "different set of blocks."
            )

    def _data_locations(self, choose: _Choose) -> list[BlockLocation]:
        """Return locations of data blocks. The result contains at least the data blocks that `choose` selects.

        If the index has several levels, only the index blocks that `choose` selects are read.
        """
        locations = self._roots
        for level in range(self.trailer.data_index_levels, 1, -1):
            kind = BlockType.LEAF_INDEX if level == 2 else BlockType.INTERMEDIATE_INDEX
            blocks = self._blocks(choose(locations), kind)
            what = f"{self._what}: index"
            children = (index.decode_leaf_index(block.content, what) for _, block in blocks)
            locations = list(chain.from_iterable(children))
            self._check_order(locations)
            self._check_extent(locations)
        return locations

    def _check_order(self, locations: Sequence[BlockLocation]) -> None:
        for before, after in pairwise(locations):
            if not (before.first_key < after.first_key and before.end <= after.offset):
                raise MalformedMetadataError(
                    f"{self._what}: the blocks that the index locates are not in ascending order."
                )

    # ------------------------------------------------------------------ blocks

    def _entries(self, choose: _Choose) -> Iterator[Entry]:
        for block in self._data_blocks(choose):
            yield from _decoded_within(*block)

    def _data_blocks(self, choose: _Choose) -> Iterator[_DataBlock]:
        if not self.entry_count:
            return
        _ = self.file_info  # checks the version of the cells
        locations = self._data_locations(choose)
        bounds = {before.offset: after.first_key for before, after in pairwise(locations)}
        for location, block in self._blocks(choose(locations), BlockType.DATA):
            what = f"{self._what}: block at {location.offset}"
            yield block.content, location, bounds.get(location.offset), what

    def _blocks(
        self, locations: Sequence[BlockLocation], block_type: BlockType
    ) -> Iterator[tuple[BlockLocation, Block]]:
        """Yield the blocks one after another. One read fetches several neighbouring blocks, up to 8 MiB in total."""
        for neighbours in _neighbours(locations):
            start = neighbours[0].offset
            data = self._bytes(start, neighbours[-1].end - start)
            for location in neighbours:
                piece = data[location.offset - start : location.end - start]
                block = self._decoded(piece, block_type, f"block at {location.offset}")
                if block.disk_bytes != location.disk_bytes:
                    raise MalformedMetadataError(
                        f"{self._what}: the block at {location.offset} has {block.disk_bytes} bytes, but the index "
                        f"declares {location.disk_bytes}."
                    )
                yield location, block

    def _decoded(self, data: bytes, block_type: BlockType, where: str) -> Block:
        return decode_block(data, block_type, self.trailer.compression, f"{self._what}: {where}")

    def _bytes(self, offset: int, length: int) -> bytes:
        data = self._read(offset, length)
        if len(data) != length:
            raise MalformedMetadataError(
                f"{self._what}: the file is cut short: it has {len(data)} bytes at {offset}, but {length} are expected."
            )
        return data


def open_hfile(data: bytes, what: str) -> HFileReader:
    """Open a file that is in memory, such as the content of a log block."""
    return HFileReader(lambda offset, length: data[offset : offset + length], len(data), what)


def _is_within(found: FoundCells, location: BlockLocation, bound: bytes | None) -> bool:
    """Whether all keys of a block lie between the bounds that the index has for the block."""
    return location.first_key <= found.first_key and (bound is None or found.last_key < bound)


def _decoded_within(
    content: bytes, location: BlockLocation, bound: bytes | None, what: str
) -> Iterator[Entry]:
    """Yield the entries of a block. Their keys must lie between the bounds that the index has for the block."""
    is_empty = True
    for entry in decode_cells(content, what):
        if (is_empty and entry[0] < location.first_key) or (bound is not None and entry[0] >= bound):
            raise MalformedMetadataError(
                f"{what}: the key {entry[0][:80]!r} is not where the index locates it."
            )
        is_empty = False
        yield entry
    if is_empty:
        raise MalformedMetadataError(f"{what}: the block has no entry.")


def _neighbours(locations: Iterable[BlockLocation]) -> Iterator[list[BlockLocation]]:
    found: list[BlockLocation] = []
    for location in locations:
        fits = found and found[-1].end == location.offset
        if fits and location.end - found[0].offset <= _MOST_BYTES_PER_READ:
            found.append(location)
            continue
        if found:
            yield found
        found = [location]
    if found:
        yield found
