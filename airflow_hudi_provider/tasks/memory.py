"""Store state of a task in Airflow for later tries, from Airflow 3.3 on. Older releases store no state."""

from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.spark import airflow_internals

if TYPE_CHECKING:
    from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
    from airflow.providers.common.compat.sdk import Context

_COMMIT = "hudi_commit"
_DRIVER_OWNER = "hudi_driver_owner"
_DRIVER = "hudi_driver"
_NO_OWNER = "nobody"


class TaskMemory:
    """The state store of one task. In this store, Airflow's operator stores the id of a driver on a cluster.

    Args:
        operator: the task's operator, which defines the keys under which Airflow stores the driver.
    """

    def __init__(self, context: "Context", operator: "SparkSubmitOperator") -> None:
        self._ti: Any = context.get("ti")
        self._store: Any = context.get("task_state_store")
        self._driver_keys = airflow_internals.driver_keys(operator)
        # With durable=False, Airflow's operator does not use the stored driver, so this class also ignores the driver.
        self._drivers: Any = self._store if getattr(operator, "durable", True) else None

    @property
    def follows_driver(self) -> bool:
        """Whether Airflow would track the driver of an earlier try instead of submitting a new driver."""
        return self._drivers is not None and any(
            self._drivers.get(key) is not None for key in self._driver_keys
        )

    @property
    def driver(self) -> str | None:
        """Airflow's identifier of the driver on a cluster, or None if no driver is stored."""
        return self._read(self._driver_keys[0]) if self._driver_keys else None

    @property
    def noted_driver(self) -> str | None:
        """Identifier of the driver: from the store or, if Airflow stores no drivers, from the XCom of `note_driver`."""
        if self._drivers is not None:
            return self.driver
        index = getattr(self._ti, "map_index", -1)
        found = self._ti.xcom_pull(task_ids=self._ti.task_id, key=_DRIVER, map_indexes=index)
        return None if found is None else str(found)

    def note_driver(self, driver: str) -> None:
        """Push the driver to XCom for a later process of this try, if Airflow does not store the driver.

        Airflow before 3.3 stores no drivers, nor does an operator with ``durable=False``. When the next try begins,
        Airflow removes the XComs of this try.
        """
        if self._drivers is None:
            self._ti.xcom_push(key=_DRIVER, value=driver)

    @property
    def driver_owner(self) -> str | None:
        """Owner of the stored driver. None means that an earlier release of this provider stored no owner."""
        return self._read(_DRIVER_OWNER)

    def begin_driver(self, owner: str) -> None:
        """Store the owner of a driver that is about to be submitted; see `owner_of`."""
        if self._drivers is not None:
            self._drivers.set(_DRIVER_OWNER, owner)

    def mark_driver_as_ending(self) -> None:
        """Record that a task requested the end of the driver, so that no later try tracks the driver."""
        if self._drivers is not None:
            self._drivers.set(_DRIVER_OWNER, _NO_OWNER)

    def forget_driver(self) -> None:
        """Delete the stored driver of an ended job, so that a cleared task does not reuse the driver's success."""
        for key in (*self._driver_keys, _DRIVER_OWNER) if self._drivers is not None else ():
            self._drivers.delete(key)

    def _read(self, key: str) -> str | None:
        found = self._drivers.get(key) if self._drivers is not None else None
        return None if found is None else str(found)

    def remember_commit(self, request_id: str, instant_time: str) -> None:
        if self._store is not None:
            self._store.set(_COMMIT, {"request_id": request_id, "instant_time": instant_time})

    def commit_of(self, request_id: str) -> str | None:
        """Return the instant time of this request's commit if an earlier try stored it, else None."""
        seen: Any = self._store.get(_COMMIT) if self._store is not None else None
        if not isinstance(seen, dict) or seen.get("request_id") != request_id:
            return None
        return str(seen["instant_time"])
