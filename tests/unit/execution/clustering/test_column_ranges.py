"""The share of rows that a reader must read, from column ranges."""

import pytest

from hudi_table_services.execution.clustering.column_ranges import RowGroupRange, mean_read_share, read_share


def ranges(*bounds: tuple[int, int] | None, rows: int = 10) -> list[RowGroupRange]:
    return [RowGroupRange(rows, (bound,)) for bound in bounds]


@pytest.mark.parametrize(
    ("found", "share"),
    [
        (ranges((1, 9), (1, 9)), 1.0),
        (ranges((1, 4), (5, 9)), 0.5),
        (ranges((1, 1), (2, 2), (3, 3), (4, 4)), 0.25),
        (ranges((1, 4), None), 1.0),
        (ranges((1, 2), (3, 4), None), 2 / 3),
        ([], 0.0),
    ],
)
def test_the_share_of_rows_read_for_one_value_follows_from_the_ranges(
    found: list[RowGroupRange], share: float
) -> None:
    assert read_share(found, 0) == pytest.approx(share)


def test_the_share_is_computed_per_partition() -> None:
    same = ranges((1, 9))
    assert mean_read_share([("a", same), ("b", same), ("c", same)], 0) == 1.0
    assert mean_read_share([("a", ranges((1, 4))), ("a", ranges((5, 9)))], 0) == 0.5


def test_row_groups_whose_values_cannot_be_compared_must_be_read() -> None:
    mixed = [RowGroupRange(1, ((1, 2),)), RowGroupRange(1, (("a", "b"),))]
    assert read_share(mixed, 0) == 1.0
