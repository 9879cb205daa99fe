"""If a base path contains no table, find Hudi tables near this path, for the hint of the error."""

import difflib
import logging
from collections.abc import Mapping

from hudi_table_services.errors import HudiTableServiceError, TableNotFoundError
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import PROPERTIES, advice_on_tables_inside, tables_inside

_LOG = logging.getLogger(__name__)
_LEVELS_ABOVE = 3


def with_nearby_tables(
    error: TableNotFoundError, base_path: str, storage_options: Mapping[str, str] | None
) -> TableNotFoundError:
    """Return the error with the name of a table that the user probably meant.

    The function searches the folders above the base path, the folders inside the base path, and the other folders of
    its parent folder.

    Returns:
        A new error, or the given error if there is no such table or if the storage does not list the folders.
    """
    try:
        path = base_path.rstrip("/")
        if hint := _hint(path, storage_options):
            return TableNotFoundError(error.message, hint=hint)
        similar = _similar_table(path, storage_options)
    except HudiTableServiceError:
        _LOG.debug("The folders near %s cannot be listed.", base_path, exc_info=True)
        return error
    # The path can be right although it contains no table, if its first load failed. So keep the hint of the error.
    hint = f"Did you mean {similar}? If not, {error.hint[:1].lower()}{error.hint[1:]}"
    return TableNotFoundError(error.message, hint=hint) if similar else error


def _hint(path: str, options: Mapping[str, str] | None) -> str:
    """Return advice if the path is inside a table or contains tables; otherwise an empty string."""
    above = path
    for _ in range(_LEVELS_ABOVE):
        above = _parent(above)
        if above and open_storage(above, options).exists(PROPERTIES):
            return f"This path is inside the table {above}. Give the base path of the table."
    return advice_on_tables_inside(open_storage(path, options))


def _similar_table(path: str, options: Mapping[str, str] | None) -> str:
    """Return the table in the same folder with the most similar name; empty if no table has a similar name."""
    folder = _parent(path)
    if not folder:
        return ""
    siblings = tables_inside(open_storage(folder, options))
    close = difflib.get_close_matches(path.rpartition("/")[2], siblings, n=1)
    return f"{folder}/{close[0]}" if close else ""


def _parent(path: str) -> str:
    """Folder above a path; empty if the path has no folder above it, such as a bucket."""
    folder = path.rpartition("/")[0].rstrip("/")
    return "" if folder.endswith(":") else folder
