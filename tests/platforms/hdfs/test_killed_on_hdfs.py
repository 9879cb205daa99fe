"""A write on HDFS is killed at several moments of its commit. The next run completes the write and loses no rows."""

import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from e2e.job_processes import SCRIPT, JobProcess, environment, run, spark_settings
from hudi_table_services.contract.health import HealthRequest
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.storage.stores.factory import open_storage
from support.spark.table_elsewhere import rows_of_copy
from support.stores.loads import MOMENTS, kill_when_written


def test_the_next_run_completes_a_write_killed_at_each_moment_of_its_commit(
    new_table: Callable[[], str], tmp_path: Path
) -> None:
    uri = new_table()
    storage = open_storage(uri)
    variables = environment(spark_settings(tmp_path / "conf"))
    flags = ["--base-path", uri, "--table-name", "t", "--record-key", "k", "--partition-by", "p"]
    flags += ["--ordering-field", "ts", "--option", "hoodie.write.table.version=6"]
    expected: dict[str, tuple[str, int, str]] = {}
    for number, moment in enumerate(("", *MOMENTS)):
        rows = [(f"k{key}", number, f"p{key % 3}") for key in range(number, number + 20)]
        source = tmp_path / f"{number}.parquet"
        pq.write_table(
            pa.table(dict(zip(("k", "ts", "p"), map(list, zip(*rows, strict=True)), strict=True))), source
        )
        command = [sys.executable, SCRIPT, *flags, "--source-path", str(source), "--request-id", f"r{number}"]
        if moment:
            job = JobProcess(command, variables, tmp_path / f"killed{number}")
            assert kill_when_written(storage, moment, job), f"the job ended before the kill after {moment}"
        ended = run(command, variables, tmp_path / f"run{number}")
        assert ended.exit_code == 0, ended.log
        expected |= {row[0]: row for row in rows}
        found = rows_of_copy(storage, tmp_path / "copy")
        assert sorted(found) == sorted(expected.values()), moment
    report = table_health(HealthRequest(base_path=uri)).report
    assert report is not None
    assert (report.pending, report.measures["leftover_files"]) == ((), 0)
