"""Work that the driver of a Spark Connect session does itself."""

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from hudi_table_services.errors import InvalidDataError, StorageError
from hudi_table_services.execution.driver_tasks import (
    FIRST_ROWS,
    MAX_COLLECTED_BYTES,
    MAX_ROWS,
    collect_small,
    run_in_driver,
)


class Frame:
    """A frame whose plan contains this estimate of its size. Its method `limit` reverses the order of the rows."""

    def __init__(self, estimate: str, rows: int = 3, text: str = "") -> None:
        self._estimate, self._rows, self._text = estimate, rows, text
        self.collected = 0
        self._number = ""

    def explain(self, mode: str) -> None:
        assert mode == "cost"
        print(
            f"== Optimized Logical Plan ==\nRelation [id#0L] parquet, Statistics(sizeInBytes={self._estimate})\n"
        )

    def selectExpr(self, *columns: str) -> "Frame":  # noqa: N802 - Spark's name
        every, numbered = columns
        assert every == "*"
        assert numbered.startswith("monotonically_increasing_id() AS ")
        self._number = numbered.rpartition(" ")[2]
        return self

    def limit(self, count: int) -> Any:
        return SimpleNamespace(toArrow=lambda: self._table(min(count, self._rows)))

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        raise AssertionError("not bounded")

    def _table(self, count: int) -> pa.Table:
        self.collected = count
        numbers = list(reversed(range(count)))
        return pa.table({"id": numbers, "text": [self._text] * count, self._number: numbers})


@pytest.mark.parametrize(
    ("estimate", "is_collected"),
    [
        ("0.0 B", True),
        ("1024.0 B", True),
        ("512.5 KiB", True),
        ("4.0 MiB", True),
        ("4.1 MiB", False),
        ("2.0 GiB", False),
        ("8.0 EiB", False),
        ("1.00E+40 B", False),
        ("unknown", False),
    ],
)
def test_only_frames_with_a_small_estimate_are_collected(estimate: str, is_collected: bool) -> None:
    frame = Frame(estimate)
    batches = collect_small(frame)  # type: ignore[arg-type]
    assert (batches is not None) == is_collected
    if batches is not None:
        assert sum(batch.num_rows for batch in batches) == 3


def test_a_frame_with_more_rows_than_estimated_is_left_to_spark() -> None:
    frame = Frame("1.0 KiB", rows=10 * MAX_ROWS)
    assert collect_small(frame) is None  # type: ignore[arg-type]
    assert frame.collected == MAX_ROWS + 1, "the driver must not collect all rows"


def test_the_collected_rows_have_the_order_of_spark_and_only_the_columns_of_the_frame() -> None:
    for rows in (5, 3 * FIRST_ROWS):
        batches = collect_small(Frame("1.0 KiB", rows=rows))  # type: ignore[arg-type]
        assert batches is not None
        found = pa.Table.from_batches(batches)
        assert found.column_names == ["id", "text"]
        assert found["id"].to_pylist() == list(range(rows))


def test_rows_that_are_larger_than_their_estimate_are_left_to_spark() -> None:
    text = "x" * (MAX_COLLECTED_BYTES // FIRST_ROWS // 2)
    frame = Frame("1.0 KiB", rows=20 * FIRST_ROWS, text=text)
    assert collect_small(frame) is None  # type: ignore[arg-type]
    assert frame.collected < 3 * FIRST_ROWS, "the driver must not collect more bytes than its limit"


def test_frames_of_spark_before_4_are_left_to_spark() -> None:
    assert collect_small(SimpleNamespace()) is None  # type: ignore[arg-type]


def test_the_results_have_the_order_of_the_tasks() -> None:
    assert run_in_driver([3, 1, 2], lambda task: task * 10) == [30, 10, 20]


@pytest.mark.parametrize(
    "error", [StorageError("connection reset"), OSError("no space"), KeyError("name")], ids=repr
)
def test_spark_runs_the_tasks_after_an_error_that_a_retry_may_fix(error: Exception) -> None:
    def fail(_: int) -> int:
        raise error

    assert run_in_driver([1], fail) is None


def test_an_error_that_no_retry_fixes_is_raised() -> None:
    def fail(_: int) -> int:
        raise InvalidDataError("null key")

    with pytest.raises(InvalidDataError, match="null key"):
        run_in_driver([1], fail)
