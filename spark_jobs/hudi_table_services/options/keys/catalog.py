"""Keys that the catalog sync reads (HoodieSyncConfig, HiveSyncConfigHolder, GlueCatalogSyncClientConfig; Hudi 1.2)."""

from hudi_table_services.model.catalog.catalog_settings import CatalogKind, PartitionExtractor, TableStrategy
from hudi_table_services.options.kinds import Flag, Kind, Member, Names, OrNone, Text, ValueT, WholeNumber
from hudi_table_services.options.option import AnyOption, Option, OptionGroup, ignored, option

_HIVE = "hoodie.datasource.hive_sync."
_GLUE = "hoodie.datasource.meta.sync.glue."


def _catalog(
    name: str, default: str | int | bool, meaning: str, kind: Kind[ValueT], *aliases: str
) -> Option[ValueT]:
    return option(name, default, meaning, kind, *aliases, services=(OptionGroup.CATALOG,))


MODE = _catalog(
    f"{_HIVE}mode",
    "hms",
    "kind of catalog, `--catalog`: `hms` (Hive Metastore) or `glue` (AWS Glue) [Hudi has no default and also supports "
    "`jdbc` and `hiveql`]",
    Member(CatalogKind),
)
DATABASE = _catalog(
    f"{_HIVE}database",
    "",
    "database of the catalog's table, `--database`; default: `hoodie.database.name` of the table, else `default`",
    Text(),
)
TABLE = _catalog(
    f"{_HIVE}table", "", "name of the catalog's table, `--catalog-table`; default: name of the table", Text()
)
LOCATION = _catalog(
    "hoodie.datasource.meta.sync.base.path",
    "",
    "base path in the form that readers of the catalog need, such as `s3a://lake/flights`; default: base path of the "
    "request; AWS Glue always gets `s3://`",
    Text(),
)
METASTORE_URIS = _catalog(
    f"{_HIVE}metastore.uris",
    "thrift://localhost:9083",
    "addresses of the Hive Metastore, `--metastore-uris`; the job uses the first one that answers",
    Names(),
)
PARTITION_FIELDS = _catalog(
    f"{_HIVE}partition_fields",
    "",
    "names of the catalog's partition columns; a name that is not a column of the table gets the type `string`; "
    "default: partition columns of the table",
    Names(),
)
PARTITION_EXTRACTOR = _catalog(
    f"{_HIVE}partition_extractor_class",
    "",
    "Hudi's class that extracts partition values from a partition path: "
    "`MultiPartKeysValueExtractor`, `SinglePartPartitionValueExtractor`, `HiveStylePartitionValueExtractor`, "
    "`SlashEncodedDayPartitionValueExtractor`, `SlashEncodedHourPartitionValueExtractor` or "
    "`NonPartitionedExtractor`; default: the class that fits the number of partition columns",
    OrNone(Member(PartitionExtractor, by_class=True)),
)
DECODE_PARTITION = _catalog(
    "hoodie.meta.sync.decode_partition",
    "",
    "if `true`, `%XX` in partition values is decoded; default: "
    "`hoodie.datasource.write.partitionpath.urlencode` of the table",
    OrNone(Flag()),
)
CREATE_DATABASE = _catalog(
    f"{_HIVE}auto_create_database", True, "if `false`, a missing database is an error", Flag()
)
SUPPORT_TIMESTAMP = _catalog(
    f"{_HIVE}support_timestamp",
    "",
    "if `true`, columns of timestamps have the type `timestamp` in the catalog; if `false`, `bigint`; default: "
    "`timestamp` for new columns, and existing columns keep their type [Hudi: `false`]",
    OrNone(Flag()),
)
OMIT_META_COLUMNS = _catalog(
    f"{_HIVE}omit_metadata_fields", False, "if `true`, the catalog's table has no `_hoodie_…` columns", Flag()
)
SYNC_COMMENT = _catalog(
    f"{_HIVE}sync_comment", False, "if `true`, comments of columns are copied to the catalog", Flag()
)
AS_DATA_SOURCE = _catalog(
    f"{_HIVE}sync_as_datasource",
    True,
    "if `true`, the table has the properties with which Spark SQL reads it as a Hudi table",
    Flag(),
)
SPARK_VERSION = _catalog(
    "hoodie.meta_sync.spark.version", "", "value of the table's property `spark.sql.create.version`", Text()
)
SCHEMA_LENGTH = _catalog(
    f"{_HIVE}schema_string_length_thresh",
    4000,
    "largest number of characters of the Spark schema in one property of the table",
    WholeNumber(least=1),
)
TABLE_PROPERTIES = _catalog(
    f"{_HIVE}table_properties",
    "",
    "further properties of the table, as lines of the form `key=value`",
    Text(),
)
SERDE_PROPERTIES = _catalog(
    f"{_HIVE}serde_properties",
    "",
    "further properties of the SerDe, as lines of the form `key=value`",
    Text(),
)
BATCH_SIZE = _catalog(
    f"{_HIVE}batch_num",
    1000,
    "largest number of partitions in one request to the Hive Metastore; requests to AWS Glue have at most 100",
    WholeNumber(least=1),
)
ONLY_IF_CHANGED = _catalog(
    "hoodie.datasource.meta_sync.condition.sync",
    False,
    "if `true`, the time of the last synced commit is stored only if columns, properties or partitions change",
    Flag(),
)
STRATEGY = _catalog(
    f"{_HIVE}table.strategy",
    "ALL",
    "catalog tables of a merge-on-read table: `RO` (read-optimized), `RT` (snapshot), or `ALL` (`_ro`, `_rt` and the "
    "snapshot without a suffix)",
    Member(TableStrategy),
)
SKIP_RO_SUFFIX = _catalog(
    f"{_HIVE}skip_ro_suffix",
    False,
    "if `true`, the read-optimized table of a merge-on-read table has no suffix, and there is no snapshot table "
    "without a suffix [in Hudi both tables have this name, so the second table replaces the first]",
    Flag(),
)
USE_JDBC = _catalog(
    f"{_HIVE}use_jdbc", False, "must be `false`: the job sends no SQL to Hive [Hudi: `true`]", Flag()
)
MANAGED_TABLE = _catalog(
    f"{_HIVE}create_managed_table",
    False,
    "must be `false`: dropping a managed table in the catalog would delete the data",
    Flag(),
)
BUCKET_SYNC = _catalog(
    f"{_HIVE}bucket_sync",
    False,
    "must be `false`: the sync does not register the buckets of a bucket index",
    Flag(),
)
IGNORE_EXCEPTIONS = _catalog(
    f"{_HIVE}ignore_exceptions", False, "must be `false`: if the sync fails, the job fails", Flag()
)
GLUE_REGION = _catalog(
    "hoodie.aws.glue.region", "", "region of AWS Glue; default: `aws_region` of the storage options", Text()
)
GLUE_ENDPOINT = _catalog(
    "hoodie.aws.glue.endpoint", "", "address of AWS Glue; default: the address of the region", Text()
)
GLUE_CATALOG = _catalog(
    f"{_GLUE}catalogId",
    "",
    "id of the AWS account whose catalog is used; default: the account of the credentials",
    Text(),
    f"{_GLUE}catalog_id",
)
GLUE_DATABASE = _catalog(f"{_GLUE}database_name", "", f"with AWS Glue, replaces `{_HIVE}database`", Text())
GLUE_TABLE = _catalog(f"{_GLUE}table_name", "", f"with AWS Glue, replaces `{_HIVE}table`", Text())
GLUE_SKIP_ARCHIVE = _catalog(
    f"{_GLUE}skip_table_archive",
    True,
    "if `false`, AWS Glue keeps the older versions of a table's definition",
    Flag(),
)
GLUE_METADATA_LISTING = _catalog(
    f"{_GLUE}metadata_file_listing",
    False,
    "if `true`, Athena reads the lists of files from the metadata table (property `hudi.metadata-listing-enabled`)",
    Flag(),
)

