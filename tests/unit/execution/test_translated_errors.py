"""The errors of jobs whose Spark job fails."""

from types import SimpleNamespace
from typing import Any

import pytest

from hudi_table_services.errors import ExecutionFailedError, HudiTableServiceError, InvalidDataError
from hudi_table_services.execution.spark_tasks import translated_errors

MISMATCH = (
    "An error occurred while calling o1.collectToPython.\n: org.apache.spark.SparkException: "
    "[FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH] Encountered error while reading file file:///b.parquet. Data "
    "type mismatches when reading Parquet column [n]. Expected Spark type bigint, actual Parquet type DOUBLE.\n\tat x"
)


def translated(text: str) -> HudiTableServiceError:
    spark: Any = SimpleNamespace()
    with pytest.raises(HudiTableServiceError) as caught, translated_errors(spark, "stage rows"):
        raise RuntimeError(text)
    return caught.value


def test_parquet_files_with_different_types_are_an_error_of_the_data_with_a_hint() -> None:
    error = translated(MISMATCH)
    assert type(error) is InvalidDataError
    assert not error.retryable
    assert "file:///b.parquet" in error.message
    assert "Parquet column [n]. Expected Spark type bigint" in error.message
    assert "separate write" in error.hint


def test_other_errors_of_reading_a_file_may_end_with_the_next_run() -> None:
    error = translated("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/a.parquet.")
    assert type(error) is ExecutionFailedError
    assert error.retryable
