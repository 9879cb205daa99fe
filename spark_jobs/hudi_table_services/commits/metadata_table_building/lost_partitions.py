"""Store the names of the partitions of a metadata table that a build has dropped, but not yet built again.

A build drops the partitions that it replaces. If the build dies, the properties of the table no longer list these
partitions, so a file below ``.hoodie/.aux`` lists them until a later build or drop. Hudi ignores the file.
"""

from collections.abc import Collection

from hudi_table_services.errors import MalformedMetadataError, ObjectNotFoundError
from hudi_table_services.hudi_format.json_text import decode_json_object, encode_json
from hudi_table_services.storage.stores.storage import Storage

PATH = ".hoodie/.aux/metadata_table_build.json"
"""Path of the file, relative to the base path."""

_PARTITIONS = "partitions"


def lost_partitions(storage: Storage) -> tuple[str, ...]:
    """The partitions that a dead build has dropped and not built again; empty if there are none.

    Raises:
        MalformedMetadataError: the file is damaged.
    """
    try:
        content = storage.read(PATH)
    except ObjectNotFoundError:
        return ()
    try:
        names = decode_json_object(content, "List of partitions").get(_PARTITIONS)
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise MalformedMetadataError("The list of partitions is not a list of names.")
    except MalformedMetadataError as error:
        raise MalformedMetadataError(
            f"{PATH}: {error.message}",
            path=PATH,
            hint="A build of the metadata table died, and this file lists the partitions that the build dropped. "
            "Delete the file, and name all partitions that the table needs with --partitions.",
        ) from error
    return tuple(names)


def remember_dropped(storage: Storage, names: Collection[str]) -> None:
    """Add partitions to the list. Call this under the table lock, before the partitions are dropped."""
    known = lost_partitions(storage)
    if not set(names) <= set(known):
        _write(storage, {*known, *names})


def forget_lost(storage: Storage, names: Collection[str]) -> None:
    """Remove partitions from the list, after they are built, or before they are dropped on request.

    Call this function under the table lock.
    """
    known = lost_partitions(storage)
    if set(known) & set(names):
        _write(storage, set(known) - set(names))


def _write(storage: Storage, names: Collection[str]) -> None:
    if names:
        storage.write(PATH, encode_json({_PARTITIONS: sorted(names)}))
    else:
        storage.delete(PATH)
