"""``hoodie.properties`` on storage: read the file or its backup, create a table, change properties atomically."""

import logging
import time
from collections.abc import Mapping
from enum import Enum

from hudi_table_services.errors import (
    CorruptTableError,
    InvalidRequestError,
    MalformedMetadataError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoragePermissionError,
    TableExistsError,
    TableNotFoundError,
)
from hudi_table_services.hudi_format.table_properties import (
    CHECKSUM,
    checksum_is_valid,
    decode_properties,
    encode_properties,
)
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion, TimelineLayout
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.stores.storage import Storage

_LOG = logging.getLogger(__name__)

PROPERTIES = ".hoodie/hoodie.properties"
BACKUP = ".hoodie/hoodie.properties.backup"
METADATA_TABLE = ".hoodie/metadata"
METADATA_PARTITIONS = "hoodie.table.metadata.partitions"
INFLIGHT_METADATA_PARTITIONS = "hoodie.table.metadata.partitions.inflight"

_EXAMINED_FOLDERS = 50
_SHOWN_TABLES = 5
_READ_ATTEMPTS = 5
_READ_PAUSE_SECONDS = 0.2

# Files that may exist in `.hoodie` before the properties file: staged rows, locks, heartbeats of a first write.
_AUXILIARY = (".hoodie/.aux/", ".hoodie/.locks/", ".hoodie/.heartbeat/", ".hoodie/.temp/", ".hoodie/lock")


class BasePathState(Enum):
    """Content of a base path."""

    TABLE = "a Hudi table"
    EMPTY = "nothing"


def inspect_base_path(storage: Storage) -> BasePathState:
    """Find out whether a base path contains a table or is empty. Folders of an interrupted creation count as empty.

    Raises:
        InvalidRequestError: the base path is a file or is below a file, or contains files, but no Hudi table.
    """
    if storage.exists(PROPERTIES) or storage.exists(BACKUP):
        return BasePathState.TABLE
    refuse_file(storage)
    foreign = _file_of_no_table(storage)
    if foreign:
        raise InvalidRequestError(
            f"{storage.uri} is not empty and not a Hudi table: the folder contains {foreign!r} but no {PROPERTIES}.",
            hint=advice_on_tables_inside(storage)
            or "Give an empty or new folder, or the base path of a Hudi table. If there was a Hudi table here, "
            "restore .hoodie from a copy.",
        )
    return BasePathState.EMPTY


def refuse_file(storage: Storage) -> None:
    """Raise InvalidRequestError if the base path on a local file system is a file, or is below a file."""
    file = storage.file_in_path() if isinstance(storage, LocalStorage) else ""
    if file:
        place = "is a file" if file == storage.base_path else f"is below a file, {file}"
        raise InvalidRequestError(
            f"The base path {storage.base_path} {place}; a table is a folder.",
            hint="Give the folder of the table as the base path.",
        )


def refuse_unwritable(storage: Storage) -> None:
    """Raise StoragePermissionError if the folder of a new table cannot be created on a local file system."""
    folder, above = storage.refused_folder() if isinstance(storage, LocalStorage) else ("", "")
    if folder:
        what = "create files in" if folder == above else "create"
        raise StoragePermissionError(
            f"This process cannot {what} the folder {folder}: it has no write access to {above}.",
            path=folder,
            hint=f"Give the job's user write access to {above}, or correct the base path.",
        )


def _file_of_no_table(storage: Storage) -> str:
    """Return a folder or file in a base path without a table; empty if a write can create a table there."""
    listing = storage.list_folder()
    foreign = [*(f for f in listing.folders if f != ".hoodie"), *(f.path for f in listing.files)]
    foreign += [f.path for f in storage.list_files(".hoodie") if not f.path.startswith(_AUXILIARY)]
    return foreign[0] if foreign else ""


def advice_on_tables_inside(storage: Storage) -> str:
    """Return advice if the folders of a base path contain tables; otherwise an empty string."""
    try:
        inside = tables_inside(storage)
    except StorageError:
        _LOG.debug("The folders in %s cannot be examined.", storage.uri, exc_info=True)
        return ""
    if not inside:
        return ""
    shown = ", ".join(inside[:_SHOWN_TABLES])
    more = f" and {len(inside) - _SHOWN_TABLES} more" if len(inside) > _SHOWN_TABLES else ""
    return f"{storage.base_path} contains these tables: {shown}{more}. Give the base path of one table."


