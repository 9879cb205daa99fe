"""Access private names of Airflow's Spark provider.

Only one other module uses a private name: `operators.job` overrides the operator's `_get_hook`.

The names were checked with apache-airflow-providers-apache-spark 6.0.0 (locks/airflow31.txt) and 6.3.4
(locks/spark.txt).
"""

from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

if TYPE_CHECKING:
    import subprocess

    from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

Tracking = Literal["yarn", "kubernetes", "standalone"]
"""The kind of cluster master from which Airflow requests the state of a driver."""

CHECKED_RELEASES = ("6.0.0", "6.3.4")
OPERATOR_NAMES = ("_conn_id", "_deploy_mode", "_get_hook", "_hook", "_spark_binary")
HOOK_NAMES = (
    "_connection",
    "_driver_id",
    "_kubernetes_driver_pod",
    "_log",
    "_submit_sp",
    "_yarn_application_id",
)

# Only newer releases have these names. Older releases cannot request the state of a driver from the master; they wait
# for spark-submit.
_TRACKS_YARN = "_yarn_track_via_rm_api"
_TRACKS_KUBERNETES = "_track_driver_via_k8s_api"
_YARN_AUTH = "_yarn_rm_auth"
_STATUS_KEY = "_K8S_DRIVER_STATUS_KEY"

_DISTRIBUTION = "apache-airflow-providers-apache-spark"


def require_names(owner: object, names: tuple[str, ...]) -> None:
    """Check that an object of Airflow's Spark provider has all private names that this module uses.

    Raises:
        HudiTaskRefusedError: a name is missing.
    """
    if missing := [name for name in names if not hasattr(owner, name)]:
        raise HudiTaskRefusedError(
            f"{_DISTRIBUTION} {version(_DISTRIBUTION)}: {type(owner).__name__} has no {', '.join(missing)}. This "
            f"provider was checked with releases {CHECKED_RELEASES[0]} to {CHECKED_RELEASES[-1]}; install one of them."
        )


def connection_id(task: SparkSubmitOperator) -> str:
    """Return the id of the Spark connection that the hook will use."""
    return task._conn_id


def use_connection(task: SparkSubmitOperator, conn_id: str) -> None:
    """Make the hook use this Spark connection."""
    task._conn_id = conn_id


def deploy_mode(task: SparkSubmitOperator) -> str | None:
    """Return the deploy mode in the operator's arguments, or None if the connection decides."""
    return task._deploy_mode


def spark_binary(task: SparkSubmitOperator) -> str | None:
    """Return the program that the hook runs as spark-submit, or None if the connection or the hook decides."""
    return task._spark_binary


def use_spark_binary(task: SparkSubmitOperator, binary: str) -> None:
    """Make the hook run this program as spark-submit."""
    task._spark_binary = binary


def argument(task: SparkSubmitOperator, name: str) -> Any:
    """Return an argument of the operator, or None if it is not set. Some arguments have private names."""
    return getattr(task, name, None) or getattr(task, f"_{name}", None)


def tracking(task: SparkSubmitOperator) -> Tracking | None:
    """Return the kind of master from which Airflow requests the driver's state; None if spark-submit waits instead."""
    if getattr(task, _TRACKS_YARN, False):
        return "yarn"
    return "kubernetes" if getattr(task, _TRACKS_KUBERNETES, False) else None


def yarn_auth(task: SparkSubmitOperator) -> Any:
    """Return the object that signs requests to YARN, or None if the argument is not given."""
    return getattr(task, _YARN_AUTH, None)


def driver_keys(task: SparkSubmitOperator) -> list[str]:
    """Return the keys of the task's state store for the driver's id and last state, without keys that Airflow lacks."""
    return [key for name in ("external_id_key", _STATUS_KEY) if (key := getattr(task, name, None))]


def hook_of(task: SparkSubmitOperator) -> "SparkSubmitHook | None":
    """Return the hook of the running submission, or None if nothing was submitted yet."""
    return task._hook


def log_through(hook: "SparkSubmitHook", log: Any) -> None:
    """Make the hook write all lines of spark-submit to this logger."""
    require_names(hook, HOOK_NAMES)
    hook._log = log


def submit_process(task: SparkSubmitOperator) -> "subprocess.Popen[Any] | None":
    """Return the process of spark-submit, or None if no process was started."""
    process: subprocess.Popen[Any] | None = getattr(task._hook, "_submit_sp", None)
    return process


def follow_yarn_application(task: SparkSubmitOperator, application: str) -> None:
    """Make the hook end this application when the task is killed, even if an earlier process submitted it."""
    if task._hook is not None:
        task._hook._yarn_application_id = application


def operator_for_queries(
    how: Tracking, spark_conn_id: str, binary: str | None, more: Mapping[str, Any] | None = None
) -> SparkSubmitOperator:
    """Create an operator that requests the state of a driver from the cluster's master. The operator submits nothing.

    Args:
        more: further arguments of the operator.
    """
    return SparkSubmitOperator(
        task_id="ask",
        application="",
        conn_id=spark_conn_id,
        deploy_mode="cluster",
        spark_binary=binary,
        yarn_track_via_rm_api=how == "yarn",
        track_driver_via_k8s_api=how == "kubernetes",
        **(more or {}),
    )


def end_application(operator: SparkSubmitOperator, how: Tracking, application: str) -> None:
    """End a driver that another process submitted.

    Args:
        operator: the operator that `operator_for_queries` created.
        application: Airflow's identifier of the driver: application id, driver id, or ``<namespace>:<pod>``.
    """
    hook = operator._get_hook()
    require_names(hook, HOOK_NAMES)
    if how == "yarn":
        hook._yarn_application_id = application
    elif how == "kubernetes":
        # The connection may name no namespace, or a namespace that is not the driver's.
        hook._connection["namespace"], _, hook._kubernetes_driver_pod = application.partition(":")
    else:
        hook._driver_id = application
    hook.on_kill()
