"""Base class of the sensors: poll once or defer, and decide from an error whether to poll again."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowSensorTimeout,
    AirflowSkipException,
    BaseOperatorLink,
    BaseSensorOperator,
    PokeReturnValue,
    conf,
)

from airflow_hudi_provider.exceptions import HudiSensorTimeoutError, HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.links import TABLE_LINK, push_table_link
from airflow_hudi_provider.results.failure import task_errors_shown
from airflow_hudi_provider.results.task_outcome import task_error
from airflow_hudi_provider.tasks.arguments import check_base_path, check_choice
from airflow_hudi_provider.triggers.table import HudiTableTrigger, error_of
from hudi_table_services.errors import (
    HudiTableServiceError,
    InvalidRequestError,
    StorageError,
    TableNotFoundError,
)

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_SHORTEST_RESCHEDULE_S = 30


class HudiTableSensor(BaseSensorOperator):
    """Base of the sensors; see `HudiInstantSensor` for the parameters."""

    operator_extra_links: Collection[BaseOperatorLink] = (TABLE_LINK,)
    template_fields: Sequence[str] = ("base_path", "hudi_conn_id", "storage_conn_id")
    ui_color = "#d5eef7"

    def __init__(
        self,
        *,
        base_path: str | None = None,
        hudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        if_missing: Literal["wait", "fail"] = "wait",
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if base_path is None and hudi_conn_id is None:
            raise ValueError(f"{self.task_id}: give base_path or hudi_conn_id.")
        check_base_path(self.task_id, base_path, hudi_conn_id)
        check_choice(self.task_id, "if_missing", if_missing, ("wait", "fail"))
        self.base_path = base_path
        self.hudi_conn_id = hudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.if_missing = if_missing
        self.deferrable = deferrable
        self._has_advised = False  # whether the log names a table that the user may have meant

    @abstractmethod
    def query(self, context: "Context") -> Any:
        """Return the condition to wait for, from the rendered arguments and the run.

        Raises:
            HudiTaskRefusedError: an argument has an invalid value.
            InvalidRequestError: the engine found an invalid value.
        """

    @abstractmethod
    def poll(self, hook: HudiHook, query: Any) -> PokeReturnValue:
        """Poll the table once. Raises HudiTableServiceError."""

    @abstractmethod
    def make_trigger(self, query: Any) -> HudiTableTrigger:
        """Return the trigger that continues the wait."""

    @abstractmethod
    def describe(self, answer: dict[str, Any]) -> str:
        """Describe the trigger's answer in one line for the log."""

    def common_arguments(self) -> dict[str, Any]:
        """Return the arguments that all triggers have."""
        return {
            "base_path": self.base_path,
            "hudi_conn_id": self.hudi_conn_id,
            "storage_conn_id": self.storage_conn_id,
            "fails_if_missing": self.if_missing == "fail",
            "poke_interval": self.poke_interval,
        }

    def execute(self, context: "Context") -> Any:
        with self._failures_shown(context):
            return self._begin_wait(context)

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: "Context"
    ) -> Any:
        """Resume a deferred task for Airflow, which raises the error of a timeout in this method."""
        with self._failures_shown(context):
            return super().resume_execution(next_method, next_kwargs, context)

    def _begin_wait(self, context: "Context") -> Any:
        push_table_link(self, context)
        # In mode reschedule, each poke has a process of its own; only the first one searches for similar names.
        self._has_advised = (
            self.mode == "reschedule" and context["ti"].get_first_reschedule_date(context) is not None
        )
        if self.mode == "reschedule" and self.poke_interval < _SHORTEST_RESCHEDULE_S:
            self.log.warning(
                "poke_interval=%g is short for mode reschedule: if a task resumes too soon, Airflow may consider it "
                "failed. Use 60 or more, or deferrable=True.",
                self.poke_interval,
            )
        if not self.deferrable:
            return super().execute(context)
        try:
            query = self._query(context)
            found = self._poll_table(query)
        except AirflowException as error:
            # In a deferrable sensor, Airflow applies soft_fail and never_fail only after the sensor was deferred.
            if self.soft_fail or self.never_fail:
                raise AirflowSkipException(str(error)) from error
            raise
        if found.is_done:
            return found.xcom_value
        self.defer(
            trigger=self.make_trigger(query),
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: "Context", event: dict[str, Any] | None = None) -> Any:
        """Resume after the wait. Airflow calls this method with the trigger's event."""
        if event is None or not ("error" in event or "answer" in event):
            raise HudiTaskError(f"The trigger ended with an unknown event: {event!r}.")
        if "error" in event:
            raise error_of(event)
        answer = event["answer"]
        self.log.info("%s", self.describe(answer))
        return answer

    def poke(self, context: "Context") -> PokeReturnValue:
        """Poll once. Build the query each time, because Airflow may use a new sensor object for each poke."""
        return self._poll_table(self._query(context))

    def _query(self, context: "Context") -> Any:
        try:
            return self.query(context)
        except InvalidRequestError as error:
            raise task_error(error) from error

    def _poll_table(self, query: Any) -> PokeReturnValue:
        hook = self._hook()
        try:
            return self.poll(hook, query)
        except TableNotFoundError as error:
            raise task_error(_naming_tables(hook, error)) from error
        except StorageError as error:
            if not error.retryable:
                raise task_error(error) from error
            self.log.warning("The timeline could not be read; the sensor polls again later: %s", error)
            return PokeReturnValue(is_done=False)
        except HudiTableServiceError as error:
            raise task_error(error) from error

    def no_table(self, hook: HudiHook) -> PokeReturnValue:
        """Return the result of a poll that found no table, for a sensor that waits for the table."""
        self.log.info("There is no table at %s yet.", hook.storage.uri)
        self.advise(hook)
        return PokeReturnValue(is_done=False)

    def advise(self, hook: HudiHook) -> None:
        """Log, once, the names of tables near a base path without a table, because the path may be misspelt."""
        if not self._has_advised and (advice := _advice(hook)):
            self.log.warning("%s", advice)
        self._has_advised = True

    def _hook(self) -> HudiHook:
        return HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)

    @contextmanager
    def _failures_shown(self, context: "Context") -> Iterator[None]:
        """If the task fails, end its log with a block about the error, as the operators do."""
        with task_errors_shown(self, context, self._table_and_state):
            try:
                yield
            except AirflowSensorTimeout as error:
                raise self._timed_out(error) from error

    def _table_and_state(self, error: object) -> tuple[str, str]:
        try:
            path = self._hook().location.base_path
        except HudiTaskRefusedError:
            path = self.base_path or ""
        return path, "Nothing was changed: a sensor only reads the table."

    def _timed_out(self, error: AirflowSensorTimeout) -> HudiSensorTimeoutError:
        """Return the error of a timeout with advice. If there is no table, name tables near the base path."""
        reason = f"The sensor waited for {self.timeout:g} s (timeout), and its condition was not met."
        hint = "Check whether the other programs write to the table, or raise the argument timeout."
        try:
            hook = self._hook()
            if hook.find_table_config() is None:
                reason = f"{reason} There is no table at {hook.storage.uri}."
                hint = _advice(hook) or "Correct the base path, or run the load that creates the table."
        except (HudiTableServiceError, HudiTaskRefusedError) as unread:
            self.log.debug("The table could not be read after the timeout: %s", unread)
        timed_out = HudiSensorTimeoutError(f"{error} {reason} {hint}".strip())
        timed_out.kind, timed_out.reason, timed_out.hint = AirflowSensorTimeout.__name__, reason, hint
        return timed_out


def _naming_tables(hook: HudiHook, error: TableNotFoundError) -> TableNotFoundError:
    """Add the names of tables near the base path to the hint of the error, if there are any."""
    from hudi_table_services.storage.nearby_tables import with_nearby_tables

    return with_nearby_tables(error, hook.location.base_path, hook.location.storage_options)


def _advice(hook: HudiHook) -> str:
    """Return advice that names a table near a base path without a table; empty if there is no such table."""
    from hudi_table_services.storage.table_store import no_table

    error = no_table(hook.storage)
    advised = _naming_tables(hook, error)
    return advised.hint if advised is not error else ""
