"""What Airflow keeps of a task between its tries and clearings (3.3 and newer; before that nothing is kept)."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.common.compat.sdk import Context

_COMMIT = "hudi_commit"
_DRIVER_OWNER = "hudi_driver_owner"
_DRIVER = "hudi_driver"
_NOBODY = "nobody"


class TaskMemory:
    """The state store of one task, and the driver on a cluster that Airflow's operator notes there.

    Args:
        operator: its keys say where Airflow notes the driver.
    """

    def __init__(self, context: "Context", operator: "SparkSubmitOperator") -> None:
        self._ti: Any = context.get("ti")
        self._store: Any = context.get("task_state_store")
        names = ("external_id_key", "_K8S_DRIVER_STATUS_KEY")
        self._driver_keys = [key for name in names if (key := getattr(operator, name, None))]
        # What Airflow's operator does not read back it must not find either.
        self._drivers: Any = self._store if getattr(operator, "durable", True) else None

    @property
    def follows_driver(self) -> bool:
        """Whether Airflow would take up the driver of an earlier try instead of submitting."""
        return self._drivers is not None and any(
            self._drivers.get(key) is not None for key in self._driver_keys
        )

    @property
    def driver(self) -> str | None:
        """As Airflow's operator named the driver on a cluster; None: none is known."""
        return self._told(self._driver_keys[0]) if self._driver_keys else None

    @property
    def told_driver(self) -> str | None:
        """The same, also where only `tell_driver` told it, to the try that is deferred now."""
        if self._drivers is not None:
            return self.driver
        index = getattr(self._ti, "map_index", -1)
        found = self._ti.xcom_pull(task_ids=self._ti.task_id, key=_DRIVER, map_indexes=index)
        return None if found is None else str(found)

    def tell_driver(self, driver: str) -> None:
        """Tell this try's later process of the driver, where Airflow notes none: what a try pushed goes with it."""
        if self._drivers is None:
            self._ti.xcom_push(key=_DRIVER, value=driver)

    @property
    def driver_owner(self) -> str | None:
        """Whose the noted driver is; None: nobody told."""
        return self._told(_DRIVER_OWNER)

    def begin_driver(self, owner: str) -> None:
        """Call it before a driver is submitted; see `owner_of`."""
        if self._drivers is not None:
            self._drivers.set(_DRIVER_OWNER, owner)

    def disown_driver(self) -> None:
        """Call it when a driver was told to end, which nobody has seen yet: no try follows it any more."""
        if self._drivers is not None:
            self._drivers.set(_DRIVER_OWNER, _NOBODY)

    def forget_driver(self) -> None:
        """Call it when the job has ended: a cleared task would take the old driver's success for its own."""
        for key in (*self._driver_keys, _DRIVER_OWNER) if self._drivers is not None else ():
            self._drivers.delete(key)

    def _told(self, key: str) -> str | None:
        found = self._drivers.get(key) if self._drivers is not None else None
        return None if found is None else str(found)

    def remember_commit(self, request_id: str, instant_time: str) -> None:
        if self._store is not None:
            self._store.set(_COMMIT, {"request_id": request_id, "instant_time": instant_time})

    def commit_of(self, request_id: str) -> str | None:
        """Instant time of the commit that this request was seen to make."""
        seen = self._store.get(_COMMIT) if self._store is not None else None
        is_it = isinstance(seen, dict) and seen.get("request_id") == request_id
        return str(seen["instant_time"]) if is_it else None
