"""Check arguments that Airflow renders when a task runs: Jinja templates, and outputs of other tasks."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from airflow_hudi_provider.exceptions import HudiTaskRefusedError

if TYPE_CHECKING:
    from airflow.providers.common.compat.sdk import Context


def is_filled_in_later(value: object) -> bool:
    """Return whether the argument, or a part of it, is a template or the output of another task."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, Mapping):
        return any(is_filled_in_later(part) for item in value.items() for part in item)
    if isinstance(value, list | tuple | set):
        return any(map(is_filled_in_later, value))
    # XComArg and similar classes have no public name in some releases of Airflow.
    return callable(getattr(value, "iter_references", None))


def names_filled_in_later(task: object, names: Iterable[str]) -> tuple[str, ...]:
    """Return the arguments for which `is_filled_in_later` is true. Call this function when Airflow parses the DAG."""
    return tuple(name for name in names if is_filled_in_later(getattr(task, name, None)))


def refuse_emptied(task: object, names: Iterable[str]) -> None:
    """Refuse an argument whose template rendered to nothing, because an empty result is a mistake, not a default.

    Raises:
        HudiTaskRefusedError: one of the arguments, or a part of it, is empty.
    """
    for name in names:
        if _is_empty(getattr(task, name, None)):
            raise HudiTaskRefusedError(
                f"The argument {name!r} is empty after Airflow rendered its template: check the template and the "
                "values to which the template refers."
            )


def refuse_empty_interval(context: "Context") -> None:
    """Refuse an empty data interval: the task would write nothing and still succeed.

    Raises:
        HudiTaskRefusedError: the interval begins and ends at the same time.
    """
    start, end = context.get("data_interval_start"), context.get("data_interval_end")
    if start is not None and start == end:
        raise HudiTaskRefusedError(
            f"The data interval of this run is empty: it begins and ends at {start}. Templates with "
            "data_interval_start and data_interval_end need a schedule with intervals, such as "
            "schedule=CronDataIntervalTimetable('0 0 * * *', timezone='UTC') instead of a cron string."
        )


def _is_empty(value: object) -> bool:
    if value is None or isinstance(value, str):
        return not (value or "").strip()
    if isinstance(value, Mapping):
        return any(map(_is_empty, value.values()))
    if isinstance(value, list | tuple):
        return not value or any(map(_is_empty, value))
    return False
