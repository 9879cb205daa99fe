"""The rows and statistics of a base file do not depend on the chunks in which its rows were written."""

import io
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_table_services.execution.base_file_writer import (
    COMMIT_TIME,
    RECORD_KEY,
    SEQUENCE_NUMBER,
    BaseFileSpec,
    BaseFileWriter,
    BloomSettings,
)
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.hudi_format.footer import decode_key_footer
from hudi_table_services.hudi_format.markers import MarkerKind
from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.metadata_table import FileStatistics
from hudi_table_services.storage.stores.memory import MemoryStorage
from judges.rows import ALL_TYPES, KEY, as_table, some_rows

ROWS, DIFFERENT_ROWS = 3_000, 60
COLUMNS = tuple(field.name for field in ALL_TYPES if not pa.types.is_nested(field.type))


def written(rows: pa.Table, chunk_rows: int) -> tuple[pq.ParquetFile, FileStatistics]:
    storage = MemoryStorage(uuid4().hex)
    spec = BaseFileSpec(
        base_file=BaseFile(file_id="f-0", write_token="0-0-0", instant_time="20260101000000000"),
        partition_path="a",
        expected_rows=ROWS,
        data_schema=rows.schema.remove(0).remove(0).remove(0),
        avro_schema_json="{}",
        marker_kind=MarkerKind.CREATE,
        statistics_columns=COLUMNS,
    )
    parquet = ParquetFormat()
    with BaseFileWriter(storage, spec, parquet, BloomSettings(max_entries=ROWS)) as writer:
        for start in range(0, ROWS, chunk_rows):
            writer.write(rows.slice(start, chunk_rows))
    assert writer.statistics is not None
    return pq.ParquetFile(io.BytesIO(storage.read(spec.path))), writer.statistics


@pytest.mark.parametrize("chunk_rows", [1, 7, 1_000, 1_024])
def test_small_chunks_give_the_same_rows_and_statistics_as_one_chunk(chunk_rows: int) -> None:
    data = pa.concat_tables(
        [as_table(some_rows(range(DIFFERENT_ROWS), 1))] * (ROWS // DIFFERENT_ROWS)
    ).combine_chunks()
    texts = {
        COMMIT_TIME: ["20260101000000000"] * ROWS,
        SEQUENCE_NUMBER: [f"{number}_0" for number in range(ROWS)],
        RECORD_KEY: data[KEY].to_pylist(),
    }
    meta = {name: pa.array(values, pa.string()) for name, values in texts.items()}
    rows = pa.table({**meta, **{name: data[name] for name in data.schema.names}})
    whole, statistics = written(rows, ROWS)
    chunked, of_chunks = written(rows, chunk_rows)
    assert whole.metadata.num_row_groups == chunked.metadata.num_row_groups == 1
    assert chunked.read().equals(whole.read())
    assert of_chunks.ranges == statistics.ranges
    footers = [decode_key_footer(file.metadata.metadata or {}) for file in (whole, chunked)]
    assert footers[0] == footers[1]
    for number in range(whole.metadata.num_columns):
        columns = [file.metadata.row_group(0).column(number) for file in (whole, chunked)]
        assert columns[0].statistics == columns[1].statistics
        assert columns[0].has_dictionary_page == columns[1].has_dictionary_page
