"""Upsert deliveries with the write job: as a script in a separate process, or in this process on one Spark session."""

import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from demo_support.flights import MONTH, RECORD_KEY, REVISION, Delivery
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.jobs.writing.upsert import upsert
from hudi_table_services.services.registry import read_result

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = Path("spark_jobs") / "upsert_with_sizing.py"
TABLE_NAME = "flights"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """File sizes of the demo's table: tiny, so that a month of flights fills several files."""

    max_file_bytes: int
    small_file_limit_bytes: int

    @property
    def options(self) -> dict[str, str]:
        return {
            "hoodie.parquet.max.file.size": str(self.max_file_bytes),
            "hoodie.parquet.small.file.limit": str(self.small_file_limit_bytes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One delivery and the job's result."""

    delivery: Delivery
    result: JobResult
    seconds: float


class ScriptFailedError(Exception):
    """The job script ended with an error; the message ends with the last lines of the script's log."""


class Loader:
    """Upserts deliveries into one table."""

    def __init__(self, output: Path, sizes: Sizes) -> None:
        self._output = output
        self._sizes = sizes
        self._spark: SparkSession | None = None

    @property
    def table(self) -> Path:
        return self._output / "table"

    def load(self, delivery: Delivery) -> Load:
        """Upsert a delivery in process. The first call starts Spark."""
        if self._spark is None:
            self._spark = open_session(self._output / "spark.log")
        request = self._request(delivery, self._source(delivery))
        started = time.perf_counter()
        result = upsert(self._spark, request)
        return Load(delivery=delivery, result=result, seconds=time.perf_counter() - started)

    def load_by_script(self, delivery: Delivery) -> Load:
        """Upsert a delivery with the job script, as Airflow or a shell would start it."""
        result_file = self._output / "result.json"
        command = self.script_arguments(delivery, result_file)
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise ScriptFailedError(
                f"{SCRIPT} ended with exit code {done.returncode}:\n{done.stderr[-3000:]}"
            )
        result = read_result(result_file.read_text())
        return Load(delivery=delivery, result=result, seconds=time.perf_counter() - started)

    def script_arguments(self, delivery: Delivery, result_file: Path) -> list[str]:
        """Return the command line after ``python``."""
        request = self._request(delivery, self._source(delivery))
        pairs = {
            "--base-path": request.base_path,
            "--table-name": request.table_name,
            "--source-path": str(self._source(delivery)),
            "--record-key": ",".join(request.record_key),
            "--partition-by": ",".join(request.partition_by),
            "--ordering-field": request.ordering_field,
            "--request-id": request.request_id,
            "--result-path": str(result_file),
        }
        flags = [text for pair in pairs.items() for text in pair]
        options = [text for key, value in request.options.items() for text in ("--option", f"{key}={value}")]
        return [str(SCRIPT), *flags, *options]

    def close(self) -> None:
        if self._spark is not None:
            self._spark.stop()

    def _source(self, delivery: Delivery) -> Path:
        path = self._output / "landing" / f"{delivery.name}.parquet"
        return path if path.exists() else delivery.write(path.parent)

    def _request(self, delivery: Delivery, source: Path) -> UpsertRequest:
        return UpsertRequest(
            request_id=f"demo/{delivery.name}",
            base_path=str(self.table),
            table_name=TABLE_NAME,
            source=SourceSpec(path=str(source), format="parquet"),
            record_key=RECORD_KEY,
            partition_by=(MONTH,),
            ordering_field=REVISION,
            options=self._sizes.options,
        )


def open_session(log: Path) -> SparkSession:
    """Open a local session on two cores. Its JVM and its workers write their output to ``log``."""
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    paths = [str(ROOT / "spark_jobs"), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    with _errors_to(log):
        return (
            SparkSession.builder.master("local[2]")
            .appName("flights demo")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.driver.memory", "2g")
            .getOrCreate()
        )


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """Redirect the standard error of processes that start inside the ``with`` block to ``log``."""
    kept = os.dup(2)
    try:
        with log.open("w") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
