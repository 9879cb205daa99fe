"""Errors when a source cannot be read, and whether they are retryable."""

import logging
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import ExecutionFailedError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.sources.source import read_source


class FailingSpark:
    """A session whose reader always fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    @property
    def read(self) -> Any:
        raise self.error


def test_the_message_contains_javas_error_text_instead_of_the_py4j_call() -> None:
    error = RuntimeError(
        "An error occurred while calling o29.load.\n: org.x.SparkException: [SOME] a.csv is odd\n at"
    )
    with pytest.raises(ExecutionFailedError, match=r"failed: org.x.SparkException: \[SOME\] a.csv is odd\."):
        read_source(FailingSpark(error), SourceSpec(path="/landing"), {})  # type: ignore[arg-type]


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_the_last_line_of_the_log_names_the_running_step_and_not_a_conversion_that_happens_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, unit: str
) -> None:
    path = str(tmp_path / "rows.parquet")
    pq.write_table(pa.table({"at": pa.array([0], pa.timestamp(unit))}), path)
    with caplog.at_level(logging.INFO), pytest.raises(ExecutionFailedError):
        read_source(FailingSpark(RuntimeError("busy")), SourceSpec(path=path), {})  # type: ignore[arg-type]
    *earlier, last = [record.message for record in caplog.records]
    assert last == "Reading the columns of the source"
    assert earlier == (
        ["The write stores these columns in microseconds, and drops smaller digits: at"]
        if unit == "ns"
        else []
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AnalysisException("Path does not exist: /x"), InvalidRequestError),
        (RuntimeError("[CANNOT_READ_FILE_FOOTER] Could not read footer for file /x"), InvalidRequestError),
        (RuntimeError("503 Slow Down"), ExecutionFailedError),
        (ConnectionRefusedError("the gateway is gone"), ExecutionFailedError),
    ],
)
def test_user_errors_are_not_retryable_and_other_failures_are_retryable(
    error: Exception, expected: type[HudiTableServiceError]
) -> None:
    with pytest.raises(expected, match="/landing"):
        read_source(FailingSpark(error), SourceSpec(path="/landing"), {})  # type: ignore[arg-type]
    assert expected.retryable is (expected is ExecutionFailedError)
