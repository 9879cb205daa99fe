"""Every Hudi key this release knows: what it means, its default, and what becomes of it (Hudi 0.15 and 1.2)."""

from dataclasses import dataclass
from enum import Enum


class Effect(str, Enum):
    """What a key does in a write by this release."""

    HONOURED = "honoured"
    NO_EFFECT = "no effect here"
    """Known to Hudi, meaningless for this writer: accepted with a warning in the result."""
    FIXED = "only its default"
    """Any other value is refused, since it would ask for something this release does not do."""


@dataclass(frozen=True, slots=True)
class KnownOption:
    """One key. `default` is the text of Hudi's default, empty where it has none."""

    key: str
    default: str
    meaning: str
    effect: Effect = Effect.HONOURED


def _honoured(*rows: tuple[str, str, str]) -> tuple[KnownOption, ...]:
    return tuple(KnownOption(*row) for row in rows)


def _fixed(*rows: tuple[str, str, str]) -> tuple[KnownOption, ...]:
    return tuple(KnownOption(*row, Effect.FIXED) for row in rows)


def _ignored(meaning: str, *keys: str) -> tuple[KnownOption, ...]:
    return tuple(KnownOption(key, "", meaning, Effect.NO_EFFECT) for key in keys)


_WRITE = "hoodie.datasource.write."
_TIME = "hoodie.keygen.timebased."