def tables_inside(storage: Storage) -> list[str]:
    """Return the names of the folders that contain a table, among the first folders of a base path."""
    names = sorted(storage.list_folder().folders)[:_EXAMINED_FOLDERS]
    return [name for name in names if storage.exists(join_path(name, PROPERTIES))]


def find_table_config(storage: Storage) -> TableConfig | None:
    """Properties of the table; None if the base path is empty.

    Raises:
        InvalidRequestError: the base path contains files, but no Hudi table.
        CorruptTableError: see `read_table_config`.
    """
    if (config := _read_at_once(storage)) is not None:
        return config
    if inspect_base_path(storage) is BasePathState.EMPTY:
        return None
    return read_table_config(storage)


def find_table_to_read(storage: Storage) -> TableConfig | None:
    """Properties of the table, for a reader that may run before the first write; None if the base path is empty.

    The errors advise readers. The errors of `find_table_config` advise writers, which may create a table.

    Raises:
        TableNotFoundError: the base path contains files, but no Hudi table.
        InvalidRequestError: the base path is a file, or is below a file.
        CorruptTableError: see `read_table_config`.
    """
    if (config := _read_at_once(storage)) is not None:
        return config
    if storage.exists(PROPERTIES) or storage.exists(BACKUP):
        return read_table_config(storage)
    refuse_file(storage)
    foreign = _file_of_no_table(storage)
    if foreign:
        raise _no_table_beside(storage, foreign)
    return None


def read_table_config(storage: Storage) -> TableConfig:
    """Return the properties of the table. While another writer replaces the main file, read the backup.

    Raises:
        TableNotFoundError: neither file exists.
        CorruptTableError: neither file is complete after several attempts.
    """
    for attempt in range(_READ_ATTEMPTS):
        config, problems = _read_either(storage)
        if config is not None:
            return config
        if not problems and attempt:
            raise no_table(storage)
        if attempt and attempt < _READ_ATTEMPTS - 1:
            time.sleep(_READ_PAUSE_SECONDS)
    raise CorruptTableError(
        f"The properties of the table at {storage.uri} cannot be read: {' '.join(problems)}",
        path=PROPERTIES,
        hint=f"Restore {PROPERTIES} from a copy. Nothing was written.",
    )


def require_table(storage: Storage) -> None:
    """Raise TableNotFoundError if the base path contains no table. The properties are not read."""
    if not storage.exists(PROPERTIES) and not storage.exists(BACKUP):
        raise no_table(storage)


def no_table(storage: Storage) -> TableNotFoundError:
    """Return the error about a base path without a table. The text depends on whether the folder contains files.

    Raises:
        InvalidRequestError: the base path is a file, or is below a file.
    """
    refuse_file(storage)
    foreign = _file_of_no_table(storage)
    if foreign:
        return _no_table_beside(storage, foreign)
    return TableNotFoundError(
        f"There is no Hudi table at {storage.uri}: no write has completed there.",
        hint="Run a load first: the load creates the table. If the table exists, correct the base path.",
    )


def _no_table_beside(storage: Storage, foreign: str) -> TableNotFoundError:
    """Return the error about a base path that contains the file or folder `foreign`, but no table."""
    return TableNotFoundError(
        f"There is no Hudi table at {storage.uri}: the folder contains {foreign!r}, but {PROPERTIES} does not exist.",
        hint=advice_on_tables_inside(storage)
        or "Check the base path: it is the folder that contains .hoodie. If .hoodie of this table was deleted, "
        "restore .hoodie from a copy before you run another job.",
    )


def _read_at_once(storage: Storage) -> TableConfig | None:
    """Return the properties if one read is enough, else None. The caller then finds out why, with more requests."""
    try:
        return _read_either(storage)[0]
    except StorageError:
        return None


def _read_either(storage: Storage) -> tuple[TableConfig | None, list[str]]:
    """Return the main file if it is complete, else the backup, else the problems of both files.

    If both files are absent, the list of problems is empty. A main file without a checksum may be truncated, so it is
    used only if there is no backup with a valid checksum.
    """
    problems: list[str] = []
    unproven: TableConfig | None = None
    for path in (PROPERTIES, BACKUP):
        try:
            config = _decoded(storage, path)
        except ObjectNotFoundError:
            continue
        except CorruptTableError as error:
            problems.append(error.message)
            continue
        if config.get(CHECKSUM) is not None:
            return config, []
        unproven = unproven or config
    return unproven, problems


