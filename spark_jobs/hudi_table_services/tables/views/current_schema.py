"""Read the columns of a table after its newest write."""

from hudi_table_services.hudi_format.avro_schema import from_avro_json
from hudi_table_services.model.schema import Field
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.tables.snapshots.snapshot_loader import load_snapshot
from hudi_table_services.tables.views.documents import ColumnView, SchemaView


def read_schema(storage: Storage) -> SchemaView:
    """Read the columns of a table. A table without a completed write and without a create schema has no columns.

    Raises:
        TableNotFoundError: there is no table.
        CorruptTableError: the timeline, the metadata of a commit or the schema cannot be read.
        UnsupportedTableError: a column has a type that this release cannot write; the message names the column.
    """
    snapshot = load_snapshot(storage, ())
    fields = from_avro_json(snapshot.schema_json).fields if snapshot.schema_json else ()
    return SchemaView(
        table_name=snapshot.config.table_name,
        columns=tuple(_column(each, snapshot.config) for each in fields),
    )


def _column(field: Field, config: TableConfig) -> ColumnView:
    roles = {
        "record key": config.record_key_fields,
        "partition": config.partition_fields,
        "ordering": config.ordering_fields,
    }
    return ColumnView(
        name=field.name,
        type=str(field.type),
        nullable=field.nullable,
        roles=tuple(role for role, names in roles.items() if field.name in names),
        doc=field.doc,
    )
