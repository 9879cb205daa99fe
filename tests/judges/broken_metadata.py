"""Break one rule of the metadata table in a copy of a table, without any other change."""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.reader import open_hfile
from hudi_table_services.hudi_format.hfile.trailer import flavour_of
from hudi_table_services.hudi_format.hfile.writer import HFileOptions, _Writer
from hudi_table_services.hudi_format.log_blocks import (
    BlockType,
    HeaderKey,
    LogBlock,
    decode_blocks,
    encode_block,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.metadata_table import MetadataRecord
from hudi_table_services.model.table_version import TableVersion
from judges.table_files import forget_checksum, timeline_folder

Records = Sequence[MetadataRecord]
ChangeRecords = Callable[[Records], Records]
ChangeBlock = Callable[[LogBlock], LogBlock | None]

_JAVA_STRING = re.compile(r',?\s*"avro\.java\.string"\s*:\s*"String"')


def metadata_folder(base_path: Path) -> Path:
    return base_path / ".hoodie" / "metadata"


def instant_files(base_path: Path, instant_time: str) -> list[Path]:
    """The files of one instant in the timeline of a table or of a metadata table."""
    return sorted(path for path in timeline_folder(base_path).iterdir() if path.name.startswith(instant_time))


def remove_instant(base_path: Path, instant_time: str, *, only_completed: bool = False) -> None:
    """Remove the files of an instant from the timeline of a table or of a metadata table."""
    removed = [
        path
        for path in instant_files(base_path, instant_time)
        if not only_completed or path.suffix not in (".requested", ".inflight")
    ]
    assert removed, instant_time
    for path in removed:
        path.unlink()
        forget_checksum(path)


def log_files(base_path: Path, instant_time: str, *partitions: str) -> list[Path]:
    """Log files of the metadata table with blocks of one instant, in all partitions or in the given ones."""
    folders = partitions or ("[!.]*",)
    paths = [path for folder in folders for path in metadata_folder(base_path).glob(f"{folder}/.*.log.*")]
    return sorted(p for p in paths if p.suffix != ".crc" and instant_time in instants_in(p))


def instants_in(path: Path) -> set[str]:
    """Instant times of the blocks in a log file."""
    return {block.headers[HeaderKey.INSTANT_TIME] for block in decode_blocks(path.read_bytes())}


def remove_delta_commit(base_path: Path, instant_time: str, *partitions: str) -> None:
    """Remove a commit from the metadata table: from some partitions, or the instant and all its log files."""
    logs = log_files(base_path, instant_time, *partitions)
    assert logs, (instant_time, partitions)
    for path in logs:
        path.unlink()
        forget_checksum(path)
    if not partitions:
        remove_instant(metadata_folder(base_path), instant_time)


def change_blocks(path: Path, change: ChangeBlock) -> None:
    """Write a log file again with other blocks; `change` returns None to leave a block out."""
    blocks = list(decode_blocks(path.read_bytes()))
    changed = [change(block) for block in blocks]
    assert changed != blocks, path
    path.write_bytes(b"".join(encode_block(block) for block in changed if block is not None))
    forget_checksum(path)


def with_header(key: HeaderKey, value: Callable[[str], str]) -> ChangeBlock:
    """Return a change that replaces one header of each block."""
    return lambda block: LogBlock(
        block_type=block.block_type,
        headers={**block.headers, key: value(block.headers[key])},
        content=block.content,
    )


def without_deletions(block: LogBlock) -> LogBlock | None:
    """Leave out blocks of deleted keys."""
    return None if block.block_type is BlockType.DELETE or block.block_type == BlockType.DELETE else block


def records_of(path: Path) -> Records:
    """Records in the blocks of a log file."""
    return [record for block in decode_blocks(path.read_bytes()) for record in _records(block)]


def change_records(path: Path, version: int, change: ChangeRecords) -> None:
    """Write the records of a log file again after a change, in the order that `change` returns."""
    change_blocks(path, lambda block: _with_records(block, version, change))


def change_schema(path: Path, version: int, change: Callable[[str], str]) -> None:
    """Write the records of a log file again with another schema, in the header and in the content of each block."""

    def changed(block: LogBlock) -> LogBlock:
        headers = dict(block.headers)
        if HeaderKey.SCHEMA in headers:
            headers[HeaderKey.SCHEMA] = change(headers[HeaderKey.SCHEMA])
        if block.block_type != BlockType.HFILE_DATA:
            return LogBlock(block_type=block.block_type, headers=headers, content=block.content)
        reader = open_hfile(block.content, "log file")
        content = _hfile(list(reader.entries()), change(reader.schema), version)
        return LogBlock(block_type=block.block_type, headers=headers, content=content)

    change_blocks(path, changed)


def without_java_strings(schema: str) -> str:
    """An Avro schema whose strings are not marked as Java strings."""
    return _JAVA_STRING.sub("", schema)


def _records(block: LogBlock) -> Iterator[MetadataRecord]:
    if block.block_type == BlockType.HFILE_DATA:
        reader = open_hfile(block.content, "log file")
        codec = RecordFormat(reader.schema)
        yield from map(codec.decode, reader.entries())


def _with_records(block: LogBlock, version: int, change: ChangeRecords) -> LogBlock:
    if block.block_type != BlockType.HFILE_DATA:
        return block
    schema = open_hfile(block.content, "log file").schema
    codec = RecordFormat(schema)
    entries = [codec.encode(record) for record in change(list(_records(block)))]
    return LogBlock(
        block_type=block.block_type, headers=block.headers, content=_hfile(entries, schema, version)
    )


def _hfile(entries: Sequence[Entry], schema: str, version: int) -> bytes:
    """An HFile with the entries in the given order. The product's own function refuses keys that are not sorted."""
    options = HFileOptions(schema=schema, flavour=flavour_of(TableVersion(version)), is_base_file=False)
    writer = _UncheckedWriter(options)
    for entry in entries:
        writer.add(entry)
    return writer.finish()


class _UncheckedWriter(_Writer):
    def _check(self, key: bytes) -> None:
        pass
