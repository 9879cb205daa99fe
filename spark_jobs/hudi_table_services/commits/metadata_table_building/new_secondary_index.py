"""A new secondary index: an entry for every row of the table."""

from collections.abc import Mapping, Sequence
from functools import partial

from hudi_table_services.commits.metadata_table_building.contents import live_base_files
from hudi_table_services.commits.metadata_table_building.new_partition import NewFiles, NewPartition
from hudi_table_services.commits.metadata_table_building.new_record_index import write_group
from hudi_table_services.commits.metadata_table_building.slice_reading_of_builds import slice_reading
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.execution.metadata_table.data_file_facts import DataFileReader
from hudi_table_services.execution.metadata_table.secondary_index_files import SecondaryIndexFiles
from hudi_table_services.model.metadata_table import IndexDefinition
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteStat
from hudi_table_services.planning.metadata_table.build_plan import RecordIndexSize
from hudi_table_services.planning.metadata_table.secondary_indexes import require_indexable, secondary_index
from hudi_table_services.tables.metadata_content import TableContent


def new_secondary_index(
    name: str,
    content: TableContent,
    definitions: Mapping[str, IndexDefinition],
    config: TableConfig,
    reader: DataFileReader,
    size: RecordIndexSize,
) -> NewPartition:
    """A secondary index that the table defines. Its keys are read when the partition is written.

    Args:
        size: settings for the number of file groups; as in Hudi, the settings of a record index.

    Raises:
        InvalidRequestError: there is no Spark session.
        CorruptTableError, UnsupportedTableError: the index has a definition or a column that this release does not
            support, or the table has log files that this release cannot merge.
    """
    spark = reader.spark
    if spark is None:
        raise InvalidRequestError(
            f"A build of {name} needs Spark.",
            hint=f"Name {name} in the request, and run the script on Spark.",
        )
    index = secondary_index(name, definitions, config.table_version)
    require_indexable([index], content.schema)
    reading = slice_reading(content, config, (index.column.partition(".")[0],))
    slices = tuple(found for _, each in sorted(content.live_slices.items()) for found in each)

    def write(new: NewFiles) -> Sequence[WriteStat]:
        return SecondaryIndexFiles(
            storage=reader.storage,
            index=index,
            slices=slices,
            reading=reading,
            group_count=len(new.groups),
            write_group=partial(write_group, new),
        ).write(spark)

    return NewPartition(
        name=name,
        group_count=size.group_count(reader.row_count(live_base_files(content))),
        write_base_files=write,
    )
