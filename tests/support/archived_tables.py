"""A table for tests of archival, with limits of a few commits."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.archived_timeline import ArchivedTimeline
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable

SMALL_LIMITS = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.timeline.compaction.batch.size": "2",
    "hoodie.commits.archival.batch": "2",
}


@dataclass
class History:
    """A table without rows whose clock advances by a minute whenever a job reads the time."""

    version: TableVersion = TableVersion.V9
    storage: Storage = field(default_factory=lambda: MemoryStorage(uuid4().hex))

    def __post_init__(self) -> None:
        self.clock = FixedClock(datetime.now(timezone.utc) - timedelta(hours=9), step=timedelta(minutes=1))
        self.table = SmallTable(self.storage, self.version, self.clock)

    def commits(self, count: int, *groups: FileGroupId, **more: Any) -> list[Instant]:
        return [self.table.commit(*groups, **more) for _ in range(count)]

    def archive(
        self, low: int = 2, high: int = 4, storage: Storage | None = None, **fields: Any
    ) -> JobResult:
        fields = {"options": SMALL_LIMITS, "min_commits": low, "max_commits": high, **fields}
        request = ArchiveRequest(base_path=self.storage.uri, **fields)
        return archive(request, storage=storage or self.storage, clock=self.clock)

    def clean(self, retained: int) -> None:
        later = FixedClock(datetime.now(timezone.utc) + timedelta(days=1))
        request = CleanRequest(base_path=self.storage.uri, commits_retained=retained)
        clean(request, storage=self.storage, clock=later)

    def active(self) -> list[str]:
        return [i.requested_time for i in self.table.timeline_store.load().completed_writes]

    def archived(self) -> list[str]:
        found = ArchivedTimeline(self.storage, self.table.config).writes()
        return [each.instant.requested_time for each in found]

    def files(self) -> dict[str, int]:
        return {each.path: each.size_bytes for each in self.storage.list_files()}
