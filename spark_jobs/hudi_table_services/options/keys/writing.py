"""Keys that a write reads, and those of which it can only do the default (Hudi 0.15 and 1.2)."""

from hudi_table_services.contract.writing import OPERATIONS
from hudi_table_services.model.concurrent_change import ConflictStrategy
from hudi_table_services.model.table_config import RecordMergeMode
from hudi_table_services.options.keys.base_files import (
    BLOCK_SIZE,
    BLOOM_FPP,
    BLOOM_MAX_ENTRIES,
    CODEC,
    CODEC_LEVEL,
)
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
from hudi_table_services.options.kinds import Flag, Member, Names, Number, OrNone, Text, WholeNumber, Word
from hudi_table_services.options.option import ALL_SERVICES, FILE_SERVICES, AnyOption, fixed, option
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
    services=ALL_SERVICES,
)
DATABASE_NAME = option("hoodie.database.name", "", "database noted in a new table", Text())
TABLE_VERSION = option(
    "hoodie.write.table.version",
    6,
    "version of a new table: 6, 8 or 9; an existing one keeps its own [Hudi: its newest]",
    WholeNumber(),
)
METADATA_ENABLE = option(
    "hoodie.metadata.enable",
    "",
    "`false`: switch an active metadata table off before committing; absent: refuse such a "
    "table; `true` is refused [Hudi: true]",
    OrNone(Flag()),
    services=ALL_SERVICES,
)
OPERATION = option(
    "hoodie.datasource.write.operation",
    "upsert",
    "upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or "
    "delete_partition, `--operation`",
    Word(OPERATIONS),
)
ORDERING_FIELDS = option(
    "hoodie.datasource.write.precombine.field",
    "",
    "ordering columns: the larger value wins, `--ordering-field`",
    Names(),
    "hoodie.table.precombine.field",
    "hoodie.table.ordering.fields",
    "hoodie.payload.ordering.field",
)
MERGE_MODE = option(
    "hoodie.record.merge.mode",
    "",
    "EVENT_TIME_ORDERING (where an ordering field is given) or COMMIT_TIME_ORDERING",
    OrNone(Member(RecordMergeMode)),
    "hoodie.write.record.merge.mode",
)
PAYLOAD_CLASS = option(
    "hoodie.datasource.write.payload.class",
    "",
    "only classes that say the same as a merge mode",
    Text(),
    "hoodie.compaction.payload.class",
)
COMBINE_BEFORE_UPSERT = option(
    "hoodie.combine.before.upsert", True, "of rows with one key in the batch one is written", Flag()
)
COMBINE_BEFORE_INSERT = option(
    "hoodie.combine.before.insert", False, "the same for insert and its relatives", Flag()
)
COMBINE_BEFORE_DELETE = option("hoodie.combine.before.delete", True, "the same for delete", Flag())
INSERT_DUP_POLICY = option(
    "hoodie.datasource.insert.dup.policy",
    "none",
    "none, drop or fail: what insert does with keys that the table holds",
    Member(InsertDupPolicy),
)
INSERT_DROP_DUPLICATES = option(
    "hoodie.datasource.write.insert.drop.duplicates", False, "old name of insert.dup.policy=drop", Flag()
)
PARTITIONS_TO_DELETE = option(
    "hoodie.datasource.write.partitions.to.delete",
    "",
    "partitions of delete_partition, `*` stands for any text",
    Names(),
)
NULL_FOR_MISSING_COLUMNS = option(
    "hoodie.write.set.null.for.missing.columns", False, "columns the batch lacks are filled with null", Flag()
)
RECONCILE_SCHEMA = option(
    "hoodie.datasource.write.reconcile.schema", False, "as hoodie.write.set.null.for.missing.columns", Flag()
)
METADATA_KEY_PREFIX = option(
    "hoodie.datasource.write.commitmeta.key.prefix",
    "_",
    "options with this prefix are stored in the commit",
    Text(),
)
MAX_FILE_SIZE = option(
    "hoodie.parquet.max.file.size", 120 << 20, "bytes a base file should reach", WholeNumber(least=1)
)
SMALL_FILE_LIMIT = option(
    "hoodie.parquet.small.file.limit",
    100 << 20,
    "files strictly below take inserts, 0 = off; not given beside a smaller max size: five sixths of that",
    WholeNumber(),
)
INSERT_AUTO_SPLIT = option(
    "hoodie.copyonwrite.insert.auto.split", True, "rows of a new file follow from the record size", Flag()
)
INSERT_SPLIT_SIZE = option(
    "hoodie.copyonwrite.insert.split.size",
    500_000,
    "rows of a new file without auto split",
    WholeNumber(least=1),
)
RECORD_SIZE_ESTIMATE = option(
    "hoodie.copyonwrite.record.size.estimate",
    1024,
    "bytes per row where the table has no files to measure; if given, it goes before a sample of the batch",
    WholeNumber(least=1),
)
SIZING_PARITY = option(
    "hoodie.airflow.sizing.parity", False, "ours: Hudi's own plan instead of the better one", Flag()
)
ESTIMATION_THRESHOLD = option(
    "hoodie.record.size.estimation.threshold",
    "1.0",
    "parity: smaller commits are no evidence",
    Number(least=0),
)
ESTIMATOR_MAX_COMMITS = option(
    "_hoodie.record.size.estimator.max.commits",
    5,
    "parity: maximum number of commits that the estimate reads",
    WholeNumber(least=0),
)
ESTIMATOR_METADATA_SIZE = option(
    "hoodie.record.size.estimator.average.metadata.size",
    0,
    "parity: bytes deducted per commit",
    WholeNumber(least=0),
)
SMALL_FILE_CANDIDATES = option(
    "hoodie.merge.small.file.group.candidates.limit",
    1,
    "parity: files padded, merge-on-read only",
    WholeNumber(least=0),
)
INDEX_TYPE = option(
    "hoodie.index.type", "SIMPLE", "SIMPLE, BLOOM, GLOBAL_SIMPLE or GLOBAL_BLOOM", Member(IndexType)
)
SIMPLE_UPDATES_PARTITION = option(
    "hoodie.simple.index.update.partition.path",
    True,
    "GLOBAL_SIMPLE: a row whose partition changed moves, else it stays where it is",
    Flag(),
)
BLOOM_UPDATES_PARTITION = option(
    "hoodie.bloom.index.update.partition.path", True, "the same for GLOBAL_BLOOM", Flag()
)
CONCURRENCY_MODE = option(
    "hoodie.write.concurrency.mode",
    "SINGLE_WRITER",
    "SINGLE_WRITER or OPTIMISTIC_CONCURRENCY_CONTROL [the conflict check is always on]",
    Member(ConcurrencyMode),
    services=ALL_SERVICES,
)
FAILED_WRITES_POLICY = option(
    "hoodie.cleaner.policy.failed.writes",
    "EAGER",
    "EAGER, LAZY or NEVER: which dead writes of others are rolled back first",
    Member(FailedWritesPolicy),
    "hoodie.clean.failed.writes.policy",
    services=FILE_SERVICES,
)
CONFLICT_STRATEGY = option(
    "hoodie.write.lock.conflict.resolution.strategy",
    "SimpleConcurrentFileWritesConflictResolutionStrategy",
    "or PreferWriterConflictResolutionStrategy: a pending plan for the same files does not "
    "stop the commit; its execution has to drop the changed groups (docs/concurrency.md)",
    Member(ConflictStrategy, by_class=True),
)
RETRIES_ON_CONFLICT = option(
    "hoodie.write.num.retries.on.conflict.failures",
    3,
    "times that rows whose file groups another writer changed meanwhile are placed and "
    "written again [Hudi: 0]",
    WholeNumber(least=0),
)
STAGING_PATH = option(
    "hoodie.airflow.staging.path",
    ".hoodie/.aux/staging",
    "ours: folder for staged rows, below `.hoodie/.aux`",
    Text(),
    services=FILE_SERVICES,
)

