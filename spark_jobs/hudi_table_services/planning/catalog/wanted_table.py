"""Define the tables and partitions of a Hudi table in a catalog (HiveSyncTool and HMSDDLExecutor, Hudi 1.2)."""

from collections.abc import Iterable
from dataclasses import dataclass

from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.catalog.catalog_settings import (
    CatalogKind,
    CatalogSettings,
    PartitionExtractor,
    TableStrategy,
)
from hudi_table_services.model.catalog.catalog_table import (
    LAST_COMMIT,
    LAST_COMPLETION,
    CatalogColumn,
    CatalogPartition,
    CatalogTable,
)
from hudi_table_services.model.schema import StructType, with_meta_columns, without_meta_columns
from hudi_table_services.model.table_config import TableConfig
from hudi_table_services.model.table_version import TableType
from hudi_table_services.options.keys.catalog import PARTITION_FIELDS
from hudi_table_services.planning.catalog.column_types import hive_type, spark_schema_json
from hudi_table_services.planning.catalog.locations import glue_location, partition_location
from hudi_table_services.planning.catalog.partition_values import PartitionRule, inferred_extractor

INPUT_FORMAT = "org.apache.hudi.hadoop.HoodieParquetInputFormat"
REALTIME_INPUT_FORMAT = "org.apache.hudi.hadoop.realtime.HoodieParquetRealtimeInputFormat"
OUTPUT_FORMAT = "org.apache.hadoop.hive.ql.io.parquet.MapredParquetOutputFormat"
SERDE = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"

