"""The clusterings that a request executed."""

from typing import TYPE_CHECKING

from airflow_hudi_provider.hooks.hudi import HudiHook

if TYPE_CHECKING:
    from hudi_table_services.tables.clustering_history import Clustering


def executed_by(hook: HudiHook, request_id: str) -> "tuple[Clustering, ...]":
    """Find the completed clusterings on the active timeline that this request executed."""
    from hudi_table_services.model.write_stat import REQUEST_ID_KEY

    completed = [each for each in hook.clusterings().clusterings if each.instant.is_completed]
    if not completed:
        return ()
    store = hook.timeline_store()
    return tuple(
        each
        for each in completed
        if store.commit_metadata(each.instant).extra_metadata.get(REQUEST_ID_KEY) == request_id
    )
