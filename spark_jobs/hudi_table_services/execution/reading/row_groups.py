"""Choose the row groups of a base file that, according to the footer, can have rows that fulfil the conditions."""

from collections.abc import Sequence

import pyarrow.parquet as pq

from hudi_table_services.execution.base_file_reader import column_names
from hudi_table_services.execution.metadata_table.footer_statistics import row_group_ranges
from hudi_table_services.model.reading.predicate import ColumnPredicate
from hudi_table_services.model.reading.range_checks import excludes, only_nulls


def wanted_row_groups(file: pq.ParquetFile, predicates: Sequence[ColumnPredicate]) -> list[int]:
    """Return the numbers of the row groups that must be read, in file order."""
    numbers = range(file.metadata.num_row_groups)
    if not predicates:
        return list(numbers)
    present = column_names(file)
    if any(excludes(each, only_nulls(each.column, 1)) for each in predicates if each.column not in present):
        return []
    return [number for number in numbers if not _is_excluded(file.metadata, number, predicates)]


def _is_excluded(metadata: pq.FileMetaData, number: int, predicates: Sequence[ColumnPredicate]) -> bool:
    ranges = row_group_ranges(metadata, number, {each.column for each in predicates})
    return any(
        (found := ranges.get(predicate.column)) is not None and excludes(predicate, found)
        for predicate in predicates
    )
