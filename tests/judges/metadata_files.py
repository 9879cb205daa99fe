"""Write the files of a real metadata table anew with this project's codecs, in place."""

from collections.abc import Callable
from pathlib import Path

from hudi_table_services.hudi_format.hfile.blocks import Compression
from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import HFileReader, open_hfile
from hudi_table_services.hudi_format.hfile.trailer import Flavour, flavour_of
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, encode_hfile
from hudi_table_services.hudi_format.metadata_table.log_file import (
    DeletedKeysBlock,
    MetadataLogBlock,
    RecordsBlock,
    decode_log_file,
    encode_deleted_keys_block,
    encode_first_block,
    encode_records_block,
    encode_rollback_block,
)
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.table_version import TableVersion

SMALL_BLOCK_BYTES = 300
"""So small that most data blocks contain one to three entries."""


class MetadataFiles:
    """Files of the metadata table of one table.

    Args:
        flavour: form of the files written; None means the usual one of the table version.
    """

    def __init__(
        self,
        base_path: Path,
        version: TableVersion,
        *,
        compression: Compression = Compression.GZIP,
        flavour: Flavour | None = None,
    ) -> None:
        self._folder = base_path / ".hoodie" / "metadata"
        self.schema_version = self._version_of_schema()
        self._schema = record_schema(self.schema_version)
        self._format = RecordFormat(self._schema)
        self._compression = compression
        self._flavour = flavour_of(version) if flavour is None else flavour
        self.most_blocks = 0

    def _version_of_schema(self) -> TableVersion:
        """Return the table version whose schema the files have. Hudi 1.2 uses the schema of version 9 in all tables."""
        path = next(self._folder.glob("files/*.hfile"))
        schema = open_hfile(path.read_bytes(), "base file").schema
        if "valueType" in schema:
            return TableVersion.V9
        return TableVersion.V8 if "isTightBound" in schema else TableVersion.V6

    def write_anew(self) -> int:
        """Replace every base file and log file; return the number of files."""
        bases = sorted(self._folder.glob("[!.]*/*.hfile"))
        logs = [path for path in sorted(self._folder.glob("[!.]*/.*.log.*")) if path.suffix != ".crc"]
        for path in bases:
            self._replace(path, self._base_file)
        for path in logs:
            self._replace(path, lambda data, path=path: self._log_file(data, path.parent.name))
        return len(bases) + len(logs)

    def _replace(self, path: Path, convert: Callable[[bytes], bytes]) -> None:
        path.write_bytes(convert(path.read_bytes()))
        # Hadoop's local file system keeps a checksum beside each file.
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def _base_file(self, data: bytes) -> bytes:
        written = encode_hfile(self._entries(open_hfile(data, "base file")), self._options(is_base_file=True))
        self.most_blocks = max(self.most_blocks, open_hfile(written, "ours").trailer.data_index_count)
        return written

    def _log_file(self, data: bytes, partition: str) -> bytes:
        return b"".join(self._block(block, partition) for block in decode_log_file(data, "log file"))

    def _block(self, block: MetadataLogBlock, partition: str) -> bytes:
        if isinstance(block, RecordsBlock):
            entries, options = self._entries(block.records), self._options(is_base_file=False)
            return encode_records_block(entries, block.instant_time, options)
        if isinstance(block, DeletedKeysBlock):
            if not block.keys:
                return encode_first_block(block.instant_time)
            return encode_deleted_keys_block(block.keys, partition, block.instant_time, self._schema)
        return encode_rollback_block(block.instant_time, block.target_instant_time)

    def _entries(self, reader: HFileReader) -> list[Entry]:
        read = RecordFormat(reader.schema)
        return [self._format.encode(read.decode(entry)) for entry in reader.entries()]

    def _options(self, *, is_base_file: bool) -> HFileOptions:
        return HFileOptions(
            schema=self._schema,
            flavour=self._flavour,
            is_base_file=is_base_file,
            compression=self._compression,
            block_bytes=SMALL_BLOCK_BYTES,
        )
