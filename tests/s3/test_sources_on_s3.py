"""Tasks read Parquet sources on an object store with Arrow."""

import itertools
import pickle

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_table_services.execution.sources.arrow_files import ArrowFiles
from hudi_table_services.execution.sources.file_parts import FilePart
from hudi_table_services.storage.source_files import source_files
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3


def test_parts_of_a_file_contain_each_row_once(moto: S3) -> None:
    uri = moto.new_table()
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": list(range(1_000)), "text": ["x"] * 1_000}), sink, row_group_size=100)
    open_storage(uri, moto.options).write("in/rows.parquet", sink.getvalue().to_pybytes())
    found = ArrowFiles(tuple(source_files(f"{uri}/in", moto.options)), {"id": "long", "text": "string"})
    found.check_first()
    in_worker = pickle.loads(pickle.dumps(found))
    (size,) = found.sizes
    cuts = [0, size // 3, size // 2, size]
    parts = [FilePart(0, start, stop) for start, stop in itertools.pairwise(cuts)]
    rows = [
        row["id"]
        for part in parts
        for batch in in_worker.batches([part], ["id"])
        for row in batch.to_pylist()
    ]
    assert rows == list(range(1_000))
