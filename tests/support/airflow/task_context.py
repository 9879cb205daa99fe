"""The part of a task instance and of the task context that the operators read."""

import json
from typing import Any


class TaskInstance:
    """A task instance with the few fields that the operators read."""

    def __init__(self, max_tries: int = 0, map_index: int = -1, run_id: str = "run 1") -> None:
        self.dag_id, self.run_id, self.task_id = "d", run_id, "load"
        self.max_tries, self.map_index = max_tries, map_index
        self.stats_tags: dict[str, str] = {}
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = json.loads(json.dumps(value))

    def xcom_pull(self, *, task_ids: str, key: str = "return_value", **_: Any) -> Any:
        return self.pushed.get(key) if task_ids == self.task_id else None


def context(**fields: Any) -> Any:
    return {"ti": TaskInstance(), "data_interval_start": None, "data_interval_end": None, **fields}


class StateStore(dict[str, Any]):
    """A store of a task's state in memory, with the interface of Airflow's store."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))

    def delete(self, key: str) -> None:
        self.pop(key, None)
