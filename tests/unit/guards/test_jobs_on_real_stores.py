"""The tests on real stores run every job and every write operation."""

from hudi_table_services.contract.writing import OPERATIONS
from hudi_table_services.services.registry import SERVICES
from support.spark.every_job import STEPS


def test_every_job_runs_on_the_real_stores() -> None:
    every = {script.file_name for service in SERVICES for script in service.scripts}
    assert {script.file_name for step in STEPS for script in step.scripts} == every


def test_every_write_operation_runs_on_the_real_stores() -> None:
    assert {name for step in STEPS for name in step.operations} == set(OPERATIONS)
