"""Command line of the job scripts: read the flags or a request document, run the job, write the result document.

No other module reads the environment or ends the process.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress, progress_path
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import SPARK_START, JobResult, Outcome
from hudi_table_services.errors import (
    ExecutionFailedError,
    HudiTableServiceError,
    InvalidRequestError,
    ObjectNotFoundError,
)
from hudi_table_services.services.flags import CommandLine
from hudi_table_services.services.service import Script
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_UNEXPECTED_EXIT_CODE = 70
_HADOOP_FOLDERS = {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}


def main(script: Script[JobRequest], arguments: Sequence[str] | None = None) -> int:
    """Run one job.

    Args:
        script: the script to run.
        arguments: command-line flags; None means the flags of this process.

    Returns:
        The exit code. The last step writes the result document, even if the job failed.
    """
    _start_logging()
    try:
        command = script.parse(arguments)
        request = _request(command, script)
        if command.prints_request:
            script.check(request)
            print(request.to_json())
            return 0
        document = _result_document(request)
    except HudiTableServiceError as error:
        return _print_error(error)
    except Exception:
        return _log_unexpected_error()
    return _report(document, *_attempt(request, script))


def _start_logging() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)


def _print_error(error: HudiTableServiceError) -> int:
    print(f"{error.kind}: {error}", file=sys.stderr)
    return error.exit_code


def _log_unexpected_error() -> int:
    _LOG.exception("Unexpected error. Please send this log to the maintainers of this project.")
    return _UNEXPECTED_EXIT_CODE


def _attempt(request: JobRequest, script: Script[JobRequest]) -> tuple[JobResult, int]:
    """Run the job and return its result and exit code. Exceptions become failed results."""
    try:
        return _run(request, script), 0
    except HudiTableServiceError as error:
        _LOG.debug("The job failed.", exc_info=True)
        return JobResult.failed(request, error), _print_error(error)
    except ModuleNotFoundError as error:
        missing = ExecutionFailedError(
            f"The Python that runs this job, {sys.executable}, has no package {error.name!r}.",
            hint="Install airflow-provider-hudi[engine] and pyspark there, or use a Python that has them.",
        )
        return JobResult.failed(request, missing), _print_error(missing)
    except Exception as error:
        return JobResult.failed(request, error), _log_unexpected_error()


def _run(request: JobRequest, script: Script[JobRequest]) -> JobResult:
    _LOG.info("Request %s runs %s on %s", request.request_id, request.work, request.base_path)
    script.check(request)  # report an invalid option before Spark starts
    script.check_before_run(request)
    # In cluster mode, spark-submit reports a program as failed if the program never creates a session.
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    if not script.uses_spark(request) and not is_submitted:
        return script.run(None, request)
    # Paths without scheme may be on HDFS if Hadoop is configured.
    early = script.start_without_spark(request, sees_local_files=not _HADOOP_FOLDERS & os.environ.keys())
    if early is not None and not is_submitted:
        return early
    began = time.monotonic()
    spark = spark_session(f"{request.work} {request.table_name or request.base_path}")
    started_s = _driver_age_s(spark) or time.monotonic() - began
    _log_ui_address(spark)
    try:
        with _progress_document(request):
            result = script.run(spark, request)
    finally:
        _stop(spark)
    return replace(result, timings_s={SPARK_START: round(started_s, 3), **result.timings_s})


def _driver_age_s(spark: "SparkSession") -> float | None:
    """Seconds since the start of the driver's JVM; None if unknown, as with Spark Connect.

    With spark-submit, the JVM starts before this process.
    """
    try:
        jvm = spark.sparkContext._jvm
        runtime = jvm.java.lang.management.ManagementFactory.getRuntimeMXBean()  # type: ignore[union-attr]
        return float(runtime.getUptime()) / 1000
    except Exception:
        _LOG.debug("The start of Spark's driver is unknown.", exc_info=True)
        return None


@contextmanager
def _progress_document(request: JobRequest) -> Iterator[None]:
    """Write progress to a document. A task reads the document if it cannot read the log of the driver."""
    if not request.result_path:
        yield
        return
    handler = _ProgressWriter(_document(progress_path(request.result_path), dict(request.storage_options)))
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
        handler.remove()


class _ProgressWriter(logging.Handler):
    """Log handler that writes the newest progress to a document."""

    def __init__(self, document: "_Document") -> None:
        super().__init__()
        self._document = document
        # The filter skips log lines without progress before they wait for the lock of this handler.
        self.addFilter(lambda record: isinstance(getattr(record, PROGRESS_FIELD, None), JobProgress))

    def emit(self, record: logging.LogRecord) -> None:
        text = getattr(record, PROGRESS_FIELD).to_json()
        with suppress(HudiTableServiceError):  # the next write may succeed
            self._document.storage.write(self._document.name, text.encode())

    def remove(self) -> None:
        with suppress(HudiTableServiceError):
            self._document.storage.delete(self._document.name)


def _log_ui_address(spark: "SparkSession") -> None:
    """Log the address of Spark's UI, which exists while the job runs. Sessions of Spark Connect have no address."""
    address = getattr(getattr(spark, "sparkContext", None), "uiWebUrl", None)
    if address:
        _LOG.info("Spark UI: %s", address)


