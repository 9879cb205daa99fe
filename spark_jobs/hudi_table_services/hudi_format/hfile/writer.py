"""Write an HFile as Hudi's own writers do, without bloom filter (HFileWriterImpl of Hudi 1.2).

::

    data blocks | root of the data index | empty index of meta blocks | file info | trailer (4096 bytes)

The index has one level. All releases of Hudi read such an index, whatever its number of blocks.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.hfile.blocks import (
    HEADER,
    NO_PREVIOUS,
    BlockType,
    Compression,
    encode_block,
)
from hudi_table_services.hudi_format.hfile.cells import (
    KEY_OVERHEAD_BYTES,
    MAX_KEY_BYTES,
    Entry,
    encode_cell,
    encode_key,
)
from hudi_table_services.hudi_format.hfile.index import BlockLocation, encode_root_index
from hudi_table_services.hudi_format.hfile.trailer import (
    NO_BLOCK,
    Flavour,
    Trailer,
    encode_file_info,
    encode_trailer,
)

DEFAULT_BLOCK_BYTES = 1 << 20

SCHEMA = "schema"
MIN_RECORD_KEY, MAX_RECORD_KEY = "minRecordKey", "maxRecordKey"
CELL_VERSION = "KEY_VALUE_VERSION"
_INT32 = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class HFileOptions:
    """Settings for writing a file.

    Attributes:
        schema: Avro schema of the values, as JSON.
        is_base_file: True for a base file, which names its smallest and its greatest key; False for the content of a
            log block.
        block_bytes: a data block ends when it has at least this number of bytes before compression.
    """

    schema: str
    flavour: Flavour
    is_base_file: bool
    compression: Compression = Compression.GZIP
    block_bytes: int = DEFAULT_BLOCK_BYTES


def encode_hfile(entries: Iterable[Entry], options: HFileOptions) -> bytes:
    """Return the bytes of an HFile. Equal entries and options give equal bytes.

    Args:
        entries: keys and values, in ascending order of the keys' bytes, each key once.

    Raises:
        MalformedMetadataError: the keys are not in strictly ascending order, a key has more than 32,767 bytes, or an
            entry is larger than readers accept. Readers could not read such a file.
    """
    writer = _Writer(options)
    for entry in entries:
        writer.add(entry)
    return writer.finish()


class _Writer:
    def __init__(self, options: HFileOptions) -> None:
        self._options = options
        # In native files only the cells have family, timestamp and type; index and file info have the key alone.
        self._with_suffix = options.flavour is Flavour.HBASE
        self._file = bytearray()
        self._content_bytes = 0
        self._locations: list[BlockLocation] = []
        self._previous_offset = NO_PREVIOUS
        self._cells = bytearray()
        self._first_key_of_block = b""
        self._count = self._key_bytes = self._value_bytes = 0
        self._min_key = self._max_key = b""

    def add(self, entry: Entry) -> None:
        key, value = entry
        self._check(key)
        if not self._cells:
            self._first_key_of_block = key
        self._cells += encode_cell(entry)
        self._min_key = key if self._count == 0 else self._min_key
        self._max_key = key
        self._count += 1
        self._key_bytes += len(key) + (KEY_OVERHEAD_BYTES if self._with_suffix else 0)
        self._value_bytes += len(value)
        if len(self._cells) >= self._options.block_bytes:
            self._end_data_block()

    def finish(self) -> bytes:
        self._end_data_block()
        index_offset = len(self._file)
        index = encode_root_index(self._locations, with_suffix=self._with_suffix)
        self._append(BlockType.ROOT_INDEX, index)
        self._append(BlockType.ROOT_INDEX, b"")
        info_offset = len(self._file)
        self._append(BlockType.FILE_INFO, encode_file_info(dict(self._file_info())))
        trailer = Trailer(
            file_info_offset=info_offset,
            load_on_open_offset=index_offset,
            data_index_bytes=len(index),
            content_bytes=self._content_bytes,
            data_index_count=len(self._locations),
            entry_count=self._count,
            first_data_offset=0 if self._count else NO_BLOCK,
            last_data_offset=self._previous_offset if self._count else NO_BLOCK,
            compression=self._options.compression,
        )
        return bytes(self._file) + encode_trailer(trailer, self._options.flavour)

    def _check(self, key: bytes) -> None:
        if len(key) > MAX_KEY_BYTES:
            raise MalformedMetadataError(
                f"A key of {len(key)} bytes cannot be stored in an HFile; the limit is {MAX_KEY_BYTES} bytes."
            )
        if self._count and key <= self._max_key:
            raise MalformedMetadataError(
                f"Entries of an HFile must have ascending keys: {key[:80]!r} follows {self._max_key[:80]!r}."
            )

    def _end_data_block(self) -> None:
        if not self._cells:
            return
        offset = len(self._file)
        size = self._append(BlockType.DATA, bytes(self._cells), self._previous_offset)
        self._locations.append(BlockLocation(offset, size, self._first_key_of_block))
        self._previous_offset = offset
        self._cells = bytearray()

    def _append(self, block_type: BlockType, content: bytes, previous_offset: int = NO_PREVIOUS) -> int:
        block = encode_block(block_type, content, self._options.compression, previous_offset)
        self._file += block
        self._content_bytes += HEADER.size + len(content)
        return len(block)

    def _file_info(self) -> Iterator[tuple[str, bytes]]:
        count = max(self._count, 1)
        yield CELL_VERSION, _INT32.pack(1)
        yield "MAX_MEMSTORE_TS_KEY", bytes(8)
        yield "hfile.AVG_KEY_LEN", _INT32.pack(self._key_bytes // count)
        yield "hfile.AVG_VALUE_LEN", _INT32.pack(self._value_bytes // count)
        # HBase writes no last key into a file without entries, and cannot open a file with an empty last key.
        if self._count:
            yield "hfile.LASTKEY", encode_key(self._max_key, with_suffix=self._with_suffix)
        elif not self._with_suffix:
            yield "hfile.LASTKEY", b""
        yield SCHEMA, self._options.schema.encode()
        if self._options.is_base_file and self._count:
            yield MIN_RECORD_KEY, self._min_key
            yield MAX_RECORD_KEY, self._max_key
