"""Each read of real Hudi is also a test of this project's reader: both must return the same rows.

The conformance tests read nearly all of their tables with Hudi. :class:`ComparingJudge` reads each of these tables
with this project as well, with the same options, and compares all columns, except the name of the file of a row.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.reading.planned_reads import plan_read, rows_of_scan, slice_reader
from judges.hudi_judge import HudiJudge
from judges.table_files import instant_names

FILE_NAME = "_hoodie_file_name"
"""Hudi and this project name different files if a row comes from a log file."""

Row = tuple[tuple[str, Any], ...]
"""Names and values of a row, in the order of the names."""


class ComparingJudge(HudiJudge):
    """Real Hudi. Each of its reads fails if this project reads other rows.

    Attributes:
        compares_reads: False while a test runs that breaks a rule on purpose, or whose tables the two projects read
            differently.
    """

    compares_reads = True

    def read_with_meta_columns(
        self, base_path: Path | str, options: Mapping[str, str] | None = None, *, where: str = ""
    ) -> pa.Table:
        """Read a table with Hudi. If no job changes the table in this time, this project must read the same rows."""
        before = _timeline(base_path)
        theirs = super().read_with_meta_columns(base_path, options, where=where)
        if self.compares_reads and not where and _timeline(base_path) == before:
            assert_same_rows(our_rows(base_path, options), theirs, self._what(base_path, options))
        return theirs

    def compare(
        self,
        base_path: Path | str,
        options: Mapping[str, str] | None = None,
        *,
        filters: Sequence[object] = (),
        where: str = "",
        may_lack: Callable[[Row], bool] | None = None,
    ) -> pa.Table:
        """Read a table first with this project and then with Hudi, and compare the rows. Returns the rows of Hudi.

        Args:
            filters: conditions of this project's read.
            where: the same conditions in SQL, for Hudi's query.
            may_lack: whether Hudi's result may lack a row of this project's result; None if it must contain all rows.
        """
        ours = our_rows(base_path, options, filters)
        theirs = super().read_with_meta_columns(base_path, options, where=where)
        assert_same_rows(ours, theirs, f"{self._what(base_path, options)} {where}", may_lack)
        return theirs

    def _what(self, base_path: Path | str, options: Mapping[str, str] | None) -> str:
        return f"{Path(base_path).name} with {dict(options or {})}, Hudi {self.release}"


def compares_reads(test: pytest.Item) -> bool:
    """Whether each read of Hudi in a test is compared with a read of this project.

    Controls break a rule on purpose. The marker ``reads_differ`` of a test gives another reason.
    """
    return "_control_" not in test.name and test.get_closest_marker("reads_differ") is None


def _timeline(base_path: Path | str) -> list[str]:
    folder = Path(base_path)
    return instant_names(folder) if (folder / ".hoodie").is_dir() else []


def our_rows(
    base_path: Path | str, options: Mapping[str, str] | None = None, filters: Sequence[object] = ()
) -> pa.Table:
    """The rows that this project reads, without Spark."""
    storage = LocalStorage(str(base_path))
    scan = plan_read(storage, options or {}, filters=filters)
    empty = slice_reader(storage, scan).columns.empty_table()
    return pa.concat_tables([empty, *rows_of_scan(storage, scan)])


def assert_same_rows(
    ours: pa.Table, theirs: pa.Table, what: str, may_lack: Callable[[Row], bool] | None = None
) -> None:
    """Compare two results as multisets of rows; the error lists the first differences.

    Args:
        may_lack: see `ComparingJudge.compare`.
    """
    # Hudi moves the partition columns to the end.
    assert set(ours.column_names) == set(theirs.column_names), f"{what}: other columns"
    found, wanted = counted_rows(ours), counted_rows(theirs)
    missing, surplus = wanted - found, found - wanted
    if may_lack is not None:
        surplus = Counter({row: count for row, count in surplus.items() if not may_lack(row)})
    difference = f"only Hudi reads {_some(missing)}; only this project reads {_some(surplus)}"
    assert missing.total() + surplus.total() == 0, (
        f"{what}: this project and Hudi read different rows; {difference}"
    )


def counted_rows(rows: pa.Table) -> Counter[Row]:
    """Count equal rows, without the names of their files."""
    listed = rows.drop_columns([FILE_NAME]).to_pylist(maps_as_pydicts="strict")
    return Counter(tuple(sorted((name, _comparable(value)) for name, value in row.items())) for row in listed)


def _comparable(value: Any) -> Any:
    """The value as an object that has a hash; NaN is equal to NaN."""
    if isinstance(value, list):
        return tuple(_comparable(item) for item in value)
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value


def _some(rows: Counter[Row]) -> str:
    return f"{rows.total()} rows {[dict(row) for row in list(rows)[:2]]}" if rows else "no more"
