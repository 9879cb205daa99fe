"""Laws of the statistics of files and partitions: no stored range makes a filter miss a row."""

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, UnsupportedTableError
from hudi_table_services.hudi_format.metadata_table.keys import column_stats_key, partition_stats_key
from hudi_table_services.hudi_format.metadata_table.record_schema import record_schema
from hudi_table_services.hudi_format.metadata_table.records import RecordFormat
from hudi_table_services.hudi_format.metadata_table.stat_values import decimal_of_bytes
from hudi_table_services.model.metadata_table import (
    ColumnStats,
    FileColumnRange,
    FileStatistics,
    IndexDefinition,
    MetadataRecord,
    StatKind,
    StatValue,
    ValueType,
)
from hudi_table_services.model.schema import (
    META_COLUMNS,
    ArrayType,
    DecimalType,
    Field,
    PrimitiveType,
    StructType,
)
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.planning.metadata_table.column_stats import (
    column_stat_records,
    deleted_column_stats,
    has_known_bounds,
)
from hudi_table_services.planning.metadata_table.indexed_columns import IndexedColumn, indexed_columns
from hudi_table_services.planning.metadata_table.partition_stats import (
    PartitionFiles,
    deleted_partition_stats,
    partition_stat_records,
)

SCHEMA = StructType(
    (
        Field("number", PrimitiveType("long")),
        Field("text", PrimitiveType("string")),
        Field("fare", PrimitiveType("double")),
        Field("price", DecimalType(20, 2)),
        Field("day", PrimitiveType("date")),
        Field("inner", StructType((Field("depth", PrimitiveType("int")),))),
        Field("tags", ArrayType(PrimitiveType("string"))),
    )
)
DATA = ("number", "text", "fare", "price", "day")


def definition(version: str | None, *columns: str) -> IndexDefinition:
    return IndexDefinition(
        name="column_stats",
        index_type="column_stats",
        function="column_stats",
        source_fields=columns,
        options={},
        version=version,
    )


V2 = indexed_columns(SCHEMA, definition("V2", *DATA))
V1 = indexed_columns(SCHEMA, definition(None, *DATA))
Values = dict[str, list]

VALUES = {
    "number": st.integers(-(1 << 63), (1 << 63) - 1),
    "text": st.text(max_size=5),
    "fare": st.floats(allow_nan=True),
    "price": st.integers(-(10**17), 10**17).map(lambda unscaled: Decimal(unscaled).scaleb(-2)),
    "day": st.integers(-(1 << 31), (1 << 31) - 1),
}


@st.composite
def files_of_values(draw: st.DrawFn) -> Values:
    rows = draw(st.integers(1, 6))
    columns = set(DATA) if draw(st.booleans()) else draw(st.sets(st.sampled_from(DATA), min_size=1))
    optional = {name: st.none() | VALUES[name] for name in columns}
    return {name: draw(st.lists(optional[name], min_size=rows, max_size=rows)) for name in sorted(columns)}


def is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def order(value):
    return value.encode() if isinstance(value, str) else value


def column_range(name: str, values: Sequence) -> FileColumnRange:
    numbers = [value for value in values if value is not None and not is_nan(value)]
    return FileColumnRange(
        column=name,
        min_value=min(numbers, key=order, default=None),
        max_value=max(numbers, key=order, default=None),
        value_count=len(values),
        null_count=sum(value is None for value in values),
        total_size_bytes=10,
        total_uncompressed_bytes=20,
        has_nan=any(map(is_nan, values)),
    )


def statistics(values: Values, name: str = "f.parquet", partition: str = "a") -> FileStatistics:
    return FileStatistics(
        partition_path=partition,
        file_name=name,
        row_count=max(map(len, values.values()), default=0),
        ranges=tuple(column_range(column, found) for column, found in values.items()),
    )


def stats_of(records: Sequence[MetadataRecord]) -> dict[str, ColumnStats]:
    found = {}
    for record in records:
        assert isinstance(record.payload, ColumnStats)
        found[str(record.payload.column_name)] = record.payload
    return found


