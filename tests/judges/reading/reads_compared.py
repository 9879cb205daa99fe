"""Each read of real Hudi is also a test of this project's reader: both must return the same rows.

The conformance tests read nearly all of their tables with Hudi. :class:`ComparingJudge` reads each of these tables
with this project as well, with the same options, and compares all columns, except the name of the file of a row.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from hudi_table_services.reading.scan_reader import plan_read, rows_of_scan
from hudi_table_services.storage.stores.local import LocalStorage
from judges.hudi_judge import HudiJudge
from judges.table_files import instant_names

FILE_NAME = "_hoodie_file_name"
"""Hudi and this project name different files if a row comes from a log file."""


class ComparingJudge(HudiJudge):
    """Real Hudi. Each of its reads fails if this project reads other rows.

    Attributes:
        compares_reads: False while a test runs whose tables the two projects read differently.
    """

    compares_reads = True

    def read_with_meta_columns(
        self, base_path: Path | str, options: Mapping[str, str] | None = None
    ) -> pa.Table:
        if self.compares_reads:
            return self.compare(base_path, options)
        return super().read_with_meta_columns(base_path, options)

    def compare(self, base_path: Path | str, options: Mapping[str, str] | None = None) -> pa.Table:
        """Read a table with this project and with Hudi, and compare the rows. Returns the rows that Hudi reads.

        If a job changes the table at the same time, the two reads may see different states, and are not compared.
        """
        before = instant_names(Path(base_path))
        ours = our_rows(base_path, options)
        theirs = super().read_with_meta_columns(base_path, options)
        if instant_names(Path(base_path)) == before:
            what = f"{Path(base_path).name} with {dict(options or {})}, Hudi {self.release}"
            assert_same_rows(ours, theirs, what)
        return theirs


def our_rows(
    base_path: Path | str, options: Mapping[str, str] | None = None, filters: Sequence[object] = ()
) -> pa.Table | None:
    """The rows that this project reads, without Spark; None if there are none."""
    storage = LocalStorage(str(base_path))
    found = list(rows_of_scan(storage, plan_read(storage, options or {}, filters=filters)))
    return pa.concat_tables(found) if found else None


def assert_same_rows(ours: pa.Table | None, theirs: pa.Table, what: str) -> None:
    """Compare two results as multisets of rows; the error lists the first differences."""
    if ours is not None:
        assert set(ours.column_names) == set(theirs.column_names), f"{what}: other columns"
    found = _counted(ours) if ours is not None else Counter[tuple[Any, ...]]()
    wanted = _counted(theirs)
    missing, surplus = wanted - found, found - wanted
    assert not missing and not surplus, (
        f"{what}: this project and Hudi read different rows; only Hudi reads {_some(missing)}; only this project "
        f"reads {_some(surplus)}"
    )


def _counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
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


def _some(rows: Counter[tuple[Any, ...]]) -> str:
    return f"{rows.total()} rows {[dict(row) for row in list(rows)[:2]]}" if rows else "no more"
