"""Keys of reads (DataSourceReadOptions and HoodieCommonConfig, Hudi 0.15 and 1.2)."""

from hudi_table_services.model.reading.query import EARLIEST, HolesPolicy, QueryType
from hudi_table_services.options.kinds import Flag, Member, OrNone, Text, WholeNumber
from hudi_table_services.options.option import AnyOption, OptionGroup, option

_READS = (OptionGroup.READS,)

QUERY_TYPE = option(
    "hoodie.datasource.query.type",
    QueryType.SNAPSHOT.value,
    "snapshot, read_optimized or incremental",
    Member(QueryType),
    "hoodie.datasource.view.type",
    services=_READS,
)
AS_OF = option(
    "as.of.instant",
    "",
    "snapshot and read-optimized reads: the state as of a requested time (`yyyyMMddHHmmss[SSS]`), or as of "
    "a date and time in the time zone of the timeline, such as `2026-01-02 03:04:05.006` [here also with an offset, "
    "such as `2026-01-02T03:04:05+01:00`]",
    Text(),
    services=_READS,
)
BEGIN = option(
    "hoodie.datasource.read.begin.instanttime",
    "",
    "incremental reads: start of the window, exclusive; `earliest` or `000` for all commits. A completion time from "
    "table version 8 on, a requested time in earlier versions",
    Text(),
    services=_READS,
)
END = option(
    "hoodie.datasource.read.end.instanttime",
    "",
    "incremental reads: end of the window, inclusive; by default the latest commit",
    Text(),
    services=_READS,
)
FULL_SCAN = option(
    "hoodie.datasource.read.incr.fallback.fulltablescan.enable",
    False,
    "incremental reads: if commits of the window are archived or their files were deleted, read the whole table; rows "
    "that a later commit changed are then missing. If `false`, such a read fails [Hudi from 1.1 on: true]",
    Flag(),
    services=_READS,
)
HOLES_POLICY = option(
    "hoodie.read.timeline.holes.resolution.policy",
    HolesPolicy.FAIL.value,
    "incremental reads of table version 6: if a write in the window is still pending, FAIL (the default of reads) "
    "fails, and BLOCK (the default of streams) ends the window before the pending write [not supported: "
    "USE_TRANSITION_TIME]",
    Member(HolesPolicy),
    services=_READS,
)
DATA_SKIPPING = option(
    "hoodie.enable.data.skipping",
    True,
    "use partition_stats, column_stats and the record index to leave out files [Hudi 0.15: false]",
    Flag(),
    services=_READS,
)

START_OFFSET = option(
    "hoodie.datasource.streaming.startOffset",
    EARLIEST,
    "streams: where a stream without checkpoint begins: `earliest`, `latest`, or after a point in time, with the "
    "meaning of the start of a window",
    Text(),
    services=_READS,
)
COMMITS_PER_BATCH = option(
    "hoodie.airflow.stream.commits.per.batch",
    "",
    "streams: largest number of commits of a micro-batch; no limit by default [not in Hudi]",
    OrNone(WholeNumber(1)),
    services=_READS,
)
BYTES_PER_BATCH = option(
    "hoodie.airflow.stream.bytes.per.batch",
    "",
    "streams: largest size in bytes of the files that the commits of a micro-batch wrote; a batch has at least one "
    "commit; no limit by default [not in Hudi]",
    OrNone(WholeNumber(1)),
    services=_READS,
)
STREAM_OPTIONS: tuple[AnyOption, ...] = (START_OFFSET, COMMITS_PER_BATCH, BYTES_PER_BATCH)

REFUSED_READS = {
    "hoodie.datasource.query.incremental.format": "only the latest state of changed rows can be read (latest_state)",
    "hoodie.datasource.read.incr.filters": "pass filters to the read",
    "hoodie.datasource.read.incr.path.glob": "filter partition columns instead",
    "hoodie.datasource.read.incr.skip_compact": "compactions change no commit time, so nothing has to be skipped",
    "hoodie.datasource.read.incr.skip_cluster": "clusterings change no commit time, so nothing has to be skipped",
    "hoodie.datasource.read.incr.table.version": "the version of the table decides what the bounds of a window are",
    "hoodie.datasource.read.paths": "the base path identifies the table",
    "hoodie.datasource.read.schema.use.end.instanttime": "an incremental read has the latest schema of the table",
    "hoodie.datasource.read.extract.partition.values.from.path": "partition columns are read from the data files",
    "hoodie.datasource.merge.type": "a snapshot read merges log files; a read-optimized read ignores them",
    "hoodie.realtime.merge.skip": "a snapshot read merges log files; a read-optimized read ignores them",
    "hoodie.query.as.ro.table": f"set {QUERY_TYPE.key}=read_optimized",
}
"""Keys of Hudi that would change the result of a read. Maps each key to the reason why a read refuses it."""

HARMLESS_VALUES = ("", "false", "latest_state", "payload_combine")
"""Values that mean Hudi's default for a key of `REFUSED_READS`. A read accepts the key with such a value."""

READ_OPTIONS: dict[str, tuple[AnyOption, ...]] = {
    "Reads": (QUERY_TYPE, AS_OF, BEGIN, END, FULL_SCAN, HOLES_POLICY, DATA_SKIPPING, *STREAM_OPTIONS),
}
