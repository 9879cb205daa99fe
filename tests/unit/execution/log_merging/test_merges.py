"""Merges of single slices: the batches and rows that are read, counts, spill files, defaults, duplicates in a batch."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.log_merging import merged_rows
from hudi_table_services.execution.log_merging.base_changes import ChangeCounts
from hudi_table_services.execution.log_merging.batch_duplicates import combine_duplicates
from hudi_table_services.execution.log_merging.merged_rows import ColumnFill
from hudi_table_services.execution.log_merging.slice_changes import MergeMemory, find_changes
from hudi_table_services.model.merging.merge_rule import DeleteMarker, Fill, MergeOrder, MergeRule
from support.log_merging.slices import KEY_COLUMN, Delete, Row, Slice, entries_of, merge, table

SCHEMA = pa.schema([(KEY_COLUMN, pa.string()), ("ts", pa.int64()), ("v", pa.int64())])
EVENT_TIME = MergeRule(ordering_fields=("ts",), order=MergeOrder.BY_ORDERING, orders_base_rows=True)
LATEST = MergeRule(ordering_fields=(), order=MergeOrder.BY_ARRIVAL, orders_base_rows=False)
FILLED = MergeRule(
    ordering_fields=(),
    order=MergeOrder.BY_ARRIVAL,
    orders_base_rows=False,
    fill=Fill.DEFAULTS,
    fills_between_log_rows=True,
)


def row(key: Any, ts: int | None, v: int | None = 0) -> Row:
    return {KEY_COLUMN: f"k{key}", "ts": ts, "v": v}


def test_batches_without_changes_are_passed_on_and_only_winning_log_rows_are_read() -> None:
    base = [[row(1, 5), row(2, 5)], [row(3, 5), row(4, 5)], [row(5, 5)]]
    blocks = [[row(3, 6, 1), row(5, 4, 1)], [row(3, 7, 2), row(3, 6, 3)]]
    merged = merge(EVENT_TIME, Slice(SCHEMA, base, blocks))
    assert merged.rows == [row(1, 5), row(2, 5), row(3, 7, 2), row(4, 5), row(5, 5)]
    assert [after is before for before, after in zip(merged.base, merged.batches, strict=True)] == [
        True,
        False,
        True,
    ]
    assert merged.taken == 1
    assert merged.counts == ChangeCounts(replaced=1, kept=1)


def test_rows_keep_their_order_and_new_rows_follow_in_the_order_of_the_log() -> None:
    blocks = [
        [row(9, 1), row(8, 1), row(1, 9, 1)],
        [Delete("k2")],
        [row(7, 1), row(9, 2), row(6, 1)],
        [Delete("k6")],
    ]
    merged = merge(EVENT_TIME, Slice(SCHEMA, [[row(3, 5), row(1, 5), row(2, 5)]], blocks))
    assert merged.rows == [row(3, 5), row(1, 9, 1), row(8, 1), row(7, 1), row(9, 2)]
    assert merged.counts == ChangeCounts(replaced=1, deleted=1, appended=3)


def test_a_slice_may_have_no_base_file_or_no_log_rows() -> None:
    assert merge(LATEST, Slice(SCHEMA, [], [[row(2, 1), row(1, 1)]])).rows == [row(2, 1), row(1, 1)]
    assert merge(LATEST, Slice(SCHEMA, [[row(1, 1)]], [])).rows == [row(1, 1)]
    assert merge(LATEST, Slice(SCHEMA, [], [])).rows == []
    assert (
        merge(
            LATEST, Slice(SCHEMA, [[row(1, 1), row(2, 1)]], [[Delete("k1"), Delete("k2"), Delete("k3")]])
        ).rows
        == []
    )


def test_every_base_row_with_a_key_is_replaced() -> None:
    merged = merge(LATEST, Slice(SCHEMA, [[row(1, 5), row(1, 6)], [row(1, 7)]], [[row(1, 1, 9)]]))
    assert merged.rows == [row(1, 1, 9)] * 3


@pytest.mark.parametrize("rule", [EVENT_TIME, LATEST, FILLED])
def test_slices_larger_than_the_budget_are_merged_in_buckets(rule: MergeRule, tmp_path: Path) -> None:
    base = [[row(number, 5) for number in range(start, start + 40)] for start in range(0, 200, 40)]
    blocks: list[Any] = [
        [row(number, 4 + block, block) for number in range(block, 400, 7)] for block in range(5)
    ]
    blocks.insert(3, [Delete(f"k{number}", (7,)) for number in range(0, 300, 11)])
    each = Slice(SCHEMA, base, blocks)
    in_memory = merge(rule, each)
    spilled = merge(rule, each, 2000, tmp_path)
    assert (spilled.rows, spilled.counts) == (in_memory.rows, in_memory.counts)
    assert (spilled.spills, in_memory.spills) == (True, False)
    assert list(tmp_path.iterdir()) == []


def test_many_entries_of_one_key_are_merged_although_they_exceed_the_budget(tmp_path: Path) -> None:
    each = Slice(SCHEMA, [[row(1, 5)]], [[row(1, number)] for number in range(50)])
    assert merge(EVENT_TIME, each, 0, tmp_path).rows == [row(1, 49)]


def test_spill_files_are_deleted_if_the_base_file_cannot_be_read(tmp_path: Path) -> None:
    def base() -> Any:
        yield from ()
        raise OSError("disk")

    entries = entries_of(LATEST, Slice(SCHEMA, [], [[row(1, 1)], [row(2, 1)]]))
    with pytest.raises(OSError, match="disk"):
        find_changes(LATEST, entries, base(), MergeMemory(budget_bytes=0, folder=tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_defaults_of_columns_are_filled() -> None:
    each = Slice(SCHEMA, [[row(1, 5, 5), row(2, 5, None)]], [[row(1, 6, 0), row(2, 6, 0)], [row(1, 7, None)]])
    assert merge(FILLED, each).rows == [row(1, 7, 0), row(2, 6, 0)]
    # Null is a value if the default is another value; if all values are defaults, the oldest is kept.
    assert merge(FILLED, each, defaults={"v": pa.scalar(0)}).rows == [row(1, 7, None), row(2, 6, None)]
    assert merge(FILLED, each, defaults={"v": pa.scalar(None, pa.int64())}).rows == merge(FILLED, each).rows


def test_log_rows_that_fill_columns_are_read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    base = [[row(number, 5, None) for number in range(20)]]
    blocks = [[row(number, 6, block or None) for number in range(block, 30)] for block in range(4)]
    each = Slice(SCHEMA, base, blocks)
    at_once = merge(FILLED, each)
    monkeypatch.setattr(merged_rows, "_SOURCE_ROWS", 5)
    in_parts = merge(FILLED, each)
    assert (in_parts.rows, in_parts.counts) == (at_once.rows, at_once.counts)
    assert in_parts.most_at_once <= 5 < at_once.most_at_once


def test_rows_before_a_winning_delete_and_rows_that_lose_against_it_fill_nothing() -> None:
    rule = replace(EVENT_TIME, fill=Fill.DEFAULTS, fills_between_log_rows=True)
    blocks: list[Any] = [[row(1, 6, 6)], [Delete("k1", (7,))], [row(1, 5, 5)], [row(1, 8, None)]]
    assert merge(rule, Slice(SCHEMA, [[row(1, 2, 2)]], blocks)).rows == [row(1, 8, 2)]
    # A row that loses against another row, and not against the delete, fills the other row.
    assert merge(rule, Slice(SCHEMA, [[row(1, 2, 2)]], [*blocks, [row(1, 3, 3)]])).rows == [row(1, 8, 3)]


def test_losing_rows_fill_the_winning_row_in_order_of_arrival() -> None:
    rule = replace(EVENT_TIME, fill=Fill.DEFAULTS, fills_between_log_rows=True)
    blocks = [[row(1, 5, None)], [row(1, 3, 3)], [row(1, 4, 4)]]
    assert merge(rule, Slice(SCHEMA, [], blocks)).rows == [row(1, 5, 3)]


def test_a_partial_update_of_version_6_has_the_meta_columns_of_the_latest_log_row() -> None:
    commit = pa.field("_hoodie_commit_time", pa.string())
    schema = SCHEMA.insert(0, commit)
    rule = MergeRule(
        ordering_fields=("ts",),
        order=MergeOrder.VERSION_6,
        orders_base_rows=True,
        fill=Fill.NULLS,
        fills_between_log_rows=True,
        keeps_meta_of_latest=True,
    )

    def rows(each: MergeRule) -> list[Row]:
        base = [{commit.name: "1", **row(1, 9, None)}, {commit.name: "1", **row(2, 1, None)}]
        first = [{commit.name: "2", **row(1, 5, None)}, {commit.name: "2", **row(2, 5, None)}]
        second = [{commit.name: "3", **row(1, 4, 4)}, {commit.name: "3", **row(2, 4, 4)}]
        return merge(each, Slice(schema, [base], [first, second])).rows

    assert [(each[commit.name], each["ts"], each["v"]) for each in rows(rule)] == [("3", 9, 4), ("3", 5, 4)]
    of_winner = replace(rule, keeps_meta_of_latest=False)
    assert [each[commit.name] for each in rows(of_winner)] == ["1", "2"]


def test_a_delete_marker_is_compared_as_text() -> None:
    rule = MergeRule(
        ordering_fields=(),
        order=MergeOrder.BY_ARRIVAL,
        orders_base_rows=False,
        delete_marker=DeleteMarker(field="v", value="7"),
    )
    assert merge(rule, Slice(SCHEMA, [[row(1, 1), row(2, 1)]], [[row(1, 1, 7), row(2, 1, None)]])).rows == [
        row(2, 1, None)
    ]


def test_an_int_0_deletes_always_but_a_long_0_is_compared() -> None:
    def merged(kind: pa.DataType) -> list[Row]:
        schema = pa.schema([*SCHEMA.set(1, pa.field("ts", kind)), ("_hoodie_is_deleted", pa.bool_())])
        deleted = {**row(1, 0), "_hoodie_is_deleted": True}
        return merge(
            EVENT_TIME, Slice(schema, [[{**row(1, 5), "_hoodie_is_deleted": None}]], [[deleted]])
        ).rows

    assert merged(pa.int32()) == []
    assert [each["ts"] for each in merged(pa.int64())] == [5]


ROWS = st.lists(
    st.builds(row, st.integers(0, 4), st.none() | st.integers(0, 3), st.none() | st.integers(0, 9))
)


@pytest.mark.parametrize("rule", [EVENT_TIME, LATEST, FILLED])
@given(rows=ROWS)
def test_duplicates_in_a_batch_are_combined_as_log_rows_are(rule: MergeRule, rows: list[Row]) -> None:
    batch = table(SCHEMA, rows)
    fill = ColumnFill.of(rule)
    combined = combine_duplicates(rule, batch, fill)
    logged = merge(rule, Slice(SCHEMA, [], [[each] for each in rows])).rows
    assert combined.to_pylist() == logged
    assert combine_duplicates(rule, combined, fill) is combined


def test_a_batch_without_duplicates_is_returned_as_it_is() -> None:
    batch = table(SCHEMA, [row(2, 1), row(1, 1)])
    assert combine_duplicates(FILLED, batch, ColumnFill.of(FILLED)) is batch


def test_a_delete_that_wins_in_a_batch_stays_in_the_batch() -> None:
    schema = pa.schema([*SCHEMA, ("_hoodie_is_deleted", pa.bool_())])
    rows = [
        {**row(1, 5, None), "_hoodie_is_deleted": False},
        {**row(2, 5, 1), "_hoodie_is_deleted": False},
        {**row(1, 6, None), "_hoodie_is_deleted": True},
        {**row(2, 4, None), "_hoodie_is_deleted": True},
        {**row(2, 6, None), "_hoodie_is_deleted": False},
    ]
    for rule, expected in ((EVENT_TIME, [rows[2], rows[4]]), (FILLED, [rows[2], rows[4]])):
        assert combine_duplicates(rule, table(schema, rows), ColumnFill.of(rule)).to_pylist() == expected
