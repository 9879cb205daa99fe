"""Pending cleans of a timeline."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanPlan
from hudi_table_services.storage.stores.memory import MemoryStorage
from hudi_table_services.tables.clean_history import PendingClean, pending_cleans
from hudi_table_services.tables.table import TableAccess
from support.faulty_storage import FaultyStorage
from support.fixed_clock import FixedClock
from support.small_tables import SmallTable


@dataclass
class RecordedReads(FaultyStorage):
    reads: list[str] = field(default_factory=list)

    def read(self, path: str) -> bytes:
        self.reads.append(path)
        return super().read(path)


def test_the_plan_of_each_pending_clean_is_read_once() -> None:
    table = SmallTable(MemoryStorage(uuid4().hex))
    plan = CleanPlan(policy="KEEP_LATEST_COMMITS", files_to_delete={})
    planned = table.timeline_store.request(Action.CLEAN, encode_clean_plan(plan))
    empty = table.timeline_store.request(Action.CLEAN)
    storage = RecordedReads(table.storage)
    later = FixedClock(datetime.now(timezone.utc) + timedelta(hours=1))
    found = pending_cleans(
        TableAccess(storage=storage, clock=later, config=table.config), table.timeline_store.load()
    )
    assert found.planned == (PendingClean(planned, plan),)
    assert found.abandoned == (empty,)
    assert sorted(storage.reads) == sorted(table.timeline_store.path_of(i) for i in (planned, empty))
