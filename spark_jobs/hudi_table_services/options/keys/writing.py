"""Hudi keys that a write obeys, and those of which it can only do the default (Hudi 0.15 and 1.2)."""

from hudi_table_services.options.option import KnownOption, Service, fixed, honoured

_WRITE = "hoodie.datasource.write."
_TIME = "hoodie.keygen.timebased."


def _every(key: str, default: str, meaning: str, *aliases: str) -> KnownOption:
    """A key of every job."""
    return honoured(key, default, meaning, *aliases, services=tuple(Service))


def _timebased(name: str, default: str, meaning: str) -> KnownOption:
    return honoured(_TIME + name, default, meaning, f"hoodie.deltastreamer.keygen.timebased.{name}")


WRITE_OPTIONS: dict[str, tuple[KnownOption, ...]] = {
    "Table": (
        _every("hoodie.table.name", "", "name of the table, `--table-name`", f"{_WRITE}table.name"),
        honoured("hoodie.database.name", "", "database noted in a new table"),
        honoured(
            "hoodie.write.table.version",
            "6",
            "version of a new table: 6, 8 or 9; an existing one keeps its own [Hudi: its newest]",
        ),
        fixed(
            f"{_WRITE}table.type",
            "COPY_ON_WRITE",
            "table type",
            "hoodie.table.type",
            f"{_WRITE}storage.type",
        ),
        fixed("hoodie.table.base.file.format", "PARQUET", "format of base files", "hoodie.base.file.format"),
        fixed("hoodie.table.multiple.base.file.formats.enable", "false", "more than one format in a table"),
        fixed("hoodie.table.format", "native", "table format of version 9"),
        fixed("hoodie.table.timeline.timezone", "UTC", "zone of instant times of a new table [Hudi: LOCAL]"),
        fixed("hoodie.populate.meta.fields", "true", "fill the meta columns"),
        fixed(f"{_WRITE}drop.partition.columns", "false", "leave partition columns out of the files"),
        fixed("hoodie.table.cdc.enabled", "false", "change data logging"),
        fixed("hoodie.allow.operation.metadata.field", "false", "the column `_hoodie_operation`"),
        fixed("hoodie.storage.layout.type", "DEFAULT", "physical layout; BUCKET needs a bucket index"),
        fixed("hoodie.partition.metafile.use.base.format", "false", "partition metadata as Parquet files"),
        _every(
            "hoodie.metadata.enable",
            "",
            "`false`: switch an active metadata table off before committing; absent: refuse such a table; `true` is "
            "refused [Hudi: true]",
        ),
    ),
    "Keys and partitions": (
        honoured(
            f"{_WRITE}recordkey.field",
            "",
            "columns of the record key, `--record-key`",
            "hoodie.table.recordkey.fields",
        ),
        honoured(
            f"{_WRITE}partitionpath.field",
            "",
            "partition columns, `--partition-by`",
            "hoodie.table.partition.fields",
        ),
        honoured(
            f"{_WRITE}keygenerator.class",
            "",
            "key generator by Java class",
            "hoodie.table.keygenerator.class",
        ),
        honoured(
            f"{_WRITE}keygenerator.type",
            "",
            "SIMPLE, COMPLEX, NON_PARTITION, TIMESTAMP or CUSTOM; absent: inferred as in Hudi",
            "hoodie.table.keygenerator.type",
        ),
        honoured(f"{_WRITE}hive_style_partitioning", "false", "partition folders are called column=value"),
        honoured(
            f"{_WRITE}partitionpath.urlencode", "false", "special characters of partition values as %XX"
        ),
        honoured(
            f"{_WRITE}keygenerator.consistent.logical.timestamp.enabled",
            "false",
            "timestamps in keys as text instead of microseconds",
        ),
        honoured(
            "hoodie.write.complex.keygen.new.encoding",
            "",
            "keys of a one-column COMPLEX generator: true = value, false = column:value; absent: as in the table",
        ),
        _timebased("timestamp.type", "", "what a timestamp partition column holds"),
        _timebased("timestamp.scalar.time.unit", "SECONDS", "unit of type SCALAR"),
        _timebased("input.dateformat", "", "patterns of text"),
        _timebased("input.dateformat.list.delimiter.regex", ",", "what separates the patterns"),
        _timebased("input.timezone", "", "zone of text without offset"),
        _timebased("output.dateformat", "", "pattern of the partition path"),
        _timebased("output.timezone", "", "zone of the partition path"),
        _timebased("timezone", "", "both zones at once"),
        fixed(f"{_WRITE}slash.separated.date.partitioning", "false", "yyyy-MM-dd as yyyy/MM/dd folders"),
    ),
    "Operation and merging": (
        honoured(
            f"{_WRITE}operation",
            "upsert",
            "upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or delete_partition, "
            "`--operation`",
        ),
        honoured(
            f"{_WRITE}precombine.field",
            "",
            "ordering columns: the larger value wins, `--ordering-field`",
            "hoodie.table.precombine.field",
            "hoodie.table.ordering.fields",
            "hoodie.payload.ordering.field",
        ),
        honoured(
            "hoodie.record.merge.mode",
            "",
            "EVENT_TIME_ORDERING (where an ordering field is given) or COMMIT_TIME_ORDERING",
            "hoodie.write.record.merge.mode",
        ),
        honoured(
            f"{_WRITE}payload.class",
            "",
            "only classes that say the same as a merge mode",
            "hoodie.compaction.payload.class",
        ),
        honoured("hoodie.combine.before.upsert", "true", "of rows with one key in the batch one is written"),
        honoured("hoodie.combine.before.insert", "false", "the same for insert and its relatives"),
        honoured("hoodie.combine.before.delete", "true", "the same for delete"),
        honoured(
            "hoodie.datasource.insert.dup.policy",
            "none",
            "none, drop or fail: what insert does with keys that the table holds",
        ),
        honoured(f"{_WRITE}insert.drop.duplicates", "false", "old name of insert.dup.policy=drop"),
        fixed(
            "hoodie.merge.allow.duplicate.on.inserts",
            "true",
            "inserts into small files are not merged by key",
        ),
        honoured(
            f"{_WRITE}partitions.to.delete", "", "partitions of delete_partition, `*` stands for any text"
        ),
        fixed(
            "hoodie.datasource.overwrite.mode", "DYNAMIC", "insert_overwrite replaces the batch's partitions"
        ),
        honoured(
            "hoodie.write.set.null.for.missing.columns",
            "false",
            "columns the batch lacks are filled with null",
        ),
        honoured(f"{_WRITE}reconcile.schema", "false", "as hoodie.write.set.null.for.missing.columns"),
        fixed("hoodie.schema.on.read.enable", "false", "schema evolution with renamed and dropped columns"),
        fixed(f"{_WRITE}schema.allow.auto.evolution.column.drop", "false", "drop columns the batch lacks"),
        honoured(f"{_WRITE}commitmeta.key.prefix", "_", "options with this prefix are stored in the commit"),
        fixed("hoodie.auto.commit", "true", "complete the commit without being told to"),
    ),
    "File sizing": (
        honoured("hoodie.parquet.max.file.size", "125829120", "bytes a base file should reach"),
        honoured(
            "hoodie.parquet.small.file.limit",
            "104857600",
            "files strictly below take inserts, 0 = off; not given beside a smaller max size: five sixths of that",
        ),
        honoured(
            "hoodie.copyonwrite.insert.auto.split", "true", "rows of a new file follow from the record size"
        ),
        honoured("hoodie.copyonwrite.insert.split.size", "500000", "rows of a new file without auto split"),
        honoured(
            "hoodie.copyonwrite.record.size.estimate",
            "1024",
            "bytes per row where the table has no files to measure; if given, it goes before a sample of the batch",
        ),
        honoured("hoodie.airflow.sizing.parity", "false", "ours: Hudi's own plan instead of the better one"),
        honoured("hoodie.record.size.estimation.threshold", "1.0", "parity: smaller commits are no evidence"),
        honoured("_hoodie.record.size.estimator.max.commits", "5", "parity: commits looked at"),
        honoured(
            "hoodie.record.size.estimator.average.metadata.size", "0", "parity: bytes deducted per commit"
        ),
        honoured(
            "hoodie.merge.small.file.group.candidates.limit", "1", "parity: files padded, merge-on-read only"
        ),
    ),
    "Base files": (
        _every("hoodie.parquet.block.size", "125829120", "upper bound of a row group, bytes"),
        _every(
            "hoodie.parquet.compression.codec", "zstd", "zstd, gzip, snappy, lz4 or uncompressed [Hudi: gzip]"
        ),
        _every("hoodie.airflow.parquet.compression.level", "", "ours: level of zstd (1-22) or gzip (1-9)"),
        _every("hoodie.index.bloom.fpp", "0.000000001", "false-positive rate of bloom filters"),
        _every(
            "hoodie.bloom.index.filter.dynamic.max.entries", "100000", "keys beyond do not enlarge a filter"
        ),
        fixed("hoodie.parquet.bloom.filter.enabled", "true", "bloom filter in the footer"),
        fixed("hoodie.parquet.outputtimestamptype", "TIMESTAMP_MICROS", "physical type of timestamps"),
    ),
    "Index": (
        honoured("hoodie.index.type", "SIMPLE", "SIMPLE, BLOOM, GLOBAL_SIMPLE or GLOBAL_BLOOM"),
        honoured(
            "hoodie.simple.index.update.partition.path",
            "true",
            "GLOBAL_SIMPLE: a row whose partition changed moves, else it stays where it is",
        ),
        honoured("hoodie.bloom.index.update.partition.path", "true", "the same for GLOBAL_BLOOM"),
    ),
    "Concurrency": (
        _every(
            "hoodie.write.concurrency.mode",
            "SINGLE_WRITER",
            "SINGLE_WRITER or OPTIMISTIC_CONCURRENCY_CONTROL [the conflict check is always on]",
        ),
        _every(
            "hoodie.cleaner.policy.failed.writes",
            "EAGER",
            "EAGER, LAZY or NEVER: which dead writes of others are rolled back first",
            "hoodie.clean.failed.writes.policy",
        ),
        _every(
            "hoodie.write.lock.provider",
            "",
            "the file-system or the storage-based lock; left out: the one that fits the storage "
            "(docs/concurrency.md) [Hudi: ZooKeeper]",
        ),
        _every("hoodie.write.lock.filesystem.path", ".hoodie", "folder of the lock, in the table"),
        _every("hoodie.write.lock.filesystem.expire", "0", "minutes until a lock is abandoned; 0 = never"),
        _every(
            "hoodie.write.lock.storage.validity.timeout.secs",
            "300",
            "how long a storage-based lock outlives its last renewal",
        ),
        _every(
            "hoodie.write.lock.storage.renew.interval.secs",
            "30",
            "pause between renewals, at most a tenth of the validity",
            "hoodie.write.lock.storage.heartbeat.poll.secs",
        ),
        honoured(
            "hoodie.write.lock.conflict.resolution.strategy",
            "SimpleConcurrentFileWritesConflictResolutionStrategy",
            "or PreferWriterConflictResolutionStrategy: a pending plan for the same files does not stop the commit; "
            "whoever executes it has to give way (docs/concurrency.md)",
        ),
        honoured(
            "hoodie.write.num.retries.on.conflict.failures",
            "3",
            "times that rows whose file groups another writer changed meanwhile are placed and written again [Hudi: 0]",
        ),
        _every("hoodie.write.lock.wait_time_ms", "60000", "longest wait of one round"),
        _every("hoodie.write.lock.num_retries", "15", "attempts of a round beyond the first"),
        _every("hoodie.write.lock.wait_time_ms_between_retry", "1000", "pause between attempts"),
        _every("hoodie.write.lock.client.num_retries", "50", "rounds beyond the first"),
        _every("hoodie.write.lock.client.wait_time_ms_between_retry", "5000", "pause between rounds"),
        _every(
            "hoodie.airflow.staging.path",
            ".hoodie/.aux/staging",
            "ours: folder for staged rows, below `.hoodie/.aux`",
        ),
    ),
}
"""Keys by heading, in the order of the documentation."""
