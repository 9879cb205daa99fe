"""Column statistics that real Hudi wrote hide no row, with one exception that is an error of Hudi: columns with NaN."""

import pytest

from hudi_table_services.execution.metadata_table.data_file_facts import DataFile, DataFileReader
from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.hudi_format.metadata_table.file_groups import COLUMN_STATS, PARTITION_STATS
from hudi_table_services.model.metadata_table import ColumnStats
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.hidden_rows import (
    StoredStats,
    wrong_file_statistics,
    wrong_partition_statistics,
)
from hudi_table_services.planning.metadata_table.indexed_columns import indexed_columns
from support.metadata_table.built_tables import table_with_statistics
from support.statistics_golden import StatisticsTable, statistics_table

VERSIONS = [TableVersion.V6, TableVersion.V8, TableVersion.V9]


def stored(table: StatisticsTable, partition: str) -> StoredStats:
    records = [record for time in table.commits for record in table.records(partition, time)]
    payloads = [record.payload for record in records if isinstance(record.payload, ColumnStats)]
    return {(str(stats.file_name), str(stats.column_name)): stats for stats in payloads}


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: v.name)
def test_only_a_column_with_nan_hides_rows(version: TableVersion) -> None:
    table = statistics_table(version)
    newest = max(table.commits)
    schema = from_avro_json(table.commits[newest].extra_metadata["schema"])
    columns = indexed_columns(schema, table.column_stats_definition)
    files = [DataFile(*path.split("/"), 0) for path in sorted(table.data_files)]
    storage = table_with_statistics(version)
    sized = [DataFile(f.partition_path, f.file_name, len(storage.read(f.path))) for f in files]
    read = DataFileReader(storage).statistics(sized, [column.name for column in columns])
    of_files, of_partitions = stored(table, COLUMN_STATS), stored(table, PARTITION_STATS)
    assert {name for name, _ in of_files} == {file.file_name for file in files}
    wrong = list(wrong_file_statistics(read, of_files, columns))
    [with_nan] = [file for file in files if file.partition_path == "east"]
    assert wrong == [
        f"file {with_nan.file_name}, column 'fare': the record excludes values of the data files"
    ]
    wrong = list(wrong_partition_statistics(read, of_partitions, columns))
    assert wrong == (
        ["partition 'east', column 'fare': the record excludes values of the data files"]
        if of_partitions
        else []
    )
    assert bool(of_partitions) is (version >= TableVersion.V8)
