"""Call Airflow's REST API, for the demo and the tests."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode

_PAGE = 500
_TRIES = 60


class ApiError(Exception):
    """Airflow answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status


class AirflowApi:
    """A client of the REST API.

    Args:
        on_sqlite: whether Airflow's database is on SQLite, where a request fails if the database is locked.
    """

    def __init__(self, url: str, *, on_sqlite: bool = False) -> None:
        self._url = url
        self._on_sqlite = on_sqlite
        self._token = ""

    def log_in(self, user: str, password: str) -> None:
        self._token = self.post("/auth/token", {"username": user, "password": password})["access_token"]

    def get(self, path: str, **query: Any) -> Any:
        return self._call("GET", path + (f"?{urlencode(query)}" if query else ""), None)

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("POST", path, body)

    def patch(self, path: str, body: Mapping[str, Any]) -> Any:
        return self._call("PATCH", path, body)

    def put(self, path: str) -> Any:
        return self._call("PUT", path, {})

    def wait_for_dag(self, dag_id: str, timeout_s: float = 300) -> None:
        """Wait until the DAG processor has read the DAG, then unpause the DAG."""

        def is_known() -> bool:
            try:
                self.get(f"/api/v2/dags/{dag_id}")
            except ApiError as error:
                if error.status != 404:
                    raise
                return False
            return True

        wait_until(is_known, timeout_s, lambda: f"DAG {dag_id} was not read: {self._import_errors()}")
        self.patch(f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def _import_errors(self) -> Any:
        return self.get("/api/v2/importErrors")["import_errors"]

    def backfill(self, dag_id: str, first_day: str, last_day: str, **settings: Any) -> int:
        """Start a backfill as the dialog of the UI does. Return the id of the backfill."""
        body = {
            "dag_id": dag_id,
            "from_date": f"{first_day}T00:00:00Z",
            "to_date": f"{last_day}T00:00:00Z",
            "max_active_runs": 1,
            "reprocess_behavior": "none",
            "run_backwards": False,
            "dag_run_conf": {},
            **settings,
        }
        if not self._on_sqlite:
            return self._created_backfill(body)
        # If Airflow finds its database locked while it creates the runs, it removes the runs again. A scheduler
        # that has already read these runs dies. The scheduler does not read the runs of a paused DAG, so the DAG is
        # paused until all runs exist.
        self.patch(f"/api/v2/dags/{dag_id}", {"is_paused": True})
        try:
            return self._created_backfill(body)
        finally:
            self.patch(f"/api/v2/dags/{dag_id}", {"is_paused": False})

    def _created_backfill(self, body: Mapping[str, Any]) -> int:
        reason = ""
        for _ in range(_TRIES):
            try:
                return int(self.post("/api/v2/backfills", body)["id"])
            except ApiError as error:
                # Airflow answers 409 for up to 30 s after a backfill, because it records the end of a backfill only
                # every 30 s.
                if error.status != 409:
                    raise
                reason = str(error)
            time.sleep(1.0)
        raise TimeoutError(f"No backfill was created: {reason}")

    def is_backfill_done(self, backfill_id: int) -> bool:
        return self.get(f"/api/v2/backfills/{backfill_id}")["completed_at"] is not None

    def runs(self, dag_id: str) -> list[dict[str, Any]]:
        """Return all runs, ordered by logical date."""
        runs = self.get(f"/api/v2/dags/{dag_id}/dagRuns", limit=_PAGE)["dag_runs"]
        return sorted(runs, key=lambda run: run["logical_date"] or run["run_after"])

    def task_instances(self, dag_id: str, run_id: str) -> dict[str, dict[str, Any]]:
        path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances"
        return {ti["task_id"]: ti for ti in self.get(path, limit=_PAGE)["task_instances"]}

    def xcom(self, dag_id: str, run_id: str, task_id: str) -> Any:
        """Return the value that a task returned."""
        path = (
            f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/xcomEntries/return_value"
        )
        return self.get(path)["value"]

    def log(self, dag_id: str, run_id: str, task_id: str, try_number: int = 1) -> str:
        """Return the log of one try, one event per line."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{quote(run_id)}/taskInstances/{task_id}/logs/{try_number}"
        content = self.get(path)["content"]
        return "\n".join(str(e.get("event", e)) if isinstance(e, dict) else str(e) for e in content)

    def clear(self, dag_id: str, run_id: str, *task_ids: str) -> None:
        """Clear tasks of a run, including successful ones."""
        body = {
            "dry_run": False,
            "dag_run_id": run_id,
            "task_ids": list(task_ids),
            "only_failed": False,
            "reset_dag_runs": True,
        }
        self.post(f"/api/v2/dags/{dag_id}/clearTaskInstances", body)

    def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        """Call the API. On SQLite, repeat a request that fails because of a lock; a failed request changes nothing."""
        if not self._on_sqlite:
            return self._call_once(method, path, body)
        for tries_left in reversed(range(_TRIES)):
            try:
                return self._call_once(method, path, body)
            except ApiError as error:
                # If the database is locked, the status is 503, or 500 if Airflow could not write to its event log.
                is_locked = error.status == 503 or (error.status == 500 and "Database error" in str(error))
                if not is_locked or not tries_left:
                    raise
            time.sleep(1.0)

    def _call_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=180) as response:
                content = response.read()
        except urllib.error.HTTPError as error:
            raise ApiError(error.code, error.read().decode(errors="replace")[:1000]) from None
        return json.loads(content) if content else None


def wait_until(
    condition: Callable[[], object], timeout_s: float, problem: Callable[[], str], pause_s: float = 0.5
) -> None:
    """Wait until the condition is true. After the timeout, raise TimeoutError with the problem."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{problem()} (after {timeout_s:.0f} s)")
        time.sleep(pause_s)
