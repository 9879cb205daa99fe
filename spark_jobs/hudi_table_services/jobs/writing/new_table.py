"""Derive the properties of the table that a first write creates."""

from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.avro_schema import to_avro_json
from hudi_table_services.jobs.writing.ordering_checks import check_ordering_columns
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.keys.key_generation import RECORD_KEY
from hudi_table_services.options.writing_values import WriteOptions
from hudi_table_services.planning.metadata_table.new_tables import require_creatable
from hudi_table_services.planning.table.table_creation import NewTable, new_table_properties
from hudi_table_services.storage.stores.storage import Storage


def refuse_incomplete_request(storage: Storage, request: UpsertRequest, options: WriteOptions) -> None:
    """Refuse a write that cannot create a table.

    Raises:
        InvalidRequestError: the operation only deletes, or the request has no table name or no record key.
    """
    if options.operation in (WriteOperation.DELETE, WriteOperation.DELETE_PARTITION):
        raise InvalidRequestError(
            f"There is no table at {storage.uri}, so nothing can be deleted from it.",
            hint="Correct the base path, or write rows first.",
        )
    needed = (
        ("table name", "--table-name", request.table_name),
        ("record key", "--record-key", options.hoodie_options.get(RECORD_KEY.key, "").strip()),
    )
    missing = [(name, flag) for name, flag, value in needed if not value]
    if missing:
        raise InvalidRequestError(
            f"There is no table at {storage.uri} yet, and the request has "
            f"{' and '.join(f'no {name}' for name, _ in missing)}.",
            hint=f"Set {' and '.join(flag for _, flag in missing)}, so that the job can create the table.",
        )


def new_table_config(
    storage: Storage, request: UpsertRequest, options: WriteOptions, settings: WriteSettings
) -> TableConfig:
    """Properties of the table that a write is about to create.

    Raises:
        InvalidRequestError: see `refuse_incomplete_request`; or the metadata table cannot be created
            (`require_creatable`).
        UnsupportedTableError: see `check_ordering_columns`.
    """
    refuse_incomplete_request(storage, request, options)
    table = NewTable(
        table_name=request.table_name,
        table_version=options.new_table_version,
        table_type=options.new_table_type,
        key_generator=settings.key_generator,
        ordering_fields=settings.combine_fields,
        merge_mode=settings.merge_mode,
        create_schema_json=to_avro_json(settings.writer_schema, request.table_name, with_meta_fields=False),
        database_name=options.database_name,
    )
    config = TableConfig(new_table_properties(table))
    require_creatable(config, settings.writer_schema, options.metadata)
    check_ordering_columns(config, None, settings)
    return config