def plain(value: StatValue | None, column: str):
    if value is None:
        return None
    if column == "price":
        assert isinstance(value.value, bytes)
        return decimal_of_bytes(value.value, 15 if value.kind is StatKind.DECIMAL else 2)
    return value.value


def hides(stats: ColumnStats, value) -> bool:
    """Whether a reader skips the file although it has the value.

    For NaN, only the upper bound is checked: a filter that compares with NaN itself may skip the file, which is a known
    exception.
    """
    low, high = (plain(v, str(stats.column_name)) for v in (stats.min_value, stats.max_value))
    if value is None:
        return not stats.null_count
    if low is None or high is None:
        return True
    if is_nan(value):
        return high != math.inf
    return not order(low) <= order(value) <= order(high)


@given(files_of_values(), st.sampled_from([V1, V2]), st.booleans())
def test_a_file_has_records_of_all_its_columns_or_none_and_they_hide_no_value(
    values: Values, columns: tuple[IndexedColumn, ...], has_partition_stats: bool
) -> None:
    file = statistics(values)
    exceeds = columns is V1 and any(v is not None and abs(v) >= 10**15 for v in values.get("price", ()))
    if has_partition_stats and exceeds:
        with pytest.raises(UnsupportedTableError, match="price"):
            list(column_stat_records([file], columns, has_partition_stats=True))
        return
    records = list(column_stat_records([file], columns, has_partition_stats=has_partition_stats))
    found = stats_of(records)
    assert found.keys() in (values.keys(), set())
    has_nan = any(map(is_nan, values.get("fare", ())))
    assert bool(found) is not (not has_partition_stats and (has_nan or exceeds))
    for name, stats in found.items():
        assert not any(hides(stats, value) for value in values[name])
        assert (stats.value_count, stats.total_size_bytes, stats.is_tight_bound) == (
            len(values[name]),
            10,
            False,
        )
    for record in records:
        name = str(record.payload.column_name)  # type: ignore[union-attr]
        assert record.key == column_stats_key(name, "a", "f.parquet")


@given(files_of_values(), st.sampled_from([(TableVersion.V6, V1), (TableVersion.V9, V2)]))
def test_records_can_be_stored_and_read_back(values: Values, version_and_columns) -> None:
    version, columns = version_and_columns
    schema = RecordFormat(record_schema(version))
    for record in column_stat_records([statistics(values)], columns, has_partition_stats=False):
        assert schema.decode(schema.encode(record)) == record


@given(files_of_values())
def test_the_deleted_keys_of_a_file_are_the_keys_of_all_columns(values: Values) -> None:
    deleted = [change.key for change in deleted_column_stats([("a", ["f.parquet"])], V2)]
    written = {r.key for r in column_stat_records([statistics(values)], V2, has_partition_stats=True)}
    assert written <= set(deleted)
    assert len(deleted) == len(set(deleted)) == len(V2)


def test_a_column_of_nulls_has_no_bounds() -> None:
    (record,) = column_stat_records([statistics({"text": [None, None]})], V2, has_partition_stats=True)
    assert isinstance(record.payload, ColumnStats)
    assert (record.payload.min_value, record.payload.max_value) == (None, None)
    assert (record.payload.null_count, record.payload.value_count) == (2, 2)


@pytest.mark.parametrize("has_nan", [True, None])
def test_the_upper_bound_of_a_column_that_may_have_nan_is_infinity(has_nan: bool | None) -> None:
    known = replace(column_range("fare", [1.0, 2.0]), has_nan=has_nan)
    file = replace(statistics({}), ranges=(known,))
    (record,) = column_stat_records([file], V2, has_partition_stats=True)
    assert stats_of([record])["fare"].min_value == StatValue(StatKind.DOUBLE, 1.0)
    assert stats_of([record])["fare"].max_value == StatValue(StatKind.DOUBLE, math.inf)
    assert list(column_stat_records([file], V2, has_partition_stats=False)) == []


