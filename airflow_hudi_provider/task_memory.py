"""What Airflow keeps of a task between its tries and clearings (3.3 and newer; before that nothing is kept)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.common.compat.sdk import Context

_COMMIT = "hudi_commit"


class TaskMemory:
    """The state store of one task.

    Args:
        operator: its keys say where Airflow notes the driver that it follows on a cluster.
    """

    def __init__(self, context: "Context", operator: "SparkSubmitOperator") -> None:
        self._store: Any = context.get("task_state_store")
        names = ("external_id_key", "_K8S_DRIVER_STATUS_KEY")
        self._driver_keys = [key for name in names if (key := getattr(operator, name, None))]

    @property
    def follows_driver(self) -> bool:
        """Whether Airflow would take up the driver of an earlier try instead of submitting."""
        return self._store is not None and any(self._store.get(key) is not None for key in self._driver_keys)

    @property
    def driver(self) -> str | None:
        """As Airflow's operator named the driver on a cluster; None: none is known."""
        found = (
            self._store.get(self._driver_keys[0]) if self._store is not None and self._driver_keys else None
        )
        return None if found is None else str(found)

    def forget_driver(self) -> None:
        """Call it when the job has ended: a cleared task would take the old driver's success for its own."""
        for key in self._driver_keys if self._store is not None else ():
            self._store.delete(key)

    def remember_commit(self, request_id: str, instant_time: str) -> None:
        if self._store is not None:
            self._store.set(_COMMIT, {"request_id": request_id, "instant_time": instant_time})

    def commit_of(self, request_id: str) -> str | None:
        """Instant time of the commit that this request was seen to make."""
        seen = self._store.get(_COMMIT) if self._store is not None else None
        is_it = isinstance(seen, dict) and seen.get("request_id") == request_id
        return str(seen["instant_time"]) if is_it else None
