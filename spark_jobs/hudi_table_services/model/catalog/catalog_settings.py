"""Settings of a catalog sync (HoodieSyncConfig and HiveSyncConfigHolder, Hudi 1.2)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class CatalogKind(str, Enum):
    """``hoodie.datasource.hive_sync.mode``: the kind of catalog."""

    HMS = "hms"
    GLUE = "glue"


class TableStrategy(str, Enum):
    """``hoodie.datasource.hive_sync.table.strategy``: catalog tables of a merge-on-read table.

    RO syncs only the read-optimized table, and RT only the snapshot table, both without a suffix. ALL syncs three
    tables: the read-optimized table with the suffix ``_ro``, the snapshot table with the suffix ``_rt``, and the
    snapshot table without a suffix.
    """

    ALL = "ALL"
    RO = "RO"
    RT = "RT"


class PartitionExtractor(str, Enum):
    """How a sync extracts partition values from a partition path. The values are the names of Hudi's classes."""

    NON_PARTITIONED = "NonPartitionedExtractor"
    HIVE_STYLE = "HiveStylePartitionValueExtractor"
    MULTI_PART = "MultiPartKeysValueExtractor"
    SINGLE_PART = "SinglePartPartitionValueExtractor"
    SLASH_ENCODED_DAY = "SlashEncodedDayPartitionValueExtractor"
    SLASH_ENCODED_HOUR = "SlashEncodedHourPartitionValueExtractor"


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogSettings:
    """Settings of a sync.

    Unless an attribute says otherwise, an empty string or None means that the sync uses the property of the Hudi table.

    Attributes:
        kind: the kind of catalog.
        database, table: name of the catalog's table.
        location: base path in the form that readers of the catalog need, such as ``s3a://…``.
        metastore_uris: addresses of a Hive Metastore. The first one that answers is used.
        names_metastore: whether the request names the addresses. If not, they are the default.
        glue_region, glue_endpoint, glue_catalog_id: address of AWS Glue; empty means the default of the AWS client.
        skip_glue_archive: whether Glue drops the old version of a table when the table changes.
        metadata_listing: whether Athena reads the lists of files from the metadata table.
        partition_fields: names of the catalog's partition columns; None means the partition columns of the table.
        extractor: how partition values are extracted; None means that the table's properties decide.
        decodes_partitions: whether ``%XX`` in partition values is decoded; None means that the table's properties
            decide.
        creates_database: whether the sync creates a missing database.
        supports_timestamp: whether timestamps become ``timestamp`` columns; if not, they become ``bigint``. None means
            that new columns become ``timestamp`` columns, and that existing columns keep their type.
        omits_meta_columns: whether the catalog's table lacks Hudi's meta columns.
        syncs_comments: whether comments of columns are copied.
        is_spark_table: whether the table gets the properties with which Spark SQL reads it as a Hudi table.
        spark_version: value of ``spark.sql.create.version``; empty means no such property.
        schema_part_length: largest number of characters in one property of the Spark schema.
        table_properties, serde_properties: further properties.
        batch_size: largest number of partitions in one request to a Hive Metastore.
        only_if_changed: whether the time of the last synced commit is stored only together with another change.
        strategy: catalog tables of a merge-on-read table.
        skips_ro_suffix: whether the read-optimized table has no suffix ``_ro``.
    """

    kind: CatalogKind
    database: str
    table: str
    location: str
    metastore_uris: tuple[str, ...]
    names_metastore: bool
    glue_region: str
    glue_endpoint: str
    glue_catalog_id: str
    skip_glue_archive: bool
    metadata_listing: bool
    partition_fields: tuple[str, ...] | None
    extractor: PartitionExtractor | None
    decodes_partitions: bool | None
    creates_database: bool
    supports_timestamp: bool | None
    omits_meta_columns: bool
    syncs_comments: bool
    is_spark_table: bool
    spark_version: str
    schema_part_length: int
    table_properties: Mapping[str, str]
    serde_properties: Mapping[str, str]
    batch_size: int
    only_if_changed: bool
    strategy: TableStrategy
    skips_ro_suffix: bool
