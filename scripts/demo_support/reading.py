"""Read the table back with hudi-rs, an implementation that shares no code with the engine."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from hudi import HudiTable

from demo_support.flights import DAY, RECORD_KEY

_TAIL = 8  # a parquet file ends with the length of its footer, 4 bytes, and "PAR1"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file that a reader of the newest state opens.

    Attributes:
        footer_bytes: bytes of schema, statistics and bloom filter. The remaining bytes of the file contain the rows.
    """

    partition_path: str
    name: str
    size_bytes: int
    footer_bytes: int
    row_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCheck:
    """Rows of one day in the source and in the table. ``is_equal`` is True if both have the same rows."""

    day: date
    source_count: int
    table_count: int
    is_equal: bool


def data_files(table: Path) -> list[DataFile]:
    """Return the table's live files, by partition, largest first."""
    slices = HudiTable(str(table)).get_file_slices()
    files = [_data_file(table / one.base_file_relative_path(), one.partition_path) for one in slices]
    return sorted(files, key=lambda file: (file.partition_path, -file.size_bytes))


def commit_count(table: Path) -> int:
    """Return the number of completed commits on the timeline."""
    return len(HudiTable(str(table)).get_timeline().get_completed_commits())


def check_days(table: Path, expected: pa.Table) -> list[DayCheck]:
    """Compare the table with the expected rows, day by day and value by value."""
    return check_rows(pa.Table.from_batches(HudiTable(str(table)).read()), expected)


def check_rows(found: pa.Table, expected: pa.Table) -> list[DayCheck]:
    """Compare the rows in the expected columns, day by day and value by value. The order of rows does not matter."""
    found, expected = _sorted(found.select(expected.column_names)), _sorted(expected)
    found = found.cast(expected.schema)
    days = sorted({*pc.unique(expected[DAY]).to_pylist(), *pc.unique(found[DAY]).to_pylist()})
    return [_check_day(day, expected, found) for day in days]


def _check_day(day: date, expected: pa.Table, found: pa.Table) -> DayCheck:
    wanted, got = (table.filter(pc.equal(table[DAY], pa.scalar(day))) for table in (expected, found))
    return DayCheck(
        day=day,
        source_count=wanted.num_rows,
        table_count=got.num_rows,
        is_equal=wanted.equals(got),
    )


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in RECORD_KEY])


def _data_file(path: Path, partition_path: str) -> DataFile:
    footer = pq.read_metadata(path)  # hudi-rs only estimates the number of rows of a file
    return DataFile(
        partition_path=partition_path,
        name=path.name,
        size_bytes=path.stat().st_size,
        footer_bytes=footer.serialized_size + _TAIL,
        row_count=footer.num_rows,
    )
