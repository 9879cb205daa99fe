"""Compactions on the active timeline: their plans and their requests."""

from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError, MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.table_service_plans import (
    decode_compaction_plan,
    decode_rollback_metadata,
)
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_service_plans import CompactionPlan
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore

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
class CompactionHistory:
    """All compactions of one load of the active timeline, oldest first."""

    store: TimelineStore
    timeline: Timeline
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
    def pending(self) -> tuple[Compaction, ...]:
        return tuple(each for each in self.compactions if not each.instant.is_completed)

    def current(self, requested_time: str) -> Compaction | None:
        return next((c for c in self.compactions if c.instant.requested_time == requested_time), None)

    def of_request(self, request_id: str) -> Compaction | None:
        """The compaction that this request scheduled; None if there is none on the active timeline."""
        return next((each for each in self.compactions if each.request_id == request_id), None)

    def find(self, requested_time: str) -> Compaction:
        """The result of `current`. It is an error if there is no such compaction.

        Raises:
            InvalidRequestError: the instant was cancelled, is not a compaction, or is not on the active timeline.
        """
        found = self.current(requested_time)
        if found is not None:
            return found
        others = self.timeline.find(requested_time)
        if others:
            raise InvalidRequestError(
                f"Instant {requested_time} is a {others[0].action.value}, not a compaction.",
                hint="`hudi-services show table TABLE` lists the pending compactions.",
            )
        if (reason := self.why_missing(requested_time)) is not None:
            raise InvalidRequestError(f"{reason[0].upper()}{reason[1:]}.", hint="Schedule a new compaction.")
        raise InvalidRequestError(
            f"There is no instant {requested_time} on the active timeline.",
            hint="Check the base path. If the compaction was completed long ago, it may be archived.",
        )

    def why_missing(self, requested_time: str) -> str | None:
        """Return a clause that says which rollback removed a plan; None if the active timeline has no such rollback."""
        if self.timeline.find(requested_time):
            return None
        for rollback in self.timeline.completed:
            is_later = rollback.requested_time > requested_time
            if (
                rollback.action is Action.ROLLBACK
                and is_later
                and requested_time in self._undone_by(rollback)
            ):
                return (
                    f"compaction {requested_time} was cancelled: rollback {rollback.requested_time} removed it from "
                    "the timeline"
                )
        return None

    def _undone_by(self, rollback: Instant) -> tuple[str, ...]:
        try:
            with naming(self.store.path_of(rollback)):
                return decode_rollback_metadata(self.store.read(rollback)).commits_rolled_back
        except ObjectNotFoundError:
            return ()  # the rollback was just archived


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
