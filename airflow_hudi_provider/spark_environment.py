"""Find spark-submit and Java before a job is submitted, and say what is missing."""

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow.providers.common.compat.sdk import Connection

from airflow_hudi_provider.exceptions import HudiTaskRefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkEnvironment:
    """What a submission needs besides the user's arguments.

    Attributes:
        binary: spark-submit; None: the one that the user named, or the hook's own default.
        variables: environment variables of spark-submit.
    """

    binary: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)


def spark_master(connection: Connection) -> str:
    """The master, read from a connection as Airflow's Spark hook reads it."""
    host = connection.host or "yarn"
    if "://" not in host and connection.port:
        host = f"{connection.conn_type}://{host}"
    return f"{host}:{connection.port}" if connection.port else host


def refuse_standalone_cluster_mode(master: str, deploy_mode: str) -> None:
    """Raises HudiTaskRefusedError: Spark itself does not take Python there, and would say so late."""
    if deploy_mode == "cluster" and master.startswith("spark://"):
        raise HudiTaskRefusedError(
            f"deploy_mode=cluster with the standalone master {master}: Spark runs no Python application there. "
            "Use deploy_mode=client, or YARN or Kubernetes."
        )


def refuse_missing_kubernetes_provider(master: str) -> None:
    """Raises HudiTaskRefusedError: Airflow's Spark hook fails there without saying what to install."""
    if "k8s" not in master or _has_module("airflow.providers.cncf.kubernetes"):
        return
    raise HudiTaskRefusedError(
        f"The master {master} needs Airflow's Kubernetes provider on the worker: "
        "pip install apache-airflow-providers-cncf-kubernetes."
    )


def _has_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # not even its parent is there
        return False


def prepare_environment(
    master: str, binary: str | None, variables: Mapping[str, str], conf: Mapping[str, object]
) -> SparkEnvironment:
    """Look for spark-submit on the path and beside this Python, and for Java.

    Args:
        binary: the user's own spark-submit; it is trusted.
        variables: environment variables that the user gives to spark-submit.
        conf: the user's Spark properties.

    Raises:
        HudiTaskRefusedError: one of them is missing.
    """
    path = variables.get("PATH", os.environ.get("PATH", os.defpath))
    java_home = variables.get("JAVA_HOME", os.environ.get("JAVA_HOME"))
    has_java = (java_home and (Path(java_home) / "bin" / "java").exists()) or shutil.which("java", path=path)
    if not has_java:
        raise HudiTaskRefusedError(
            "Java was not found: neither JAVA_HOME nor the path of the worker leads to it, and spark-submit needs it. "
            "Install Java 17 on the worker, or give env_vars={'JAVA_HOME': ...}."
        )
    wanted: dict[str, str] = {}
    if (
        master.startswith("local")
        and "spark.pyspark.python" not in conf
        and "PYSPARK_PYTHON" not in variables
    ):
        wanted["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
    if binary is not None or shutil.which("spark-submit", path=path):
        return SparkEnvironment(variables=wanted)
    beside = _spark_beside_this_python()
    if beside is None:
        raise HudiTaskRefusedError(
            "spark-submit was not found: neither on the path of the worker nor beside its Python. "
            "pip install pyspark on the worker, put Spark's bin folder on the path, or give spark_binary."
        )
    return SparkEnvironment(
        binary=str(beside / "bin" / "spark-submit"), variables={**wanted, "SPARK_HOME": str(beside)}
    )


def _spark_beside_this_python() -> Path | None:
    """Home of the Spark inside the package pyspark; None where only pyspark-client is installed."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    return home if (home / "bin" / "spark-submit").exists() and (home / "jars").is_dir() else None