WRITE_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Table": (
        TABLE_NAME,
        DATABASE_NAME,
        TABLE_VERSION,
        fixed(
            "hoodie.datasource.write.table.type",
            "COPY_ON_WRITE",
            "table type",
            "hoodie.table.type",
            "hoodie.datasource.write.storage.type",
        ),
        fixed("hoodie.table.base.file.format", "PARQUET", "format of base files", "hoodie.base.file.format"),
        fixed("hoodie.table.multiple.base.file.formats.enable", "false", "more than one format in a table"),
        fixed("hoodie.table.format", "native", "table format of version 9"),
        fixed("hoodie.table.timeline.timezone", "UTC", "zone of instant times of a new table [Hudi: LOCAL]"),
        fixed("hoodie.populate.meta.fields", "true", "fill the meta columns"),
        fixed(
            "hoodie.datasource.write.drop.partition.columns",
            "false",
            "leave partition columns out of the files",
        ),
        fixed("hoodie.table.cdc.enabled", "false", "change data logging"),
        fixed("hoodie.allow.operation.metadata.field", "false", "the column `_hoodie_operation`"),
        fixed("hoodie.storage.layout.type", "DEFAULT", "physical layout; BUCKET needs a bucket index"),
        fixed("hoodie.partition.metafile.use.base.format", "false", "partition metadata as Parquet files"),
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
            "inserts into small files are not merged by key",
        ),
        PARTITIONS_TO_DELETE,
        fixed(
            "hoodie.datasource.overwrite.mode", "DYNAMIC", "insert_overwrite replaces the batch's partitions"
        ),
        NULL_FOR_MISSING_COLUMNS,
        RECONCILE_SCHEMA,
        fixed("hoodie.schema.on.read.enable", "false", "schema evolution with renamed and dropped columns"),
        fixed(
            "hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
            "false",
            "drop columns the batch lacks",
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
        BLOOM_FPP,
        BLOOM_MAX_ENTRIES,
        fixed("hoodie.parquet.bloom.filter.enabled", "true", "bloom filter in the footer"),
        fixed("hoodie.parquet.outputtimestamptype", "TIMESTAMP_MICROS", "physical type of timestamps"),
    ),
    "Index": (
        INDEX_TYPE,
        SIMPLE_UPDATES_PARTITION,
        BLOOM_UPDATES_PARTITION,
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
"""Keys by heading, in the order of the documentation."""
