"""Reads of slices without log files: row groups, columns, conditions, and the error about a deleted file."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_table_services.errors import ExecutionFailedError
from hudi_table_services.execution.base_file_reader import open_base_file
from hudi_table_services.execution.base_file_writer import utf8_buffers
from hudi_table_services.execution.reading import slice_rows
from hudi_table_services.execution.reading.key_filters import may_have_keys
from hudi_table_services.execution.reading.row_groups import wanted_row_groups
from hudi_table_services.execution.reading.slice_parts import SlicePart
from hudi_table_services.execution.reading.slice_rows import SliceReader, result_schema
from hudi_table_services.hudi_format.bloom_filter import SimpleBloomFilter
from hudi_table_services.hudi_format.footer import base_file_footer
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.reading.one_slice import PATH, SLICE, new_storage, stored
from support.reading.spark_semantics import ARROW_TYPES, arrow_column, conditions, holds

DATA = pa.schema([("n", pa.int64()), ("c", pa.float64()), ("added", pa.string())])
BATCH_ROWS = 65_536


def reader(
    storage: MemoryStorage,
    *predicates: ColumnPredicate,
    columns: tuple[str, ...] | None = None,
    **fields: Any,
) -> SliceReader:
    return SliceReader(
        storage=storage,
        data_schema=DATA,
        columns=result_schema(DATA, columns),
        predicates=predicates,
        **fields,
    )


def rows_of(found: SliceReader, parts: int = 1) -> list[dict[str, Any]]:
    """Return the rows of all parts of the slice, in the order of the parts."""
    tables = [table for each in range(parts) for table in found.rows(SlicePart(SLICE, each, parts))]
    return [row for table in tables for row in table.to_pylist()]


def number(comparison: Comparison, *values: Any) -> ColumnPredicate:
    return ColumnPredicate(Predicate("n", comparison, values), "long", values)


def test_all_columns_follow_the_meta_columns_and_may_be_null() -> None:
    storage = new_storage("all-columns")
    stored(storage, pa.table({"n": [1], "c": [0.5]}))
    found = list(reader(storage).rows(SlicePart(SLICE)))
    assert [table.schema for table in found] == [result_schema(DATA, None)]
    assert found[0].column_names == [*META_COLUMNS, "n", "c", "added"]
    assert all(field.nullable for field in found[0].schema)
    assert found[0].to_pylist()[0]["added"] is None


def test_the_result_has_the_wanted_columns_in_the_wanted_order() -> None:
    storage = new_storage("order")
    stored(storage, pa.table({"n": [1, 2, 3], "c": [0.5, 1.5, 2.5]}))
    columns = ("c", "_hoodie_record_key")
    found = reader(storage, number(Comparison.GREATER_OR_EQUAL, 2), columns=columns)
    assert rows_of(found) == [
        {"c": 1.5, "_hoodie_record_key": "_hoodie_record_key-1"},
        {"c": 2.5, "_hoodie_record_key": "_hoodie_record_key-2"},
    ]
    assert rows_of(found)[0].keys() == dict.fromkeys(columns).keys()


@pytest.mark.parametrize("columns", [("n",), ("added",), None], ids=["present", "absent", "all"])
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_the_parts_of_a_slice_have_each_row_once(columns: tuple[str, ...] | None, parts: int) -> None:
    storage = new_storage("parts")
    stored(storage, pa.table({"n": [1, 2, 3, 4, 5, 6], "c": [0.5] * 6}))
    whole = reader(storage, columns=columns)
    assert len(rows_of(whole)) == 6
    assert rows_of(whole, parts) == rows_of(whole)


def test_a_part_reads_only_its_row_groups() -> None:
    storage = new_storage("row-groups-of-parts")
    stored(storage, pa.table({"n": [1, 2, 3, 4, 5, 6], "c": [0.5] * 6}))
    parts = [reader(storage, columns=("n",)).rows(SlicePart(SLICE, each, 3)) for each in range(3)]
    assert [[n for table in part for n in table["n"].to_pylist()] for part in parts] == [
        [1, 2],
        [3, 4],
        [5, 6],
    ]


def test_row_groups_without_wanted_rows_are_not_read() -> None:
    storage = new_storage("row-groups")
    stored(storage, pa.table({"n": [1, 2, 3, 4, 5, 6], "c": [0.0] * 6}))
    with open_base_file(storage, PATH) as file:
        assert file.metadata.num_row_groups == 3
        assert wanted_row_groups(file, [number(Comparison.EQUAL, 3)]) == [1]
        assert wanted_row_groups(file, [number(Comparison.IN, 1, 6)]) == [0, 2]
        assert wanted_row_groups(file, []) == [0, 1, 2]
    assert [row["n"] for row in rows_of(reader(storage, number(Comparison.EQUAL, 3)))] == [3]


def test_the_rows_of_all_batches_of_a_row_group_are_found_until_the_last_wanted_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    storage, count = new_storage("batches"), 5 * BATCH_ROWS
    wanted = (1, BATCH_ROWS - 1, 2 * BATCH_ROWS + 7)
    stored(storage, pa.table({"n": range(count), "c": [0.5] * count}), row_group_size=count)
    batches = read_batches(monkeypatch)
    found = rows_of(reader(storage, number(Comparison.IN, *wanted), columns=("n", "c")))
    assert [row["n"] for row in found] == list(wanted)
    # Five batches of the column of the condition, then three batches: no wanted row follows the third batch.
    assert batches == [("n",)] * 5 + [("n", "c")] * 3


def read_batches(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The columns of each batch that is read from now on."""
    found: list[tuple[str, ...]] = []
    read = slice_rows._batches

    def counted(*given: Any) -> Iterator[pa.Table]:
        for rows in read(*given):
            found.append(tuple(rows.column_names))
            yield rows

    monkeypatch.setattr(slice_rows, "_batches", counted)
    return found