def test_unknown_bounds_are_refused_only_if_partitions_have_statistics() -> None:
    unknown = replace(column_range("text", ["x"]), min_value=None)
    (column,) = (column for column in V2 if column.name == "text")
    assert not has_known_bounds(unknown, column)
    file = replace(statistics({"number": [1]}), ranges=(column_range("number", [1]), unknown))
    assert list(column_stat_records([file], V2, has_partition_stats=False)) == []
    with pytest.raises(UnsupportedTableError, match="'text'"):
        list(column_stat_records([file], V2, has_partition_stats=True))


def test_columns_come_from_the_definition_or_from_the_schema() -> None:
    named = [
        c.name
        for c in indexed_columns(SCHEMA, definition("V2", "text", "gone", "inner.depth", "tags", "inner"))
    ]
    assert named == ["text", "inner.depth"]
    assert [c.name for c in indexed_columns(SCHEMA, None)] == [*META_COLUMNS, *DATA]


def test_types_are_stored_only_in_index_version_2() -> None:
    assert {c.value_type for c in V1} == {None}
    by_name = {c.name: (c.kind, c.value_type) for c in V2}
    assert by_name["price"] == (StatKind.BYTES, ValueType(10, "20,2"))
    assert by_name["day"] == (StatKind.INT, ValueType(12))
    assert {c.name: c.kind for c in V1}.items() >= {"price": StatKind.DECIMAL, "day": StatKind.DATE}.items()


# ------------------------------------------------------------------ partitions


@st.composite
def partitions(draw: st.DrawFn) -> list[Values]:
    return draw(st.lists(files_of_values(), min_size=1, max_size=4))


def partition_of(files: Sequence[Values], new: Sequence[bool], columns=V2) -> PartitionFiles:
    """A partition with the files f0, f1, …: new files have collected statistics, other files have stored statistics."""
    named = [statistics(values, f"f{number}") for number, values in enumerate(files)]
    stored = {
        file.file_name: tuple(
            stats_of(list(column_stat_records([file], columns, has_partition_stats=True))).values()
        )
        for file, is_new in zip(named, new, strict=True)
        if not is_new
    }
    partition = PartitionFiles(
        partition_path="a",
        live_files=frozenset(file.file_name for file in named),
        statistics=tuple(file for file, is_new in zip(named, new, strict=True) if is_new),
        stored=stored,
    )
    lacking = partition.without_statistics(columns)
    assert lacking == {
        f"f{number}" for number, is_new in enumerate(new) if not (is_new or len(files[number]) == len(DATA))
    }
    from_footers = tuple(file for file in named if file.file_name in lacking)
    return replace(partition, statistics=(*partition.statistics, *from_footers))


@given(partitions(), st.data())
def test_each_column_of_a_partition_has_a_tight_record_that_hides_no_row(
    files: list[Values], data: st.DataObject
) -> None:
    new = data.draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    records = list(partition_stat_records(partition_of(files, new), V2))
    found = stats_of(records)
    assert list(found) == list(DATA)
    for record, (name, stats) in zip(records, found.items(), strict=True):
        assert record.key == partition_stats_key(name, "a")
        assert (stats.file_name, stats.is_tight_bound) == ("a", True)
        rows = [len(next(iter(values.values()))) for values in files]
        values = [v for f, count in zip(files, rows, strict=True) for v in f.get(name, [None] * count)]
        assert stats.value_count == len(values)
        assert stats.null_count == sum(value is None for value in values)
        assert not any(hides(stats, value) for value in values)


@given(partitions(), st.data())
def test_the_record_does_not_depend_on_which_files_are_new_nor_on_their_order(
    files: list[Values], data: st.DataObject
) -> None:
    new = data.draw(st.lists(st.booleans(), min_size=len(files), max_size=len(files)))
    one = list(partition_stat_records(partition_of(files, new), V2))
    everything_new = partition_of(files, [True] * len(files))
    turned = replace(everything_new, statistics=everything_new.statistics[::-1])
    assert one == list(partition_stat_records(turned, V2))


