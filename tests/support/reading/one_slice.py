"""A slice with one base file in memory, for tests of reads."""

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.model.data_file import BaseFile
from hudi_table_services.model.file_group import FileGroupId, FileSlice
from hudi_table_services.model.schema import META_COLUMNS
from hudi_table_services.storage.stores.memory import MemoryStorage

BASE = BaseFile(file_id="f", write_token="0-0-0", instant_time="20260101000000000")
SLICE = FileSlice(file_group_id=FileGroupId("p", "f"), base_instant_time=BASE.instant_time, base_file=BASE)
PATH = "p/" + BASE.file_name


def stored(storage: MemoryStorage, rows: pa.Table, row_group_size: int = 2) -> None:
    """Write the base file of `SLICE`, with values in the meta columns."""
    for name in reversed(META_COLUMNS):
        rows = rows.add_column(0, name, [[f"{name}-{i}" for i in range(rows.num_rows)]])
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, row_group_size=row_group_size)
    storage.write(PATH, sink.getvalue().to_pybytes())


def new_storage(name: str) -> MemoryStorage:
    storage = MemoryStorage(name)
    storage.delete_folder("")
    return storage
