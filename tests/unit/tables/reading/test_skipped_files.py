"""Statistics and the record index of the metadata table leave out file slices without wanted rows."""

from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.model.schema import DOUBLE, STRING, Field, StructType
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.reading.planned_reads import plan_read
from support.metadata_table.built_tables import build
from support.reading.read_here import AS_OF, READ_OPTIMIZED, read, rows_of, values
from support.spark.indexed_log_tables import new_indexed_table
from support.spark.log_tables import LogTable, new_log_table

NAMES = ("k", "ts", "p", "v")
NO_SKIPPING = {"hoodie.enable.data.skipping": "false"}


def new_table(base_path: Path, version: int, table_type: str) -> LogTable:
    """Two partitions with two files each, whose values of ``ts`` and ``v`` do not overlap."""
    table = new_log_table(
        base_path,
        version,
        hoodie__table__type=table_type,
        hoodie__metadata__enable="true",
        hoodie__parquet__small__file__limit="0",
    )
    for number in range(1, 3):
        rows = [
            (f"k{number}{p}{i}", number * 100 + p * 10 + i, f"p{p}", f"v{number}{p}{i}")
            for p in range(2)
            for i in range(3)
        ]
        table.write(rows, "insert")
    return table


def check(table: LogTable, filters: list[object], options: dict[str, str] | None = None) -> str:
    """Compare a read with a read without skipping. Returns the plan in words."""
    scan = plan_read(table.storage, options or {}, filters=filters)
    plain = read(table.storage, {**(options or {}), **NO_SKIPPING}, *filters)
    assert values(rows_of(table.storage, scan), *NAMES) == values(plain, *NAMES)
    return scan.explain()


def with_statistics(table: LogTable, *names: str) -> LogTable:
    wanted = names or ("column_stats", "partition_stats")
    if read_table_config(table.storage).table_version == 6:
        wanted = ("column_stats",)
    build(table.storage, *wanted, clock=SystemClock())
    return table


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_column_statistics_leave_out_files(tmp_path: Path, version: int, table_type: str) -> None:
    table = with_statistics(new_table(tmp_path / "t", version, table_type))
    plan = check(table, [("ts", "=", 111)])
    assert "1 file slice" in plan.splitlines()[0]
    assert "column_stats exclude ts = 111" in plan
    assert "4 file slices" in check(table, [("v", "is not null")]).splitlines()[0]
    assert "0 file slices" in check(table, [("v", "is null")]).splitlines()[0]
    assert "0 file slices" in check(table, [("ts", ">", 1000)]).splitlines()[0]
    assert "the partition path excludes p > 'p0'" in check(table, [("p", ">", "p0")])
    assert "Lists only 1 partition, which the filters name: p1." in check(table, [("p", "=", "p1")])
    assert "0 file slices" in check(table, [("p", "in", ["none", "p7"])]).splitlines()[0]


@pytest.mark.parametrize("version", [8, 9])
def test_statistics_of_partitions_leave_out_partitions_of_copy_on_write_tables(
    tmp_path: Path, version: int
) -> None:
    table = with_statistics(new_table(tmp_path / "t", version, "COPY_ON_WRITE"))
    assert "Skips 2 file slices" in check(table, [("v", ">", "v211")])
    plan = check(table, [("ts", "<", 103)])
    assert "partition_stats exclude ts < 103" in plan


@pytest.mark.parametrize("version", [8, 9])
def test_values_of_log_files_count_when_slices_are_skipped(tmp_path: Path, version: int) -> None:
    table = with_statistics(new_table(tmp_path / "t", version, "MERGE_ON_READ"))
    table.write([("k100", 999, "p0", "late")])
    assert "1 file slice" in check(table, [("ts", "=", 999)]).splitlines()[0]
    assert ("k100", 999, "p0", "late") in values(read(table.storage, None, ("v", "=", "late")), *NAMES)
    assert check(table, [("ts", "=", 100)])  # the row of the base file was updated
    table.write([("k101", 1, "p0", "x")], "delete")
    check(table, [("ts", "=", 101)])


