"""Find the id of the request that made an instant, in the files of the instant."""

from collections.abc import Iterable

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.avro_container import container_notes
from hudi_table_services.hudi_format.table_service_plans import decode_clean_metadata, decode_clean_plan
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.storage.parallel import map_in_parallel
from hudi_table_services.storage.timeline_store import TimelineStore

_WITH_ID = (Action.CLEAN, Action.RESTORE, Action.ROLLBACK, Action.SAVEPOINT)
_LATEST = 100
"""Greatest number of instants whose files `request_ids_of` reads."""


def request_id_of(store: TimelineStore, instant: Instant) -> str:
    """The id of the request that began a clean, a restore, a rollback or a savepoint.

    Empty if the files of the instant contain no id, as for instants of Hudi, or are unreadable or were just removed.
    Also empty for all other actions.
    """
    try:
        if instant.action is Action.CLEAN and instant.is_completed:
            return decode_clean_metadata(store.read(instant)).extra_metadata.get(REQUEST_ID_KEY, "")
        if instant.action is Action.CLEAN:
            return decode_clean_plan(store.read_requested(instant)).extra_metadata.get(REQUEST_ID_KEY, "")
        if instant.action is Action.SAVEPOINT and instant.is_completed:
            return container_notes(store.read(instant)).get(REQUEST_ID_KEY, "")
        if instant.action in (Action.RESTORE, Action.ROLLBACK):
            return container_notes(store.read_requested(instant)).get(REQUEST_ID_KEY, "")
    except (ObjectNotFoundError, MalformedMetadataError):
        pass
    return ""


def request_ids_of(store: TimelineStore, instants: Iterable[Instant]) -> dict[Instant, str]:
    """Map the latest instants to the ids of their requests (see `request_id_of`). Leave out instants without an id."""
    wanted = [instant for instant in instants if instant.action in _WITH_ID][-_LATEST:]
    found = map_in_parallel(lambda instant: request_id_of(store, instant), wanted)
    return {instant: id_ for instant, id_ in zip(wanted, found, strict=True) if id_}
