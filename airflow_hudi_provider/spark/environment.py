"""Find spark-submit and Java before a job is submitted, and report what is missing."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

_PROGRAMS_OF_CONNECTIONS = ("spark-submit", "spark2-submit", "spark3-submit")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEnvironment:
    """Program and environment variables that a submission needs in addition to the user's arguments.

    Attributes:
        binary: path of spark-submit. If None, Airflow's hook uses the program that the user chose, or the hook's
            default.
        variables: additional environment variables for spark-submit.
    """

    binary: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def spark_master(connection: Connection) -> str:
    """Return the master of a Spark connection, with the same rules as Airflow's Spark hook."""
    host, port = connection.host or "", connection.port
    is_master = connection.conn_type == "spark" and host and ("://" in host or not port)
    master = host if is_master else f"{connection.conn_type}://{host}"
    return f"{master}:{port}" if port else master


def refuse_standalone_cluster_mode(master: str, deploy_mode: str) -> None:
    """Raise HudiTaskRefusedError for cluster mode on a standalone master, where Spark runs no Python application.

    Spark itself reports this error only after the submission.
    """
    if deploy_mode == "cluster" and master.startswith("spark://"):
        raise HudiTaskRefusedError(
            f"deploy_mode=cluster with the standalone master {master}: Spark runs no Python application there. "
            "Use deploy_mode=client, or YARN or Kubernetes."
        )


def refuse_other_programs(binary_of_connection: str | None, conn_id: str) -> None:
    """Raise HudiTaskRefusedError if the connection names a program other than spark-submit.

    By Airflow's rule, users who can edit a connection must not be able to run arbitrary programs on the worker.
    """
    if binary_of_connection and binary_of_connection not in _PROGRAMS_OF_CONNECTIONS:
        raise HudiTaskRefusedError(
            f"The connection {conn_id!r} names {binary_of_connection!r} as spark-binary. Allowed names: "
            f"{', '.join(_PROGRAMS_OF_CONNECTIONS)}. To use another program, set the task's argument spark_binary."
        )


def refuse_missing_kubernetes_provider(master: str) -> None:
    """Raise HudiTaskRefusedError if the Kubernetes provider is missing. Airflow's error would not name the provider."""
    if "k8s" not in master or _has_module("airflow.providers.cncf.kubernetes"):
        return
    raise HudiTaskRefusedError(
        f"The master {master} needs Airflow's Kubernetes provider on the worker: "
        "pip install apache-airflow-providers-cncf-kubernetes."
    )


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # the parent package is missing, too
        return False


def prepare_environment(
    master: str,
    binary: str | None,
    binary_of_connection: str | None,
    variables: Mapping[str, str],
    conf: Mapping[str, object],
) -> SparkEnvironment:
    """Find spark-submit, and find Java in the places that spark-submit searches.

    Args:
        binary: the spark-submit that the user chose. If it is given, this function does not search for Java.
        binary_of_connection: name of the spark-submit that the connection chose, in a folder of ``PATH``.
        variables: environment variables that the user gives to spark-submit.
        conf: the user's Spark properties.

    Raises:
        HudiTaskRefusedError: spark-submit or Java is missing.
    """
    if binary is not None:
        return SparkEnvironment(variables=_python_of_local_jobs(master, variables, conf))
    seen = {**os.environ, **variables}
    if not _has_java(seen):
        raise HudiTaskRefusedError(
            "Java was not found, but spark-submit needs Java: neither JAVA_HOME nor the worker's PATH contains it. "
            "Install Java 17 on the worker, or set env_vars={'JAVA_HOME': ...}."
        )
    wanted = _python_of_local_jobs(master, variables, conf)
    name = binary_of_connection or "spark-submit"
    if shutil.which(name, path=seen.get("PATH", os.defpath)):
        return SparkEnvironment(variables=wanted)
    spark_home = None if binary_of_connection else _spark_of_this_python()
    if spark_home is None:
        raise HudiTaskRefusedError(
            f"{name} was not found: neither in the worker's PATH nor in the packages of its Python. "
            "Run pip install pyspark on the worker, add Spark's bin folder to PATH, or set spark_binary."
        )
    # With any other master, Airflow would pass SPARK_HOME to a driver on a machine that does not have this folder.
    home = {"SPARK_HOME": str(spark_home)} if master.startswith(("local", "spark:")) else {}
    return SparkEnvironment(binary=str(spark_home / "bin" / "spark-submit"), variables={**wanted, **home})


def sees_local_files(deploy_mode: str, variables: Mapping[str, str], conf: Mapping[str, object]) -> bool:
    """Return whether Spark reads paths without scheme from the worker's file system, and not from HDFS, for example.

    Args:
        deploy_mode: ``client`` or ``cluster``.
        variables: environment variables that the user gives to spark-submit.
        conf: the user's Spark properties.
    """
    is_configured = not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}.isdisjoint((*os.environ, *variables))
    return deploy_mode != "cluster" and not is_configured and "spark.hadoop.fs.defaultFS" not in conf


def _has_java(variables: Mapping[str, str]) -> bool:
    """Return whether spark-submit can find Java: by Spark's own settings, else JAVA_HOME, else ``PATH``."""
    home = variables.get("SPARK_HOME")
    conf_folder = variables.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else "")
    if conf_folder and (Path(conf_folder) / "spark-env.sh").exists():
        return True
    java_home = variables.get("JAVA_HOME")
    if java_home:
        return (Path(java_home) / "bin" / "java").exists()
    return shutil.which("java", path=variables.get("PATH", os.defpath)) is not None


def _python_of_local_jobs(
    master: str, variables: Mapping[str, str], conf: Mapping[str, object]
) -> dict[str, str]:
    """Select the worker's own Python for local jobs, unless the user sets a Python.

    The worker's own Python has the engine's packages.
    """
    is_chosen = "spark.pyspark.python" in conf or "PYSPARK_PYTHON" in variables
    if is_chosen or not master.startswith("local"):
        return {}
    return {"PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}


def _spark_of_this_python() -> Path | None:
    """Return the home of Spark inside the package pyspark. Return None if no Spark is there, as with pyspark-client."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    return home if (home / "bin" / "spark-submit").exists() and (home / "jars").is_dir() else None
