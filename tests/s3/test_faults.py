"""One request of a job is slow, throttled or dropped, or its answer is lost. The job or its next run completes.

No change is made twice: after the job, the table is as after a job without a fault.
"""

import pytest

from hudi_table_services.model.table_version import TableVersion
from s3_server import S3
from support.depth import cases, number_from
from support.stores.disturbed_jobs import FAULTS, WRITING_JOBS, check_job_with_faults
from support.stores.faults import Fault

EVERY = int(number_from("FAIL_EVERY", 60, 23))


@pytest.mark.parametrize(
    "version", cases([TableVersion.V6, TableVersion.V9], [TableVersion.V9], lambda v: v.name)
)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.value)
@pytest.mark.parametrize("job", cases(WRITING_JOBS, ["archive"]))
def test_a_job_completes_despite_a_fault_of_one_request(
    job: str, fault: Fault, version: TableVersion, s3: S3
) -> None:
    check_job_with_faults(
        job,
        fault,
        version,
        EVERY,
        new_table=s3.new_table,
        endpoint=s3.endpoint,
        options_at=lambda endpoint: s3.at(endpoint).options,
    )
