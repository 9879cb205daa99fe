"""Command line of the job scripts: read the flags or a request document, run the job, write the result document.

Only this module and the package `command` end the process, or read the environment variables that determine which
Spark runs the job.
"""

import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from types import FrameType, MappingProxyType
from typing import NoReturn
from urllib.parse import unquote

from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress, progress_path
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import SPARK_START, JobResult, Outcome
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import (
    ExecutionFailedError,
    HudiTableServiceError,
    InvalidRequestError,
    ObjectNotFoundError,
    TableNotFoundError,
)
from hudi_table_services.execution.sessions.connect import interrupt_jobs
from hudi_table_services.execution.sessions.session import (
    SessionSettings,
    driver_age_s,
    start_session,
    stop_session,
    ui_address,
)
from hudi_table_services.services.flags import CommandLine
from hudi_table_services.services.service import Script
from hudi_table_services.storage.nearby_tables import with_nearby_tables
from hudi_table_services.storage.result_documents import check_result_location, check_result_target
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)
_UNEXPECTED_EXIT_CODE = 70
_HADOOP_FOLDERS = {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}


class Presentation:
    """Shows the log, the result and the errors of a job. Scripts use this class; the package `command` uses a subclass.

    Attributes:
        spark_settings: settings of a Spark session that plain python starts.
    """

    spark_settings: Mapping[str, str] = MappingProxyType({"spark.ui.showConsoleProgress": "false"})

    def start_logging(self) -> None:
        """Send log records to stderr.

        If the job repeats a warning that the checks before the start of Spark have logged, the warning is shown once.
        """
        handler = logging.StreamHandler(sys.stderr)
        handler.addFilter(NewWarnings())
        handler.addFilter(is_no_interrupted_call)
        logging.basicConfig(
            level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", handlers=[handler]
        )
        logging.getLogger("py4j").setLevel(logging.WARNING)

    def running(self, request: JobRequest, *, with_spark: bool) -> AbstractContextManager[None]:
        """Return a context manager that surrounds the job, from before Spark starts until the job ends."""
        return nullcontext()

    def show_ui_address(self, address: str) -> None:
        """Show the address of Spark's UI, which exists while the job runs."""
        _LOG.info("Spark UI: %s", address)

    def show_result(self, result: JobResult) -> None:
        """Show the result of a job that did not fail."""
        outcome = result.outcome.value.replace("_", " ").capitalize()
        _LOG.info("%s%s", outcome, f": {result.reason}" if result.reason else "")
        print(result.to_json(is_compact=True))

    def show_failure(self, result: JobResult) -> None:
        """Show the result of a failed job, after its error. Scripts show only the error."""

    def show_error(self, error: HudiTableServiceError) -> None:
        """Show an error of this project."""
        print(f"{error.kind}: {error}", file=sys.stderr)

    def show_unexpected_error(self) -> None:
        """Show the exception that is being handled, with its traceback."""
        _LOG.exception("Unexpected error. Please send this log to the maintainers of this project.")


def is_no_interrupted_call(record: logging.LogRecord) -> bool:
    """Log filter that drops the traceback that py4j logs with the root logger if Ctrl+C ends a call of Spark."""
    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, KeyboardInterrupt) and "/py4j/" in record.pathname)


_LOCKS = "hudi_table_services.storage.locks"