def _decoded(storage: Storage, path: str) -> TableConfig:
    try:
        properties = decode_properties(storage.read(path))
    except MalformedMetadataError as error:
        raise CorruptTableError(f"{path}: {error.message}", path=path) from error
    if not properties.get("hoodie.table.name"):
        raise CorruptTableError(f"{path} has no hoodie.table.name.", path=path)
    if not checksum_is_valid(properties):
        raise CorruptTableError(
            f"{path} has a checksum that does not match the names of database and table.", path=path
        )
    return TableConfig(properties)


def create_table(storage: Storage, properties: Mapping[str, str], clock: Clock) -> TableConfig:
    """Create the folders of a table, then its properties. An interrupted creation can be repeated.

    Raises:
        TableExistsError: another writer created a table here at the same time.
    """
    layout = TableVersion.parse(properties["hoodie.table.version"]).layout
    for folder in _folders(layout):
        storage.make_folder(folder)
    try:
        storage.create(PROPERTIES, encode_properties(properties, saved_at=clock.now()))
    except ObjectExistsError as error:
        raise TableExistsError(
            f"Another writer created a table at {storage.uri} at the same time.",
            hint="Run the request again.",
        ) from error
    return read_table_config(storage)


def _folders(layout: TimelineLayout) -> tuple[str, ...]:
    history = ".hoodie/timeline/history" if layout is TimelineLayout.V2 else ".hoodie/archived"
    bootstrap = ".hoodie/.aux/.bootstrap"
    return (f"{bootstrap}/.fileids", f"{bootstrap}/.partitions", ".hoodie/.temp", ".hoodie/.schema", history)


def update_properties(storage: Storage, changes: Mapping[str, str | None], clock: Clock) -> TableConfig:
    """Set properties, and remove properties whose new value is None. The caller holds the table lock.

    This function follows Hudi's protocol (HoodieTableConfig.update): the backup is created before the change and
    deleted after it. During the change Hudi deletes the main file. This function replaces the main file in one step
    instead, so readers find a main file at any time and do not need the backup. There is one exception: if the new file
    cannot be read back, the function deletes it, and readers use the backup.

    Raises:
        CorruptTableError: the new file cannot be read back.
    """
    current = _recover(storage)
    changed = {**current.properties, **{key: value for key, value in changes.items() if value is not None}}
    wanted = {key: value for key, value in changed.items() if changes.get(key, value) is not None}
    storage.create(BACKUP, storage.read(PROPERTIES))
    storage.write(PROPERTIES, encode_properties(wanted, saved_at=clock.now()))
    try:
        written = _decoded(storage, PROPERTIES)
    except CorruptTableError:
        storage.delete(PROPERTIES)
        raise
    storage.delete(BACKUP)
    return written


def _recover(storage: Storage) -> TableConfig:
    """Finish a change that another writer left unfinished: keep the main file if it is complete, else the backup."""
    config = read_table_config(storage)
    if storage.exists(BACKUP):
        try:
            main_is_whole = _decoded(storage, PROPERTIES) == config
        except (CorruptTableError, ObjectNotFoundError):
            main_is_whole = False
        if not main_is_whole:
            storage.write(PROPERTIES, storage.read(BACKUP))
        storage.delete(BACKUP)
    return config


def disable_metadata_table(storage: Storage, config: TableConfig, clock: Clock) -> TableConfig:
    """Switch the metadata table off before a commit that does not update it. The caller holds the table lock.

    The property is changed before the folder is deleted. If the property lists a metadata table without a folder,
    every later write of Hudi fails. If the property lists no metadata table, Hudi builds a new one and ignores the
    content of the folder. The folder is deleted because hudi-rs reads even a stale metadata table.
    """
    if config.metadata_partitions or config.inflight_metadata_partitions:
        config = update_properties(
            storage, {METADATA_PARTITIONS: "", INFLIGHT_METADATA_PARTITIONS: None}, clock
        )
    storage.delete_folder(METADATA_TABLE)
    return config


def remove_unlisted_metadata_table(storage: Storage, config: TableConfig) -> None:
    """Delete the folder of a metadata table that a job switched off before it died.

    The caller holds the table lock. Without the lock, this function could delete a metadata table that Hudi is
    building, because Hudi fills the folder before the property lists the metadata table.
    """
    if config.metadata_partitions or config.inflight_metadata_partitions:
        return
    try:
        storage.delete_folder(METADATA_TABLE)
    except StorageError as error:
        _LOG.warning("The stale metadata table below %s was not deleted: %s", storage.uri, error)
