"""Find the instants of a request on the timeline of a table."""

import logging
from typing import TYPE_CHECKING

from hudi_table_services.errors import UnsupportedTableError

if TYPE_CHECKING:
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.model.instant import Instant
    from hudi_table_services.model.write_stat import CommitMetadata

_LOG = logging.getLogger(__name__)


def completed_of(hook: "HudiHook", request_id: str) -> "tuple[Instant, CommitMetadata] | None":
    """Implement `HudiHook.find_request`."""
    from hudi_table_services.storage.request_identity import find_completed
    from hudi_table_services.storage.table_store import find_table_config
    from hudi_table_services.tables.request_lookup import find_completed_anywhere

    config = find_table_config(hook.storage)  # raises the error with advice for writers
    if config is None:
        return None
    store = hook.timeline_store()
    timeline = store.load()
    try:
        return find_completed_anywhere(hook.storage, config, store, timeline, request_id)
    except UnsupportedTableError as error:
        _LOG.warning("Only the active timeline was searched: %s", error)
        return find_completed(store, timeline, request_id)


def pending_of(hook: "HudiHook", request_id: str) -> "tuple[Instant, ...]":
    """Implement `HudiHook.pending_of_request`."""
    from hudi_table_services.storage.request_identity import belongs_to

    if hook.find_table_config() is None:
        return ()
    store = hook.timeline_store()
    pending = [i for i in store.load().pending if i.action.writes_data]
    return tuple(i for i in pending if belongs_to(store, hook.storage, i, request_id))
