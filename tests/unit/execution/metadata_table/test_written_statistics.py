"""The statistics that a writer collects agree with the rows of the file that it wrote."""

import datetime
import decimal
import io
import math
import pickle
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    FILE_NAME,
    PARTITION_PATH,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.metadata_table.footer_statistics import file_statistics
from hudi_table_services.execution.metadata_table.written_statistics import StatisticsCollector
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import FileColumnRange, FileStatistics
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.depth import by_depth

NAN = float("nan")
LONG = 4097
EPOCH = datetime.date(1970, 1, 1)
INNER = pa.struct([pa.field("x", pa.float64()), pa.field("t", pa.string())])
TEXTS = st.text(max_size=4) | st.sampled_from(["z" * LONG, "a" * LONG, "ä" * 2049])
FLOATS = st.floats() | st.just(NAN)
COLUMNS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "flag": (pa.bool_(), st.booleans()),
    "small": (pa.int32(), st.integers(-(1 << 31), (1 << 31) - 1)),
    "number": (pa.int64(), st.integers(-(1 << 63), (1 << 63) - 1)),
    "weight": (pa.float32(), st.floats(width=32) | st.just(NAN)),
    "fare": (pa.float64(), FLOATS),
    "text": (pa.string(), TEXTS),
    "raw": (pa.binary(), st.binary(max_size=4) | st.sampled_from([b"\xff" * LONG, b"\0" * LONG])),
    "day": (pa.date32(), st.dates()),
    "at": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(datetime.timezone.utc))),
    "local": (pa.timestamp("us"), st.datetimes()),
    "price": (pa.decimal128(20, 2), st.decimals(-(10**17), 10**17, places=2)),
    "inner": (INNER, st.fixed_dictionaries({"x": st.none() | FLOATS, "t": st.none() | TEXTS})),
    "items": (pa.list_(pa.field("element", pa.int32())), st.lists(st.integers(0, 9), max_size=2)),
}
SCHEMA = pa.schema([pa.field(name, arrow_type) for name, (arrow_type, _) in COLUMNS.items()])
META = (COMMIT_TIME, PARTITION_PATH, RECORD_KEY, FILE_NAME)
INDEXED = (*META, *(name for name in COLUMNS if name not in ("inner", "items")), "inner.x", "inner.t")


@st.composite
def row_groups(draw: st.DrawFn) -> list[pa.Table]:
    """Row groups of one file. A column of a row group may have only nulls, or only NaN."""
    tables: list[pa.Table] = []
    for number in range(draw(st.integers(0, 3))):
        rows = draw(st.integers(1, 3))
        columns = {
            name: pa.array(draw(values_of_column(arrow_type, values, rows)), arrow_type)
            for name, (arrow_type, values) in COLUMNS.items()
        }
        keys = draw(st.lists(TEXTS.map(lambda text: f"k{text}"), min_size=rows, max_size=rows))
        tables.append(with_meta(pa.table(columns, SCHEMA), keys, number))
    return tables


def values_of_column(
    arrow_type: pa.DataType, values: st.SearchStrategy[Any], rows: int
) -> st.SearchStrategy[Any]:
    alike = [st.just([None] * rows)] + [st.just([NAN] * rows)] * pa.types.is_floating(arrow_type)
    return st.lists(st.none() | values, min_size=rows, max_size=rows) | st.one_of(alike)


def with_meta(data: pa.Table, keys: list[str], number: int = 0) -> pa.Table:
    rows = data.num_rows
    meta = {COMMIT_TIME: ["20260101000000000"] * rows, SEQUENCE_NUMBER: [f"{number}_0"] * rows}
    texts = {name: pa.array(values, pa.string()) for name, values in {**meta, RECORD_KEY: keys}.items()}
    return pa.table({**texts, **{name: data[name] for name in data.schema.names}})


def numbered(rows: int, **columns: pa.Array) -> pa.Table:
    return with_meta(pa.table(columns), [f"key-{number}" for number in range(rows)])


def write(
    tables: list[pa.Table], columns: tuple[str, ...], schema: pa.Schema = SCHEMA
) -> tuple[BaseFileWriter, pq.ParquetFile]:
    """Write a file with one row group for each table, and read it back."""
    storage = MemoryStorage(uuid4().hex)
    spec = BaseFileSpec(
        base_file=BaseFile(file_id="f-0", write_token="0-0-0", instant_time="20260101000000000"),
        partition_path="a/b",
        expected_rows=1,
        data_schema=schema,
        avro_schema_json="{}",
        marker_kind=MarkerKind.CREATE,
        statistics_columns=columns,
    )
    parquet = ParquetFormat(row_group_bytes=1)
    with BaseFileWriter(storage, spec, parquet, BloomSettings(max_entries=10)) as writer:
        for table in tables:
            writer.write(table)
    return writer, pq.ParquetFile(io.BytesIO(storage.read(spec.path)))


def collected(tables: list[pa.Table], columns: tuple[str, ...], schema: pa.Schema) -> FileStatistics:
    statistics = write(tables, columns, schema)[0].statistics
    assert statistics is not None
    return statistics


def only_range(tables: list[pa.Table]) -> FileColumnRange:
    """Write the tables, and return the statistics of their last column."""
    field = tables[0].schema[-1]
    (found,) = collected(tables, (field.name,), pa.schema([field])).ranges
    return found


def stored(value: Any) -> Any:
    """Convert the value to the form that the metadata table stores."""
    if isinstance(value, datetime.datetime):
        plain = value.replace(tzinfo=None) - datetime.datetime.combine(EPOCH, datetime.time())
        return plain // datetime.timedelta(microseconds=1)
    return (value - EPOCH).days if isinstance(value, datetime.date) else value


