"""One execution of a task: its table, its request, and the state that Airflow stores for later tries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.memory import TaskMemory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskRun:
    """The facts of one execution of a task, after Airflow has rendered the arguments.

    Attributes:
        place: DAG id, run id, task id and, for a mapped task, map index.
        request_id: request id, the same for all tries of the task in this run; see `identity_of`.
        waited_for: requested times of the plans for which the task has waited, or None if the task has not waited.
    """

    context: "Context"
    table: HudiHook
    place: tuple[str, ...]
    request_id: str
    memory: TaskMemory
    waited_for: tuple[str, ...] | None = None

    @property
    def location(self) -> TableLocation:
        return self.table.location
