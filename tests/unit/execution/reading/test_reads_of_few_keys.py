"""The driver reads the rows of a few keys itself, and leaves all other reads to Spark's tasks."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from hudi_table_services.execution.reading import scan_frame as module
from hudi_table_services.execution.reading.scan_frame import scan_frame
from hudi_table_services.execution.reading.slice_rows import SliceReader, result_schema
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.reading.one_slice import SLICE, new_storage, stored
from support.spark.in_driver import DriverSession


class NoTasks(DriverSession):
    """A session that refuses tasks."""

    def range(self, *bounds: int) -> Any:
        raise AssertionError("A task was started.")


NoTasks.__module__ = DriverSession.__module__


@pytest.fixture
def storage() -> MemoryStorage:
    found = new_storage("few-keys")
    stored(found, pa.table({"n": [1, 2, 2, 3], "day": pa.array([1, 2, 3, None], pa.date32())}))
    return found


def reader(storage: MemoryStorage, keys: frozenset[str] | None = frozenset({"a"}), n: int = 2) -> SliceReader:
    schema = pa.schema([("n", pa.int64()), ("day", pa.date32())])
    wanted = ColumnPredicate(Predicate("n", Comparison.EQUAL, (n,)), "long", (n,))
    columns = result_schema(schema, ("day", "n"))
    return SliceReader(storage=storage, data_schema=schema, columns=columns, predicates=(wanted,), keys=keys)


def rows(session: DriverSession, found: SliceReader, *slices: FileSlice) -> list[tuple[Any, ...]]:
    frame: Any = scan_frame(session, found, slices or (SLICE,), from_arrow_schema(found.columns))  # type: ignore[arg-type]
    return [tuple(row.values()) for row in frame.toArrow().to_pylist()]


def test_the_driver_reads_the_rows_of_few_keys(storage: MemoryStorage) -> None:
    assert rows(NoTasks(), reader(storage)) == [(dt.date(1970, 1, 3), 2), (dt.date(1970, 1, 4), 2)]
    assert rows(NoTasks(), reader(storage, n=3)) == [(None, 3)]
    assert rows(NoTasks(), reader(storage, n=9)) == []


@pytest.mark.parametrize(
    ("limit", "value"),
    [("_MAX_ROWS", 1), ("_MAX_BYTES", 23), ("_MAX_KEYS", 0), ("_TYPES_WITH_PYTHON_VALUES", {"date"})],
)
def test_tasks_read_more_keys_more_rows_more_bytes_and_other_types(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, limit: str, value: object
) -> None:
    monkeypatch.setattr(module, limit, value)
    with pytest.raises(AssertionError, match="A task was started"):
        rows(NoTasks(), reader(storage))
    assert len(rows(DriverSession(), reader(storage))) == 2


def test_tasks_read_all_reads_without_keys_and_of_several_files(storage: MemoryStorage) -> None:
    with pytest.raises(AssertionError, match="A task was started"):
        rows(NoTasks(), reader(storage, keys=None))
    with pytest.raises(AssertionError, match="A task was started"):
        rows(NoTasks(), reader(storage), SLICE, replace(SLICE, base_instant_time="20260102000000000"))


def test_tasks_read_dates_that_python_does_not_have() -> None:
    storage = new_storage("far-dates")
    stored(storage, pa.table({"n": [2], "day": pa.array([10_000 * 366], pa.int32()).cast(pa.date32())}))
    with pytest.raises(AssertionError, match="A task was started"):
        rows(NoTasks(), reader(storage))
