"""Compactions on the active timeline: their plans and their requests."""

from dataclasses import dataclass
from typing import ClassVar

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import decode_compaction_plan
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import CompactionPlan
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore
from hudi_table_services.tables.plans.plan_history import PlanHistory

RECORDS = ".hoodie/.aux/airflow_compaction"
"""Folder for records of finished slices. Readers ignore files below `.hoodie/.aux`."""


def records_folder(instant_time: str) -> str:
    """Return the folder for records of finished slices of one compaction."""
    return f"{RECORDS}/{instant_time}"


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction of the timeline, in any state."""

    instant: Instant
    plan: CompactionPlan

    @property
    def request_id(self) -> str | None:
        return self.plan.extra_metadata.get(REQUEST_ID_KEY)

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(sorted({operation.partition_path for operation in self.plan.operations}))

    @property
    def file_groups(self) -> frozenset[FileGroupId]:
        return frozenset(FileGroupId(o.partition_path, o.file_id) for o in self.plan.operations)


@dataclass(frozen=True, slots=True)
class CompactionHistory(PlanHistory[Compaction]):
    """All compactions of one load of the active timeline, oldest first."""

    noun: ClassVar[str] = "compaction"

    compactions: tuple[Compaction, ...] = ()

    @classmethod
    def load(cls, store: TimelineStore, timeline: Timeline | None = None) -> "CompactionHistory":
        """Read the plan of each pending compaction, and of each completed commit that has a plan.

        Raises:
            MalformedMetadataError: the plan of a pending compaction cannot be read.
        """
        loaded = store.load() if timeline is None else timeline
        candidates = [
            i
            for i in loaded
            if i.action is Action.COMPACTION or (i.is_completed and i.action is Action.COMMIT)
        ]
        found = map_in_parallel(lambda instant: _compaction(store, instant), candidates)
        return cls(store, loaded, tuple(each for each in found if each is not None))

    @property
    def plans(self) -> tuple[Compaction, ...]:
        return self.compactions

    def of_request(self, request_id: str) -> Compaction | None:
        """The compaction that this request scheduled; None if there is none on the active timeline."""
        return next(iter(self.scheduled_by(request_id)), None)


def _compaction(store: TimelineStore, instant: Instant) -> Compaction | None:
    try:
        content = store.read_requested(instant)
        with naming(store.requested_path_of(instant)):
            # A write of rows has an empty requested file, and a writer that died may leave an empty plan.
            return Compaction(instant, decode_compaction_plan(content)) if content else None
    except ObjectNotFoundError:
        return None  # the instant was just archived or removed
    except MalformedMetadataError:
        if instant.is_completed:
            return None
        raise