_OPTIONS: tuple[KnownOption, ...] = (
    *_honoured(
        ("hoodie.table.name", "", "name of the table; `--table-name`"),
        ("hoodie.database.name", "", "database of a new table"),
        ("hoodie.write.table.version", "6", "version of a new table: 6, 8 or 9 (Hudi's own default is its newest)"),
        (f"{_WRITE}operation", "upsert", "operation; `--operation`"),
        (f"{_WRITE}recordkey.field", "", "columns of the record key; `--record-key`"),
        (f"{_WRITE}partitionpath.field", "", "partition columns; `--partition-by`"),
        (f"{_WRITE}precombine.field", "", "ordering columns; `--ordering-field`"),
        ("hoodie.table.precombine.field", "", "as hoodie.datasource.write.precombine.field"),
        ("hoodie.table.ordering.fields", "", "as hoodie.datasource.write.precombine.field"),
        (f"{_WRITE}keygenerator.class", "", "key generator by Java class"),
        (f"{_WRITE}keygenerator.type", "", "key generator by type"),
        (f"{_WRITE}hive_style_partitioning", "false", "partition folders are called column=value"),
        (f"{_WRITE}partitionpath.urlencode", "false", "escape partition values"),
        (f"{_WRITE}keygenerator.consistent.logical.timestamp.enabled", "false", "timestamps in keys as text"),
        ("hoodie.write.complex.keygen.new.encoding", "", "one-column COMPLEX keys: true = bare value"),
        (f"{_TIME}timestamp.type", "", "timestamp key generator: what the column holds"),
        (f"{_TIME}timestamp.scalar.time.unit", "SECONDS", "unit of SCALAR"),
        (f"{_TIME}input.dateformat", "", "patterns of text"),
        (f"{_TIME}input.dateformat.list.delimiter.regex", ",", "separator of patterns"),
        (f"{_TIME}input.timezone", "", "zone of text"),
        (f"{_TIME}output.dateformat", "", "pattern of the partition path"),
        (f"{_TIME}output.timezone", "", "zone of the partition path"),
        (f"{_TIME}timezone", "", "both zones"),
        ("hoodie.parquet.max.file.size", "125829120", "bytes a base file should reach"),
        ("hoodie.parquet.small.file.limit", "104857600", "files below take inserts; 0 = off"),
        ("hoodie.parquet.block.size", "125829120", "upper bound of a row group, bytes"),
        ("hoodie.parquet.compression.codec", "zstd", "zstd, gzip, snappy, lz4 or uncompressed (Hudi: gzip)"),
        ("hoodie.copyonwrite.insert.split.size", "500000", "rows of a new file when auto split is off"),
        ("hoodie.copyonwrite.insert.auto.split", "true", "rows of a new file from the record size"),
        ("hoodie.copyonwrite.record.size.estimate", "1024", "bytes per row where nothing was measured"),
        ("hoodie.record.size.estimation.threshold", "1.0", "only for Hudi's own plan"),
        ("hoodie.merge.small.file.group.candidates.limit", "1", "only for Hudi's own plan"),
        ("hoodie.index.type", "SIMPLE", "SIMPLE, BLOOM, GLOBAL_SIMPLE or GLOBAL_BLOOM"),
        ("hoodie.bloom.index.update.partition.path", "true", "GLOBAL_BLOOM: a row whose partition changed moves"),
        ("hoodie.simple.index.update.partition.path", "true", "GLOBAL_SIMPLE: a row whose partition changed moves"),
        ("hoodie.index.bloom.fpp", "0.000000001", "false-positive rate of bloom filters"),
        ("hoodie.bloom.index.filter.dynamic.max.entries", "100000", "keys beyond do not enlarge a filter"),
        ("hoodie.combine.before.insert", "false", "rows of a batch with one key become one"),
        ("hoodie.combine.before.upsert", "true", "rows of a batch with one key become one"),
        ("hoodie.combine.before.delete", "true", "rows of a batch with one key become one"),
        ("hoodie.datasource.insert.dup.policy", "none", "none, drop or fail: inserted keys that exist already"),
        ("hoodie.record.merge.mode", "", "EVENT_TIME_ORDERING or COMMIT_TIME_ORDERING"),
        (f"{_WRITE}payload.class", "", "accepted where it says the same as the merge mode"),
        ("hoodie.metadata.enable", "", "false switches an active metadata table off; true is refused"),
        ("hoodie.cleaner.policy.failed.writes", "EAGER", "which dead writes are rolled back first"),
        ("hoodie.clean.failed.writes.policy", "EAGER", "as hoodie.cleaner.policy.failed.writes"),
        ("hoodie.write.concurrency.mode", "SINGLE_WRITER", "the lock and the conflict check are always on"),
        ("hoodie.write.lock.provider", "", "the file-system lock"),
        ("hoodie.write.lock.filesystem.path", "", "folder of the lock"),
        ("hoodie.write.lock.filesystem.expire", "0", "minutes after which a lock counts as abandoned; 0 = never"),
        ("hoodie.write.lock.wait_time_ms", "60000", "longest wait of one round"),
        ("hoodie.write.lock.num_retries", "15", "attempts of a round"),
        ("hoodie.write.lock.wait_time_ms_between_retry", "1000", "pause between attempts"),
        ("hoodie.write.lock.client.num_retries", "50", "rounds"),
        ("hoodie.write.lock.client.wait_time_ms_between_retry", "5000", "pause between rounds"),
        ("hoodie.write.set.null.for.missing.columns", "false", "fill columns the batch lacks with null"),
        (f"{_WRITE}reconcile.schema", "false", "as hoodie.write.set.null.for.missing.columns"),
        (f"{_WRITE}commitmeta.key.prefix", "_", "options with this prefix are stored in the commit"),
        (f"{_WRITE}partitions.to.delete", "", "partitions of delete_partition, * for any text"),
        ("hoodie.airflow.sizing.parity", "false", "ours: give Hudi's own sizing plan"),
        ("hoodie.airflow.staging.path", ".hoodie/.aux/staging", "ours: folder for staged rows, below the base path"),
    ),
    *_fixed(
        (f"{_WRITE}table.type", "COPY_ON_WRITE", "table type"),
        ("hoodie.table.type", "COPY_ON_WRITE", "table type"),
        ("hoodie.table.base.file.format", "PARQUET", "format of base files"),
        ("hoodie.populate.meta.fields", "true", "fill the meta columns"),
        (f"{_WRITE}drop.partition.columns", "false", "leave partition columns out of files"),
        ("hoodie.merge.allow.duplicate.on.inserts", "true", "inserts into small files are appended"),
        ("hoodie.table.cdc.enabled", "false", "change data logging"),
        ("hoodie.allow.operation.metadata.field", "false", "the column _hoodie_operation"),
        ("hoodie.index.bloom.hash.type", "MURMUR", "hash of bloom filters"),
    ),
    *_ignored(
        "Hudi's parallelism and shuffle settings; here the input's partitions and the file groups decide",
        "hoodie.upsert.shuffle.parallelism",
        "hoodie.insert.shuffle.parallelism",
        "hoodie.bulkinsert.shuffle.parallelism",
        "hoodie.delete.shuffle.parallelism",
        "hoodie.finalize.write.parallelism",
        "hoodie.bloom.index.parallelism",
        "hoodie.simple.index.parallelism",
        "hoodie.global.simple.index.parallelism",
        "hoodie.rollback.parallelism",
        "hoodie.markers.delete.parallelism",
        "hoodie.bulkinsert.sort.mode",
        "hoodie.datasource.write.row.writer.enable",
    ),
    *_ignored(
        "how Hudi's index is evaluated; the result is the same",
        "hoodie.bloom.index.prune.by.ranges",
        "hoodie.bloom.index.use.caching",
        "hoodie.bloom.index.use.treebased.filter",
        "hoodie.bloom.index.bucketized.checking",
        "hoodie.bloom.index.keys.per.bucket",
        "hoodie.bloom.index.use.metadata",
        "hoodie.index.bloom.num_entries",
        "hoodie.bloom.index.filter.type",
    ),
    *_ignored(
        "upgrades are left to Hudi: a table keeps its version here",
        "hoodie.write.auto.upgrade",
    ),
    *_ignored(
        "markers are always written directly, one file each",
        "hoodie.write.markers.type",
        "hoodie.embed.timeline.server",
        "hoodie.rollback.using.markers",
    ),
    *_ignored(
        "a table service, run as a task of its own",
        "hoodie.clean.automatic",
        "hoodie.clean.async",
        "hoodie.clean.async.enabled",
        "hoodie.cleaner.policy",
        "hoodie.clean.policy",
        "hoodie.cleaner.commits.retained",
        "hoodie.clean.commits.retained",
        "hoodie.cleaner.hours.retained",
        "hoodie.clean.hours.retained",
        "hoodie.cleaner.fileversions.retained",
        "hoodie.clean.fileversions.retained",
        "hoodie.archive.automatic",
        "hoodie.archive.async",
        "hoodie.keep.min.commits",
        "hoodie.keep.max.commits",
        "hoodie.clustering.inline",
        "hoodie.clustering.inline.max.commits",
        "hoodie.clustering.schedule.inline",
        "hoodie.clustering.async.enabled",
        "hoodie.clustering.async.max.commits",
        "hoodie.compact.inline",
        "hoodie.compact.inline.max.delta.commits",
        "hoodie.table.services.enabled",
    ),
    *_ignored(
        "syncing to a catalog is a task of its own",
        "hoodie.datasource.hive_sync.enable",
        "hoodie.datasource.hive_sync.database",
        "hoodie.datasource.hive_sync.table",
        "hoodie.datasource.hive_sync.mode",
        "hoodie.datasource.meta.sync.enable",
    ),
    *_ignored(
        "only asked by Hudi's own schema and empty-commit handling",
        "hoodie.avro.schema.validate",
        "hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
        "hoodie.schema.on.read.enable",
        "hoodie.allow.empty.commit",
        "hoodie.logfile.max.size",
        "hoodie.logfile.to.parquet.compression.ratio",
        "hoodie.client.heartbeat.interval_in_ms",
        "hoodie.client.heartbeat.tolerable.misses",
        "hoodie.write.num.retries.on.conflict.failures",
        "hoodie.write.lock.conflict.resolution.strategy",
    ),
)

KNOWN_OPTIONS: dict[str, KnownOption] = {option.key: option for option in _OPTIONS}
