"""Options of a write, including options that accept only their default (Hudi 0.15 and 1.2)."""

from hudi_table_services.contract.writing import OPERATIONS
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.options.keys.base_files import (
    BLOCK_SIZE,
    BLOOM_FPP,
    BLOOM_MAX_ENTRIES,
    CODEC,
    CODEC_LEVEL,
    SMALL_ROW_GROUP,
)
from hudi_table_services.options.keys.bucket_index import BUCKET_ENGINE, HASH_FIELD, NUM_BUCKETS
from hudi_table_services.options.keys.locks import (
    LOCK_CLIENT_RETRIES,
    LOCK_CLIENT_RETRY_WAIT,
    LOCK_EXPIRE,
    LOCK_FOLDER,
    LOCK_PROVIDER,
    LOCK_RENEWAL,
    LOCK_RETRIES,
    LOCK_RETRY_WAIT,
    LOCK_VALIDITY,
    LOCK_WAIT,
)
from hudi_table_services.options.keys.log_files import LOG_BLOCK_FORMAT, LOG_BLOCK_SIZE, TABLE_TYPE
from hudi_table_services.options.kinds import Flag, Member, Names, Number, OrNone, Text, WholeNumber, Word
from hudi_table_services.options.option import (
    ALL_SERVICES,
    FILE_SERVICES,
    AnyOption,
    OptionGroup,
    fixed,
    option,
)
from hudi_table_services.options.writing_values import (
    ConcurrencyMode,
    FailedWritesPolicy,
    IndexType,
    InsertDupPolicy,
)

