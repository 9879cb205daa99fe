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


MALFORMED = (
    "An error occurred while calling o49.collectToPython.\n: org.apache.spark.SparkException: "
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///in/a.csv.  SQLSTATE: KD001\n\tat x\n"
    "Caused by: org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records "
    "are detected in record parsing: [3,Cy].\nParse Mode: FAILFAST.\n"
    "Caused by: org.apache.spark.SparkRuntimeException: "
    "[MALFORMED_CSV_RECORD] Malformed CSV record: 3,Cy,extra SQLSTATE: KD000\n\tat y"
)


def test_a_line_of_a_csv_file_that_spark_cannot_parse_is_an_error_of_the_data_that_contains_the_line() -> (
    None
):
    error = translated(MALFORMED)
    assert type(error) is InvalidDataError
    assert error.message.endswith("as the file has columns in the file file:///in/a.csv: '3,Cy,extra'.")
    assert "multiLine=true" in error.hint


def test_a_malformed_record_without_its_text_is_an_error_of_the_data() -> None:
    error = translated("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records: _corrupt_record.")
    assert type(error) is InvalidDataError
    assert "mode=DROPMALFORMED" in error.hint


def test_other_errors_of_reading_a_file_may_end_with_the_next_run() -> None:
    error = translated("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/a.parquet.")
    assert type(error) is ExecutionFailedError
    assert error.retryable