CATALOG_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Catalog sync": (
        MODE,
        DATABASE,
        TABLE,
        LOCATION,
        METASTORE_URIS,
        PARTITION_FIELDS,
        PARTITION_EXTRACTOR,
        DECODE_PARTITION,
        CREATE_DATABASE,
        SUPPORT_TIMESTAMP,
        OMIT_META_COLUMNS,
        SYNC_COMMENT,
        AS_DATA_SOURCE,
        SPARK_VERSION,
        SCHEMA_LENGTH,
        TABLE_PROPERTIES,
        SERDE_PROPERTIES,
        BATCH_SIZE,
        ONLY_IF_CHANGED,
        STRATEGY,
        SKIP_RO_SUFFIX,
        USE_JDBC,
        MANAGED_TABLE,
        BUCKET_SYNC,
        IGNORE_EXCEPTIONS,
        GLUE_REGION,
        GLUE_ENDPOINT,
        GLUE_CATALOG,
        GLUE_DATABASE,
        GLUE_TABLE,
        GLUE_SKIP_ARCHIVE,
        GLUE_METADATA_LISTING,
    ),
    "Catalog sync: no effect": (
        *ignored(
            "the sync of a catalog is a separate job, HudiCatalogSyncOperator or sync_catalog.py",
            f"{_HIVE}enable",
            "hoodie.datasource.meta.sync.enable",
            "hoodie.meta.sync.client.tool.class",
        ),
        *ignored(
            "the job uses the Thrift service of the metastore, without SQL",
            f"{_HIVE}jdbcurl",
            f"{_HIVE}username",
            f"{_HIVE}password",
            f"{_HIVE}use_spark_catalog",
            f"{_HIVE}batching.*",
        ),
        *ignored("the file format is a property of the table", f"{_HIVE}base_file_format"),
        *ignored(
            "the job compares all partitions of the table with all partitions of the catalog",
            f"{_HIVE}filter_pushdown_enabled",
            f"{_HIVE}filter_pushdown_max_size",
            f"{_HIVE}assume_date_partitioning",
            "hoodie.meta.sync.incremental",
            "hoodie.meta.sync.metadata_file_listing",
            "hoodie.meta.sync.sync_snapshot_with_table_name",
            f"{_HIVE}use_pre_apache_input_format",
            f"{_HIVE}bucket_sync_spec",
        ),
        *ignored(
            "the job refuses a table of the catalog that it cannot change, and never drops it",
            f"{_HIVE}recreate_table_on_error",
            f"{_GLUE}recreate_table_on_error",
        ),
        *ignored(
            "the job creates no partition indexes of AWS Glue, and sends one request after another",
            f"{_GLUE}partition_index_fields",
            f"{_GLUE}partition_index_fields.enable",
            f"{_GLUE}all_partitions_read_parallelism",
            f"{_GLUE}changed_partitions_read_parallelism",
            f"{_GLUE}partition_change_parallelism",
            f"{_GLUE}*",
        ),
        *ignored("an option of another catalog", "hoodie.gcp.*", "hoodie.datasource.meta.sync.datahub.*"),
        *ignored("the storage options contain the credentials of AWS", "hoodie.aws.*"),
        *ignored(
            "an option of Hudi's sync tools",
            f"{_HIVE}*",
            "hoodie.datasource.meta.sync.*",
            "hoodie.datasource.meta_sync.*",
            "hoodie.datasource.partition_extractor_class",
            "hoodie.meta.sync.*",
            "hoodie.meta_sync.*",
        ),
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
