"""A new record index: the location of every record key of the table."""

from collections.abc import Sequence
from functools import partial

from hudi_table_services.commits.metadata_table_building.contents import live_base_files, refuse_log_files
from hudi_table_services.commits.metadata_table_building.new_partition import NewFiles, NewPartition
from hudi_table_services.errors import InvalidRequestError, ObjectExistsError, UnsupportedTableError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.execution.metadata_table.record_index_files import IndexedFile, RecordIndexFiles
from hudi_table_services.hudi_format.metadata_table.file_groups import RECORD_INDEX
from hudi_table_services.hudi_format.metadata_table.file_ids import is_uuid_file_id
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import MetadataRecord, RecordLocation
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize
from hudi_table_services.planning.metadata_table.index_choice import record_index_definition
from hudi_table_services.storage.clock import instant_moment
from hudi_table_services.storage.metadata_table.group_files import write_base_file
from hudi_table_services.tables.metadata_content import TableContent


def new_record_index(
    content: TableContent, config: TableConfig, reader: DataFileReader, size: RecordIndexSize
) -> NewPartition:
    """The record index of a table. Its keys are read when the partition is written.

    Raises:
        InvalidRequestError: the table has rows, and there is no Spark session.
        UnsupportedTableError: the table has log files, or ids of file groups that the index cannot store.
    """
    refuse_log_files(content)
    files = live_base_files(content)
    spark = reader.spark
    if not files:
        return _empty_record_index(config, size)
    if spark is None:
        raise InvalidRequestError(
            f"A build of {RECORD_INDEX} needs Spark.",
            hint=f"Name {RECORD_INDEX} in the request, and run the script on Spark.",
        )
    indexed = tuple(_indexed(file, config) for file in files)

    def write(new: NewFiles) -> Sequence[WriteStat]:
        return RecordIndexFiles(
            storage=reader.storage,
            files=indexed,
            group_count=len(new.groups),
            write_group=partial(write_group, new),
        ).write(spark)

    return NewPartition(
        name=RECORD_INDEX,
        group_count=size.group_count(reader.row_count(files)),
        write_base_files=write,
        definition=record_index_definition(config.table_version),
    )


def _empty_record_index(config: TableConfig, size: RecordIndexSize) -> NewPartition:
    """The record index of a table without rows, with the smallest number of file groups."""
    return NewPartition(
        name=RECORD_INDEX,
        group_count=size.group_count(0),
        write_base_files=lambda _: (),
        definition=record_index_definition(config.table_version),
    )


def write_group(new: NewFiles, number: int, records: Sequence[MetadataRecord]) -> WriteStat:
    """Write the base file of a file group, in a task of Spark that Spark may repeat."""
    try:
        return _written(new, number, records)
    except ObjectExistsError:
        # An earlier attempt of the task wrote the same content; no other writer has the instant.
        for stored in new.storage.list_folder(new.groups[number].partition_path).files:
            if stored.name.startswith(f"{new.groups[number].file_id}_"):
                new.storage.delete(stored.path)
        return _written(new, number, records)


def _written(new: NewFiles, number: int, records: Sequence[MetadataRecord]) -> WriteStat:
    return write_base_file(new.storage, new.groups[number], records, new.instant_time, new.form)


def _indexed(file: DataFile, config: TableConfig) -> IndexedFile:
    base = BaseFile.from_file_name(file.file_name)
    if not is_uuid_file_id(base.file_id):
        raise UnsupportedTableError(
            f"The record index stores ids of file groups as numbers, which {base.file_id!r} is not.",
            hint=f"Build the other partitions, without {RECORD_INDEX}.",
        )
    moment = instant_moment(base.instant_time, config)
    location = RecordLocation(
        partition_path=file.partition_path,
        file_id=base.file_id,
        instant_millis=int(moment.timestamp() * 1000) if moment is not None else 0,
    )
    return IndexedFile(file.path, file.size_bytes, location)
