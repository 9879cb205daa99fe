"""A server that answers as YARN's resource manager does (``/ws/v1/cluster/apps``), and tasks with a driver on YARN."""

import asyncio
import json
import threading
from contextlib import aclosing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_hudi_provider.operators.upsert import UpsertWithSizingOperator
from airflow_hudi_provider.triggers.application import HudiApplicationTrigger
from support.airflow.task_context import context

APPLICATION = "application_1700000000000_0001"
SUBMIT = f"print('INFO Client: Submitted application {APPLICATION}', flush=True)\n"
SUCCEED = "i = commit(); result(outcome='completed', instant_time=i.requested_time)"


class ResourceManager:
    """A resource manager with one application; it records the requests to change the state of the application."""

    def __init__(self) -> None:
        self.states = ["ACCEPTED"]
        self.final_status = "SUCCEEDED"
        self.ends_on_request = True
        self.state_reads = 0
        self.state_requests: list[Any] = []
        manager = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                state = manager.states[min(manager.state_reads, len(manager.states) - 1)]
                manager.state_reads += 1
                if state in ("DOWN", "FORGOTTEN"):
                    self._answer(503 if state == "DOWN" else 404, {})
                else:
                    self._answer(200, {"app": {"state": state, "finalStatus": manager.final_status}})

            def do_PUT(self) -> None:
                manager.state_requests.append(
                    json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
                if manager.ends_on_request:
                    manager.states, manager.final_status = ["KILLED"], "KILLED"
                self._answer(202, {})

            def _answer(self, status: int, document: Any) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: object) -> None:
                """Do not log requests."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def deferred(task: UpsertWithSizingOperator, **fields: Any) -> HudiApplicationTrigger:
    with pytest.raises(TaskDeferred) as stopped:
        task.execute(context(**fields))
    assert stopped.value.method_name == "execute_when_over"
    return HudiApplicationTrigger(**{**stopped.value.trigger.serialize()[1], "poke_interval": 0.05})


def event_of(trigger: HudiApplicationTrigger) -> dict[str, Any]:
    async def wait() -> dict[str, Any]:
        async with aclosing(trigger.run()) as events:
            return (await asyncio.wait_for(anext(events), 30)).payload

    return asyncio.run(wait())
