"""Write the log files and base files of the metadata table's file groups.

The instant and the file group determine the name of each file, and no file is replaced. So if two processes write the
same instant, only one of them succeeds.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hudi_table_services.hudi_format.hfile.cells import Entry
from hudi_table_services.hudi_format.hfile.writer import (
    DEFAULT_BLOCK_BYTES,
    HFileOptions,
    encode_hfile,
)
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.log_file import (
    encode_deleted_keys_block,
    encode_first_block,
    encode_records_block,
)
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.metadata_table import GroupChange, MetadataRecord
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteStat
from hudi_table_services.storage.metadata_table.file_format import FileFormat
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_LATER_WRITE = "0-1-0"
_FIRST_WRITE = "0-0-0"
"""Write tokens. The first log file of a file group needs a token of its own, because the commit that creates the file
group writes a second file with the same instant."""
_EXTENSION = ".hfile"
_RECORD_INDEX_BLOCK_BYTES = 64 << 10
"""A search for one key decodes a whole block. A block of this size contains about 1,000 keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLog:
    """New entries and deleted keys of one file group of the metadata table.

    Attributes:
        entries: keys and encoded records in ascending order of the keys, each key once. The iterable is consumed once.
        entry_count: number of entries.
        deleted_keys: in ascending order. The log file deletes these keys after it adds the entries.
    """

    file_group_id: FileGroupId
    entries: Iterable[Entry]
    entry_count: int
    deleted_keys: Sequence[str] = ()


def encoded_log(change: GroupChange, form: FileFormat) -> GroupLog:
    """Encode the records of the changes. Each record is encoded when the caller reads it.

    Reading the entries raises MalformedMetadataError if a record does not fit the schema.
    """
    records = RecordFormat(form.schema)
    return GroupLog(
        file_group_id=change.file_group_id,
        entries=(records.encode(record) for record in change.records),
        entry_count=len(change.records),
        deleted_keys=change.deleted_keys,
    )


def log_content(change: GroupLog, instant_time: str, form: FileFormat) -> bytes:
    """Content of a log file: the new records, then the deleted keys."""
    content = b""
    if change.entry_count:
        options = HFileOptions(schema=form.schema, flavour=form.flavour, is_base_file=False)
        content += encode_records_block(change.entries, instant_time, options)
    if change.deleted_keys:
        partition = change.file_group_id.partition_path
        content += encode_deleted_keys_block(change.deleted_keys, partition, instant_time, form.schema)
    return content


def next_log_file(file_slice: FileSlice, instant_time: str, form: FileFormat) -> LogFile:
    """Return the log file that an instant appends to a slice.

    Args:
        file_slice: newest slice of the file group. In table version 6, log files of a slice are numbered, and their
            names contain the instant of the slice.
    """
    file_id = file_slice.file_group_id.file_id
    if form.has_own_log_instants:
        return LogFile(file_id=file_id, instant_time=instant_time, version=1, write_token=_LATER_WRITE)
    version = max((log.version for log in file_slice.log_files), default=0) + 1
    return LogFile(
        file_id=file_id, instant_time=file_slice.base_instant_time, version=version, write_token=_LATER_WRITE
    )


def write_log_file(
    storage: Storage, file_slice: FileSlice, change: GroupLog, instant_time: str, form: FileFormat
) -> WriteStat:
    """Write the log file of one file group.

    Args:
        storage: the metadata table.
        file_slice: newest slice of the file group of `change`.

    Raises:
        ObjectExistsError: another process wrote the file.
    """
    partition = change.file_group_id.partition_path
    log = next_log_file(file_slice, instant_time, form)
    content = log_content(change, instant_time, form)
    storage.create(join_path(partition, log.file_name), content)
    is_new = form.has_own_log_instants
    names = [log.file_name] if is_new else [*(f.file_name for f in file_slice.log_files), log.file_name]
    return WriteStat(
        file_id=log.file_id,
        partition_path=partition,
        path=join_path(partition, log.file_name),
        prev_commit=log.instant_time,
        num_writes=change.entry_count,
        num_update_writes=change.entry_count,
        num_deletes=len(change.deleted_keys),
        file_size_bytes=len(content),
        extra={"logVersion": log.version, "logOffset": 0, "baseFile": "", "logFiles": names},
    )


def new_base_file(group: FileGroupId, instant_time: str) -> BaseFile:
    """Return the base file that an instant writes for a file group."""
    return BaseFile(
        file_id=group.file_id, write_token=_LATER_WRITE, instant_time=instant_time, extension=_EXTENSION
    )


def write_base_file(
    storage: Storage,
    group: FileGroupId,
    records: Iterable[MetadataRecord],
    instant_time: str,
    form: FileFormat,
    *,
    prev_commit: str = NEW_FILE_GROUP,
) -> WriteStat:
    """Write the base file of a file group. The whole content of the file is built in memory.

    Args:
        records: in ascending order of the UTF-8 bytes of their keys; may be empty.
        prev_commit: base instant of the previous slice.

    Raises:
        ObjectExistsError: another process wrote the file.
    """
    base = new_base_file(group, instant_time)
    codec = RecordFormat(form.schema)
    entries = (codec.encode(named(record, base.file_name)) for record in records)
    return write_base_entries(storage, group, base, entries, form, prev_commit=prev_commit)


def write_base_entries(
    storage: Storage,
    group: FileGroupId,
    base: BaseFile,
    entries: Iterable[Entry],
    form: FileFormat,
    *,
    prev_commit: str = NEW_FILE_GROUP,
) -> WriteStat:
    """Write the base file of a file group from encoded records. Each record must already contain the name of the file.

    Args:
        base: the result of `new_base_file`.
        entries: in ascending order of their keys; may be empty.
    """
    written = 0

    def counted() -> Iterator[Entry]:
        nonlocal written
        for entry in entries:
            written += 1
            yield entry

    is_record_index = group.partition_path == RECORD_INDEX
    options = HFileOptions(
        schema=form.schema,
        flavour=form.flavour,
        is_base_file=True,
        block_bytes=_RECORD_INDEX_BLOCK_BYTES if is_record_index else DEFAULT_BLOCK_BYTES,
    )
    content = encode_hfile(counted(), options)
    path = join_path(group.partition_path, base.file_name)
    storage.create(path, content)
    is_first = prev_commit == NEW_FILE_GROUP
    return WriteStat(
        file_id=group.file_id,
        partition_path=group.partition_path,
        path=path,
        prev_commit=prev_commit,
        num_writes=written,
        num_inserts=written if is_first else 0,
        num_update_writes=0 if is_first else written,
        file_size_bytes=len(content),
    )


def first_log_file(file_id: str, instant_time: str) -> LogFile:
    """Return the log file with which an instant creates a file group."""
    return LogFile(file_id=file_id, instant_time=instant_time, version=1, write_token=_FIRST_WRITE)


def write_first_log_file(storage: Storage, group: FileGroupId, instant_time: str) -> None:
    """Create a file group: write a log file that deletes no key, as Hudi does for every new file group."""
    log = first_log_file(group.file_id, instant_time)
    storage.create(join_path(group.partition_path, log.file_name), encode_first_block(instant_time))


def named(record: MetadataRecord, file_name: str) -> MetadataRecord:
    """Return the record with `file_name` as the name of its base file."""
    return MetadataRecord(
        key=record.key,
        record_type=record.record_type,
        payload=record.payload,
        base_file_name=file_name,
    )
