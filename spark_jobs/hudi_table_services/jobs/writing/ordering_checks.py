"""Check that the ordering columns of a batch fit the deletes in the log files of a merge-on-read table.

The checks need no pyarrow, so a worker of Airflow can run them before Spark starts.
"""

from collections.abc import Mapping

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.hudi_format.avro_schema import from_optional_avro_json
from hudi_table_services.hudi_format.ordering_values import Wrapper, wrapper_of
from hudi_table_services.jobs.writing.table_access import table_rule
from hudi_table_services.jobs.writing.write_settings import WriteSettings
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.write_stat import WriteOperation


def delete_wrappers(config: TableConfig, settings: WriteSettings) -> Mapping[str, Wrapper]:
    """Map each ordering column to the Avro wrapper of its values in deletes; empty if the batch stores no such values.

    Raises:
        UnsupportedTableError: the batch can delete rows, and the ordering values of deletes cannot be stored.
    """
    rule = table_rule(config)
    if rule is None or not settings.honours_deleted_flag or settings.operation is WriteOperation.DELETE:
        return {}
    return {
        name: wrapper_of(name, settings.writer_schema.field(name).type, config.table_version)
        for name in rule.ordering_fields
    }


def check_ordering_columns(
    config: TableConfig, table_schema_json: str | None, settings: WriteSettings
) -> None:
    """Refuse a batch whose ordering columns do not fit the log files of a merge-on-read table.

    If a batch changes the type of an ordering column, deletes in existing log files keep ordering values of the old
    type. Hudi cannot compare them with values of the new type, and every read of the table would fail.

    Args:
        table_schema_json: Avro schema of the table; None if the table has none yet.

    Raises:
        InvalidRequestError: the type of an ordering column would change; the message names the column and both types.
        UnsupportedTableError: see `delete_wrappers`.
    """
    delete_wrappers(config, settings)
    rule, table = table_rule(config), from_optional_avro_json(table_schema_json)
    for name in rule.ordering_fields if rule is not None and table is not None else ():
        old, new = table and table.find(name), settings.writer_schema.find(name)
        if old and new and old.type != new.type:
            raise InvalidRequestError(
                f"The ordering column {name!r} would change from {old.type} to {new.type}, but deletes in log files of "
                "the table have ordering values of the old type.",
                hint=f"Cast the column to {old.type} in the source query.",
            )
