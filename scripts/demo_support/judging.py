"""Compare the table, as hudi-rs reads it, with the source."""

from collections import Counter
from pathlib import Path

import pyarrow as pa
from hudi import HudiReadOptions, HudiTable

from demo_support.picture import print_heading

_META_PREFIX = "_hoodie_"
_DAYS_PER_LINE = 8


def judge(base_path: Path, expected: pa.Table) -> bool:
    """Print rows per day, table against source; True when all rows are equal."""
    table = read_by_hudi_rs(base_path)
    print_heading("Rows per day, read by hudi-rs")
    wanted, found = _per_day(expected), _per_day(table)
    days = sorted({*wanted, *found})
    for start in range(0, len(days), _DAYS_PER_LINE):
        line = days[start : start + _DAYS_PER_LINE]
        print(
            "  "
            + "  ".join(
                f"{day[5:]} {found[day]:>4}{'' if found[day] == wanted[day] else '!'}" for day in line
            )
        )
    columns = [name for name in table.schema.names if not name.startswith(_META_PREFIX)]
    same = _rows(table, columns) == _rows(expected, columns)
    print(
        f"  {'OK  ' if wanted == found else 'FAIL'} {sum(found.values()):,} rows, every day as in the source"
    )
    print(f"  {'OK  ' if same else 'FAIL'} every value of every row equal, corrections included")
    return wanted == found and same


def read_by_hudi_rs(base_path: Path) -> pa.Table:
    """The table's latest snapshot."""
    batches = [pa.record_batch(batch) for batch in HudiTable(str(base_path)).read(HudiReadOptions())]
    return pa.Table.from_batches(batches)


def _per_day(table: pa.Table) -> Counter[str]:
    return Counter(str(day) for day in table["flight_date"].to_pylist())


def _rows(table: pa.Table, columns: list[str]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in table.select(columns).to_pylist())
