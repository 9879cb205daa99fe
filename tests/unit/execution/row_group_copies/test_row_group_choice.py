"""Which row groups of a base file a write copies."""

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.execution.row_group_copies.row_group_choice import StoredRowGroup, row_groups_to_copy

BYTES_OF_A_ROW = 100
SMALL_BYTES = 2 << 20
LARGE_ROWS = SMALL_BYTES // BYTES_OF_A_ROW + 1


def group(rows: int, *, is_changed: bool = False) -> StoredRowGroup:
    return StoredRowGroup(rows, rows * BYTES_OF_A_ROW, is_changed)


GROUPS = st.lists(
    st.builds(group, st.integers(0, 2 * LARGE_ROWS), is_changed=st.booleans()),
    max_size=12,
)


@given(GROUPS, st.integers(0, LARGE_ROWS))
def test_no_changed_or_empty_row_group_is_copied_and_each_large_unchanged_one_is(
    groups: list[StoredRowGroup], new_rows: int
) -> None:
    copied = row_groups_to_copy(groups, new_rows, SMALL_BYTES)
    assert list(copied) == sorted(set(copied))
    assert all(groups[number].row_count and not groups[number].is_changed for number in copied)
    large = {n for n, each in enumerate(groups) if each.encoded_bytes >= SMALL_BYTES and not each.is_changed}
    assert large <= set(copied)


@given(GROUPS, st.integers(0, LARGE_ROWS))
def test_a_small_row_group_is_copied_only_if_fewer_rows_are_encoded(
    groups: list[StoredRowGroup], new_rows: int
) -> None:
    copied = row_groups_to_copy(groups, new_rows, SMALL_BYTES)
    encoded = new_rows + sum(each.row_count for number, each in enumerate(groups) if number not in copied)
    assert all(groups[n].row_count > encoded for n in copied if groups[n].encoded_bytes < SMALL_BYTES)


def test_many_equal_inserts_encode_each_row_few_times_and_leave_few_small_row_groups() -> None:
    rows, inserts = 700, 200
    groups: list[StoredRowGroup] = []
    encoded = 0
    for _ in range(inserts):
        copied = row_groups_to_copy(groups, rows, SMALL_BYTES)
        joined = rows + sum(each.row_count for number, each in enumerate(groups) if number not in copied)
        groups = [*(groups[number] for number in copied), group(joined)]
        encoded += joined
    assert sum(each.row_count for each in groups) == rows * inserts
    assert encoded < 5 * rows * inserts  # without copies: 100 times
    assert sum(each.encoded_bytes < SMALL_BYTES for each in groups) <= 6


def test_a_file_with_very_many_row_groups_is_encoded_again() -> None:
    assert row_groups_to_copy([group(LARGE_ROWS)] * 1000, 1, SMALL_BYTES) == tuple(range(1000))
    assert row_groups_to_copy([group(LARGE_ROWS)] * 1001, 1, SMALL_BYTES) == ()


def test_copies_can_be_switched_off() -> None:
    assert row_groups_to_copy([group(LARGE_ROWS)], 1, 0) == ()