PROVIDER = "spark.sql.sources.provider"
SPARK_SCHEMA = "spark.sql.sources.schema"
"""Prefix of the properties with the Spark schema. Spark itself may store the schema in one property of this name."""
METADATA_LISTING = "hudi.metadata-listing-enabled"
"""Property that makes Athena list the files of the table from the metadata table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncedCommit:
    """Times of the Hudi table's newest writes, which the sync stores in the catalog.

    Attributes:
        requested_time: requested time of the last completed write.
        completion_time: latest completion time of a write; None in tables without completion times.
    """

    requested_time: str
    completion_time: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVariant:
    """One of the tables that a catalog has for a Hudi table.

    Attributes:
        is_realtime: whether readers merge log files.
        is_read_optimized: whether readers ignore log files.
    """

    name: str
    is_realtime: bool = False
    is_read_optimized: bool = False


def table_variants(config: TableConfig, settings: CatalogSettings) -> tuple[TableVariant, ...]:
    """Return the tables that a catalog has for a Hudi table: one, or up to three for a merge-on-read table."""
    name = settings.table or config.table_name
    if config.table_type is TableType.COPY_ON_WRITE:
        return (TableVariant(name=name),)
    if settings.strategy is TableStrategy.RO:
        return (TableVariant(name=name, is_read_optimized=True),)
    if settings.strategy is TableStrategy.RT:
        return (TableVariant(name=name, is_realtime=True),)
    read_optimized = name if settings.skips_ro_suffix else f"{name}_ro"
    found = (
        TableVariant(name=read_optimized, is_read_optimized=True),
        TableVariant(name=f"{name}_rt", is_realtime=True),
        TableVariant(name=name, is_realtime=True),
    )
    return found[:2] if settings.skips_ro_suffix else found


def catalog_database(config: TableConfig, settings: CatalogSettings) -> str:
    """Return the name of the database in the catalog, in lower case."""
    return (settings.database or config.database_name or "default").lower()


def catalog_location(settings: CatalogSettings) -> str:
    """Return the location of the table in the catalog."""
    return glue_location(settings.location) if settings.kind is CatalogKind.GLUE else settings.location


def partition_rule(config: TableConfig, settings: CatalogSettings) -> PartitionRule:
    """Return the rule for partition values: from the settings, or else from the table's properties.

    Raises:
        InvalidRequestError: a partition column is a member of a struct, which no catalog supports.
    """
    fields = config.partition_fields if settings.partition_fields is None else settings.partition_fields
    if settings.extractor is PartitionExtractor.NON_PARTITIONED:
        fields = ()
    for name in fields:
        if "." in name:
            raise InvalidRequestError(
                f"The partition column {name!r} is a member of a struct; a catalog has no such partition columns.",
                hint=f"Set {PARTITION_FIELDS} to other names, one for each part of the partition path.",
            )
    decodes = settings.decodes_partitions
    return PartitionRule(
        fields=fields,
        extractor=settings.extractor or inferred_extractor(len(fields)),
        decodes=config.url_encodes_partitions if decodes is None else decodes,
    )


def wanted_table(
    variant: TableVariant,
    config: TableConfig,
    schema: StructType,
    commit: SyncedCommit,
    settings: CatalogSettings,
) -> CatalogTable:
    """Return the definition of one table of the catalog.

    Args:
        schema: columns of the Hudi table. Meta columns are added or omitted as the settings say.
    """
    all_columns = without_meta_columns(schema) if settings.omits_meta_columns else with_meta_columns(schema)
    fields = partition_rule(config, settings).fields
    return CatalogTable(
        database=catalog_database(config, settings),
        name=variant.name.lower(),
        columns=tuple(
            CatalogColumn(
                name=field.name.lower(),
                type=hive_type(field.type, supports_timestamp=settings.supports_timestamp),
                comment=field.doc if settings.syncs_comments else "",
            )
            for field in all_columns.fields
            if field.name not in fields
        ),
        partition_columns=tuple(_partition_column(name, config, schema, settings) for name in fields),
        location=catalog_location(settings),
        input_format=REALTIME_INPUT_FORMAT if variant.is_realtime else INPUT_FORMAT,
        output_format=OUTPUT_FORMAT,
        serde=SERDE,
        properties=_properties(all_columns, fields, commit, settings),
        serde_properties=_serde_properties(variant, settings),
    )


def wanted_partitions(
    paths: Iterable[str], rule: PartitionRule, location: str
) -> tuple[CatalogPartition, ...]:
    """Return the catalog's partitions for these partition paths, in the order of their values.

    Raises:
        InvalidRequestError: a path does not fit the rule, or two paths have the same values.
    """
    if not rule.fields:
        return ()
    found: dict[tuple[str, ...], str] = {}
    for path in sorted(paths):
        values = rule.values_of(path)
        if (other := found.setdefault(values, path)) != path:
            raise InvalidRequestError(
                f"The partition paths {other!r} and {path!r} both have the values {', '.join(values)}.",
                hint=f"Set {PARTITION_FIELDS} to one name for each part of the partition path.",
            )
    return tuple(
        CatalogPartition(values=values, location=partition_location(location, path))
        for values, path in sorted(found.items())
    )


def _partition_column(
    name: str, config: TableConfig, schema: StructType, settings: CatalogSettings
) -> CatalogColumn:
    """Return a partition column. It is a string if its values are formatted times, or if the table lacks the column."""
    field = schema.find(name)
    if field is None or name in config.formatted_time_fields:
        return CatalogColumn(name=name.lower(), type="string")
    text = hive_type(field.type, supports_timestamp=settings.supports_timestamp)
    return CatalogColumn(name=name.lower(), type=text, comment=field.doc if settings.syncs_comments else "")


def _properties(
    columns: StructType, partition_fields: tuple[str, ...], commit: SyncedCommit, settings: CatalogSettings
) -> dict[str, str]:
    made = {"EXTERNAL": "TRUE", **settings.table_properties}
    if settings.kind is CatalogKind.GLUE:
        made[METADATA_LISTING] = str(settings.metadata_listing).upper()
    if settings.is_spark_table:
        made |= _spark_properties(columns, partition_fields, settings)
    made[LAST_COMMIT] = commit.requested_time
    if commit.completion_time is not None:
        made[LAST_COMPLETION] = commit.completion_time
    return made


def _spark_properties(
    columns: StructType, partition_fields: tuple[str, ...], settings: CatalogSettings
) -> dict[str, str]:
    text, length = spark_schema_json(columns, partition_fields), settings.schema_part_length
    parts = [text[begin : begin + length] for begin in range(0, len(text), length)]
    made = {PROVIDER: "hudi", f"{SPARK_SCHEMA}.numParts": str(len(parts))}
    if settings.spark_version:
        made["spark.sql.create.version"] = settings.spark_version
    made |= {f"{SPARK_SCHEMA}.part.{number}": part for number, part in enumerate(parts)}
    if partition_fields:
        made[f"{SPARK_SCHEMA}.numPartCols"] = str(len(partition_fields))
        made |= {f"{SPARK_SCHEMA}.partCol.{number}": name for number, name in enumerate(partition_fields)}
    return made


def _serde_properties(variant: TableVariant, settings: CatalogSettings) -> dict[str, str]:
    made = {**settings.serde_properties, "serialization.format": "1"}
    if settings.is_spark_table:
        made["path"] = catalog_location(settings)
        made["hoodie.query.as.ro.table"] = str(variant.is_read_optimized).lower()
    return made