def values_of(rows: pa.Table, path: str) -> list[Any]:
    top, _, member = path.partition(".")
    values = rows[top].to_pylist()
    return [None if value is None else value[member] for value in values] if member else values


def expected_bounds(values: list[Any]) -> tuple[Any, Any]:
    numbers = [stored(v) for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
    if not numbers:
        return None, None
    order = (lambda value: value.encode()) if isinstance(numbers[0], str) else None
    return min(numbers, key=order), max(numbers, key=order)


@pytest.mark.thorough
@settings(max_examples=by_depth(12, 40))
@given(row_groups())
def test_the_statistics_are_those_of_the_rows_of_the_file(tables: list[pa.Table]) -> None:
    writer, file = write(tables, INDEXED)
    rows, footer = file.read(), file_statistics("", "", file.metadata)
    assert writer.statistics is not None
    assert writer.statistics.partition_path == "a/b"
    assert writer.statistics.file_name == "f-0_0-0-0_20260101000000000.parquet"
    assert writer.statistics.row_count == rows.num_rows == sum(table.num_rows for table in tables)
    assert {found.column for found in writer.statistics.ranges} == set(INDEXED)
    for found in writer.statistics.ranges:
        values = values_of(rows, found.column)
        assert (found.min_value, found.max_value) == expected_bounds(values), found.column
        assert (found.value_count, found.null_count) == (len(values), values.count(None))
        assert found.has_nan is any(isinstance(value, float) and math.isnan(value) for value in values)
        in_footer = footer.range_of(found.column)
        assert in_footer is not None
        assert found.total_size_bytes == in_footer.total_size_bytes
        assert found.total_uncompressed_bytes == in_footer.total_uncompressed_bytes


def test_an_empty_file_has_statistics_without_bounds() -> None:
    writer, _ = write([], INDEXED)
    assert writer.statistics is not None
    assert writer.statistics.row_count == 0
    assert {found.column for found in writer.statistics.ranges} == set(INDEXED)
    assert all(
        (r.min_value, r.max_value, r.value_count, r.has_nan) == (None, None, 0, False)
        for r in writer.statistics.ranges
    )


def test_nothing_is_collected_if_no_column_is_wanted() -> None:
    writer, file = write([numbered(2, fare=pa.array([1.0, NAN]))], (), pa.schema([("fare", pa.float64())]))
    assert writer.statistics is None
    assert file.metadata.num_rows == 2


def test_only_the_wanted_columns_that_the_file_has_are_collected() -> None:
    rows = numbered(2, fare=pa.array([1.0, 2.0]), seats=pa.array([3, 4]))
    schema = pa.schema([("fare", pa.float64()), ("seats", pa.int64())])
    found = collected([rows], (RECORD_KEY, "seats", "dropped", "seats.x"), schema)
    assert [(r.column, r.min_value, r.max_value) for r in found.ranges] == [
        (RECORD_KEY, "key-0", "key-1"),
        ("seats", 3, 4),
    ]


@pytest.mark.parametrize("length", [4096, 4097])
def test_bounds_of_strings_are_known_even_beyond_the_size_limit_of_the_footer(length: int) -> None:
    column = pa.array(["b", None, "c" * length])
    found = only_range([numbered(3, name=column), numbered(2, name=pa.array(["a", "d"]))])
    assert (found.min_value, found.max_value, found.null_count) == ("a", "d", 1)
    found = only_range([numbered(2, name=pa.array(["a", "b"])), numbered(3, name=column)])
    assert (found.min_value, found.max_value) == ("a", "c" * length)


def test_bounds_come_from_the_other_row_groups_if_one_has_only_nan() -> None:
    found = only_range([numbered(2, fare=pa.array([NAN, None])), numbered(2, fare=pa.array([-1.5, 2.5]))])
    assert (found.min_value, found.max_value, found.has_nan, found.null_count) == (-1.5, 2.5, True, 1)


def test_bounds_of_a_table_are_not_used_if_it_is_divided_into_several_row_groups() -> None:
    tables = [pa.table({"name": ["m", "z" * LONG]}), pa.table({"name": ["b", "c" * LONG, "d"]})]
    collector = StatisticsCollector(["name"])
    with ParquetFormat().open_writer(io.BytesIO(), tables[0].schema, [], collector.footers) as writer:
        for table, row_group_size in zip(tables, (1, 3), strict=True):
            collector.add(table)
            writer.write_table(table, row_group_size=row_group_size)
    found = collector.statistics("p", "f").range_of("name")
    assert found is not None
    assert (found.min_value, found.max_value, found.value_count, found.null_count) == (None, None, 5, 0)


def test_pickled_statistics_have_few_bytes_per_column() -> None:
    count = 40
    columns = {f"column_{number}": pa.array([1.5, 2.5, None]) for number in range(count)}
    schema = pa.schema([pa.field(name, pa.float64()) for name in columns])
    found = collected([numbered(3, **columns)] * 20, tuple(columns), schema)
    assert len(found.ranges) == count
    assert len(pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL)) < 200 + 120 * count
    assert pickle.loads(pickle.dumps(found)) == found


def test_decimals_keep_their_scale() -> None:
    prices = pa.array([decimal.Decimal("-0.05"), decimal.Decimal("12.50")], pa.decimal128(20, 2))
    found = only_range([numbered(2, price=prices)])
    assert (str(found.min_value), str(found.max_value)) == ("-0.05", "12.50")
    assert pc.min(prices).as_py() == found.min_value
