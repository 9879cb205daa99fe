"""Table properties on storage: read with fallback, create, update by the backup protocol."""

from collections.abc import Mapping
from enum import Enum

from hudi_table_services.errors import CorruptTableError, InvalidRequestError, ObjectNotFoundError, TableNotFoundError
from hudi_table_services.hudi_format.table_properties import checksum_is_valid, decode_properties, encode_properties
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import Clock
from hudi_table_services.storage.storage import Storage

PROPERTIES = ".hoodie/hoodie.properties"
BACKUP = ".hoodie/hoodie.properties.backup"


class BasePathState(Enum):
    TABLE = 1
    EMPTY = 2


def inspect_base_path(storage: Storage) -> BasePathState:
    if storage.exists(PROPERTIES) or storage.exists(BACKUP):
        return BasePathState.TABLE
    listing = storage.list_folder()
    foreign = [f for f in listing.folders if f != ".hoodie"] + [f.path for f in listing.files]
    hoodie = storage.list_folder(".hoodie")
    foreign += [f".hoodie/{f}" for f in hoodie.folders if f != ".aux"] + [f.path for f in hoodie.files]
    if foreign:
        raise InvalidRequestError(f"{storage.uri} is not empty but is not a Hudi table: it holds {foreign[0]!r} and no {PROPERTIES}.", hint="Give an empty folder or a Hudi table.")
    return BasePathState.EMPTY


def read_table_config(storage: Storage) -> TableConfig:
    problem = None
    for path in (PROPERTIES, BACKUP):
        try:
            properties = decode_properties(storage.read(path))
        except ObjectNotFoundError:
            continue
        if properties.get("hoodie.table.name") and checksum_is_valid(properties):
            return TableConfig(properties)
        problem = path
    if problem:
        raise CorruptTableError(f"{problem} is corrupt.")
    raise TableNotFoundError(f"There is no Hudi table at {storage.uri}.")


def create_table(storage: Storage, properties: Mapping[str, str], clock: Clock) -> TableConfig:
    version = TableVersion.parse(properties["hoodie.table.version"])
    folders = [".hoodie/.aux/.bootstrap/.fileids", ".hoodie/.aux/.bootstrap/.partitions", ".hoodie/.temp", ".hoodie/.schema"]
    folders += [".hoodie/timeline/history"] if version.layout.has_completion_time_in_names else [".hoodie/archived"]
    for folder in folders:
        storage.make_folder(folder)
    storage.create(PROPERTIES, encode_properties(properties, saved_at=clock.now()))
    return read_table_config(storage)


def update_properties(storage: Storage, changes: Mapping[str, str | None], clock: Clock) -> TableConfig:
    current = dict(read_table_config(storage).properties)
    for key, value in changes.items():
        current.pop(key, None) if value is None else current.update({key: value})
    storage.delete(BACKUP)
    storage.create(BACKUP, storage.read(PROPERTIES))
    storage.delete(PROPERTIES)
    storage.create(PROPERTIES, encode_properties(current, saved_at=clock.now()))
    config = read_table_config(storage)
    storage.delete(BACKUP)
    return config


def disable_metadata_table(storage: Storage, config: TableConfig, clock: Clock) -> TableConfig:
    config = update_properties(storage, {"hoodie.table.metadata.partitions": "", "hoodie.table.metadata.partitions.inflight": None}, clock)
    storage.delete_folder(".hoodie/metadata")
    return config


def find_table_config(storage: Storage) -> TableConfig | None:
    """Configuration of the table; None: the base path is empty, a table can be created.

    Raises:
        InvalidRequestError: the base path holds something that is not a Hudi table.
    """
    return read_table_config(storage) if inspect_base_path(storage) is BasePathState.TABLE else None
