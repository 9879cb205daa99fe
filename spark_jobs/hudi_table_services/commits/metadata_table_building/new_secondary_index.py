"""A new secondary index: an entry for every row of the table."""

from collections.abc import Mapping, Sequence
from functools import partial

from hudi_table_services.commits.metadata_table_building.contents import live_base_files, refuse_log_files
from hudi_table_services.commits.metadata_table_building.new_partition import NewFiles, NewPartition
from hudi_table_services.commits.metadata_table_building.new_record_index import write_group
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.execution.metadata_table.secondary_index_files import SecondaryIndexFiles, SourceFile
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize
from hudi_table_services.planning.metadata_table.secondary_indexes import require_indexable, secondary_index
from hudi_table_services.tables.metadata_content import TableContent


def new_secondary_index(
    name: str,
    content: TableContent,
    definitions: Mapping[str, IndexDefinition],
    version: TableVersion,
    reader: DataFileReader,
    size: RecordIndexSize,
) -> NewPartition:
    """A secondary index that the table defines. Its keys are read when the partition is written.

    Args:
        size: settings for the number of file groups; as in Hudi, the settings of a record index.

    Raises:
        InvalidRequestError: there is no Spark session.
        CorruptTableError, UnsupportedTableError: the table has log files, or the index has a definition or a column
            that this release does not support.
    """
    spark = reader.spark
    if spark is None:
        raise InvalidRequestError(
            f"A build of {name} needs Spark.",
            hint=f"Name {name} in the request, and run the script on Spark.",
        )
    refuse_log_files(content)
    index = secondary_index(name, definitions, version)
    require_indexable([index], content.schema)
    files = live_base_files(content)

    def write(new: NewFiles) -> Sequence[WriteStat]:
        return SecondaryIndexFiles(
            storage=reader.storage,
            index=index,
            files=tuple(SourceFile(file.path, file.size_bytes) for file in files),
            schema=content.schema,
            group_count=len(new.groups),
            write_group=partial(write_group, new),
        ).write(spark)

    return NewPartition(
        name=name, group_count=size.group_count(reader.row_count(files)), write_base_files=write
    )
