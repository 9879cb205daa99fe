"""One execution of a task: its table, its request, and what Airflow keeps of earlier tries."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.connection import TableLocation
from airflow_hudi_provider.tasks.memory import TaskMemory

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskRun:
    """What one execution of a task knows once its arguments are rendered.

    Attributes:
        place: dag, run, task, and map index of a mapped task.
        request_id: the same for all tries of the task in this run; see `identity_of`.
        waited_for: requested times of the plans whose execution the task has waited for; None: it has not waited.
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
