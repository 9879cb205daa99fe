"""Jobs that wait before their commit while another job acts."""

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

from hudi_table_services.contract.result import JobResult
from hudi_table_services.storage.stores.local import LocalStorage
from judges.table_files import markers
from support.spark.writing import Row, TableUnderTest

OPTIMISTIC = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.FileSystemBasedLockProvider",
}
NO_RETRY = {"hoodie.write.num.retries.on.conflict.failures": "0"}


class HeldUpJob:
    """A job in a thread. The job writes its files, then waits for the end of the ``with`` block, and then commits.

    Args:
        job: a function that runs the job on the given storage.
    """

    def __init__(self, table: TableUnderTest, job: Callable[[LocalStorage], JobResult]) -> None:
        self.has_written, self.may_commit = threading.Event(), threading.Event()
        storage = _storage_that_waits(table.base_path, self.has_written, self.may_commit)
        self._pool = ThreadPoolExecutor(1)
        self.result: Future[JobResult] = self._pool.submit(job, storage)

    def __enter__(self) -> "HeldUpJob":
        assert self.has_written.wait(60), self.result.exception(0)
        return self

    def __exit__(self, *error: object) -> None:
        self.may_commit.set()
        self._pool.shutdown()


class HeldUp(HeldUpJob):
    """A write that waits before its commit while another job acts."""

    def __init__(
        self,
        table: TableUnderTest,
        rows: list[Row],
        request_id: str,
        options: Mapping[str, str] = MappingProxyType({}),
        operation: str = "upsert",
    ) -> None:
        settings = {**OPTIMISTIC, **options}
        super().__init__(
            table,
            lambda storage: table.write(
                rows, operation, options=settings, request_id=request_id, storage=storage
            ),
        )


def _storage_that_waits(
    base_path: Path, has_written: threading.Event, may_commit: threading.Event
) -> LocalStorage:
    class Waiting(LocalStorage):
        def create(self, path: str, data: bytes) -> None:
            # The job takes the lock twice: first to begin, then to check and complete the commit. Markers exist only
            # the second time.
            is_lock = path == ".hoodie/lock"
            if is_lock and markers(base_path):
                has_written.set()
                may_commit.wait(60)
            super().create(path, data)

        def __reduce__(self) -> tuple[object, ...]:
            return (LocalStorage, (self.root,))

    return Waiting(str(base_path))
