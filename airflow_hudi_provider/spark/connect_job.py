"""Run a job through a Spark Connect server: the job is a Python process of the worker, which starts no JVM."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.results.log import SparkLogSorter
from airflow_hudi_provider.spark import airflow_internals
from airflow_hudi_provider.spark.engine_files import script_path
from airflow_hudi_provider.spark.processes import end_processes
from airflow_hudi_provider.spark.signals import signal_error

if TYPE_CHECKING:
    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.spark.supervised_run import SupervisedRun

CONNECTION_TYPE = "spark_connect"
_KILL_GRACE_SECONDS = 2.0
_SETTINGS_OF_SUBMISSIONS = (
    "archives",
    "driver_class_path",
    "driver_memory",
    "exclude_packages",
    "executor_cores",
    "executor_memory",
    "files",
    "jars",
    "keytab",
    "num_executors",
    "packages",
    "principal",
    "properties_file",
    "proxy_user",
    "py_files",
    "repositories",
    "total_executor_cores",
    "yarn_queue",
)
"""Arguments of Airflow's operator that configure a new Spark application. They do not change the running server."""


def names_connect_server(connection: Connection) -> bool:
    """Return whether a Spark connection names a Spark Connect server."""
    return connection.conn_type == CONNECTION_TYPE or (connection.host or "").startswith("sc://")


class ConnectJob:
    """One run of a job script for a task, with the same steps as `SparkSubmit`.

    Args:
        conn_id: id of the Spark Connect connection.
    """

    def __init__(self, task: "HudiJobOperator", conn_id: str) -> None:
        self._task = task
        self._conn_id = conn_id
        self._address = ""
        self._command: Sequence[str] = ()
        self._process: subprocess.Popen[str] | None = None

    def prepare(self) -> str:
        """Check the arguments; return an empty string, because worker and job exchange documents on local storage.

        Raises:
            HudiTaskRefusedError: the connection is invalid, or an argument contradicts the connection.
        """
        task = self._task
        airflow_internals.require_names(task, airflow_internals.OPERATOR_NAMES)
        self._address = self._find_address()
        if airflow_internals.deploy_mode(task) == "cluster":
            raise HudiTaskRefusedError(
                f"deploy_mode=cluster with the Spark Connect connection {self._conn_id!r}: the server runs the Spark "
                "tasks, and the job's own process always runs in the worker. Remove deploy_mode."
            )
        if airflow_internals.spark_binary(task):
            raise HudiTaskRefusedError(
                f"spark_binary with the Spark Connect connection {self._conn_id!r}: no spark-submit runs. "
                "Remove spark_binary."
            )
        if getattr(task, "post_submit_commands", None):
            raise HudiTaskRefusedError(
                f"post_submit_commands with the Spark Connect connection {self._conn_id!r}: no spark-submit runs. "
                "Run the commands in a task of their own."
            )
        if unused := [name for name in _SETTINGS_OF_SUBMISSIONS if airflow_internals.argument(task, name)]:
            task.log.warning(
                "%s: these arguments have no effect on a Spark Connect session. Configure them on the server.",
                ", ".join(unused),
            )
        return ""

    def use_request(self, request_uri: str) -> None:
        """Set the request document of the job."""
        task = self._task
        conf = [flag for key, value in (task.conf or {}).items() for flag in ("--conf", f"{key}={value}")]
        self._command = [sys.executable, str(script_path(task.script)), "--request", request_uri, *conf]

    def run(self) -> Exception | None:
        """Run the job to its end. Return its error, which the operator may ignore after it has read the timeline."""
        return self._run(self._command, "The job")

    def run_supervised(self, run: "SupervisedRun") -> Exception | None:
        """Start the job under a supervisor, and return as soon as the job runs."""
        return self._run(run.launch_command(self._command), "The supervisor of the job")

    def end(self) -> None:
        """End the job, which then ends its Spark tasks on the server."""
        if self._process is not None:
            end_processes(self._process, time.monotonic() + _KILL_GRACE_SECONDS)

    def _run(self, command: Sequence[str], name: str) -> Exception | None:
        try:
            process = subprocess.Popen(
                command,
                env=self._variables(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as error:
            return HudiTaskError(f"{name} was not started: {error}")
        self._process = process
        try:
            self._log_lines(process.stdout or ())
            exit_code = process.wait()
        except BaseException:
            self.end()  # for example, Airflow raises AirflowTaskTimeout after execution_timeout
            raise
        finally:
            if process.stdout is not None:
                process.stdout.close()
        if not exit_code:
            return None
        return signal_error(name, exit_code) or HudiTaskError(f"{name} ended with exit code {exit_code}.")

    def _log_lines(self, lines: Iterable[str]) -> None:
        sorter = SparkLogSorter(self._task.log, shown=self._task.shown_messages, operator=type(self._task))
        try:
            for line in lines:
                sorter.info("%s", line.rstrip("\n"))
        finally:
            sorter.close()

    def _find_address(self) -> str:
        from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook

        try:
            return SparkConnectHook(self._conn_id).get_connection_url()
        except Exception as error:
            raise HudiTaskRefusedError(
                f"The Spark Connect connection {self._conn_id!r} has no valid address: {error}. Set its host and port, "
                "for example localhost and 15002."
            ) from error

    def _variables(self) -> Mapping[str, str]:
        """Return the environment of the job. The address may contain a token, so no flag may contain the address."""
        chosen: dict[str, Any] = self._task.env_vars or {}
        return {
            **os.environ,
            **{key: str(value) for key, value in chosen.items()},
            "SPARK_REMOTE": self._address,
        }
