"""Keys of a secondary index for whole columns equal the keys of single values."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.base_file_writer import RECORD_KEY
from hudi_table_services.execution.metadata_table.secondary_keys import (
    SecondaryKeyGroups,
    column_at,
    prefixes_of,
    secondary_keys,
    texts_of,
)
from hudi_table_services.hudi_format.metadata_table.keys import (
    file_group_of,
    parse_secondary_index_key,
    secondary_index_key,
    secondary_index_prefix,
)
from hudi_table_services.model.metadata_table import SecondaryIndex

TEXTS = st.text(st.sampled_from("ab$\\\0\né世🙂"), max_size=6)
ROWS = st.lists(st.tuples(st.none() | TEXTS, TEXTS), max_size=20)


def index_on(column: str, *, is_grouped_by_value: bool = True) -> SecondaryIndex:
    return SecondaryIndex(name="secondary_index_x", column=column, is_grouped_by_value=is_grouped_by_value)


def rows_with(values: pa.Array, keys: list[str]) -> pa.Table:
    return pa.table({RECORD_KEY: pa.array(keys, pa.string()), "c": values})


@given(ROWS, st.integers(1, 5))
def test_keys_and_file_groups_of_a_column_equal_those_of_single_values(
    rows: list[tuple[str | None, str]], count: int
) -> None:
    values, keys = [value for value, _ in rows], [key for _, key in rows]
    found = secondary_keys(index_on("c"), rows_with(pa.array(values, pa.string()), keys))
    assert found.to_pylist() == [secondary_index_key(*row) for row in rows]
    assert [parse_secondary_index_key(key) for key in found.to_pylist()] == rows
    assert prefixes_of(found).to_pylist() == [secondary_index_prefix(value) for value in values]
    by_value = [file_group_of(secondary_index_prefix(value), count) for value in values]
    assert SecondaryKeyGroups(True).of(found, count).tolist() == by_value
    by_key = [file_group_of(key, count) for key in found.to_pylist()]
    assert SecondaryKeyGroups(False).of(found, count).tolist() == by_key


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (pa.array(["x", None]), ["x", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([-5, None, 2**31 - 1], pa.int32()), ["-5", None, "2147483647"]),
        (pa.array([-(2**63), 0], pa.int64()), ["-9223372036854775808", "0"]),
        (pa.array([dt.date(1969, 12, 30), dt.date(2024, 1, 16)]), ["-2", "19738"]),
        (pa.array([dt.datetime(1969, 12, 31, 23, 59, 59, 1)], pa.timestamp("us", "UTC")), ["-999999"]),
        (pa.array([dt.datetime(2024, 1, 1)], pa.timestamp("ms", "UTC")), ["1704067200000000"]),
    ],
)
def test_texts_are_those_of_sparks_internal_rows(values: pa.Array, texts: list[Any]) -> None:
    assert texts_of(values).to_pylist() == texts


def test_a_member_of_a_null_struct_is_null() -> None:
    column = pa.array(
        [{"a": {"b": "x"}}, {"a": None}, None], pa.struct([("a", pa.struct([("b", pa.string())]))])
    )
    rows = rows_with(column, ["k1", "k2", "k3"])
    assert column_at(rows, "c.a.b").to_pylist() == ["x", None, None]
    assert secondary_keys(index_on("c.a.b"), rows).to_pylist() == ["x$k1", "\0$k2", "\0$k3"]
