"""The durations of a job in the return value of its task."""

from collections.abc import Callable
from typing import Any

import pytest

from airflow_hudi_provider.results.cleaning import clean_answer
from airflow_hudi_provider.results.clustering import clustering_answer
from airflow_hudi_provider.results.compaction import compaction_answer
from airflow_hudi_provider.results.config_check import config_answer
from airflow_hudi_provider.results.health import health_answer
from airflow_hudi_provider.results.recovery import recovery_answer
from airflow_hudi_provider.results.task_outcome import xcom_of
from hudi_table_services.contract.result import JobResult, Outcome

ANSWERS = (
    *(clean_answer, clustering_answer, compaction_answer, config_answer),
    *(health_answer, recovery_answer, xcom_of),
)


@pytest.mark.parametrize("answer_of", ANSWERS)
def test_the_return_value_of_every_service_contains_the_durations(
    answer_of: Callable[[JobResult], dict[str, Any]],
) -> None:
    durations = {"spark_start": 3.0, "work": 3.1}
    result = JobResult(request_id="r", outcome=Outcome.COMPLETED, timings_s=durations)
    assert answer_of(result)["timings_s"] == durations