TABLE_NAME = option(
    "hoodie.table.name",
    "",
    "name of the table, `--table-name`",
    Text(),
    "hoodie.datasource.write.table.name",
    services=(*ALL_SERVICES, OptionGroup.CATALOG),
)
DATABASE_NAME = option("hoodie.database.name", "", "database name to record in a new table", Text())
TABLE_VERSION = option(
    "hoodie.write.table.version",
    6,
    "table version of a new table: 6, 8 or 9; an existing table keeps its version; its default is 9 for "
    "merge-on-read tables [Hudi: its newest version]",
    WholeNumber(),
)
METADATA_ENABLE = option(
    "hoodie.metadata.enable",
    "",
    "if `false`, a new table gets no metadata table, the first change by a job deletes an existing metadata table with "
    "all of its indexes, and jobs list folders; otherwise every change updates the metadata table, and the first write "
    "of a table creates it; if `true`, a write also creates the metadata table of a table with commits [Hudi: true]",
    OrNone(Flag()),
    services=(*ALL_SERVICES, OptionGroup.CATALOG, OptionGroup.READS),
)
OPERATION = option(
    "hoodie.datasource.write.operation",
    "upsert",
    "write operation: upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or "
    "delete_partition, `--operation`",
    Word(OPERATIONS),
)
ORDERING_FIELDS = option(
    "hoodie.datasource.write.precombine.field",
    "",
    "ordering fields: if two rows have the same record key, the row with the larger value wins, `--ordering-field`",
    Names(),
    "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields",
    "hoodie.payload.ordering.field",
)
MERGE_MODE = option(
    "hoodie.record.merge.mode",
    "",
    "EVENT_TIME_ORDERING (the default if there is an ordering field) or COMMIT_TIME_ORDERING",
    OrNone(Member(RecordMergeMode)),
    "hoodie.write.record.merge.mode",
)
PAYLOAD_CLASS = option(
    "hoodie.datasource.write.payload.class",
    "",
    "payload class; only classes that correspond to a merge mode are supported",
    Text(),
    "hoodie.compaction.payload.class",
)
COMBINE_BEFORE_UPSERT = option(
    "hoodie.combine.before.upsert", True, "upsert: write one row per record key of the batch", Flag()
)
COMBINE_BEFORE_INSERT = option(
    "hoodie.combine.before.insert",
    False,
    "insert, bulk_insert, insert_overwrite, insert_overwrite_table: write one row per record key of the batch",
    Flag(),
)
COMBINE_BEFORE_DELETE = option(
    "hoodie.combine.before.delete", True, "delete: use one row per record key of the batch", Flag()
)
INSERT_DUP_POLICY = option(
    "hoodie.datasource.insert.dup.policy",
    "none",
    "what insert does with rows whose record key is already in the table: none (insert them), drop or fail",
    Member(InsertDupPolicy),
)
INSERT_DROP_DUPLICATES = option(
    "hoodie.datasource.write.insert.drop.duplicates",
    False,
    "`true` means the same as `hoodie.datasource.insert.dup.policy=drop`",
    Flag(),
)
PARTITIONS_TO_DELETE = option(
    "hoodie.datasource.write.partitions.to.delete",
    "",
    "delete_partition: partitions to delete; `*` stands for any characters",
    Names(),
)
NULL_FOR_MISSING_COLUMNS = option(
    "hoodie.write.set.null.for.missing.columns",
    False,
    "if `true`, a write fills columns that are in the table but not in the batch with null",
    Flag(),
)
RECONCILE_SCHEMA = option(
    "hoodie.datasource.write.reconcile.schema",
    False,
    "`true` means the same as `hoodie.write.set.null.for.missing.columns=true`",
    Flag(),
)
METADATA_KEY_PREFIX = option(
    "hoodie.datasource.write.commitmeta.key.prefix",
    "_",
    "prefix of the options that a write stores in the metadata of its commit",
    Text(),
)
MAX_FILE_SIZE = option(
    "hoodie.parquet.max.file.size",
    120 << 20,
    "target size of a base file, in bytes",
    WholeNumber(least=1, is_size=True),
)
SMALL_FILE_LIMIT = option(
    "hoodie.parquet.small.file.limit",
    100 << 20,
    "size in bytes below which an existing file receives inserts; 0 = inserts go to new files only; absent: the "
    "default, but at most five sixths of `hoodie.parquet.max.file.size`",
    WholeNumber(is_size=True),
)
INSERT_AUTO_SPLIT = option(
    "hoodie.copyonwrite.insert.auto.split",
    True,
    "if `true`, the record size determines the number of rows of a new file",
    Flag(),
)
INSERT_SPLIT_SIZE = option(
    "hoodie.copyonwrite.insert.split.size",
    500_000,
    "number of rows of a new file if `hoodie.copyonwrite.insert.auto.split` is off",
    WholeNumber(least=1),
)
RECORD_SIZE_ESTIMATE = option(
    "hoodie.copyonwrite.record.size.estimate",
    1024,
    "record size in bytes that file sizing assumes as long as the table has no files to measure; absent: the job "
    "first tries to measure a sample of the batch",
    WholeNumber(least=1),
)
SIZING_PARITY = option(
    "hoodie.airflow.sizing.parity",
    False,
    "ours, parity: a write plans its files exactly as Hudi does, instead of by this project's own, better rules",
    Flag(),
)
ESTIMATION_THRESHOLD = option(
    "hoodie.record.size.estimation.threshold",
    "1.0",
    "with parity: the record size is estimated only from commits that are larger than this multiple of the small-file "
    "limit",
    Number(least=0),
)
ESTIMATOR_MAX_COMMITS = option(
    "_hoodie.record.size.estimator.max.commits",
    5,
    "with parity: number of latest commits that are considered for the record size",
    WholeNumber(least=0),
)
ESTIMATOR_METADATA_SIZE = option(
    "hoodie.record.size.estimator.average.metadata.size",
    0,
    "with parity: size of the metadata in a commit, in bytes; it is subtracted from the size of each commit",
    WholeNumber(least=0),
)
SMALL_FILE_CANDIDATES = option(
    "hoodie.merge.small.file.group.candidates.limit",
    1,
    "with parity, merge-on-read tables: number of small files to pad",
    WholeNumber(least=0),
)
INDEX_TYPE = option(
    "hoodie.index.type",
    "SIMPLE",
    "how a write finds record keys: SIMPLE, BLOOM, GLOBAL_SIMPLE, GLOBAL_BLOOM, RECORD_INDEX, "
    "GLOBAL_RECORD_LEVEL_INDEX (another name of RECORD_INDEX), RECORD_LEVEL_INDEX (partitioned record index) or BUCKET "
    "(docs/bucket-index.md). SIMPLE, BLOOM, RECORD_LEVEL_INDEX and BUCKET search a key only in the partition of its "
    "row, so an update that changes the partition makes a second row; the other indexes search the whole table",
    Member(IndexType),
)
STORAGE_LAYOUT = option(
    "hoodie.storage.layout.type",
    "DEFAULT",
    "storage layout: DEFAULT or, only with `hoodie.index.type=BUCKET`, BUCKET; the index determines the layout",
    Word(("default", "bucket")),
)
SIMPLE_UPDATES_PARTITION = option(
    "hoodie.simple.index.update.partition.path",
    True,
    "GLOBAL_SIMPLE: if `true`, a row whose partition changed moves to the new partition; if `false`, the row is "
    "updated in its old partition",
    Flag(),
)
BLOOM_UPDATES_PARTITION = option(
    "hoodie.bloom.index.update.partition.path",
    True,
    "GLOBAL_BLOOM: if `true`, a row whose partition changed moves to the new partition; if `false`, the row is "
    "updated in its old partition",
    Flag(),
)
RECORD_INDEX_UPDATES_PARTITION = option(
    "hoodie.record.index.update.partition.path",
    False,
    "RECORD_INDEX: if `true`, a row whose partition changed moves to the new partition; if `false`, the row is "
    "updated in its old partition",
    Flag(),
)
CONCURRENCY_MODE = option(
    "hoodie.write.concurrency.mode",
    "SINGLE_WRITER",
    "SINGLE_WRITER or OPTIMISTIC_CONCURRENCY_CONTROL [jobs always check for conflicts]",
    Member(ConcurrencyMode),
    services=ALL_SERVICES,
)
FAILED_WRITES_POLICY = option(
    "hoodie.cleaner.policy.failed.writes",
    "EAGER",
    "which failed writes of other jobs a job rolls back before it starts: EAGER, LAZY or NEVER",
    Member(FailedWritesPolicy),
    "hoodie.clean.failed.writes.policy",
    services=FILE_SERVICES,
)
CONFLICT_STRATEGY = option(
    "hoodie.write.lock.conflict.resolution.strategy",
    "SimpleConcurrentFileWritesConflictResolutionStrategy",
    "how a commit treats conflicts: the default, or PreferWriterConflictResolutionStrategy, with which a write commits "
    "even if a pending plan contains its file groups; the execution of the plan then drops these groups "
    "(docs/concurrency.md)",
    Member(ConflictStrategy, by_class=True),
)
RETRIES_ON_CONFLICT = option(
    "hoodie.write.num.retries.on.conflict.failures",
    3,
    "how many times a write starts again with the assignment of its rows to files, if another writer has changed the "
    "same file groups since the write began [Hudi: 0]",
    WholeNumber(least=0),
)
STAGING_PATH = option(
    "hoodie.airflow.staging.path",
    ".hoodie/.aux/staging",
    "ours: folder of staged rows, below `.hoodie/.aux`",
    Text(),
    services=FILE_SERVICES,
)

