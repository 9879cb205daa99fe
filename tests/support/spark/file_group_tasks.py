"""Tasks of a write job that a test runs without Spark: the job, and staged rows for the tasks."""

import numpy as np
import pyarrow as pa

from hudi_table_services.execution.arrow_schema import arrow_schema
from hudi_table_services.execution.base_file_writer import BloomSettings
from hudi_table_services.execution.file_groups import WriteJob, WriteTask
from hudi_table_services.execution.parquet_format import ParquetFormat
from hudi_table_services.execution.staging import KEY_COLUMN, StagedFileWriter, StagedRows
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.model.schema import Field, PrimitiveType, StructType
from hudi_table_services.storage.locks.heartbeat import heartbeat_path
from hudi_table_services.storage.stores.local import LocalStorage

COLUMNS = 8
BATCH_ROWS = 50_000
MIB = 1 << 20
SCHEMA = StructType(tuple(Field(f"c{i}", PrimitiveType("double")) for i in range(COLUMNS)))


def write_job(root: str, instant_time: str) -> WriteJob:
    storage = LocalStorage(root)
    storage.write(heartbeat_path(instant_time), b"")
    return WriteJob(
        storage=storage,
        instant_time=instant_time,
        data_schema=arrow_schema(SCHEMA, with_meta_fields=False),
        avro_schema_json=to_avro_json(SCHEMA, "t", with_meta_fields=True),
        parquet=ParquetFormat(codec="zstd", codec_level=1, row_group_bytes=4 * MIB),
        bloom=BloomSettings(),
    )


def staged(job: WriteJob, name: str, batch_count: int, **columns: pa.Array) -> StagedFileWriter:
    """Stage random rows with ascending keys. Each batch also contains the given columns."""
    schema = pa.schema([*job.data_schema, pa.field(KEY_COLUMN, pa.string())])
    for column, values in columns.items():
        schema = schema.append(pa.field(column, values.type))
    writer = StagedFileWriter(job.storage, f".hoodie/.aux/staging/{name}.arrow", schema)
    random = np.random.default_rng(7)
    rows = BATCH_ROWS if not columns else len(next(iter(columns.values())))
    for number in range(batch_count):
        values = [pa.array(random.random(rows)) for _ in range(COLUMNS)]
        keys = pa.array([f"key-{number * rows + i:09d}" for i in range(rows)])
        writer.write(pa.record_batch([*values, keys, *columns.values()], schema=schema), "p")
    writer.close()
    return writer


def insert_task(job: WriteJob, batch_count: int) -> WriteTask:
    """A task that writes this number of staged batches into a new file group."""
    runs = tuple(StagedRows(b, 0, b.row_count) for b in staged(job, "in", batch_count).batches)
    return WriteTask(number=0, partition_path="p", file_id="f-0", current=None, inserts=runs)
