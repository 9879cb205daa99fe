"""Start and stop the Spark session of a job."""

import logging
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_table_services.errors import ExecutionFailedError
from hudi_table_services.execution.sessions import connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_TIME_ZONE = "spark.sql.session.timeZone"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """The Spark session that a job needs.

    Attributes:
        application_name: name of the application in Spark's UI.
        identity: string that all runs of a request share, and that no other request has. On a Spark Connect server, a
            later run of the request finds the session of an earlier run by this string.
        remote: address of a Spark Connect server, ``sc://host:port/;name=value``; empty if the job starts Spark.
        is_submitted: whether spark-submit started this process, and Spark's JVM with it.
        conf: Spark properties of the session. If `is_submitted`, the properties of spark-submit apply.
    """

    application_name: str
    identity: str = ""
    remote: str = ""
    is_submitted: bool = False
    conf: Mapping[str, str] = field(default_factory=dict)


def start_session(settings: SessionSettings) -> "SparkSession":
    """Return a session of the Spark Connect server, of spark-submit, or of a local Spark.

    The session time zone is UTC unless a property of Spark sets another one; a Spark Connect server keeps its own.

    Raises:
        ExecutionFailedError: Spark did not start, or the server did not answer.
    """
    if settings.remote:
        return connect.open_session(settings.remote, identity=settings.identity, conf=settings.conf)
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError):
            raise
        raise _not_started(error) from error
    if not settings.is_submitted:
        _require_java()
    builder = SparkSession.builder.appName(settings.application_name)
    if not settings.is_submitted:
        _set_worker_python()
        for key, value in settings.conf.items():
            builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
        if not spark.sparkContext.getConf().contains(_TIME_ZONE):
            # By default, Spark uses the time zone of the machine, so that the same source gives other times elsewhere.
            spark.conf.set(_TIME_ZONE, "UTC")
    except Exception as error:
        raise _not_started(error) from error
    return spark


def stop_session(spark: "SparkSession") -> None:
    """Stop the session after the end of a job. An error or an interrupt here does not change the result of the job."""
    try:
        if connect.is_connect(spark):
            connect.close_session(spark)
        else:
            spark.stop()
    except ConnectionError as error:
        _LOG.warning("The JVM of Spark's driver has ended before the session was stopped: %s", error)
    except KeyboardInterrupt:
        _LOG.warning("The job was interrupted while Spark was being stopped. Its work was already over.")
    except Exception:
        _LOG.warning("An error occurred while the Spark session was being stopped.", exc_info=True)


def is_stopped(spark: "SparkSession") -> bool:
    """Whether the driver's JVM of a session has ended or is shutting down. False for sessions of Spark Connect.

    While a JVM shuts down, jobs fail with many different errors, such as a NullPointerException.
    """
    context = None if connect.is_connect(spark) else getattr(spark, "sparkContext", None)
    if context is None or not hasattr(context, "_jsc"):
        return False
    try:
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:
        return True  # the JVM does not answer any more


def driver_age_s(spark: "SparkSession") -> float | None:
    """Return the seconds since the start of the driver's JVM; None if unknown, as with Spark Connect.

    With spark-submit, the JVM starts before this process.
    """
    if connect.is_connect(spark):
        return None
    try:
        jvm = spark.sparkContext._jvm
        runtime = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()  # type: ignore[union-attr]
        return float(runtime.getUptime()) / 1000
    except Exception:
        _LOG.debug("The start of Spark's driver is unknown.", exc_info=True)
        return None


def ui_address(spark: "SparkSession") -> str:
    """Return the address of Spark's UI; empty for sessions of Spark Connect and for sessions without a UI."""
    if connect.is_connect(spark):
        return ""
    return getattr(getattr(spark, "sparkContext", None), "uiWebUrl", None) or ""


def _not_started(error: Exception) -> ExecutionFailedError:
    reason = str(error).partition("\n")[0] or type(error).__name__
    return ExecutionFailedError(
        f"Spark did not start: {reason}",
        hint="See the lines above this error. Often a Spark property (--conf) is invalid, or Java is older than 17; in "
        "the second case, set JAVA_HOME, or put a later java on the PATH.",
    )


def _require_java() -> None:
    """Refuse to start Spark without Java, because without Java, Spark's start script prints errors of the shell.

    Like the script, this function searches for Java in `JAVA_HOME` or, if the variable is not set, on the PATH.
    """
    home = os.environ.get("JAVA_HOME", "")
    is_found = shutil.which("java", path=str(Path(home, "bin")) if home else None) is not None
    if is_found or os.environ.get("SPARK_REMOTE") or _has_spark_env():
        return
    reason = (
        f"there is no program bin/java in the folder {home!r}, which the variable JAVA_HOME names"
        if home
        else "the variable JAVA_HOME is not set, and there is no java on the PATH"
    )
    error = ExecutionFailedError(
        f"Spark needs Java, but {reason}.", hint="Install Java 17, and set JAVA_HOME to its folder."
    )
    error.retryable = False
    raise error


def _has_spark_env() -> bool:
    """Whether Spark's script runs a file spark-env.sh, which can set JAVA_HOME."""
    home, folder = os.environ.get("SPARK_HOME", ""), os.environ.get("SPARK_CONF_DIR", "")
    folders = [Path(folder)] if folder else [Path(home, "conf")] if home else []
    return any((each / "spark-env.sh").is_file() for each in folders)


def _set_worker_python() -> None:
    """Make Spark's workers use this interpreter and this package. By default, Spark uses `python3` from the PATH."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    package_parent = str(Path(__file__).resolve().parents[3])
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if package_parent not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([package_parent, *paths])
