"""One request of a job is throttled or dropped, or its answer is lost. The job or its next run completes.

The tests on the S3 server disturb more requests, in both layouts of the timeline. These tests disturb fewer requests,
because the client of GCS waits for seconds before it repeats a request.
"""

import pytest
from google_account import Gcs

from hudi_table_services.model.table_version import TableVersion
from support.depth import number_from
from support.stores.disturbed_jobs import WRITING_JOBS, check_job_with_faults
from support.stores.faults import Fault

EVERY = int(number_from("FAIL_EVERY", 60, 60))


@pytest.mark.parametrize("fault", [Fault.THROTTLED, Fault.DROPPED, Fault.LOST], ids=lambda fault: fault.value)
@pytest.mark.parametrize("job", WRITING_JOBS)
def test_a_job_completes_despite_a_fault_of_one_request(job: str, fault: Fault, gcs: Gcs) -> None:
    check_job_with_faults(
        job,
        fault,
        TableVersion.V9,
        EVERY,
        new_table=gcs.new_table,
        endpoint=gcs.endpoint,
        options_at=gcs.options_at,
    )
