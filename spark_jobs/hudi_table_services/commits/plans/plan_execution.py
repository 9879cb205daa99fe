"""The common steps of attempts to execute a plan: start it or take it over, and return it to requested after an error.

The heartbeat names the attempt that executes the plan. An attempt that finds during its execution that the heartbeat
names another attempt has lost the plan: it completes nothing, and its tasks remove the files that they wrote.
"""

import logging
import time
import uuid
from collections.abc import Collection, Sequence
from types import TracebackType
from typing import ClassVar, NoReturn, TypeVar

from hudi_table_services.commits.attempt_traces import AttemptTraces
from hudi_table_services.commits.checks import (
    StillInflight,
    is_still_inflight,
    refuse_cancelled,
    refuse_taken_over,
)
from hudi_table_services.commits.commit_point import require_usable_metadata_table
from hudi_table_services.commits.shared_times import others_at, withdraw
from hudi_table_services.commits.undo import sweep_pending
from hudi_table_services.contract.text import counted
from hudi_table_services.errors import (
    CommitStateUnknownError,
    HudiTableServiceError,
    InstantHeldError,
    InstantVanishedError,
)
from hudi_table_services.model.instant import Instant, InstantState
from hudi_table_services.options.keys.clustering import EXPIRATION_MINUTES
from hudi_table_services.storage.locks.heartbeat import has_heartbeat, read_heartbeat_owner
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.tables.executions import is_executed_by_others
from hudi_table_services.tables.table import TableAccess

_LOG = logging.getLogger(__name__)
_POLL_SECONDS = 2.0

_ExecutionT = TypeVar("_ExecutionT", bound="PlanExecution")