def _stop(spark: "SparkSession") -> None:
    """Stop the session. A failure, e.g. because the JVM died, does not change the result of the job."""
    try:
        spark.stop()
    except Exception:
        _LOG.warning("An error occurred while the Spark session was being stopped.", exc_info=True)


def spark_session(application_name: str) -> "SparkSession":
    """Return the session that spark-submit prepared, or a local session when plain python runs the script.

    Raises:
        ExecutionFailedError: Spark did not start.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(application_name)
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
        _set_worker_python()
        builder = builder.config("spark.ui.showConsoleProgress", "false")
    try:
        return builder.getOrCreate()
    except Exception as error:
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise ExecutionFailedError(
            f"Spark did not start: {reason}",
            hint="See the log above. Spark needs Java 17: set JAVA_HOME, or put java on the PATH.",
        ) from error


def _set_worker_python() -> None:
    """Make Spark's workers use this interpreter and this package. Spark's default is the `python3` of the path."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    package_parent = str(Path(__file__).resolve().parent.parent)
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    if package_parent not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([package_parent, *paths])


@dataclass(frozen=True, slots=True)
class _Document:
    """A document on a storage: the storage of its folder, and its name in the folder."""

    storage: Storage
    name: str


def _document(uri: str, options: dict[str, str] | None = None) -> _Document:
    folder, slash, name = uri.rpartition("/")
    if not name:
        raise InvalidRequestError(f"{uri!r} is a folder, not a file.")
    if uri.startswith("file:"):
        name = unquote(name)
    return _Document(open_storage(folder or slash or ".", options), name)


def _request(command: CommandLine, script: Script[JobRequest]) -> JobRequest:
    if command.request is not None:
        return command.request
    document = _document(command.request_uri)
    try:
        text = document.storage.read(document.name).decode()
    except ObjectNotFoundError:
        raise InvalidRequestError(f"There is no request document at {command.request_uri!r}.") from None
    except UnicodeDecodeError:
        raise InvalidRequestError(
            f"The request document {command.request_uri!r} is not UTF-8 text."
        ) from None
    return script.read(text)


def _result_document(request: JobRequest) -> _Document | None:
    """Return the location of the result document. Delete the document of an earlier run at this location."""
    if not request.result_path:
        return None
    document = _document(request.result_path, dict(request.storage_options))
    document.storage.delete(document.name)
    return document


def _report(document: _Document | None, result: JobResult, exit_code: int) -> int:
    """Print the result unless the job failed. Write the result document completely or not at all."""
    text = result.to_json()
    if result.outcome is not Outcome.FAILED:
        outcome = result.outcome.value.replace("_", " ").capitalize()
        _LOG.info("%s%s", outcome, f": {result.reason}" if result.reason else "")
        print(text)
    if document is None:
        return exit_code
    try:
        document.storage.write(document.name, text.encode())
    except HudiTableServiceError as error:
        # The outcome stays valid without the document. A new run with the same request id finds the commit.
        where = f"{document.storage.uri}/{document.name}"
        _LOG.error(
            "The outcome of the job is %s, but the result document %s was not written.",
            result.outcome.value,
            where,
        )
        return exit_code or _print_error(error)
    return exit_code
