"""What the timeline says of clusterings, without reading a row. No Airflow in here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering_report import ClusteringPlanReport, ClusteringReport
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.contract.job_result import JobResult, Outcome
from hudi_table_services.errors import ObjectNotFoundError
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import WriteOperation

if TYPE_CHECKING:
    from hudi_table_services.model.timeline import Timeline
    from hudi_table_services.storage.timeline_store import TimelineStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteringState:
    """Clusterings on the active timeline, oldest first."""

    pending: tuple[Instant, ...] = ()
    completed: tuple[Instant, ...] = ()


def clusterings(
    store: "TimelineStore", timeline: "Timeline", wanted: Sequence[str] | None = None
) -> ClusteringState:
    """Which replace commits are clusterings: only plans and metadata tell them from overwrites.

    Args:
        wanted: requested times to look at; None: all.
    """
    replaces = [
        instant
        for instant in timeline.instants
        if instant.action.comparable is Action.REPLACE_COMMIT
        and (wanted is None or instant.requested_time in wanted)
    ]
    found = [instant for instant in replaces if _is_clustering(store, instant)]
    return ClusteringState(
        pending=tuple(instant for instant in found if not instant.is_completed),
        completed=tuple(instant for instant in found if instant.is_completed),
    )


def _is_clustering(store: "TimelineStore", instant: Instant) -> bool:
    from hudi_table_services.storage.pending_plans import clustering_plan_of

    try:
        if instant.is_completed:
            return store.commit_metadata(instant).operation_type is WriteOperation.CLUSTER
        return clustering_plan_of(store, instant) is not None
    except ObjectNotFoundError:  # archived, completed or cancelled this moment
        return False


def result_of_executed(request: JobRequest, completed: Sequence[Instant]) -> JobResult:
    """The result of plans that were carried out before; how files looked before is not known any more."""
    plans = [
        ClusteringPlanReport(
            instant_time=instant.requested_time, state="reused", completion_time=instant.completion_time
        )
        for instant in completed
    ]
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.COMPLETED,
        operation=request.work,
        table_name=request.table_name,
        base_path=request.base_path,
        reused=True,
        reason="carried out before; nothing was written now",
        action=completed[0].action.value,
        instant_time=completed[0].requested_time,
        completion_time=completed[0].completion_time,
        clustering=ClusteringReport(plans=tuple(plans)),
    )


def result_of_nothing(request: JobRequest, reason: str) -> JobResult:
    """The result where there is nothing to do, known without a job."""
    return JobResult(
        request_id=request.request_id,
        outcome=Outcome.NOTHING_TO_DO,
        operation=request.work,
        table_name=request.table_name,
        base_path=request.base_path,
        reason=reason,
    )
