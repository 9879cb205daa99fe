"""Deletes of a batch as delete blocks: the wrapper of each type, unconditional deletes, one type for each block."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import InvalidDataError
from hudi_table_services.execution.log_files.delete_content import UNORDERED, DeleteOrdering, delete_contents
from hudi_table_services.hudi_format.delete_block import DeleteRecord, decode_delete_block
from hudi_table_services.hudi_format.ordering_values import UNCONDITIONAL, OrderingValue, Wrapper

INSTANT = dt.datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=dt.UTC)
MICROSECONDS = 1_767_323_045_000_678


@pytest.mark.parametrize(
    ("wrapper", "kind", "value", "stored"),
    [
        (Wrapper.BOOLEAN, pa.bool_(), True, True),
        (Wrapper.INT, pa.int32(), -5, -5),
        (Wrapper.LONG, pa.int64(), 2**40, 2**40),
        (Wrapper.FLOAT, pa.float32(), 1.5, 1.5),
        (Wrapper.DOUBLE, pa.float64(), -0.25, -0.25),
        (Wrapper.STRING, pa.string(), "ü", "ü"),
        (Wrapper.DATE, pa.date32(), dt.date(1970, 1, 11), 10),
        (Wrapper.DECIMAL, pa.decimal128(20, 2), Decimal("12.34"), Decimal("12.34")),
        (Wrapper.LONG, pa.timestamp("us", tz="UTC"), INSTANT, MICROSECONDS),
    ],
    ids=["boolean", "int", "long", "float", "double", "string", "date", "decimal", "timestamp"],
)
def test_a_delete_has_the_ordering_value_of_its_row(
    wrapper: Wrapper, kind: pa.DataType, value: Any, stored: Any
) -> None:
    rows = pa.table({"ts": pa.array([value, None], kind)})
    values = DeleteOrdering({"ts": wrapper}).values(rows)
    assert values == [OrderingValue(wrapper, stored), UNCONDITIONAL]
    contents = delete_contents(["a", "b"], "p", values)
    found = [record for content in contents for record in decode_delete_block(content, "a block")]
    assert {r.record_key: r.ordering.value for r in found if r.ordering} == {"a": stored, "b": 0}
    assert {r.partition_path for r in found} == {"p"}


def test_several_ordering_columns_become_one_array_and_a_null_among_them_is_refused() -> None:
    ordering = DeleteOrdering({"ts": Wrapper.LONG, "name": Wrapper.STRING})
    rows = pa.table({"ts": pa.array([1, 2], pa.int64()), "name": ["x", None]})
    first, second = ordering.values(rows)
    members = (OrderingValue(Wrapper.LONG, 1), OrderingValue(Wrapper.STRING, "x"))
    assert first == OrderingValue(Wrapper.ARRAY, members)
    (content,) = delete_contents(["a"], "p", [first])
    assert decode_delete_block(content, "a block") == (DeleteRecord("a", "p", first),)
    with pytest.raises(InvalidDataError, match="ordering value"):
        delete_contents(["b"], "p", [second])


def test_without_ordering_columns_every_delete_is_unconditional() -> None:
    assert UNORDERED.values(pa.table({"x": [1, 2]})) == [UNCONDITIONAL] * 2
    assert delete_contents([], "p", []) == ()


@given(
    st.lists(
        st.tuples(st.text(min_size=1), st.none() | st.integers(-(2**63), 2**63 - 1)), unique_by=lambda p: p[0]
    )
)
def test_each_block_has_one_type_and_all_keys_are_kept_in_order(pairs: list[tuple[str, int | None]]) -> None:
    rows = pa.table({"ts": pa.array([value for _, value in pairs], pa.int64())})
    values = DeleteOrdering({"ts": Wrapper.LONG}).values(rows)
    contents = delete_contents([key for key, _ in pairs], "p", values)
    blocks = [decode_delete_block(content, "a block") for content in contents]
    for block in blocks:
        assert len({record.ordering.type_name for record in block if record.ordering}) == 1
    found = {record.record_key: record.ordering for block in blocks for record in block}
    assert found == dict(zip([key for key, _ in pairs], values, strict=True))