@given(partitions(), files_of_values())
def test_replaced_files_do_not_affect_the_record_of_a_partition(
    files: list[Values], replaced: Values
) -> None:
    partition = partition_of(files, [True] * len(files))
    old = statistics(replaced, "old")
    stored = tuple(stats_of(list(column_stat_records([old], V2, has_partition_stats=True))).values())
    with_old = replace(partition, statistics=(*partition.statistics, old), stored={"older": stored})
    assert list(partition_stat_records(partition, V2)) == list(partition_stat_records(with_old, V2))


@given(partitions())
def test_without_statistics_of_every_live_file_there_is_no_tight_record(files: list[Values]) -> None:
    partition = partition_of(files, [True] * len(files))
    assert partition.without_statistics(V2) == frozenset()
    lacking = replace(partition, live_files=partition.live_files | {"unknown"})
    assert lacking.without_statistics(V2) == {"unknown"}
    with pytest.raises(CorruptTableError, match="unknown"):
        list(partition_stat_records(lacking, V2))


def test_a_file_whose_statistics_are_deleted_has_no_statistics() -> None:
    partition = partition_of([{name: [None] for name in DATA}], [False])
    assert partition.without_statistics(V2) == frozenset()
    stored = {
        name: tuple(replace(s, is_deleted=True) for s in stats) for name, stats in partition.stored.items()
    }
    assert replace(partition, stored=stored).without_statistics(V2) == {"f0"}


def test_a_partition_without_live_files_has_no_record_and_its_keys_are_deleted() -> None:
    empty = PartitionFiles(partition_path="a", live_files=frozenset())
    assert list(partition_stat_records(empty, V2)) == []
    assert [c.key for c in deleted_partition_stats(["a"], V2)] == [partition_stats_key(n, "a") for n in DATA]


def test_the_root_of_a_table_without_partitions_has_its_own_name() -> None:
    partition = replace(partition_of([{"number": [1]}], [True]), partition_path="")
    (record, *_) = partition_stat_records(partition, V2)
    assert stats_of([record])["number"].file_name == "."


def stored_stats(column: str, kind: StatKind, value, value_type: ValueType | None = None) -> ColumnStats:
    return ColumnStats(
        file_name="old",
        column_name=column,
        min_value=StatValue(kind, value),
        max_value=StatValue(kind, value),
        value_count=1,
        null_count=0,
        total_size_bytes=1,
        total_uncompressed_bytes=1,
        value_type=value_type,
    )


@pytest.mark.parametrize(
    ("columns", "stored", "expected"),
    [
        (V2, stored_stats("number", StatKind.INT, 7), StatValue(StatKind.LONG, 7)),
        (V2, stored_stats("fare", StatKind.FLOAT, 0.5), StatValue(StatKind.DOUBLE, 0.5)),
        (
            V2,
            stored_stats("price", StatKind.BYTES, b"\x05", ValueType(10, "10,1")),
            StatValue(StatKind.BYTES, b"2"),
        ),
        (V1, stored_stats("day", StatKind.INT, 3), StatValue(StatKind.DATE, 3)),
        (V1, stored_stats("price", StatKind.BYTES, b"\x05"), StatValue(StatKind.DECIMAL, b"\x05")),
    ],
)
def test_stored_values_of_an_earlier_type_are_widened(
    columns: tuple[IndexedColumn, ...], stored: ColumnStats, expected: StatValue
) -> None:
    partition = PartitionFiles(partition_path="a", live_files=frozenset({"old"}), stored={"old": (stored,)})
    only = [column for column in columns if column.name == stored.column_name]
    found = stats_of(list(partition_stat_records(partition, only)))[str(stored.column_name)]
    assert (found.min_value, found.max_value) == (expected, expected)


def test_stored_values_of_another_type_are_refused() -> None:
    stored = stored_stats("number", StatKind.STRING, "7")
    partition = PartitionFiles(partition_path="a", live_files=frozenset({"old"}), stored={"old": (stored,)})
    only = [column for column in V2 if column.name == "number"]
    with pytest.raises(CorruptTableError, match="StringWrapper"):
        list(partition_stat_records(partition, only))
