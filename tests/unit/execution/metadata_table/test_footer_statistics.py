"""Statistics from footers, and from rows where the footer does not contain them."""

import datetime
import decimal
import io
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.execution.metadata_table.row_statistics import (
    completed_from_rows,
    has_nan,
    nan_columns,
)
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.model.metadata_table import FileColumnRange, FileStatistics
from hudi_table_services.model.table_version import TableVersion
from support.metadata_table.metadata_golden import RELEASES
from support.statistics_golden import statistics_table

NAN = float("nan")
LONG_TEXT = "ä" * 5000


def written(table: pa.Table, row_group_rows: int = 1 << 20) -> pq.ParquetFile:
    sink = io.BytesIO()
    with ParquetFormat().open_writer(sink, table.schema, []) as writer:
        writer.write_table(table, row_group_size=row_group_rows)
    return pq.ParquetFile(io.BytesIO(sink.getvalue()))


def footer(
    table: pa.Table, counted: frozenset[str] | None = None, row_group_rows: int = 1 << 20
) -> FileStatistics:
    return file_statistics("a", "f.parquet", written(table, row_group_rows).metadata, counted)


def range_of(column: pa.Array, counted: frozenset[str] | None = None) -> FileColumnRange:
    found = footer(pa.table({"c": column}), counted).range_of("c")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        (pa.array([3, None, -1], pa.int32()), -1, 3),
        (pa.array([True, False]), False, True),
        (pa.array(["b", "a", None, "\U0001f600", "\uffee"]), "a", "\U0001f600"),
        (pa.array([b"\x80", b"\x7f\xff"]), b"\x7f\xff", b"\x80"),
        (pa.array([datetime.date(1969, 12, 28), datetime.date(1970, 1, 15)]), -4, 14),
        (pa.array([1705806245678901, -5], pa.timestamp("us", "UTC")), -5, 1705806245678901),
        (pa.array([1705806245678901, -5], pa.timestamp("us")), -5, 1705806245678901),
        (
            pa.array([decimal.Decimal("1.10"), decimal.Decimal("-250.05")], pa.decimal128(20, 2)),
            decimal.Decimal("-250.05"),
            decimal.Decimal("1.10"),
        ),
    ],
)
def test_bounds_have_the_form_of_the_metadata_table(column: pa.Array, low: object, high: object) -> None:
    found = range_of(column)
    assert (found.min_value, found.max_value) == (low, high)
    assert (type(found.min_value), type(found.max_value)) == (type(low), type(high))
    assert (found.value_count, found.null_count, found.has_nan) == (len(column), column.null_count, False)


def test_row_groups_are_summed_up() -> None:
    table = pa.table({"c": ["b", None, "\U0001f600", "\uffee", None, "a"]})
    one, many = footer(table).range_of("c"), footer(table, row_group_rows=1).range_of("c")
    assert one is not None
    assert many is not None
    assert (many.min_value, many.max_value) == (one.min_value, one.max_value) == ("a", "\U0001f600")
    assert (many.value_count, many.null_count) == (6, 2)
    file = written(table, 1)
    chunks = [file.metadata.row_group(number).column(0) for number in range(6)]
    assert many.total_size_bytes == sum(chunk.total_compressed_size for chunk in chunks)
    assert many.total_uncompressed_bytes == sum(chunk.total_uncompressed_size for chunk in chunks)


def test_the_statistics_of_a_column_of_nulls_are_known_but_have_no_bounds() -> None:
    for column in (pa.nulls(2, pa.string()), pa.nulls(2, pa.float64())):
        found = range_of(column, frozenset())
        assert (found.min_value, found.max_value, found.null_count, found.has_nan) == (None, None, 2, False)
        assert found.has_only_nulls


def test_columns_in_lists_are_left_out_and_members_of_structs_have_their_path() -> None:
    table = pa.table({"s": [{"x": 1, "y": [1]}, None], "l": [[1], []], "n": [1, 2]})
    assert [found.column for found in footer(table).ranges] == ["s.x", "n"]
    found = footer(table).range_of("s.x")
    assert found is not None
    assert (found.min_value, found.null_count, found.value_count) == (1, 1, 2)


@pytest.mark.parametrize(
    ("values", "counted", "expected"),
    [
        ([1.0, NAN, 3.0], None, (1.0, 3.0, None)),
        ([1.0, NAN, 3.0], {"c"}, (1.0, 3.0, True)),
        ([1.0, 3.0], None, (1.0, 3.0, None)),
        ([1.0, 3.0], set(), (1.0, 3.0, False)),
        ([NAN, NAN], None, (None, None, None)),
        ([NAN, NAN], {"c"}, (None, None, True)),
    ],
)
def test_a_footer_of_pyarrow_does_not_show_nan(
    values: list[float], counted: set[str] | None, expected: tuple
) -> None:
    for arrow_type in (pa.float64(), pa.float32()):
        found = range_of(pa.array(values, arrow_type), None if counted is None else frozenset(counted))
        assert (found.min_value, found.max_value, found.has_nan) == expected


