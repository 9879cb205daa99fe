"""How a job gets onto Spark, what Airflow logs of it, and how it is ended there."""

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_hudi_provider.exceptions import HudiTaskRefusedError
from airflow_hudi_provider.links import SparkLinkedTask
from airflow_hudi_provider.results.log import SparkLogSorter
from airflow_hudi_provider.spark.environment import (
    prepare_environment,
    refuse_missing_kubernetes_provider,
    refuse_other_programs,
    refuse_standalone_cluster_mode,
    spark_master,
)
from airflow_hudi_provider.spark.processes import end_processes
from airflow_hudi_provider.tables.connection import TableLocation, find_connection

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

_DEFAULT_SPARK_CONN_ID = "spark_default"
_KILL_GRACE_SECONDS = 3.0
_LET_GO_SECONDS = 1.0
_OF_THE_JOB = {"application", "application_args", "java_class"}


class SparkRunOperator(SparkLinkedTask, SparkSubmitOperator):
    """A task whose work is one run of spark-submit.

    :param spark_conn_id: Spark connection, as ``SparkSubmitOperator`` takes it; left out: the hudi connection's, or
        ``spark_default``. (templated)
    :param result_base_path: folder for request and result, needed with ``deploy_mode="cluster"``. (templated)
    :param conn_id: the same as ``spark_conn_id``, by the name that ``SparkSubmitOperator`` gives it.
    :param deferrable: wait for Spark in the triggerer, without a worker slot; the run outlives the task that began it,
        and a retry takes it up. In client mode worker and triggerer need a folder in common, and a machine that lives
        on, so ``[operators] default_deferrable`` does not count here.
    """

    template_fields: Sequence[str] = (
        *SparkSubmitOperator.template_fields,
        "spark_conn_id",
        "result_base_path",
    )

    def __init__(
        self,
        *,
        spark_conn_id: str | None = None,
        result_base_path: str | None = None,
        conn_id: str | None = None,
        deferrable: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("name", f"hudi {kwargs.get('task_id', '')}")
        super().__init__(**kwargs)
        if taken := _OF_THE_JOB & kwargs.keys():
            raise ValueError(
                f"{self.task_id}: {', '.join(sorted(taken))} cannot be given: this task has its own job."
            )
        if conn_id and spark_conn_id and conn_id != spark_conn_id:
            raise ValueError(
                f"{self.task_id}: conn_id={conn_id!r} and spark_conn_id={spark_conn_id!r} differ."
            )
        self.spark_conn_id = spark_conn_id or conn_id
        self.result_base_path = result_base_path
        self.deferrable = deferrable
        self._is_on_cluster = False
        self._sorter: SparkLogSorter | None = None

    @classmethod
    def _own_fields(cls) -> tuple[str, ...]:
        """Template fields that `SparkSubmitOperator` does not have."""
        return tuple(name for name in cls.template_fields if name not in SparkSubmitOperator.template_fields)

    def prepare_spark(self, location: TableLocation) -> str:
        """Check what can be checked before submitting; returns the folder for documents, empty in client mode.

        Raises:
            HudiTaskRefusedError: the job cannot be submitted like this.
        """
        conn_id = self.spark_conn_id or location.spark_conn_id or _DEFAULT_SPARK_CONN_ID
        connection = find_connection(conn_id, "spark_conn_id")
        self._conn_id = conn_id
        master = spark_master(connection)
        deploy_mode = self._deploy_mode or connection.extra_dejson.get("deploy-mode") or "client"
        refuse_other_programs(connection.extra_dejson.get("spark-binary"), conn_id)
        refuse_standalone_cluster_mode(master, deploy_mode)
        refuse_missing_kubernetes_provider(master)
        self._wait_for_submit_on_yarn(master, deploy_mode)
        variables = {key: str(value) for key, value in (self.env_vars or {}).items()}
        self._is_on_cluster = deploy_mode == "cluster"
        found = prepare_environment(
            master,
            self._spark_binary,
            connection.extra_dejson.get("spark-binary"),
            variables,
            self.conf or {},
        )
        if found.binary is not None:
            self._spark_binary = found.binary
        if found.variables:
            self.env_vars = {**found.variables, **variables}
        if deploy_mode != "cluster":
            return ""
        folder = self.result_base_path or location.result_base_path
        if not folder:
            raise HudiTaskRefusedError(
                "deploy_mode=cluster needs result_base_path, a folder that worker and cluster both reach: give the "
                "argument, or set it in the connection of type hudi."
            )
        return folder

    def _wait_for_submit_on_yarn(self, master: str, deploy_mode: str) -> None:
        """Airflow's default would raise there: taking a driver up again needs the REST API of the resource manager.

        The timeline tells a retry what the driver before it did, so it is safe to wait for spark-submit instead.
        """
        cannot_ask = not getattr(self, "_yarn_track_via_rm_api", False)
        if "yarn" in master and deploy_mode == "cluster" and getattr(self, "durable", False) and cannot_ask:
            self.log.info("Waiting for spark-submit; yarn_track_via_rm_api=True would ask YARN instead.")
            self.durable = False

    def run_spark(self, context: "Context") -> Exception | None:
        """Run spark-submit to its end; its failure is returned, since the timeline decides."""
        try:
            super().execute(context)
        except Exception as error:
            return error
        finally:
            if self._sorter is not None:
                self._sorter.close()
            pipe = getattr(self._submit_process(), "stdout", None)
            if pipe is not None:
                pipe.close()
        return None

    def _get_hook(self) -> SparkSubmitHook:
        hook = super()._get_hook()
        self._sorter = SparkLogSorter(hook.log, self.push_spark_ui)
        hook._log = self._sorter
        return hook

    def let_go(self) -> None:
        """Give up what must not stay when the task is ended; by default nothing."""

    def let_go_in_time(self) -> None:
        """`let_go`, which a slow store must not let stand in the way of `end_spark`: Airflow allows five seconds."""

        def let_go() -> None:
            try:
                self.let_go()
            except Exception as error:
                self.log.warning("Not all was given up, and expires by itself: %s", error)

        thread = threading.Thread(target=let_go, name="let-go", daemon=True)
        thread.start()
        thread.join(_LET_GO_SECONDS)

    def end_spark(self) -> None:
        """End the driver and spark-submit with all its children.

        Airflow allows five seconds, and ends a driver on a cluster only while spark-submit is alive.
        """
        deadline = time.monotonic() + _KILL_GRACE_SECONDS
        process = self._submit_process()
        if self._is_on_cluster and self._hook is not None:
            self.log.info("Ending the driver on the cluster")
            try:
                self._hook.on_kill()
            except Exception as error:
                self.log.warning("The driver on the cluster was not told to end: %s", error)
        if process is not None:
            end_processes(process, deadline)

    def _submit_process(self) -> Any:
        """The Popen of spark-submit, which Airflow's hook keeps to itself; None: there is none."""
        return getattr(self._hook, "_submit_sp", None)
