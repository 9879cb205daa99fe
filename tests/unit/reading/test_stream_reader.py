"""The stream reader plans the same batch again for the same offsets, and refuses changes that it cannot continue."""

from dataclasses import replace

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxFiles

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.schema import LONG, STRING, StructType
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.reading.stream_options import stream_request
from hudi_table_services.reading import stream_source
from hudi_table_services.reading.scan_columns import table_schema
from hudi_table_services.reading.scan_partitions import Selection
from hudi_table_services.reading.stream_source import (
    HudiNativeStreamReader,
    LimitedStreamReader,
    stream_reader,
)
from support.compaction.written_table import NORTH, WrittenTable, a_row
from support.with_logs.clusterings_here import a_table

COMMITS, BYTES = "hoodie.airflow.stream.commits.per.batch", "hoodie.airflow.stream.bytes.per.batch"
Found = list[tuple[str, int]]


def reader_of(
    table: WrittenTable, *, schema: StructType | None = None, **options: str
) -> LimitedStreamReader:
    found = schema or table_schema(table.storage, "")
    selection = Selection(columns=("id", "ts"))
    request = stream_request({name.replace("__", "."): value for name, value in options.items()})
    reader = stream_reader(table.storage, request, found, selection)
    assert isinstance(reader, LimitedStreamReader)
    return reader


def rows_between(reader: HudiNativeStreamReader, start: dict[str, str], end: dict[str, str]) -> Found:
    found = []
    for partition in reader.partitions(start, end):
        for batch in reader.read(partition):
            found += [(row["id"], row["ts"]) for row in batch.to_pylist()]
    return sorted(found)


def test_a_batch_that_is_planned_again_later_has_the_same_rows() -> None:
    table = a_table(TableVersion.V9)
    reader = reader_of(table)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    before = rows_between(reader, start, end)
    table.log({NORTH: [a_row("a", 9), a_row("new", 9)]})
    assert rows_between(reader, start, end) == before
    later = reader.latestOffset(end, ReadAllAvailable())
    assert rows_between(reader, end, later) == [("a", 9), ("new", 9)]
    assert reader.partitions(later, later) == []


def test_limits_apply_unless_spark_wants_all_commits() -> None:
    table = a_table(TableVersion.V9)
    reader = reader_of(table, **{COMMITS.replace(".", "__"): "1"})
    start = reader.initialOffset()
    assert reader.getDefaultReadLimit() == ReadMaxFiles(1)
    first, *_, last = [i.visible_from for i in table.timeline_store.load().completed_writes]
    assert reader.latestOffset(start, ReadMaxFiles(1)) == {"commitTime": first}
    assert reader.latestOffset(start, ReadAllAvailable()) == {"commitTime": last}
    assert reader.reportLatestOffset() == {"commitTime": last}


def test_spark_gets_only_the_limit_of_bytes() -> None:
    table = a_table(TableVersion.V9)
    assert reader_of(table).getDefaultReadLimit() == ReadAllAvailable()
    both = {COMMITS.replace(".", "__"): "1", BYTES.replace(".", "__"): "7"}
    assert reader_of(table, **both).getDefaultReadLimit() == ReadMaxBytes(7)


def test_available_now_does_not_pass_the_newest_commit_at_its_start() -> None:
    table = a_table(TableVersion.V9)
    reader = reader_of(table)
    reader.prepareForTriggerAvailableNow()
    target = reader.reportLatestOffset()
    table.log({NORTH: [a_row("a", 9)]})
    assert reader.latestOffset(reader.initialOffset(), ReadAllAvailable()) == target
    assert reader.latestOffset(target, ReadAllAvailable()) == target


def test_a_column_that_changed_its_type_ends_the_stream() -> None:
    table = a_table(TableVersion.V9)
    now = table_schema(table.storage, "")
    before = StructType(tuple(replace(f, type=STRING) if f.name == "ts" else f for f in now.fields))
    reader = reader_of(table, schema=before)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    with pytest.raises(InvalidRequestError, match=f"'ts' had the type {STRING} .* now has the type {LONG}"):
        reader.partitions(reader.initialOffset(), end)


def test_before_spark_4_2_limits_are_refused_and_offsets_do_not_decrease(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stream_source, "HAS_LIMITS", False)
    table = a_table(TableVersion.V9)
    columns = Selection(columns=("id", "ts"))
    with pytest.raises(InvalidRequestError, match="need Spark 4.2"):
        stream_reader(table.storage, stream_request({COMMITS: "1"}), StructType(()), columns)
    reader = stream_reader(table.storage, stream_request({}), table_schema(table.storage, ""), columns)
    assert type(reader) is HudiNativeStreamReader
    end = reader.latestOffset()
    table.undo_newest()
    assert reader.latestOffset() == end
    restarted = stream_reader(table.storage, stream_request({}), table_schema(table.storage, ""), columns)
    earlier = restarted.latestOffset()
    with pytest.raises(InvalidRequestError, match="A restore has undone commits"):
        restarted.partitions(end, earlier)
