"""Base class of the sensors: poll once or defer, and decide from an error whether to poll again."""

from abc import abstractmethod
from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowSkipException,
    BaseOperatorLink,
    BaseSensorOperator,
    PokeReturnValue,
    conf,
)

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.links import TABLE_LINK, push_table_link
from airflow_hudi_provider.tasks.arguments import check_base_path, check_choice
from airflow_hudi_provider.triggers.table import HudiTableTrigger
from hudi_table_services.errors import (
    CorruptTableError,
    HudiTableServiceError,
    InvalidRequestError,
    StorageError,
    TableNotFoundError,
    UnsupportedTableError,
)

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_SHORTEST_RESCHEDULE_S = 30
_PERMANENT = (CorruptTableError, InvalidRequestError, TableNotFoundError, UnsupportedTableError)


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
        push_table_link(self, context)
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
            raise HudiTaskRefusedError(str(event["error"]))
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
            raise HudiTaskRefusedError(f"{error.kind}: {error}") from error

    def _poll_table(self, query: Any) -> PokeReturnValue:
        hook = HudiHook(self.base_path, hudi_conn_id=self.hudi_conn_id, storage_conn_id=self.storage_conn_id)
        try:
            return self.poll(hook, query)
        except _PERMANENT as error:
            raise HudiTaskRefusedError(f"{error.kind}: {error}") from error
        except StorageError as error:
            if not error.retryable:
                raise HudiTaskRefusedError(f"{error.kind}: {error}") from error
            self.log.warning("The timeline could not be read; the sensor polls again later: %s", error)
            return PokeReturnValue(is_done=False)
        except HudiTableServiceError as error:
            raise HudiTaskError(f"{error.kind}: {error}") from error

    def no_table(self, hook: HudiHook) -> PokeReturnValue:
        """Return the result of a poll that found no table, for a sensor that waits for the table."""
        self.log.info("There is no table at %s yet.", hook.storage.uri)
        return PokeReturnValue(is_done=False)
