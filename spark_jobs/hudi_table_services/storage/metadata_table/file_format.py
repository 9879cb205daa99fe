"""The format of the files of a metadata table: the Avro schema and the variant of the HFile format."""

import json
from dataclasses import dataclass

from hudi_table_services.errors import MalformedMetadataError
from hudi_table_services.hudi_format.hfile.trailer import Flavour, flavour_of
from hudi_table_services.hudi_format.metadata_table.file_groups import FILES
from hudi_table_services.hudi_format.metadata_table.log_file import RecordsBlock, decode_log_file
from hudi_table_services.hudi_format.metadata_table.record_schema import META_FIELDS, record_schema
from hudi_table_services.model.file_group import FileSlice
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.damage import naming
from hudi_table_services.storage.metadata_table.base_files import open_base_file
from hudi_table_services.storage.metadata_table.opened_table import MetadataTable
from hudi_table_services.storage.metadata_table.partition_slices import partition_slices
from hudi_table_services.storage.stores.paths import join_path
from hudi_table_services.storage.table_store import METADATA_TABLE


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """Format of new files of a metadata table.

    Attributes:
        schema: Avro schema of records with meta fields, as JSON. Log files and base files contain this string.
        flavour: variant of the HFile format.
        has_own_log_instants: whether the name of a log file contains the instant that wrote the file.
    """

    schema: str
    flavour: Flavour
    has_own_log_instants: bool

    @property
    def commit_schema(self) -> str:
        """The schema in the extra metadata of commits: the same schema without meta fields."""
        document = json.loads(self.schema)
        fields = [field for field in document["fields"] if field["name"] not in META_FIELDS]
        return json.dumps({**document, "fields": fields}, separators=(",", ":"))


def new_file_format(version: TableVersion) -> FileFormat:
    """Format of the files of a new metadata table."""
    return FileFormat(
        schema=record_schema(version),
        flavour=flavour_of(version),
        has_own_log_instants=version.has_own_log_instants,
    )


def read_file_format(table: MetadataTable, slices: tuple[FileSlice, ...] | None = None) -> FileFormat:
    """Format of new files of an existing metadata table.

    New files repeat the schema of the newest file of the partition `files`, because hudi-rs refuses a metadata table
    whose files have different schemas.

    Args:
        slices: newest slices of the partition `files`, if the caller has read them.

    Raises:
        CorruptTableError: a file is damaged.
    """
    new = new_file_format(table.config.table_version)
    for found in partition_slices(table, FILES) if slices is None else slices:
        schema = _schema_of(table, found)
        if schema:
            return FileFormat(
                schema=schema, flavour=new.flavour, has_own_log_instants=new.has_own_log_instants
            )
    return new


def _schema_of(table: MetadataTable, found: FileSlice) -> str | None:
    """Return the schema of the newest log file with records, otherwise of the base file; None if neither exists."""
    for log in reversed(found.log_files):
        path = join_path(found.file_group_id.partition_path, log.file_name)
        with naming(join_path(METADATA_TABLE, path)):
            for block in decode_log_file(table.storage.read(path), path):
                if isinstance(block, RecordsBlock):
                    return _checked(block.records.schema)
    if found.base_file is None:
        return None
    with open_base_file(table, found) as (reader, path), naming(path):
        return _checked(reader.schema)


def _checked(schema: str) -> str:
    try:
        has_fields = isinstance(json.loads(schema)["fields"], list)
    except (ValueError, KeyError, TypeError):
        has_fields = False
    if not has_fields:
        raise MalformedMetadataError(
            f"The Avro schema of {len(schema)} characters is not the schema of a record."
        )
    return schema
