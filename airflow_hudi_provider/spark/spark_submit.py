"""Run spark-submit through Airflow's operator.

This module checks the arguments, separates the job's log lines from the lines of Spark, and ends spark-submit if the
task is killed.
"""

import time
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.links import push_spark_ui
from airflow_hudi_provider.results.log import SparkLogSorter
from airflow_hudi_provider.spark import airflow_internals
from airflow_hudi_provider.spark.connect_job import names_connect_server
from airflow_hudi_provider.spark.engine_files import engine_archive, script_path
from airflow_hudi_provider.spark.environment import (
    prepare_environment,
    refuse_missing_kubernetes_provider,
    refuse_other_programs,
    refuse_standalone_cluster_mode,
    sees_local_files,
    spark_master,
)
from airflow_hudi_provider.spark.processes import end_processes
from airflow_hudi_provider.spark.signals import container_error, signal_error
from airflow_hudi_provider.tables.connection import find_connection
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

    from airflow_hudi_provider.operators.job import HudiJobOperator
    from airflow_hudi_provider.spark.supervised_run import SupervisedRun
    from airflow_hudi_provider.tasks.run import TaskRun

_DEFAULT_SPARK_CONN_ID = "spark_default"
_KILL_GRACE_SECONDS = 2.0


class SparkSubmit:
    """One call of spark-submit for a task.

    Args:
        task: the task's operator. `prepare` changes the operator's attributes in place, because Airflow's code reads
            these attributes.
    """

    def __init__(self, task: "HudiJobOperator", run: "TaskRun") -> None:
        self._task = task
        self._run = run
        self._log_sorter: SparkLogSorter | None = None
        self.is_on_cluster = False
        """Whether the driver runs on a cluster; set by `prepare`."""

    def prepare(self) -> str:
        """Check the arguments before the submission; return the folder for documents, or "" in client mode.

        Raises:
            HudiTaskRefusedError: the job cannot be submitted with these arguments.
        """
        task = self._task
        airflow_internals.require_names(task, airflow_internals.OPERATOR_NAMES)
        conn_id, connection = self.connection()
        airflow_internals.use_connection(task, conn_id)
        master = spark_master(connection)
        mode = self._deploy_mode(connection)
        refuse_other_programs(connection.extra_dejson.get("spark-binary"), conn_id)
        refuse_standalone_cluster_mode(master, mode)
        refuse_missing_kubernetes_provider(master)
        self.is_on_cluster = mode == "cluster"
        self._switch_durable_off_on_yarn(master)
        self._prepare_environment(master, connection.extra_dejson.get("spark-binary"))
        return self._documents_folder() if self.is_on_cluster else ""

    def sees_local_files(self) -> bool:
        """Return whether Spark reads paths without scheme from the worker's file system. See `environment`."""
        _, connection = self.connection()
        if names_connect_server(connection):
            return False  # the server may run on another machine
        variables = {key: str(value) for key, value in (self._task.env_vars or {}).items()}
        return sees_local_files(self._deploy_mode(connection), variables, self._task.conf or {})

    def connection(self) -> tuple[str, Connection]:
        """Return the id of the Spark connection, and the connection. Raises HudiTaskRefusedError if there is none."""
        conn_id = self._task.spark_conn_id or self._run.location.spark_conn_id or _DEFAULT_SPARK_CONN_ID
        return conn_id, find_connection(conn_id, "spark_conn_id")

    def _deploy_mode(self, connection: Connection) -> str:
        mode = airflow_internals.deploy_mode(self._task) or connection.extra_dejson.get("deploy-mode")
        return mode or "client"

    def _prepare_environment(self, master: str, binary_of_connection: str | None) -> None:
        task = self._task
        variables = {key: str(value) for key, value in (task.env_vars or {}).items()}
        found = prepare_environment(
            master, airflow_internals.spark_binary(task), binary_of_connection, variables, task.conf or {}
        )
        if found.binary is not None:
            airflow_internals.use_spark_binary(task, found.binary)
        if found.variables:
            task.env_vars = {**found.variables, **variables}

    def _documents_folder(self) -> str:
        folder = self._task.result_base_path or self._run.location.result_base_path
        if not folder:
            raise HudiTaskRefusedError(
                "deploy_mode=cluster needs result_base_path, a folder that both the worker and the cluster can access. "
                "Pass the argument, or set it in the connection of type hudi."
            )
        from hudi_table_services.storage.result_documents import check_result_location

        try:
            check_result_location(f"{folder.rstrip('/')}/result.json", self._run.location.base_path)
        except InvalidRequestError as error:
            raise HudiTaskRefusedError(
                f"result_base_path={folder!r} is the table, is in the table or is in a folder .hoodie. Give a folder "
                "outside of all tables."
            ) from error
        return folder

    def _switch_durable_off_on_yarn(self, master: str) -> None:
        """On YARN in cluster mode, set ``durable=False`` if the task does not set ``yarn_track_via_rm_api``.

        With ``durable=True``, Airflow would raise an error. With ``durable=False``, the task waits until spark-submit
        ends. A retry is safe, because the retry reads from the timeline whether the earlier driver has committed.
        """
        task = self._task
        is_untracked = self.is_on_cluster and airflow_internals.tracking(task) != "yarn"
        if "yarn" in master and is_untracked and getattr(task, "durable", False):
            task.log.info(
                "This task waits until spark-submit ends. With yarn_track_via_rm_api=True, the task would poll YARN's "
                "resource manager instead."
            )
            task.durable = False

    def use_request(self, request_uri: str) -> None:
        """Set the script and the request document of the job."""
        task = self._task
        task.application = str(script_path(task.script))
        task.application_args = ["--request", request_uri]
        task.py_files = ",".join(filter(None, [task.py_files, str(engine_archive())]))

    def run_supervised(self, run: "SupervisedRun") -> Exception | None:
        """Start spark-submit under a supervisor, and return as soon as spark-submit runs."""
        # `prepare` has already checked the program that the connection names.
        binary = airflow_internals.spark_binary(self._task)
        if not binary:
            _, connection = self.connection()
            binary = str(connection.extra_dejson.get("spark-binary") or "spark-submit")
        airflow_internals.use_spark_binary(self._task, run.write_launcher(binary))
        return self.run()

    def run(self) -> Exception | None:
        """Run spark-submit to its end. Return its error, which the operator may ignore after it read the timeline."""
        try:
            self._task.run_spark_submit(self._run.context)
        except Exception as error:
            return self._signal_error(error) or error
        finally:
            if self._log_sorter is not None:
                self._log_sorter.close()
            pipe = getattr(airflow_internals.submit_process(self._task), "stdout", None)
            if pipe is not None:
                pipe.close()
        return None

    def _signal_error(self, error: Exception) -> HudiTaskError | None:
        """Return an error with advice if a signal ended spark-submit, or the driver on Kubernetes."""
        process = airflow_internals.submit_process(self._task)
        ended = signal_error("spark-submit", process.returncode if process is not None else None)
        return ended or container_error(str(error))

    def sort_log(self, hook: "SparkSubmitHook") -> None:
        """Show the job's own lines in the task's log, and fold the lines of Spark into a log group."""
        self._log_sorter = SparkLogSorter(
            hook.log, self._push_spark_ui, self._task.shown_messages, type(self._task)
        )
        airflow_internals.log_through(hook, self._log_sorter)

    def _push_spark_ui(self, address: str) -> None:
        push_spark_ui(self._run.context, address)

    def end(self) -> None:
        """End the driver and spark-submit with all its children.

        Airflow gives ``on_kill`` five seconds in total. Airflow can end a driver on a cluster only while spark-submit
        is alive.
        """
        deadline = time.monotonic() + _KILL_GRACE_SECONDS
        hook: Any = airflow_internals.hook_of(self._task)
        process = airflow_internals.submit_process(self._task)
        if self.is_on_cluster and hook is not None:
            self._task.log.info("Ending the driver on the cluster")
            try:
                hook.on_kill()
            except Exception as error:
                self._task.log.warning("The request to end the driver on the cluster failed: %s", error)
        if process is not None:
            end_processes(process, deadline)
