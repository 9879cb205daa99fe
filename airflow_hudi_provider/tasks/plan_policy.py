"""Apply ``on_pending_plan``: what a write does if pending plans contain file groups that the write changes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.exceptions import HudiTaskError
from airflow_hudi_provider.tables.pending_services import PLANS_OF_CLUSTERINGS, find_pending_services
from airflow_hudi_provider.tasks.plan_wait import PlanWait
from airflow_hudi_provider.triggers.pending_service import HudiPendingServiceTrigger
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import InvalidRequestError, PendingPlanError
from hudi_table_services.options.keys.clustering import UPDATES_STRATEGY
from hudi_table_services.options.writing_values import PendingClusteringOptions
from hudi_table_services.storage.clock import SystemClock, age_text

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.write import HudiWriteOperator
    from airflow_hudi_provider.tasks.run import TaskRun
    from airflow_hudi_provider.tasks.turn import Turn

OnPendingPlan = Literal["refuse", "wait", "give_way"]
CHOICES: tuple[str, ...] = get_args(OnPendingPlan)
STRATEGY_KEY = UPDATES_STRATEGY.key
PLAN_POKE_INTERVAL_S = 10.0

_REJECT = "SparkRejectUpdateStrategy"
# With ``wait`` the job releases no file groups. If a plan is scheduled after the check, the job fails, and the task
# then waits for the plan.
_STRATEGY_OF = {"refuse": _REJECT, "wait": _REJECT, "give_way": "GiveWayUpdateStrategy"}
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAtStake:
    """The partition paths in which a write may change existing files.

    Attributes:
        partitions: partition paths. If empty, the write may change files in all partition paths of the table.
        is_certain: whether the write certainly changes these partition paths, so that the task can refuse the write
            before the job reads its rows.
        services: services whose plans on these partition paths prevent the write. A compaction prevents only a write
            that replaces file groups; other writes add their rows to log files.
        held: how long to wait for a plan that another attempt executes, and when that attempt counts as dead.
    """

    partitions: tuple[str, ...] = ()
    is_certain: bool = False
    services: tuple[str, ...] = PLANS_OF_CLUSTERINGS
    held: PendingClusteringOptions = field(default_factory=PendingClusteringOptions)


class PendingPlanPolicy:
    """Applies the argument ``on_pending_plan`` of a write: before the job starts, and when the job fails."""

    def __init__(self, task: "HudiWriteOperator", run: "TaskRun", turn: "Turn") -> None:
        self._task = task
        self._run = run
        self._turn = turn

    def check(self) -> None:
        """Refuse the write, or wait for plans, before Spark starts.

        This check cannot find all plans. The job checks the plans again before it writes anything.

        Raises:
            PendingPlanError: plans are pending, and the task has ``on_pending_plan="refuse"``.
            TaskDeferred: the triggerer waits until the plans are no longer pending or, with ``give_way``, until no
                other attempt executes them.
        """
        choice = self._task.on_pending_plan
        stake = self._task.files_at_stake(self._run) if choice is not None else None
        if stake is None or not (stake.is_certain or choice == "wait"):
            return
        if choice == "give_way":
            self._wait_for_execution(stake)
            return
        pending = find_pending_services(
            self._run.table, stake.services, stake.partitions, fails_if_missing=False
        )
        if not pending:
            return
        if choice == "refuse":
            raise refusal(pending)
        self._task.log.info("The task waits in the triggerer for %s. %s.", in_words(pending), remedy(pending))
        self._wait_for_end(stake.partitions, stake.services)

    @contextmanager
    def around_job(self) -> Iterator[None]:
        """Handle a plan that the job found: with ``wait``, wait for its end; with other values, explain the refusal."""
        try:
            yield
        except HudiTaskError as error:
            choice = self._task.on_pending_plan
            if choice is None or error.kind != PendingPlanError.__name__:
                raise
            if choice != "wait":
                others = " and ".join(repr(each) for each in CHOICES if each != choice)
                raise type(error)(
                    f"{error} This task has on_pending_plan={choice!r}; the other choices are {others}. "
                    "ExecuteClusteringOperator executes a plan, and CancelClusteringOperator cancels a plan."
                ) from error
            self._task.log.info(
                "The job found a pending plan that the check before the job did not find: %s", error
            )
            # The job found a clustering of the files that it changes, so wait for clusterings of all partition paths.
            self._wait_for_end((), PLANS_OF_CLUSTERINGS)

    def _wait_for_execution(self, stake: FilesAtStake) -> None:
        """Wait in the triggerer for plans that are being executed: a write cannot release their file groups."""
        if self._task.dry_run_only:
            return
        wait = PlanWait(
            partitions=stake.partitions,
            wait_seconds=stake.held.wait_seconds,
            expires_after_minutes=stake.held.expires_after_minutes,
        )
        try:
            wait.defer(self._task, self._run)
        except TaskDeferred:
            self._turn.leave()  # later tasks in the writer queue need not wait for the plan
            raise

    def _wait_for_end(self, partitions: Sequence[str], services: Sequence[str]) -> NoReturn:
        self._turn.leave()  # later tasks in the writer queue need not wait for the plan
        self._task.defer(
            trigger=HudiPendingServiceTrigger(
                base_path=self._task.base_path,
                hudi_conn_id=self._task.hudi_conn_id,
                storage_conn_id=self._task.storage_conn_id,
                services=services,
                partitions=partitions,
                fails_if_missing=False,
                poke_interval=PLAN_POKE_INTERVAL_S,
                give_up_at=SystemClock().now().timestamp() + self._task.pending_plan_timeout,
            ),
            method_name="execute_without_plans",
        )


def require_no_plans(event: Mapping[str, Any] | None, timeout_s: float) -> None:
    """Check the event of the trigger that waited for pending plans.

    Raises:
        HudiTaskError: plans are still pending, or the triggerer could not read the table.
    """
    found = event or {}
    if "error" in found:
        raise HudiTaskError(f"Waiting for the end of pending plans failed: {found['error']}")
    if pending := found.get("answer", {}).get("pending"):
        raise HudiTaskError(
            f"Nothing was done: after {timeout_s:.0f} s (pending_plan_timeout), these plans are still pending: "
            f"{in_words(pending)}. {remedy(pending)}."
        )


def strategy_of(choice: str | None) -> str | None:
    """Return the value of `STRATEGY_KEY` for the job, or None if the options of the task decide.

    Raises:
        InvalidRequestError: ``on_pending_plan`` has an unknown value.
    """
    if choice is None:
        return None
    if choice not in CHOICES:
        raise InvalidRequestError(
            f"on_pending_plan={choice!r} is unknown.", hint=f"Give {', '.join(map(repr, CHOICES))}."
        )
    return _STRATEGY_OF[choice]


def in_words(pending: Sequence[Mapping[str, Any]]) -> str:
    """Describe pending services, as `pending_services` returns them, in a phrase for use inside a sentence."""
    shown = [
        f"{each['service']} {each['instant']} ({each['state']}, {age_text(each['age_s'])} old, "
        f"{counted(each['file_groups'], 'file group')} in {', '.join(map(repr, each['partitions'][:_SHOWN]))}"
        f"{', …' if len(each['partitions']) > _SHOWN else ''})"
        for each in pending[:_SHOWN]
    ]
    more = len(pending) - len(shown)
    return ", ".join(shown) + (f", and {more} more" if more else "")


def remedy(pending: Sequence[Mapping[str, Any]]) -> str:
    """Describe what the user can do about the oldest pending service."""
    oldest = pending[0]
    kind = "Clustering" if oldest["service"] == "clustering" else "Compaction"
    return (
        f"Execute the plan with Execute{kind}Operator(instant='{oldest['instant']}'), or cancel it with "
        f"Cancel{kind}Operator(instant='{oldest['instant']}')"
    )


def refusal(pending: Sequence[Mapping[str, Any]]) -> PendingPlanError:
    """Create the error of a write that refuses to run while these plans are pending."""
    return PendingPlanError(
        "Nothing was done, because on_pending_plan='refuse' and plans are pending in the partitions of this write: "
        f"{in_words(pending)}.",
        hint=f"{remedy(pending)}, and clear this task; or set on_pending_plan to 'wait' or 'give_way'.",
    )
