"""`upsert_batches` writes each micro-batch of a checkpoint once, and writes the batches of a new checkpoint again."""

from pathlib import Path
from typing import Any

import pytest

from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.stream_batches import upsert_batches
from support.spark.in_driver import DriverSession
from support.spark.log_tables import LogTable, Row, new_log_table


def request_of(table: LogTable, **fields: Any) -> UpsertRequest:
    values = {
        "base_path": str(table.base_path),
        "request_id": "daily",
        "table_name": "t",
        "record_key": ("k",),
        "partition_by": ("p",),
        "ordering_field": "ts",
        "options": table.options,
    }
    return UpsertRequest(**{**values, **fields})


def checkpoint_of(folder: Path, query_id: str) -> str:
    folder.mkdir()
    (folder / "metadata").write_text(f'{{"id":"{query_id}"}}')
    return str(folder)


def frame_of(table: LogTable, rows: list[Row]) -> Any:
    return DriverSession().frame(table.arrow(rows))


@pytest.mark.parametrize("table_type", ["COPY_ON_WRITE", "MERGE_ON_READ"])
def test_a_repeated_batch_writes_nothing(tmp_path: Path, table_type: str) -> None:
    table = new_log_table(tmp_path / "t", 9, hoodie__table__type=table_type)
    write = upsert_batches(request_of(table), checkpoint_of(tmp_path / "c", "query-1"))
    write(frame_of(table, [("a", 1, "p", "1")]), 0)
    write(
        frame_of(table, [("a", 1, "p", "another value")]), 0
    )  # so the test sees whether the batch was written
    write(frame_of(table, [("b", 1, "p", "1")]), 1)
    assert table.rows() == [("a", 1, "p", "1"), ("b", 1, "p", "1")]
    ids = [table.newest()[1].extra_metadata["airflow.request_id"]]
    assert ids == ["daily/query-1/1"]
    assert len(table.timeline_store.load().completed_writes) == 2


def test_batches_of_a_new_checkpoint_are_written(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    upsert_batches(request_of(table), checkpoint_of(tmp_path / "c", "query-1"))(
        frame_of(table, [("a", 1, "p", "1")]), 0
    )
    upsert_batches(request_of(table), checkpoint_of(tmp_path / "d", "query-2"))(
        frame_of(table, [("a", 2, "p", "2")]), 0
    )
    assert table.rows() == [("a", 2, "p", "2")]


def test_an_empty_batch_makes_no_commit(tmp_path: Path) -> None:
    table = new_log_table(tmp_path / "t", 9)
    table.write([("a", 1, "p", "1")])
    write = upsert_batches(request_of(table), checkpoint_of(tmp_path / "c", "query-1"))
    write(frame_of(table, []), 0)
    assert len(table.timeline_store.load().completed_writes) == 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"source": SourceSpec(path="/data")}, "has a source"),
        ({"dry_run": True}, "is a dry run"),
    ],
)
def test_requests_that_cannot_be_those_of_a_stream_are_refused(
    tmp_path: Path, fields: dict[str, Any], words: str
) -> None:
    table = new_log_table(tmp_path / "t", 9)
    with pytest.raises(InvalidRequestError, match=words):
        upsert_batches(request_of(table, **fields), "/c")


def test_a_stream_needs_a_request_id(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="has no request id"):
        upsert_batches(UpsertRequest(base_path=str(tmp_path)), "/c")


@pytest.mark.parametrize("content", [None, "", "not json", "[]", '{"name":"x"}'])
def test_another_folder_than_a_checkpoint_is_refused(tmp_path: Path, content: str | None) -> None:
    table = new_log_table(tmp_path / "t", 9)
    folder = tmp_path / "c"
    folder.mkdir()
    if content is not None:
        (folder / "metadata").write_text(content)
    with pytest.raises(InvalidRequestError, match="is not the checkpoint of a started query"):
        upsert_batches(request_of(table), str(folder))(frame_of(table, [("a", 1, "p", "1")]), 0)
    assert not table.base_path.exists()
