"""Collect the statistics of a base file while the file is written.

The footer contains all statistics except two: whether a column has NaN, and the bounds of long strings (see
`footer_statistics`). The collector finds these two in the rows before the rows are written, so that no file is read
again. In each row group, the collector computes the bounds of every floating-point column with NaN, and of every string
or binary column whose longest value has more than 4,096 bytes.
"""

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hudi_table_services.execution.metadata_table.footer_statistics import Bounds, file_statistics
from hudi_table_services.execution.metadata_table.row_statistics import bounds_of_rows, has_nan, leaves
from hudi_table_services.model.metadata_table import FileStatistics

_LONGEST_BOUND_BYTES = 4096
"""pyarrow leaves out both bounds of a chunk if one of them has more bytes than this."""


class StatisticsCollector:
    """Collects the statistics of some columns of one file.

    The collector needs memory for the names of the columns with NaN, and for two bounds per row group of each column
    with NaN or long values.

    Args:
        columns: names of the columns; a dotted path for a member of a struct. Columns that the file does not have are
            left out of the statistics.

    Attributes:
        footers: pass this list to the Parquet writer, which adds the footer when it closes the file.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = frozenset(columns)
        self._top_level = frozenset(column.partition(".")[0] for column in self._columns)
        self._nan_columns: set[str] = set()
        self._bounds: dict[tuple[int, str], Bounds | None] = {}
        self._row_groups = 0
        self.footers: list[pq.FileMetaData] = []

    def add(self, rows: pa.Table) -> None:
        """Collect the statistics of the next row group from its rows."""
        for name, column in zip(rows.schema.names, rows.columns, strict=True):
            if name not in self._top_level:
                continue
            for path, leaf in leaves(name, column):
                if path in self._columns:
                    self._count(path, leaf)
        self._row_groups += 1

    def columns_to_read(self, footer: pq.FileMetaData, number: int) -> list[str]:
        """Return the columns that `add` needs of a row group that is copied from another file.

        Args:
            footer: footer of the other file.
            number: number of the row group in the other file.
        """
        group = footer.row_group(number)
        chunks = (group.column(place) for place in range(group.num_columns))
        needed = [
            chunk.path_in_schema
            for chunk in chunks
            if chunk.path_in_schema in self._columns and not _is_described(chunk)
        ]
        return sorted({path.partition(".")[0] for path in needed})

    def statistics(self, partition_path: str, file_name: str) -> FileStatistics:
        """Return the statistics of the file. Call the method after the Parquet writer has closed the file."""
        footer = self.footers[0]
        # pyarrow divides tables of more than 64 Mi rows. In that case, the bounds from the rows do not belong to single
        # row groups.
        is_divided = footer.num_row_groups != self._row_groups
        return file_statistics(
            partition_path,
            file_name,
            footer,
            self._nan_columns,
            counted_bounds={} if is_divided else self._bounds,
            columns=self._columns,
        )

    def _count(self, path: str, column: pa.ChunkedArray) -> None:
        if pa.types.is_floating(column.type):
            if not has_nan(column):
                return
            self._nan_columns.add(path)
        elif _longest(column) <= _LONGEST_BOUND_BYTES:
            return
        low, high = bounds_of_rows(column)
        self._bounds[self._row_groups, path] = None if low is None else (low, high)


def _is_described(chunk: pq.ColumnChunkMetaData) -> bool:
    """Whether the footer contains all statistics of a chunk: the bounds, and that there is no NaN."""
    if chunk.physical_type in ("FLOAT", "DOUBLE"):
        return False
    statistics = chunk.statistics
    return statistics is not None and (statistics.has_min_max or statistics.null_count == chunk.num_values)


def _longest(column: pa.ChunkedArray) -> int:
    """Return the bytes of the longest value of a string or binary column; 0 for columns of other types."""
    if pa.types.is_dictionary(column.type):
        return max((_longest(pa.chunked_array([chunk.dictionary])) for chunk in column.chunks), default=0)
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return 0
    return pc.max(pc.binary_length(column)).as_py() or 0