@pytest.mark.parametrize("version", list(RELEASES), ids=lambda version: f"v{version}")
def test_a_footer_of_hudi_shows_whether_there_is_nan(version: TableVersion) -> None:
    for path, file in statistics_table(version).data_files.items():
        assert file.metadata.created_by.startswith("parquet-mr")
        found = file_statistics("a", path, file.metadata)
        fare, from_rows = found.range_of("fare"), completed_from_rows(file, found, ["fare"]).range_of("fare")
        assert fare is not None
        assert from_rows is not None
        assert fare.has_nan is from_rows.has_nan is path.startswith("east/")
        assert fare.min_value == from_rows.min_value
        assert fare.max_value == (None if fare.has_nan else from_rows.max_value)


def test_bounds_of_long_strings_come_from_the_rows_because_the_footer_has_none() -> None:
    table = pa.table({"c": ["b", LONG_TEXT, None], "d": ["x", "y", LONG_TEXT], "n": [1, 2, 3]})
    file = written(table)
    before = file_statistics("a", "f", file.metadata)
    unknown = before.range_of("c")
    assert unknown is not None
    assert (unknown.min_value, unknown.max_value, unknown.has_only_nulls) == (None, None, False)
    after = completed_from_rows(file, before, ["c", "n"])
    known = after.range_of("c")
    assert known is not None
    assert (known.min_value, known.max_value, known.null_count) == ("b", LONG_TEXT, 1)
    assert after.range_of("d") == before.range_of("d")
    assert after.range_of("n") == before.range_of("n")


COLUMNS = {
    "number": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "text": (pa.string(), st.text(max_size=4)),
    "raw": (pa.binary(), st.binary(max_size=4)),
    "fare": (pa.float64(), st.floats()),
    "weight": (pa.float32(), st.floats(width=32)),
    "day": (pa.date32(), st.dates()),
    "at": (pa.timestamp("us"), st.datetimes()),
    "price": (pa.decimal128(10, 2), st.decimals(-99999999, 99999999, places=2)),
    "flag": (pa.bool_(), st.booleans()),
}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 8))
    return pa.table(
        {
            name: pa.array(draw(st.lists(st.none() | values, min_size=rows, max_size=rows)), arrow_type)
            for name, (arrow_type, values) in COLUMNS.items()
        }
    )


@given(tables(), st.integers(1, 8))
def test_footer_and_rows_give_the_same_statistics(table: pa.Table, row_group_rows: int) -> None:
    file = written(table, row_group_rows)
    found = nan_columns(table)
    from_footer = file_statistics("a", "f", file.metadata, found)
    from_rows = completed_from_rows(file, file_statistics("a", "f", file.metadata), COLUMNS)
    for one, other in zip(from_footer.ranges, from_rows.ranges, strict=True):
        assert one.null_count == other.null_count == table[one.column].null_count
        if not one.has_only_nulls:
            assert one.has_nan == other.has_nan == (one.column in found)
        # A chunk with only NaN has no bounds in the footer. Then the column has no bounds, even if the rows of other
        # chunks have some.
        if one.min_value is not None or not one.has_nan:
            assert (one.min_value, one.max_value) == (other.min_value, other.max_value)


@given(st.lists(st.none() | st.floats()))
def test_nan_is_found_in_arrays_chunks_and_structs(values: list[float | None]) -> None:
    expected = any(value is not None and math.isnan(value) for value in values)
    column = pa.array(values, pa.float64())
    assert has_nan(column) is has_nan(pa.chunked_array([column, column])) is expected
    assert has_nan(column.dictionary_encode()) is expected
    inner = pa.table({"s": pa.array([{"x": value} for value in values], pa.struct([("x", pa.float64())]))})
    assert nan_columns(inner) == (frozenset({"s.x"}) if expected else frozenset())
    batches = pa.table({"c": column, "n": pa.nulls(len(values), pa.int8())}).to_batches()
    assert frozenset().union(*map(nan_columns, batches)) == (frozenset({"c"}) if expected else frozenset())


def test_nan_in_a_struct_that_is_null_does_not_count() -> None:
    values = pa.array([1.0, NAN])
    hidden = pa.StructArray.from_arrays([values], ["x"], mask=pa.array([False, True]))
    assert nan_columns(pa.table({"s": hidden})) == frozenset()
    assert not has_nan(pa.array(["nan"]))
