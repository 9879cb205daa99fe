"""The secret of a connection is in no output, file or process list of an operator that runs a real job on S3."""

import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from hudi import HudiReadOptions, HudiTable

from e2e.job_processes import spark_settings
from e2e.orders import orders, write_parquet
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3
from support.airflow.operator_process import OperatorProcess


def command_lines(task: int) -> set[str]:
    """Return the words of the command lines of a process and its descendants. Every user of a machine can read them."""
    words: set[str] = set()
    with suppress(psutil.NoSuchProcess):
        root = psutil.Process(task)
        for each in (root, *root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                words |= set(each.cmdline())
    return words


@pytest.mark.thorough
def test_the_secret_of_a_real_job_is_not_shown(s3: S3, tmp_path: Path) -> None:
    uri, folder = s3.new_table(), tmp_path / "task"
    source = write_parquet(orders(range(100)), tmp_path / "orders.parquet")
    store = {
        "conn_type": "aws",
        "login": "key",
        "password": s3.secret,
        "extra": {"endpoint_url": s3.endpoint, "region_name": "us-east-1"},
    }
    task = OperatorProcess(
        "airflow_hudi_provider.operators.upsert:UpsertWithSizingOperator",
        {
            "base_path": uri,
            "table_name": "orders",
            "record_key": "id",
            "partition_by": "region",
            "source_path": str(source),
            "storage_conn_id": "store",
        },
        {"store": store, "spark_default": {"conn_type": "spark", "host": "local[2]"}},
        folder,
        spark_settings(tmp_path / "conf"),
    )
    words: set[str] = set()
    while task.process.poll() is None:
        words |= command_lines(task.process.pid)
        time.sleep(0.02)
    answer = task.answer()
    assert answer["returned"]["outcome"] == "completed"
    assert sum(batch.num_rows for batch in HudiTable(uri, s3.options).read(HudiReadOptions())) == 100

    assert any("upsert_with_sizing.py" in word for word in words), "the job was in no process list"
    assert not [word for word in words if s3.secret in word]
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {"stdout", "stderr", "answer.json"} <= {path.name for path in files}
    storage = open_storage(uri, s3.options)
    files |= {Path(each.path): storage.read(each.path) for each in storage.list_files()}
    assert [path for path, content in files.items() if s3.secret.encode() in content] == []