@pytest.mark.parametrize(("version", "is_partitioned"), [(6, False), (8, False), (9, False), (9, True)])
def test_the_record_index_finds_the_file_slices_of_keys(
    tmp_path: Path, version: int, is_partitioned: bool
) -> None:
    table = new_indexed_table(tmp_path / "t", version, is_partitioned=is_partitioned)
    for number in range(4):
        table.write([(f"k{number}", number, f"p{number}", "v", False)])
    for filters in ([("_hoodie_record_key", "=", "k2")], [("k", "in", ["k2"])]):
        plan = check(table, filters)
        assert "1 file slice" in plan.splitlines()[0], plan
        assert "the record index has no wanted key there" in plan
    assert "0 file slices" in check(table, [("k", "=", "missing")]).splitlines()[0]
    table.write([("k2", 9, "p2", "v", False)], "delete")
    assert check(table, [("k", "=", "k2")]).startswith("Reads the state")
    # A read-optimized read still returns the deleted row, which only the base file has.
    assert values(read(table.storage, READ_OPTIMIZED, ("k", "=", "k2")), "k") == [("k2",)]


def test_earlier_states_use_statistics_of_files_but_not_the_record_index(tmp_path: Path) -> None:
    table = new_indexed_table(tmp_path / "t", 9)
    table.write([("a", 1, "p", "v", False)])
    before = table.newest()[0].requested_time
    table.write([("a", 2, "p", "v", False)], "delete")
    assert values(read(table.storage, {AS_OF: before}, ("k", "=", "a")), "k", "ts") == [("a", 1)]
    assert read(table.storage, None, ("k", "=", "a")) == []


def test_a_metadata_table_that_cannot_be_used_is_named_in_the_plan(tmp_path: Path) -> None:
    table = with_statistics(new_table(tmp_path / "t", 9, "COPY_ON_WRITE"))
    for stored in list(table.storage.list_files(".hoodie/metadata/column_stats")):
        table.storage.delete(stored.path)
    plan = check(table, [("ts", "=", 111)])
    assert "column_stats was not used: " in plan


def test_without_data_skipping_only_partition_paths_are_used(tmp_path: Path) -> None:
    table = with_statistics(new_table(tmp_path / "t", 9, "COPY_ON_WRITE"))
    scan = plan_read(table.storage, NO_SKIPPING, filters=[("ts", "=", 111), ("p", ">", "p0")])
    assert [each.reason for each in scan.plan.skipped] == ["the partition path excludes p > 'p0'"]


def test_bounds_of_columns_with_nan_prove_nothing() -> None:
    from hudi_table_services.model.metadata_table import ColumnStats, StatKind, StatValue
    from hudi_table_services.planning.metadata_table.indexed_columns import indexed_columns
    from hudi_table_services.planning.metadata_table.stored_ranges import stored_range

    (double, text) = indexed_columns(StructType((Field("x", DOUBLE), Field("s", STRING))), None)[-2:]

    def stats(kind: StatKind, low: Any, high: Any) -> ColumnStats:
        return ColumnStats(
            file_name="f",
            column_name="x",
            min_value=StatValue(kind, low),
            max_value=StatValue(kind, high),
            value_count=2,
            null_count=0,
            total_size_bytes=0,
            total_uncompressed_bytes=0,
        )

    assert stored_range(stats(StatKind.DOUBLE, 0.0, 0.0), double) is None
    assert stored_range(stats(StatKind.DOUBLE, float("nan"), 1.0), double) is None
    found = stored_range(stats(StatKind.DOUBLE, 0.5, 1.0), double)
    assert found is not None
    assert (found.min_value, found.max_value, found.has_nan) == (0.5, 1.0, None)
    assert stored_range(stats(StatKind.STRING, "a", "\U0001f600"), text) is None
    assert stored_range(stats(StatKind.INT, 1, 2), text) is None
    assert stored_range(stats(StatKind.STRING, "a", "b"), text) is not None