class PlanExecution:
    """Context manager for one execution of a plan.

    After an error, the new files are deleted and the plan returns to the requested state.

    Args:
        instant: the pending plan.
        request_id: request id of the job. This attempt takes the plan over from an earlier attempt of the same request,
            whether that attempt is dead or alive, because at most one of the two may commit.
        wait_seconds: maximum number of seconds to wait while another attempt is executing the plan; 0 means no wait.
        expires_after_minutes: age at which an execution without a heartbeat counts as dead. Executions by Hudi have no
            heartbeat.
    """

    service: ClassVar[str] = "clustering"
    """Noun of the service, for messages."""
    expiration_key: ClassVar[str] = EXPIRATION_MINUTES.key
    """Key of the option `expires_after_minutes`, for messages."""

    def __init__(
        self,
        table: TableAccess,
        instant: Instant,
        lock: TableLock,
        *,
        request_id: str,
        wait_seconds: int = 0,
        expires_after_minutes: int = EXPIRATION_MINUTES.default_value,
    ) -> None:
        self._table = table
        self._store = table.timeline_store
        self._instant = instant
        self._lock = lock
        self._wait_seconds = wait_seconds
        self._request_id = request_id
        self._expires_after_minutes = expires_after_minutes
        self._is_over = False
        self._is_dropping = False
        self._begun_ms: int | None = None
        self.attempt = f"{request_id}/{uuid.uuid4().hex}"
        """Id of this attempt, which its tasks compare with the content of the heartbeat."""
        self._traces = AttemptTraces(table.storage, instant.requested_time, self.attempt)

    @property
    def instant_time(self) -> str:
        return self._instant.requested_time

    def __enter__(self: _ExecutionT) -> _ExecutionT:
        deadline = time.monotonic() + self._wait_seconds
        while not self._take():
            if time.monotonic() >= deadline:
                raise self._held()
            time.sleep(_POLL_SECONDS)
        return self

    def _take(self) -> bool:
        """Start the plan, or take it over from a dead attempt. Returns False if a live attempt is executing the plan.

        Raises:
            InstantVanishedError: another job has cancelled or completed the plan.
        """
        with self._lock:
            timeline = self._store.load()
            pending = [i for i in timeline.pending if i.identity == self._instant.identity]
            if not pending:
                raise InstantVanishedError(
                    f"{self.service.capitalize()} {self.instant_time} is no longer pending.",
                    hint=f"Another job completed or cancelled the {self.service}.",
                )
            shared = others_at(timeline, pending[0])
            # No attempt executes a requested plan, so a fresh heartbeat belongs to the other instant.
            if not (shared and pending[0].state is InstantState.REQUESTED) and self._is_held(pending[0]):
                return False
            require_usable_metadata_table(self._table)
            refuse_cancelled(self._table, timeline, pending[0])
            if shared:
                self._withdraw(pending[0], shared)
            try:
                self._traces.start_heartbeat()
                self._begin(pending[0])
            except BaseException:
                self._traces.abandon_heartbeat()
                raise
        return True

    def _withdraw(self, pending: Instant, others: Sequence[Instant]) -> NoReturn:
        """Remove the plan, because other instants have its time.

        Raises:
            InstantVanishedError: the plan was removed.
            SharedInstantTimeError: the plan cannot be removed yet.
        """
        self._lock.verify()
        withdraw(self._table, pending, others)
        raise InstantVanishedError(
            f"{self.service.capitalize()} {self.instant_time} was removed, because {others[0].action.value} "
            f"{self.instant_time} of another writer has the same time.",
            hint=f"Schedule the {self.service} again.",
        )

    def _is_held(self, pending: Instant) -> bool:
        """Whether another request is executing the plan."""
        return is_executed_by_others(
            self._table, pending, self._request_id, expires_after_minutes=self._expires_after_minutes
        )

    def _held(self) -> InstantHeldError:
        if has_heartbeat(self._table.storage, self.instant_time):
            return InstantHeldError(
                f"Another attempt is executing {self.service} {self.instant_time}, and its heartbeat is fresh.",
                hint="Wait until that attempt has ended, or let the job wait (when_held=wait).",
            )
        return InstantHeldError(
            f"An execution of {self.service} {self.instant_time} was started within the last "
            f"{counted(self._expires_after_minutes, 'minute')} and has no heartbeat, like every execution by Hudi.",
            hint="Wait until the execution has ended. If it is dead, run the request again with "
            f"{self.expiration_key}=0.",
        )

    def _begin(self, pending: Instant) -> None:
        if pending.state is InstantState.REQUESTED:
            self._instant = self._store.start(pending)
            self._begun_ms = self._store.modified_ms(self._instant)
            return
        _LOG.warning("Taking over %s %s from an earlier attempt.", self.service, self.instant_time)
        self._instant = pending
        self._begun_ms = self._store.modified_ms(pending)
        self._clear_dead_execution(pending)

    def _clear_dead_execution(self, pending: Instant) -> None:
        """Delete those files of the earlier execution that this attempt cannot reuse."""
        sweep_pending(self._table, pending)

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_over:
            self._traces.stop_heartbeat()
        elif (
            self._is_dropping
            or isinstance(error, CommitStateUnknownError)
            or not self._return_plan_to_requested()
        ):
            # Keep the heartbeat file: other jobs treat an inflight plan without a heartbeat as a plan that Hudi is
            # executing, and would not execute the plan until the plan expires.
            self._abandon_heartbeat()
        else:
            self._traces.stop_heartbeat()

    def _abandon_heartbeat(self) -> None:
        """Mark the heartbeat as ended, unless another attempt takes the plan over and writes its own heartbeat."""
        try:
            with self._lock:
                self._traces.abandon_heartbeat()
        except HudiTableServiceError as failure:
            _LOG.warning(
                "The heartbeat of %s was not marked as ended, but it expires: %s", self.instant_time, failure
            )
            self._traces.let_heartbeat_expire()

    def _leave_to_others(self, paths: Collection[str]) -> None:
        """Delete the files of this attempt that no completed commit names, and keep every other file of the instant.

        The method is called if the plan is no longer inflight, if its inflight file was replaced, or if a file of this
        attempt is missing. Only another executor of the plan can be the cause. It can be Hudi, because Hudi ignores
        heartbeats.
        """
        self._is_over = True
        completed = [i for i in self._store.load().completed if i.identity == self._instant.identity]
        named = {stat.path for i in completed for stat in self._store.commit_metadata(i).write_stats}
        for path in paths:
            if path not in named:
                self._table.storage.delete(path)

    def _still_inflight(self, paths: Collection[str]) -> StillInflight:
        """Return the first check of every execution. It runs before files of the instant are deleted."""
        return StillInflight(
            self._instant,
            self._begun_ms,
            when_lost=lambda: self._leave_to_others(paths),
            service=self.service,
        )

    def _refuse_taken_over(self) -> None:
        """Raises InstantVanishedError if another attempt took the plan over."""
        try:
            refuse_taken_over(self._table, self.instant_time, self.attempt, service=self.service)
        except InstantVanishedError:
            self._is_over = True
            raise

    def _return_plan_to_requested(self) -> bool:
        """Remove the written files and return the plan to its requested state. Returns whether this succeeded."""
        try:
            with self._lock:
                if read_heartbeat_owner(self._table.storage, self.instant_time) != self.attempt:
                    return True
                if not is_still_inflight(self._store, self._store.load(), self._instant, self._begun_ms):
                    return True  # Another executor completed the plan, or executes it: its files must stay.
                self._traces.abandon_heartbeat()
                sweep_pending(self._table, self._instant)
                self._store.return_to_requested(self._instant)
                self._traces.stop_heartbeat()
        except HudiTableServiceError as failure:
            _LOG.warning(
                "Could not undo the execution of %s %s (%s); the next execution of the plan undoes it.",
                self.service,
                self.instant_time,
                failure,
            )
            return False
        return True
