"""Show the failure of a task: a block at the end of the task's log, and an XCom for the Hudi tab."""

import logging
from collections.abc import MutableMapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_provider.exceptions import HudiTaskError, HudiTaskRefusedError
from hudi_table_services.contract.error_text import Failure

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context

FAILURE_KEY = "hudi_failure"
"""Key of the XCom that contains the failure of a task's newest try."""

_LOG = logging.getLogger(__name__)
_PAGE = "/hudi/static/errors.html"
_UNTRACED = (HudiTaskError, HudiTaskRefusedError)


def failure_of(
    error: HudiTaskError | HudiTaskRefusedError, table: str, table_now: str, context: "Context"
) -> Failure:
    """Describe the failure of a task.

    Args:
        table: base path of the table.
        table_now: a sentence about what the table contains now.
    """
    is_final = isinstance(error, HudiTaskRefusedError)
    return Failure(
        kind=error.kind,
        message=error.reason or str(error),
        hint=error.hint,
        table=table,
        table_now=table_now,
        retry=(
            "Airflow does not try again, because another try would fail in the same way."
            if is_final
            else "Airflow tries again if the task has retries left."
        ),
        page=_page_of(error.kind, context),
    )


def _page_of(kind: str, context: "Context") -> str:
    """Return the address of the page about a kind of error; empty if Airflow's address is not known."""
    root = conf.get("api", "base_url", fallback="") or ""
    if not root:
        # Without the setting, Airflow derives the address of a log from its default host and port.
        root, found, _ = str(getattr(context.get("ti"), "log_url", "")).partition("/dags/")
        root = root if found else ""
    return f"{root.rstrip('/')}{_PAGE}#{kind.lower()}" if root and kind else ""


def show_failure(log: Any, failure: Failure, context: "Context") -> None:
    """Log the failure as a block, and push it for the Hudi tab. The task does not depend on the success of the push."""
    for line in failure.lines():
        log.error("%s", line)
    try:
        context["ti"].xcom_push(key=FAILURE_KEY, value=asdict(failure))
    except Exception as error:
        _LOG.debug("The failure was not pushed: %s", error)


def log_without_traceback() -> None:
    """Make Airflow log the errors of this package without their traceback, because a block describes them.

    Airflow logs the error of a task through structlog. The function adds a processor to structlog's settings in this
    process, which Airflow starts for one task. Where Airflow logs in another way, the traceback stays.
    """
    import structlog

    processors = structlog.get_config()["processors"]
    if _without_traceback not in processors:
        processors.insert(0, _without_traceback)


def _without_traceback(logger: Any, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace the traceback of an error of this package by the error's kind."""
    import sys

    if event.get("exc_info") and isinstance(error := sys.exc_info()[1], _UNTRACED):
        event.pop("exc_info")
        event["event"] = f"{event.get('event', '')}: {error.kind or type(error).__name__}"
    return event