def texts(*, distinct: int, count: int = 40_000, prefix: str = "") -> pa.Array:
    return pa.array([f"{prefix}{place * 7919 % distinct:07}" for place in range(count)])


@pytest.mark.parametrize(
    ("column", "row_group_size", "is_dictionary"),
    [
        (texts(distinct=9), 40_000, True),
        (texts(distinct=9), 15_000, True),
        (texts(distinct=40_000), 40_000, False),
        (texts(distinct=40_000, prefix="https://example.com/" + "a" * 80), 40_000, False),
        (pa.concat_arrays([texts(distinct=9), texts(distinct=40_000)]), 40_000, False),
        (pa.array([None] * 40_000, pa.string()), 40_000, True),
        (pa.array([b"x", b"y"] * 20_000), 40_000, False),
        (pa.array([[each] for each in texts(distinct=9).to_pylist()]), 40_000, False),
    ],
    ids=["repeated", "row groups", "distinct", "prefix", "one group", "null", "binary", "list"],
)
def test_only_strings_that_repeat_are_read_as_dictionaries(
    column: pa.Array, row_group_size: int, is_dictionary: bool
) -> None:
    storage = new_storage("dictionaries")
    stored(storage, pa.table({"n": range(len(column)), "added": column}), row_group_size)
    with open_base_file(storage, PATH, keeps_dictionaries=True) as file:
        assert pa.types.is_dictionary(file.schema_arrow.field("added").type) == is_dictionary
        assert not pa.types.is_dictionary(file.schema_arrow.field("n").type)
    with open_base_file(storage, PATH) as file:
        assert not pa.types.is_dictionary(file.schema_arrow.field("added").type)
    if pa.types.is_string(column.type):
        (found,) = reader(storage, number(Comparison.EQUAL, 7), columns=("added",)).rows(SlicePart(SLICE))
        assert found.schema == pa.schema([("added", pa.string())])
        assert found["added"].to_pylist() == [column[7].as_py()]


def test_a_column_that_was_added_later_is_null_in_older_files() -> None:
    storage = new_storage("added")
    stored(storage, pa.table({"n": [1, 2], "c": [0.0, 1.0]}))
    text = ColumnPredicate(Predicate("added", Comparison.EQUAL, ("x",)), "string", ("x",))
    is_null = ColumnPredicate(Predicate("added", Comparison.IS_NULL), "string")
    with open_base_file(storage, PATH) as file:
        assert wanted_row_groups(file, [text]) == []
        assert wanted_row_groups(file, [is_null]) == [0]
    assert rows_of(reader(storage, text)) == []
    assert [row["n"] for row in rows_of(reader(storage, is_null))] == [1, 2]
    assert rows_of(reader(storage, is_null, columns=("added",))) == [{"added": None}] * 2


