"""Find the pending table services of a table, for sensors, triggers and write tasks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_hudi_provider.hooks.hudi import HudiHook
from hudi_table_services.errors import InvalidRequestError, TableNotFoundError

if TYPE_CHECKING:
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.storage.timeline_store import TimelineStore

SERVICES = ("clustering", "compaction", "clean", "rollback", "restore", "indexing", "savepoint")
PLANS = ("clustering", "compaction")
"""The default services. A pending plan reserves its file groups for the service."""

PLANS_OF_CLUSTERINGS = ("clustering",)
"""The services whose plans block even a write that only adds log files to the file groups of the plan."""


def services_of(names: Sequence[str]) -> tuple[str, ...]:
    """Check names of services, and return them. Without names, return `PLANS`.

    Raises:
        InvalidRequestError: a name is unknown. The message contains the unknown names.
    """
    unknown = [name for name in names if name not in SERVICES]
    if unknown:
        raise InvalidRequestError(
            f"services contains unknown names: {', '.join(map(repr, unknown))}.",
            hint=f"Valid names: {', '.join(SERVICES)}.",
        )
    return tuple(names) or PLANS


def pending_services(
    hook: HudiHook, services: Sequence[str], partitions: Sequence[str]
) -> list[dict[str, Any]]:
    """Return pending instants of these services, oldest first.

    If partitions are given, return only instants with file groups in these partitions, and instants without file
    groups, such as cleans.
    """
    from hudi_table_services.storage.pending_plans import clustering_plan_of, planned_file_groups

    store = hook.timeline_store()
    found = []
    for instant in store.load().pending:
        is_clustering = clustering_plan_of(store, instant) is not None
        service = "clustering" if is_clustering else _SERVICE_OF.get(instant.action.value, "")
        if service not in services:
            continue
        groups = planned_file_groups(store, instant)
        paths = sorted({group.partition_path for group in groups})
        if not partitions or not groups or set(paths) & set(partitions):
            found.append(_described(store, instant, service, paths, len(groups)))
    return found


_SERVICE_OF = {"logcompaction": "compaction"} | {name: name for name in SERVICES}


def _described(
    store: "TimelineStore", instant: "Instant", service: str, paths: list[str], groups: int
) -> dict[str, Any]:
    return {
        "instant": instant.requested_time,
        "service": service,
        "state": instant.state.value,
        "age_s": store.age_s(instant),
        "partitions": paths[:50],
        "file_groups": groups,
    }


def find_pending_services(
    hook: HudiHook, services: Sequence[str], partitions: Sequence[str], *, fails_if_missing: bool
) -> list[dict[str, Any]]:
    """Return the result of `pending_services`.

    If the table is missing, raise TableNotFoundError if `fails_if_missing` is true, else return an empty list. If the
    base path contains other files, raise TableNotFoundError in both cases.
    """
    try:
        return pending_services(hook, services, partitions)
    except TableNotFoundError:
        if fails_if_missing:
            raise
        hook.find_table_config()  # raises the error about other files
        return []
