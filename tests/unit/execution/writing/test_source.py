"""Errors when a source cannot be read, and whether they are retryable."""

from typing import Any

import pytest
from pyspark.errors import AnalysisException

from hudi_table_services.contract.writing import SourceSpec
from hudi_table_services.errors import ExecutionFailedError, HudiTableServiceError, InvalidRequestError
from hudi_table_services.execution.writing.source import read_source


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
