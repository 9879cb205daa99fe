"""A job without Spark on the server of an object store, while faults disturb its requests, one per run."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone

from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.factory import open_storage
from support.fail_points import tried
from support.jobs_on_tables import JOBS, READ_ONLY_JOBS, is_old_or_new_state, later, read_state
from support.small_tables import SmallTable
from support.stores.faults import Fault, OneFault, disturbing
from support.undone_tables import a_table

START = datetime.now(timezone.utc) - timedelta(hours=3)
FAULTS = [Fault.SLOW, Fault.THROTTLED, Fault.DROPPED, Fault.LOST]
WRITING_JOBS = [job for job in JOBS if job not in READ_ONLY_JOBS]


def check_job_with_faults(
    job: str,
    fault: Fault,
    version: TableVersion,
    every: int,
    *,
    new_table: Callable[[], str],
    endpoint: str,
    options_at: Callable[[str], Mapping[str, str]],
) -> None:
    """Disturb every n-th request of a job, each in a run on a new table. This run or the next run completes the job.

    Args:
        job: name of the job in `JOBS`.
        every: distance between two requests to disturb. The number of the first such request differs between faults.
        new_table: returns the URI of an empty folder.
        endpoint: URL of the server.
        options_at: returns the storage options for the server at another URL.
    """

    def table_on_server() -> SmallTable:
        return a_table(version, START, open_storage(new_table(), options_at(endpoint)))

    table = table_on_server()
    act = JOBS[job](table)
    old = read_state(table)
    act(table.storage, later(1))
    new = read_state(table)
    for number in range(1 + FAULTS.index(fault), 10_000, every):
        table = table_on_server()
        act = JOBS[job](table)
        plan = OneFault(fault, number)
        raised: HudiTableServiceError | None = None
        with disturbing(endpoint, plan) as disturbed:
            try:
                act(open_storage(table.storage.uri, options_at(disturbed)), later(1))
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
