"""One request of a job is slow, throttled, dropped, or loses its answer. The job continues, or its next run does.

No change is made twice: after the job, the table is as after a job without a fault.
"""

from datetime import datetime, timedelta, timezone

import pytest

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from s3_server import S3
from support.depth import cases, number_from
from support.fail_points import tried
from support.jobs_on_tables import JOBS, READ_ONLY_JOBS, is_old_or_new_state, later, read_state
from support.small_tables import SmallTable
from support.stores.faults import Fault, OneFault, disturbing
from support.undone_tables import a_table

START = datetime.now(timezone.utc) - timedelta(hours=3)
EVERY = int(number_from("FAIL_EVERY", 60, 23))
FAULTS = [Fault.SLOW, Fault.THROTTLED, Fault.DROPPED, Fault.LOST]
WRITING_JOBS = [job for job in JOBS if job not in READ_ONLY_JOBS]


def table_on(s3: S3, version: TableVersion) -> SmallTable:
    return a_table(version, START, open_storage(s3.new_table(), s3.options))


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
@pytest.mark.parametrize("job", cases(WRITING_JOBS, ["archive"]))
@pytest.mark.parametrize(
    "version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9], lambda v: v.name)
)
def test_a_job_completes_despite_a_fault_of_one_request(
    job: str, fault: Fault, version: TableVersion, s3: S3
) -> None:
    table = table_on(s3, version)
    act = JOBS[job](table)
    old = read_state(table)
    act(table.storage, later(1))
    new = read_state(table)
    for number in range(1 + FAULTS.index(fault), 10_000, EVERY):
        table = table_on(s3, version)
        act = JOBS[job](table)
        plan = OneFault(fault, number)
        raised: HudiTableServiceError | None = None
        with disturbing(s3.endpoint, plan) as endpoint:
            try:
                act(open_storage(table.storage.uri, s3.at(endpoint).options), later(1))
            except HudiTableServiceError as error:
                raised = error
        if plan.count < number:
            break
        tried(job)
        where = f"request {number}, {plan.disturbed}: {raised!r}"
        assert raised is None or (fault is Fault.LOST and raised.retryable), where
        assert is_old_or_new_state(job, read_state(table), old, new), where
        act(table.storage, later(3))
        assert read_state(table) == new, where
    assert number > 5
