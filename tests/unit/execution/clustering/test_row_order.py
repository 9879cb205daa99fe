"""Row orders: nulls first for every type, no row lost, and neighbours on a curve close to each other."""

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.clustering.row_order import (
    RowOrder,
    count_at_or_below,
    divide_evenly,
    evenly,
    sorted_indices,
)
from hudi_table_services.execution.clustering.space_filling_curves import bits_per_column, hilbert, z_order
from hudi_table_services.model.clustering import Layout, LayoutStrategy

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-50, 50)), max_size=40)
CURVES = [LayoutStrategy.ZORDER, LayoutStrategy.HILBERT]


def in_order(values: list[Any], data_type: pa.DataType) -> list[Any]:
    table = pa.table({"a": pa.array(values, data_type)})
    return table.take(sorted_indices(table))["a"].to_pylist()


@given(NUMBERS)
def test_rows_are_sorted_with_nulls_first(values: list[int | None]) -> None:
    expected = sorted(values, key=lambda v: (v is not None, v or 0))
    assert in_order(values, pa.int64()) == expected
    assert in_order([None if v is None else Decimal(v) / 4 for v in values], pa.decimal128(10, 2)) == [
        None if v is None else Decimal(v) / 4 for v in expected
    ]


@given(NUMBERS, NUMBERS)
def test_the_number_of_bounds_at_or_below_a_row_equals_a_naive_count(
    rows: list[int | None], bounds: list[int | None]
) -> None:
    def key(value: int | None) -> tuple[bool, int]:
        return (value is not None, value or 0)

    ordered = sorted(bounds, key=key)
    excluded = np.array([i % 2 == 0 for i in range(len(ordered))], dtype=bool)
    counts = count_at_or_below(
        pa.table({"a": pa.array(rows, pa.int64())}), pa.table({"a": pa.array(ordered, pa.int64())}), excluded
    )
    by_hand = [
        sum(key(b) < key(row) or (b == row and not out) for b, out in zip(ordered, excluded, strict=True))
        for row in rows
    ]
    assert counts.tolist() == by_hand


@pytest.mark.parametrize(("columns", "bits"), [(2, 4), (3, 3), (4, 2), (5, 2)])
def test_neighbours_on_a_hilbert_curve_differ_by_one_in_one_column(columns: int, bits: int) -> None:
    grid = np.meshgrid(*[np.arange(1 << bits, dtype=np.uint64)] * columns, indexing="ij")
    axes = [axis.ravel() for axis in grid]
    position = hilbert(axes, bits)
    assert sorted(position.tolist()) == list(range(len(position)))
    order = np.argsort(position)
    steps = sum(np.abs(np.diff(axis[order].astype(np.int64))) for axis in axes)
    assert (steps == 1).all()


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=30))
def test_a_z_order_interleaves_bits(points: list[tuple[int, int]]) -> None:
    axes = [np.array([p[i] for p in points], dtype=np.uint64) for i in range(2)]
    by_hand = [int("".join(f"{a:04b}"[i] + f"{b:04b}"[i] for i in range(4)), 2) for a, b in points]
    assert z_order(axes, 4).tolist() == by_hand


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7, 63])
def test_positions_fit_a_signed_number(columns: int) -> None:
    assert 1 <= bits_per_column(columns) * columns <= 63


@pytest.mark.parametrize("strategy", CURVES)
@given(
    values=st.lists(
        st.tuples(st.text(max_size=3), st.one_of(st.none(), st.floats(allow_nan=False))), max_size=30
    )
)
def test_a_curve_keeps_every_row_and_equal_rows_together(
    strategy: LayoutStrategy, values: list[tuple[str, float | None]]
) -> None:
    table = pa.table(
        {
            "s": pa.array([v[0] for v in values], pa.string()),
            "x": pa.array([v[1] for v in values], pa.float64()),
        }
    )
    order = RowOrder.of(Layout(columns=("s", "x"), strategy=strategy), table)
    places = order.indices(table).to_pylist()
    assert sorted(places) == list(range(len(values)))
    rows = [values[place] for place in places]
    firsts = [rows.index(row) for row in rows]
    assert all(row in (rows[i - 1], row) for i, row in enumerate(rows))
    assert [f for f, _ in zip(firsts, rows, strict=True)] == sorted(firsts), "equal rows are apart"


def test_a_curve_handles_common_prefixes_and_negative_numbers() -> None:
    rng = np.random.default_rng(7)
    x, y = rng.integers(-500, 500, 4000), rng.integers(-500, 500, 4000)
    table = pa.table(
        {"x": pa.array([f"the same long prefix {v + 500:04d}" for v in x]), "y": pa.array(-1.0 * y)}
    )
    for strategy in CURVES:
        order = RowOrder.of(Layout(columns=("x", "y"), strategy=strategy), table).indices(table).to_numpy()
        for values in (x, y):
            quarters = np.array_split(values[order], 16)
            spread = np.mean([part.max() - part.min() for part in quarters])
            assert spread < 500, f"{strategy}: a sixteenth of the rows covers {spread} of 1000 values"


def test_a_column_with_few_distinct_values_counts_as_much_as_a_column_with_many() -> None:
    rng = np.random.default_rng(7)
    few, many = rng.integers(0, 16, 16_000), rng.permutation(16_000)
    table = pa.table({"few": few, "many": many})
    for strategy in CURVES:
        order = (
            RowOrder.of(Layout(columns=("few", "many"), strategy=strategy), table).indices(table).to_numpy()
        )
        parts = np.array_split(order, 16)
        spread = [
            np.mean([np.ptp(values[part]) for part in parts]) / np.ptp(values) for values in (few, many)
        ]
        assert max(spread) < 0.6, f"{strategy}: a sixteenth of the rows covers {spread} of the two columns"


@given(st.integers(0, 1000), st.integers(1, 20))
def test_the_sizes_of_shares_differ_by_at_most_one_row(rows: int, parts: int) -> None:
    shares = divide_evenly(rows, parts)
    sizes = [stop - start for start, stop in shares]
    assert sum(sizes) == rows
    assert max(sizes) - min(sizes) <= 1
    assert [start for start, _ in shares[1:]] == [stop for _, stop in shares[:-1]]


def test_a_sample_contains_the_first_and_the_last_row() -> None:
    table = pa.table({"a": list(range(1000))})
    sample = evenly(table, 10)["a"].to_pylist()
    assert (sample[0], sample[-1], len(sample)) == (0, 999, 10)