class NewWarnings(logging.Filter):
    """Log filter that lets each warning message pass once, except warnings about locks and heartbeats.

    The job finds the same problems of a request as the checks that run before Spark starts. A warning about a lock or a
    heartbeat describes a new failure each time.

    Attributes:
        shown: messages of the warnings that passed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shown: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno != logging.WARNING or record.name.startswith(_LOCKS):
            return True
        text = record.getMessage()
        is_new = text not in self.shown
        self.shown.add(text)
        return is_new


_SCRIPT_PRESENTATION = Presentation()


def main(script: Script[JobRequest], arguments: Sequence[str] | None = None) -> int:
    """Run one job.

    Args:
        script: the script to run.
        arguments: command-line flags; None means the flags of this process.

    Returns:
        The exit code. The last step writes the result document, even if the job failed.
    """
    return run_script(script, lambda: script.parse(arguments), _SCRIPT_PRESENTATION)


def run_script(
    script: Script[JobRequest], parse: Callable[[], CommandLine], presentation: Presentation
) -> int:
    """Run one job whose flags `parse` returns; see `main`."""
    presentation.start_logging()
    command = CommandLine()
    try:
        command = parse()
        request = _request(command, script)
        if command.prints_request:
            script.check(request)
            print(request.to_json())
            return 0
        document = _result_document(request)
    except HudiTableServiceError as error:
        return _failed(presentation, command.naming_flags(error))
    except Exception:
        return _failed_unexpectedly(presentation)
    return _report(document, *_attempt(request, script, command, presentation), presentation)


def _failed(presentation: Presentation, error: HudiTableServiceError) -> int:
    presentation.show_error(error)
    return error.exit_code


def _failed_unexpectedly(presentation: Presentation) -> int:
    presentation.show_unexpected_error()
    return _UNEXPECTED_EXIT_CODE


def _attempt(
    request: JobRequest, script: Script[JobRequest], command: CommandLine, presentation: Presentation
) -> tuple[JobResult, int]:
    """Run the job and return its result and exit code. Exceptions become failed results."""
    try:
        return _run(request, script, command, presentation), 0
    except TableNotFoundError as error:
        advised = with_nearby_tables(error, request.base_path, request.storage_options)
        return JobResult.failed(request, advised), _failed(presentation, advised)
    except HudiTableServiceError as error:
        _LOG.debug("The job failed.", exc_info=True)
        named = command.naming_flags(error)
        return JobResult.failed(request, named), _failed(presentation, named)
    except ModuleNotFoundError as error:
        missing = missing_package(error)
        return JobResult.failed(request, missing), _failed(presentation, missing)
    except Exception as error:
        return JobResult.failed(request, error), _failed_unexpectedly(presentation)


def missing_package(error: ModuleNotFoundError) -> ExecutionFailedError:
    """Return the error of a job whose Python lacks a package."""
    return ExecutionFailedError(
        f"The Python that runs this job, {sys.executable}, has no package {error.name!r}.",
        hint="Install airflow-provider-hudi[engine] and pyspark there, or use a Python that has them.",
    )


def _run(
    request: JobRequest, script: Script[JobRequest], command: CommandLine, presentation: Presentation
) -> JobResult:
    _LOG.info("Request %s runs %s on %s", request.request_id, request.work, request.base_path)
    script.check(request)  # report an invalid option before Spark starts
    script.check_before_run(request)
    # In cluster mode, spark-submit reports a program as failed if the program never creates a session.
    is_submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    remote = "" if is_submitted else command.remote or os.environ.get("SPARK_REMOTE", "")
    uses_spark = script.uses_spark(request) or is_submitted
    with presentation.running(request, with_spark=uses_spark):
        if not uses_spark:
            return script.run(None, request)
        # Paths without a scheme may be on HDFS if Hadoop is configured, or on the machine of a Spark Connect server.
        is_local = not remote and not _HADOOP_FOLDERS & os.environ.keys()
        early = script.start_without_spark(request, sees_local_files=is_local)
        if early is not None and not is_submitted:
            return early
        _LOG.info("Opening a session of the Spark Connect server" if remote else "Starting Spark")
        settings = SessionSettings(
            application_name=f"{request.work} {request.table_name or request.base_path}",
            identity=f"{request.base_path}\n{request.work}\n{request.request_id}",
            remote=remote,
            is_submitted=is_submitted,
            conf={**({} if remote else presentation.spark_settings), **command.conf},
        )
        return _run_on_spark(request, script, settings, presentation)


def _run_on_spark(
    request: JobRequest, script: Script[JobRequest], settings: SessionSettings, presentation: Presentation
) -> JobResult:
    began = time.monotonic()
    with _ended_by_sigterm() if settings.remote else nullcontext():
        spark = start_session(settings)
        started_s = driver_age_s(spark) or time.monotonic() - began
        if address := ui_address(spark):
            presentation.show_ui_address(address)
        try:
            with _progress_document(request):
                result = script.run(spark, request)
        finally:
            stop_session(spark)
        return replace(result, timings_s={SPARK_START: round(started_s, 3), **result.timings_s})


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Make SIGTERM raise SystemExit, so that the job ends its tasks on the Spark Connect server.

    Tasks of a local Spark, or of the Spark of spark-submit, end with this process.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        _LOG.warning("The job was asked to end. Its tasks on the Spark Connect server are being ended.")
        interrupt_jobs()
        raise SystemExit(128 + number)

    earlier = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier)


@contextmanager
def _progress_document(request: JobRequest) -> Iterator[None]:
    """Write the progress of the job to a document, for Airflow tasks that cannot read the log of the driver."""
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
        # The filter drops log records without progress, so that they do not wait for the lock of this handler.
        self.addFilter(lambda record: isinstance(getattr(record, PROGRESS_FIELD, None), JobProgress))

    def emit(self, record: logging.LogRecord) -> None:
        text = getattr(record, PROGRESS_FIELD).to_json()
        with suppress(HudiTableServiceError):  # the next write may succeed
            self._document.storage.write(self._document.name, text.encode())

    def remove(self) -> None:
        with suppress(HudiTableServiceError):
            self._document.storage.delete(self._document.name)


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
    """Return the location of the result document. Delete the document of an earlier run at this location.

    Raises:
        InvalidRequestError: the location is refused; see `storage.result_documents`. Nothing was deleted.
    """
    if not request.result_path:
        return None
    document = _document(request.result_path, dict(request.storage_options))
    source = request.source if isinstance(request, UpsertRequest) else None
    check_result_location(
        request.result_path, request.base_path, (source.path or source.table) if source else ""
    )
    check_result_target(document.storage, document.name, request.result_path)
    document.storage.delete(document.name)
    return document


def _report(document: _Document | None, result: JobResult, exit_code: int, presentation: Presentation) -> int:
    """Show the result. Write the result document completely or not at all."""
    if result.outcome is Outcome.FAILED:
        presentation.show_failure(result)
    else:
        presentation.show_result(result)
    if document is None:
        return exit_code
    try:
        document.storage.write(document.name, result.to_json().encode())
    except HudiTableServiceError as error:
        # The outcome stays valid without the document. A new run with the same request id finds the commit.
        where = f"{document.storage.uri}/{document.name}"
        _LOG.error(
            "The outcome of the job is %s, but the result document %s was not written.",
            result.outcome.value,
            where,
        )
        return exit_code or _failed(presentation, error)
    return exit_code