@settings(max_examples=60)
@given(
    data=st.data(), type_name=st.sampled_from(["double", "long", "string", "decimal", "date", "timestamp"])
)
def test_a_read_returns_exactly_the_rows_that_fulfil_the_conditions(
    data: st.DataObject, type_name: str
) -> None:
    from support.reading.spark_semantics import VALUES

    values = data.draw(st.lists(st.none() | VALUES[type_name], min_size=1, max_size=12))
    wanted = data.draw(conditions(type_name))
    storage = new_storage("property")
    rows = pa.table({"n": pa.array(range(len(values)), pa.int64()), "c": arrow_column(type_name, values)})
    stored(storage, rows, row_group_size=data.draw(st.integers(1, 5)))
    schema = pa.schema([("n", pa.int64()), ("c", ARROW_TYPES[type_name])])
    found = SliceReader(
        storage=storage, data_schema=schema, columns=result_schema(schema, ("n",)), predicates=(wanted,)
    )
    expected = [place for place, value in enumerate(values) if holds(wanted, value)]
    assert [row["n"] for row in rows_of(found, data.draw(st.integers(1, 6)))] == expected


def test_a_widened_column_is_read_with_its_current_type() -> None:
    storage = new_storage("widened")
    stored(storage, pa.table({"n": pa.array([1, 2], pa.int32()), "c": pa.array([1.5, 2.5], pa.float32())}))
    assert [(row["n"], row["c"]) for row in rows_of(reader(storage, number(Comparison.GREATER, 1)))] == [
        (2, 2.5)
    ]


def test_the_bloom_filter_of_a_file_excludes_keys() -> None:
    storage, key = new_storage("bloom"), "_hoodie_record_key"
    keys = [f"k{number}" for number in range(3)]
    bloom = SimpleBloomFilter.sized_for(3, 1e-9, 100)
    bloom.add_keys(*utf8_buffers(pa.array(keys)))
    rows = pa.table({name: keys if name == key else ["x"] * 3 for name in META_COLUMNS} | {"n": [1, 2, 3]})
    footer = base_file_footer("{}", bloom, "k0", "k2")
    sink = pa.BufferOutputStream()
    pq.write_table(rows.replace_schema_metadata(footer), sink)
    storage.write(PATH, sink.getvalue().to_pybytes())
    with open_base_file(storage, PATH) as file:
        assert may_have_keys(file, ["k1", "other"])
        assert not may_have_keys(file, ["other", "k1x"])
        assert not may_have_keys(file, [])
    for wanted, expected in (("k1", [2]), ("k1x", [])):
        predicate = ColumnPredicate(Predicate(key, Comparison.EQUAL, (wanted,)), "string", (wanted,))
        found = rows_of(reader(storage, predicate, keys=frozenset([wanted])))
        assert [row["n"] for row in found] == expected
    # The filter decides, so the file of another wanted key is not read although its row group has the key.
    wrong = ColumnPredicate(Predicate(key, Comparison.EQUAL, ("k1",)), "string", ("k1",))
    assert rows_of(reader(storage, wrong, keys=frozenset(["other"]))) == []


def test_a_file_without_a_bloom_filter_may_have_every_key() -> None:
    storage = new_storage("no-bloom")
    stored(storage, pa.table({"n": [1], "c": [0.5]}))
    with open_base_file(storage, PATH) as file:
        assert may_have_keys(file, ["any"])


def test_a_file_that_was_deleted_is_named_with_the_setting_that_keeps_it() -> None:
    storage = new_storage("deleted")
    gone = ("A clean deleted it.", "Raise the retention.")
    with pytest.raises(ExecutionFailedError) as caught:
        rows_of(reader(storage, gone=gone))
    assert str(caught.value) == f"{PATH} does not exist any more. A clean deleted it. Raise the retention."
    assert caught.value.path == PATH
    assert caught.value.retryable