WRITE_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Table": (
        TABLE_NAME,
        DATABASE_NAME,
        TABLE_VERSION,
        TABLE_TYPE,
        fixed("hoodie.table.base.file.format", "PARQUET", "format of base files", "hoodie.base.file.format"),
        fixed(
            "hoodie.table.multiple.base.file.formats.enable",
            "false",
            "allow several base file formats in one table",
        ),
        fixed("hoodie.table.format", "native", "table format of version 9"),
        fixed(
            "hoodie.table.timeline.timezone",
            "UTC",
            "time zone of the instant times in a new table [Hudi: LOCAL]",
        ),
        fixed("hoodie.populate.meta.fields", "true", "write values into the meta columns"),
        fixed(
            "hoodie.datasource.write.drop.partition.columns",
            "false",
            "leave the partition columns out of the files",
        ),
        fixed("hoodie.table.cdc.enabled", "false", "change data logging"),
        fixed("hoodie.allow.operation.metadata.field", "false", "write the column `_hoodie_operation`"),
        STORAGE_LAYOUT,
        fixed(
            "hoodie.partition.metafile.use.base.format", "false", "write partition metadata as Parquet files"
        ),
        METADATA_ENABLE,
    ),
    "Operation and merging": (
        OPERATION,
        ORDERING_FIELDS,
        MERGE_MODE,
        PAYLOAD_CLASS,
        COMBINE_BEFORE_UPSERT,
        COMBINE_BEFORE_INSERT,
        COMBINE_BEFORE_DELETE,
        INSERT_DUP_POLICY,
        INSERT_DROP_DUPLICATES,
        fixed(
            "hoodie.merge.allow.duplicate.on.inserts",
            "true",
            "a write that adds inserts to a small file keeps all rows, even rows with equal record keys",
        ),
        PARTITIONS_TO_DELETE,
        fixed(
            "hoodie.datasource.overwrite.mode",
            "DYNAMIC",
            "insert_overwrite replaces the partitions of the batch",
        ),
        NULL_FOR_MISSING_COLUMNS,
        RECONCILE_SCHEMA,
        fixed(
            "hoodie.schema.on.read.enable", "false", "allow schema evolution with renamed and dropped columns"
        ),
        fixed(
            "hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
            "false",
            "drop columns that the batch lacks",
        ),
        METADATA_KEY_PREFIX,
        fixed("hoodie.auto.commit", "true", "complete the commit automatically"),
    ),
    "File sizing": (
        MAX_FILE_SIZE,
        SMALL_FILE_LIMIT,
        INSERT_AUTO_SPLIT,
        INSERT_SPLIT_SIZE,
        RECORD_SIZE_ESTIMATE,
        SIZING_PARITY,
        ESTIMATION_THRESHOLD,
        ESTIMATOR_MAX_COMMITS,
        ESTIMATOR_METADATA_SIZE,
        SMALL_FILE_CANDIDATES,
    ),
    "Base files": (
        BLOCK_SIZE,
        CODEC,
        CODEC_LEVEL,
        SMALL_ROW_GROUP,
        BLOOM_FPP,
        BLOOM_MAX_ENTRIES,
        fixed("hoodie.parquet.bloom.filter.enabled", "true", "write a bloom filter into the footer"),
        fixed("hoodie.parquet.outputtimestamptype", "TIMESTAMP_MICROS", "physical type of timestamps"),
    ),
    "Log files": (LOG_BLOCK_FORMAT, LOG_BLOCK_SIZE),
    "Index": (
        INDEX_TYPE,
        SIMPLE_UPDATES_PARTITION,
        BLOOM_UPDATES_PARTITION,
        RECORD_INDEX_UPDATES_PARTITION,
        NUM_BUCKETS,
        HASH_FIELD,
        BUCKET_ENGINE,
    ),
    "Concurrency": (
        CONCURRENCY_MODE,
        FAILED_WRITES_POLICY,
        LOCK_PROVIDER,
        LOCK_FOLDER,
        LOCK_EXPIRE,
        LOCK_VALIDITY,
        LOCK_RENEWAL,
        CONFLICT_STRATEGY,
        RETRIES_ON_CONFLICT,
        LOCK_WAIT,
        LOCK_RETRIES,
        LOCK_RETRY_WAIT,
        LOCK_CLIENT_RETRIES,
        LOCK_CLIENT_RETRY_WAIT,
        STAGING_PATH,
    ),
}
"""Maps each heading to its keys, in the order of the documentation."""
