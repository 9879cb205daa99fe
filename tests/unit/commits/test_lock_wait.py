"""The result of a job contains the time for which the job waited for the table lock."""

import threading

import pytest

from hudi_table_services.commits.measured_lock import LOCK_WAIT, MeasuredLock
from hudi_table_services.commits.stopwatch import Stopwatch
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.result import Outcome
from hudi_table_services.errors import LockNotAcquiredError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.options.locks import LockOptions
from hudi_table_services.storage.locks.lock import FileSystemLock
from support.archived_tables import SMALL_LIMITS, History

HELD_S = 0.4
SOON_AGAIN = {"hoodie.write.lock.wait_time_ms_between_retry": "20"}


def test_a_job_that_waited_reports_its_waiting_time() -> None:
    history = History()
    history.commits(5, FileGroupId("a", "f1"))
    request = ArchiveRequest(
        base_path=history.storage.uri, options={**SMALL_LIMITS, **SOON_AGAIN}, min_commits=2, max_commits=4
    )
    history.archive(preview=True)  # imports modules, so that the measured run requests the lock in time
    others = FileSystemLock(history.storage)
    others.__enter__()
    release = threading.Timer(HELD_S, others.__exit__, (None, None, None))
    release.start()
    result = archive(request, storage=history.storage, clock=history.clock)
    release.join()
    assert result.outcome is Outcome.COMPLETED
    assert HELD_S / 2 < result.timings_s[LOCK_WAIT] < HELD_S + 10


def test_a_job_that_did_not_wait_reports_almost_no_waiting_time() -> None:
    history = History()
    history.commits(5, FileGroupId("a", "f1"))
    assert history.archive().timings_s[LOCK_WAIT] < HELD_S / 2


def test_the_reported_time_includes_a_wait_that_did_not_get_the_lock() -> None:
    history, watch = History(), Stopwatch()
    two_retries = LockOptions(retries=2, retry_wait_ms=50, client_retries=0)
    lock = MeasuredLock(FileSystemLock(history.storage, two_retries), watch)
    with lock as held:
        held.verify()
        before = watch.seconds[LOCK_WAIT]
        second = MeasuredLock(FileSystemLock(history.storage, two_retries), watch)
        with pytest.raises(LockNotAcquiredError), second:
            pass
    assert watch.seconds[LOCK_WAIT] - before >= 0.1
    with lock:  # a job may take the same lock object again
        assert history.storage.exists(".hoodie/lock")
    assert not history.storage.exists(".hoodie/lock")
