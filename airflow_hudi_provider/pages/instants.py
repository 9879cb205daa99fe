"""Convert instants to plain JSON values: their times for a browser, and the task that requested a write."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_table_services.model.table_config import TableConfig


def moment_ms(text: str, config: "TableConfig") -> int | None:
    """Convert an instant time to milliseconds since 1970, which a browser shows in the user's time zone."""
    from hudi_table_services.storage.clock import instant_moment

    moment: datetime | None = instant_moment(text, config) if text else None
    return None if moment is None else round(moment.timestamp() * 1000)


def task_of(extra_metadata: Mapping[str, str]) -> dict[str, str] | None:
    """Return the task that requested a write. Return None for a write that no task requested."""
    from hudi_table_services.model.write_stat import request_ids_in

    return task_of_request(next(iter(request_ids_in(extra_metadata)), ""))


def task_of_request(request_id: str) -> dict[str, str] | None:
    """Return the task of a request id. Return None if the id does not have the form of a task's request id.

    The form is ``dag/run/task[/map index][#generation]``. ``generation`` is how often the task was cleared with
    ``on_rerun="write_again"``.
    """
    parts = request_id.partition("#")[0].split("/")
    if len(parts) < 3:
        return None
    return {"dag_id": parts[0], "run_id": parts[1], "task_id": parts[2], "map_index": "".join(parts[3:4])}
