"""Show the failure of a task: a block at the end of the task's log, and an XCom for the Hudi tab."""

import logging
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.exceptions import HudiSensorTimeoutError, HudiTaskError, HudiTaskRefusedError
from airflow_hudi_provider.links import address_of_airflow
from airflow_hudi_provider.results.argument_names import with_arguments
from airflow_hudi_provider.results.task_outcome import task_error
from hudi_table_services.contract.error_text import Failure
from hudi_table_services.errors import HudiTableServiceError, TableNotFoundError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import BaseOperator, Context

    from airflow_hudi_provider.operators.job import HudiJobOperator

FAILURE_KEY = "hudi_failure"
"""Key of the XCom that contains the failure of a task's newest try."""

_LOG_WIDTH = 74
"""Width of the texts in the block, in characters. Airflow's log shows this block without scrolling sideways."""

_LOG = logging.getLogger(__name__)
_PAGE = "/hudi/static/errors.html"
_RULES_AFTER_SUCCESS = ("all_success", "none_failed", "none_failed_min_one_success")
"""Trigger rules with which a task does not run if a task before it failed."""

TaskError = HudiTaskError | HudiTaskRefusedError | HudiSensorTimeoutError
_OUR_ERRORS = (HudiTaskError, HudiTaskRefusedError, HudiSensorTimeoutError)

_NO_TABLE = "There is no table."


@contextmanager
def failures_shown(task: "HudiJobOperator", context: "Context") -> Iterator[None]:
    """If an error of this package ends the ``with`` block, log it and raise it as the task's exception, without causes.

    Raises:
        HudiTaskError: the task failed; another try may succeed.
        HudiTaskRefusedError: the task cannot succeed without a change.
    """
    with task_errors_shown(task, context, lambda error: _table_of(task, error)):
        try:
            yield
        except HudiTableServiceError as error:
            raise task_error(_naming_tables(task, error)) from None


@contextmanager
def task_errors_shown(
    task: "BaseOperator", context: "Context", find_table: Callable[[TaskError], tuple[str, str]]
) -> Iterator[None]:
    """If one of `_OUR_ERRORS` ends the ``with`` block, log it as a block and raise it without causes.

    Args:
        find_table: function that returns the path of the task's table, and a sentence about what the table contains
            after this error.
    """
    try:
        yield
    except _OUR_ERRORS as error:
        raise _shown(task, error, context, find_table) from None


def _naming_tables(task: "HudiJobOperator", error: HudiTableServiceError) -> HudiTableServiceError:
    """If the base path contains no table, add the names of tables near this path, as the commands do."""
    run = task.begun_run
    if run is None or not isinstance(error, TableNotFoundError):
        return error
    from hudi_table_services.storage.nearby_tables import with_nearby_tables

    return with_nearby_tables(error, run.location.base_path, run.location.storage_options)


def _shown(
    task: "BaseOperator",
    error: TaskError,
    context: "Context",
    find_table: Callable[[TaskError], tuple[str, str]],
) -> TaskError:
    """Log the failure as a block, and push it for the Hudi tab. An error of the push does not replace the failure."""
    task.log.debug("The task failed.", exc_info=True)
    failure = _failure_of(task, error, *find_table(error))
    for line in failure.lines(width=_LOG_WIDTH):
        task.log.error("%s", line)
    try:
        context["ti"].xcom_push(key=FAILURE_KEY, value=asdict(failure))
    except Exception as unpushed:
        _LOG.debug("The failure was not pushed: %s", unpushed)
    error.is_shown = True
    _log_without_traceback()
    return error


def _failure_of(task: "BaseOperator", error: TaskError, table: str, table_now: str) -> Failure:
    kind = error.kind or type(error).__name__
    is_without_table = kind == TableNotFoundError.__name__
    hint = with_arguments(error.hint, type(task))
    return Failure(
        kind=kind,
        message=with_arguments(error.reason or str(error), type(task)),
        hint=f"{hint} {_about_trigger_rule(task)}".strip() if is_without_table else hint,
        table=table,
        table_now="" if is_without_table else table_now,
        retry=_next_try(error),
        page=_page_of(kind),
    )


def _next_try(error: TaskError) -> str:
    if isinstance(error, HudiSensorTimeoutError):
        return "Airflow does not try again after the timeout of a sensor."
    if isinstance(error, HudiTaskRefusedError):
        return "Airflow does not try again, because another try would fail in the same way."
    return "Airflow tries again if the task has retries left."


def _about_trigger_rule(task: "BaseOperator") -> str:
    """Return a sentence if the trigger rule lets the task run after a failed load; else an empty string."""
    rule = str(getattr(task.trigger_rule, "value", task.trigger_rule))
    if rule in _RULES_AFTER_SUCCESS or not task.upstream_task_ids:
        return ""
    return f"This task has trigger_rule={rule!r}, so it also runs after a failed load."


def _table_of(task: "HudiJobOperator", error: TaskError) -> tuple[str, str]:
    """Return the path of the task's table, and a sentence about what the table contains now."""
    run = task.begun_run
    try:
        path = run.location.base_path if run is not None else ""
    except _OUR_ERRORS:
        path = ""
    if run is None or not path:
        return task.base_path or "", "Nothing was done."
    try:
        return path, task.table_after_failure(run)
    except TableNotFoundError:
        return path, _NO_TABLE
    except HudiTableServiceError as unread:
        if unread.message == error.reason:
            return path, "It could not be read, for the same reason."
        return path, f"The timeline could not be read: {unread}"
    except Exception as unread:
        return path, f"The timeline could not be read: {unread}"


def _page_of(kind: str) -> str:
    """Return the address of the section about a kind of error; empty if Airflow's address is not known."""
    root = address_of_airflow()
    return f"{root}{_PAGE}#{kind.lower()}" if root else ""


def _log_without_traceback() -> None:
    """Make Airflow log the errors of this package without their traceback, because the log has a block about them.

    Airflow logs the error of a task through structlog. The function adds a processor to structlog's settings in this
    process, which Airflow starts for one task. If Airflow does not use structlog, the log contains the traceback.
    """
    import structlog

    processors = structlog.get_config()["processors"]
    if _without_traceback not in processors:
        processors.insert(0, _without_traceback)


def _without_traceback(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """If the log already contains a block about the error, remove the traceback from the log event.

    The event then ends with the kind of the error.
    """
    error = sys.exc_info()[1] if event.get("exc_info") else None
    if isinstance(error, _OUR_ERRORS) and error.is_shown:
        event.pop("exc_info")
        event["event"] = f"{event.get('event', '')}: {error.kind or type(error).__name__}"
    return event
