"""A new record index: the location of every record key of the table."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate

from hudi_table_services.commits.metadata_table_building.contents import live_base_files
from hudi_table_services.commits.metadata_table_building.new_partition import (
    NewFiles,
    NewPartition,
    WriteBaseFiles,
)
from hudi_table_services.commits.metadata_table_building.slice_reading_of_builds import slice_reading
from hudi_table_services.errors import InvalidRequestError, ObjectExistsError, UnsupportedTableError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.execution.metadata_table.record_index_files import IndexedSlice, RecordIndexFiles
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.file_ids import is_uuid_file_id
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize
from hudi_table_services.planning.metadata_table.index_choice import record_index_definition
from hudi_table_services.planning.metadata_table.partitioned_record_index import group_ids
from hudi_table_services.storage.clock import instant_moment
from hudi_table_services.storage.metadata_table.group_files import write_base_file
from hudi_table_services.tables.metadata_content import TableContent


def new_record_index(
    content: TableContent, config: TableConfig, reader: DataFileReader, size: RecordIndexSize
) -> NewPartition:
    """The record index of a table. Its keys are read when the partition is written.

    Raises:
        InvalidRequestError: the table has rows, and there is no Spark session.
        UnsupportedTableError: the table has ids of file groups that the index cannot store, or log files that this
            release cannot merge.
    """
    if not any(content.live_slices.values()):
        return _empty_record_index(config, size)
    write = _writer(content, config, reader)
    return NewPartition(
        name=RECORD_INDEX,
        group_count=size.group_count(reader.row_count(live_base_files(content))),
        write_base_files=write,
        definition=record_index_definition(config.table_version),
    )


def new_partitioned_record_index(
    content: TableContent, config: TableConfig, reader: DataFileReader, size: RecordIndexSize
) -> NewPartition:
    """The partitioned record index of a table: each partition of the table has its own file groups.

    A partition that the metadata table lists gets file groups even if it has no rows, because writers of Hudi create
    file groups only for partitions that the metadata table does not list.

    Args:
        size: settings for the number of file groups of each partition of the table.

    Raises:
        InvalidRequestError: there is no Spark session, or the table version has no partitioned record index.
        UnsupportedTableError: the table has ids of file groups that the index cannot store, or log files that this
            release cannot merge.
    """
    definition = record_index_definition(config.table_version, is_partitioned=True)
    counts = _group_counts(content, reader, size)
    firsts = accumulate(counts.values(), initial=0)
    groups = {path: (first, count) for (path, count), first in zip(counts.items(), firsts, strict=False)}
    file_ids = tuple(file_id for path, count in counts.items() for file_id in group_ids(path, count))
    return NewPartition(
        name=RECORD_INDEX,
        group_count=len(file_ids),
        write_base_files=_writer(content, config, reader, groups),
        definition=definition,
        file_ids=file_ids,
    )


def _writer(
    content: TableContent,
    config: TableConfig,
    reader: DataFileReader,
    groups: Mapping[str, tuple[int, int]] | None = None,
) -> WriteBaseFiles:
    """The function that reads all keys of the table and writes the base files."""
    spark = reader.spark
    if spark is None:
        raise InvalidRequestError(
            f"A build of {RECORD_INDEX} needs Spark.",
            hint=f"Name {RECORD_INDEX} in the request, and run the script on Spark.",
        )
    indexed = tuple(
        _indexed(found, config) for _, slices in sorted(content.live_slices.items()) for found in slices
    )
    reading = slice_reading(content, config)

    def write(new: NewFiles) -> Sequence[WriteStat]:
        return RecordIndexFiles(
            storage=reader.storage,
            slices=indexed,
            reading=reading,
            group_count=len(new.groups),
            write_group=partial(write_group, new),
            groups_of_partition=groups,
        ).write(spark)

    return write


def _group_counts(content: TableContent, reader: DataFileReader, size: RecordIndexSize) -> dict[str, int]:
    """Map each partition of the table to the number of its file groups, sorted by path."""
    files: dict[str, list[DataFile]] = {path: [] for path in sorted(content.files)}
    for file in live_base_files(content):
        files[file.partition_path].append(file)
    if size.group_count(reader.row_count(live_base_files(content))) == size.min_groups:
        # The whole table needs only the minimum number of file groups, so no partition needs more than this number.
        return dict.fromkeys(files, size.min_groups)
    return {path: size.group_count(reader.row_count(found)) for path, found in files.items()}


def _empty_record_index(config: TableConfig, size: RecordIndexSize) -> NewPartition:
    """The record index of a table without rows, with the smallest number of file groups."""
    return NewPartition(
        name=RECORD_INDEX,
        group_count=size.group_count(0),
        write_base_files=lambda _: (),
        definition=record_index_definition(config.table_version),
    )


def write_group(new: NewFiles, number: int, records: Sequence[MetadataRecord]) -> WriteStat:
    """Write the base file of a file group, in a Spark task that Spark may repeat."""
    try:
        return _written(new, number, records)
    except ObjectExistsError:
        # An earlier attempt of the task wrote the same content; no other writer uses this instant.
        for stored in new.storage.list_folder(new.groups[number].partition_path).files:
            if stored.name.startswith(f"{new.groups[number].file_id}_"):
                new.storage.delete(stored.path)
        return _written(new, number, records)


def _written(new: NewFiles, number: int, records: Sequence[MetadataRecord]) -> WriteStat:
    return write_base_file(new.storage, new.groups[number], records, new.instant_time, new.form)


def _indexed(file_slice: FileSlice, config: TableConfig) -> IndexedSlice:
    group = file_slice.file_group_id
    if not is_uuid_file_id(group.file_id):
        raise UnsupportedTableError(
            f"The record index stores ids of file groups as numbers, but cannot convert {group.file_id!r} to numbers.",
            hint=f"Build the other partitions, without {RECORD_INDEX}.",
        )
    moment = instant_moment(file_slice.base_instant_time, config)
    location = RecordLocation(
        partition_path=group.partition_path,
        file_id=group.file_id,
        instant_millis=int(moment.timestamp() * 1000) if moment is not None else 0,
    )
    return IndexedSlice(file_slice, location)
