"""An operator in a separate process, for tests that do not import Airflow themselves. Its log is on standard output."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from e2e.job_processes import JobProcess, environment

TESTS = Path(__file__).parents[2]

_PROGRAM = """
import importlib, json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
for name in ("airflow_hudi_provider", "hudi_table_services"):
    logging.getLogger(name).setLevel(logging.DEBUG)
from support.airflow.task_context import TaskInstance, context

module, name, arguments, answer = sys.argv[1:]
operator = getattr(importlib.import_module(module), name)(task_id="load", **json.loads(arguments))
ti = TaskInstance()
returned = operator.execute(context(ti=ti))
with open(answer, "w") as file:
    json.dump({"returned": returned, "pushed": ti.pushed}, file)
"""


class OperatorProcess(JobProcess):
    """A running operator.

    Args:
        operator: module and name of the class, separated by a colon. The tests' process does not import Airflow.
        arguments: arguments of the operator, without the task id.
        connections: fields of the connections, by id. They are in the environment of the process.
        folder: an empty folder, which contains everything that the process writes to the local disk.
        settings: environment variables with settings of Spark.
    """

    def __init__(
        self,
        operator: str,
        arguments: Mapping[str, Any],
        connections: Mapping[str, Mapping[str, Any]],
        folder: Path,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        home = folder / "airflow"
        self._answer = folder / "answer.json"
        variables = environment(
            settings or {},
            PYTHONPATH=str(TESTS),
            AIRFLOW_HOME=str(home),
            AIRFLOW__CORE__LOAD_EXAMPLES="False",
            TMPDIR=str(folder),
            **{f"AIRFLOW_CONN_{key.upper()}": json.dumps(fields) for key, fields in connections.items()},
        )
        module, _, name = operator.partition(":")
        command = [sys.executable, "-c", _PROGRAM, module, name, json.dumps(arguments), self._answer]
        super().__init__(command, variables, folder)

    def answer(self) -> dict[str, Any]:
        """Wait until the operator has succeeded. Return its return value (`returned`) and its XComs (`pushed`)."""
        ended = self.wait()
        assert ended.exit_code == 0, ended.output + ended.log
        found: dict[str, Any] = json.loads(self._answer.read_text())
        return found
