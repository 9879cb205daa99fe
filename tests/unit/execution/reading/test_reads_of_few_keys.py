"""The driver reads the rows of a few keys, and leaves all other reads to Spark's tasks."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from hudi_table_services.execution.reading import few_keys as module
from hudi_table_services.execution.reading.few_keys import rows_of_few_keys
from hudi_table_services.execution.reading.slice_rows import SliceReader, result_schema
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.reading.predicate import ColumnPredicate, Comparison, Predicate
from hudi_table_services.storage.stores.memory import MemoryStorage
from support.reading.one_slice import SLICE, new_storage, stored


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


def rows(found: SliceReader, *slices: FileSlice) -> list[tuple[Any, ...]] | None:
    return rows_of_few_keys(found, slices or (SLICE,), from_arrow_schema(found.columns))


def test_the_driver_reads_the_rows_of_few_keys(storage: MemoryStorage) -> None:
    assert rows(reader(storage)) == [(dt.date(1970, 1, 3), 2), (dt.date(1970, 1, 4), 2)]
    assert rows(reader(storage, n=3)) == [(None, 3)]
    assert rows(reader(storage, n=9)) == []


@pytest.mark.parametrize(
    ("limit", "value", "largest"),
    [
        ("_MAX_VALUES", 3, 4),
        ("_MAX_BYTES", 23, 32),
        ("_MAX_KEYS", 0, 1),
        ("FLAT_TYPES", {"date"}, {"date", "long"}),
    ],
)
def test_tasks_read_more_keys_more_values_more_bytes_and_other_types(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch, limit: str, value: object, largest: object
) -> None:
    monkeypatch.setattr(module, limit, value)
    assert rows(reader(storage)) is None
    monkeypatch.setattr(module, limit, largest)
    assert len(rows(reader(storage)) or ()) == 2


def test_tasks_read_all_reads_without_keys_and_of_several_files(storage: MemoryStorage) -> None:
    assert rows(reader(storage, keys=None)) is None
    assert rows(reader(storage), SLICE, replace(SLICE, base_instant_time="20260102000000000")) is None


def test_tasks_read_dates_that_python_does_not_have() -> None:
    storage = new_storage("far-dates")
    stored(storage, pa.table({"n": [2], "day": pa.array([10_000 * 366], pa.int32()).cast(pa.date32())}))
    assert rows(reader(storage)) is None
