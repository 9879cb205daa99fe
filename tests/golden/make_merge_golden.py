"""Ask a real Hudi release how it merges versions of one key: one run per release, in an environment with PySpark 3.5.

    python make_merge_golden.py --jar <bundle 0.15.0> --version 6 --work /data/merges --out .
    python make_merge_golden.py --jar <bundle 1.2.0> --version 9 --work /data/merges --out .

The outcome is ``merge_cases.json`` and ``merge_cases_of_long_logs.json``. A run adds its answers to these files, so
both releases share them. A case is one key of a merge-on-read table with one file group. All cases of a file are merged
together in one table for each configuration: the first commit writes the base file, and each later commit a log file.
The third commit is a delete operation. The answers are the rows that Hudi returns before and after a compaction.
"""

import argparse
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from make_golden import COMMON, MERGE_ON_READ, pin, session
from pyspark.sql import SparkSession

SCHEMA = (
    "key string, ts bigint, ts2 bigint, p string, v double, s string, op string, _hoodie_is_deleted boolean"
)
DELETE = "delete"
Version = dict[str, Any]
Cases = dict[str, tuple[Any, ...]]


def up(ts: int, s: str | None = "x", v: float | None = 1.0, ts2: int = 0) -> Version:
    """A row with the ordering values `ts` and `ts2`."""
    return {"ts": ts, "ts2": ts2, "v": v, "s": s, "op": "U", "deleted": False}


def soft(ts: int, ts2: int = 0) -> Version:
    """A row that ``_hoodie_is_deleted`` marks as a delete."""
    return {"ts": ts, "ts2": ts2, "v": None, "s": "soft", "op": "U", "deleted": True}


def marked(ts: int, ts2: int = 0) -> Version:
    """A row with the delete marker of some configurations."""
    return {"ts": ts, "ts2": ts2, "v": 1.0, "s": "marked", "op": "D", "deleted": False}


BASE = up(5, "base")
CASES: Cases = {
    "newer_wins": (BASE, up(7, "log"), None, None),
    "tie_base_log": (BASE, up(5, "log"), None, None),
    "late_log": (BASE, up(3, "log"), None, None),
    "tie_log_log": (BASE, up(7, "log1"), None, up(7, "log2")),
    "late_log_after_newer_log": (BASE, up(7, "log1"), None, up(6, "log2")),
    "both_logs_late": (BASE, up(3, "log1"), None, up(4, "log2")),
    "late_then_newer": (BASE, up(3, "log1"), None, up(6, "log2")),
    "delete_op": (BASE, None, DELETE, None),
    "delete_op_after_newer_log": (BASE, up(9, "log"), DELETE, None),
    "delete_op_then_newer": (BASE, None, DELETE, up(6, "again")),
    "delete_op_then_older": (BASE, None, DELETE, up(3, "again")),
    "delete_op_then_tie": (BASE, None, DELETE, up(5, "again")),
    "log_delete_op_then_between": (BASE, up(9, "log"), DELETE, up(7, "again")),
    "soft_delete_newer": (BASE, soft(6), None, None),
    "soft_delete_tie": (BASE, soft(5), None, None),
    "soft_delete_late": (BASE, soft(3), None, None),
    "soft_delete_zero": (BASE, soft(0), None, None),
    "soft_delete_then_late": (BASE, soft(7), None, up(6, "again")),
    "soft_delete_then_tie": (BASE, soft(7), None, up(7, "again")),
    "soft_delete_then_newer": (BASE, soft(7), None, up(8, "again")),
    "newer_then_late_soft_delete": (BASE, up(9, "log"), None, soft(7)),
    "newer_then_tie_soft_delete": (BASE, up(9, "log"), None, soft(9)),
    "late_soft_delete_then_late": (BASE, soft(3), None, up(4, "again")),
    "soft_delete_then_older_than_base": (BASE, soft(7), None, up(3, "again")),
    "nulls_newer": (BASE, up(7, None, 2.0), None, None),
    "nulls_late": (up(5, None), up(3, "log", None), None, None),
    "nulls_tie": (BASE, up(5, None, 2.0), None, None),
    "nulls_chain": (BASE, up(7, None, 2.0), None, up(8, "log2", None)),
    "nulls_chain_late": (BASE, up(9, None, 2.0), None, up(8, "log2", 3.0)),
    "nulls_after_soft_delete": (BASE, soft(7), None, up(8, "again", None)),
    "nulls_after_delete_op": (BASE, None, DELETE, up(8, "again", None)),
    "marker_newer": (BASE, marked(6), None, None),
    "marker_late": (BASE, marked(3), None, None),
    "marker_then_newer": (BASE, marked(7), None, up(8, "again")),
    "two_rows_one_batch": (BASE, [up(8, "hi"), up(6, "lo")], None, None),
    "two_rows_one_batch_lo_first": (BASE, [up(6, "lo"), up(8, "hi")], None, None),
    "second_field_newer": (up(5, "base", ts2=1), up(5, "log", ts2=2), None, None),
    "second_field_late": (up(5, "base", ts2=2), up(5, "log", ts2=1), None, None),
    "first_field_beats_second": (up(5, "base", ts2=9), up(6, "log", ts2=1), None, None),
    "second_field_soft_delete_late": (up(5, "base", ts2=5), soft(5, 4), None, None),
    "negative_ordering": (up(-5, "base"), up(-3, "log"), None, None),
    "zero_ordering": (up(0, "base"), up(0, "log"), None, None),
    "soft_delete_zero_on_negative": (up(-5, "base"), soft(0), None, None),
}
LONG_LOGS: Cases = {
    "delete_then_older_delete_then_between": (up(4, "base"), soft(7), None, soft(3), up(5, "again"), None),
    "delete_then_newer_delete_then_between": (up(4, "base"), soft(3), None, soft(7), up(5, "again"), None),
    "delete_then_older_delete": (BASE, soft(7), None, soft(3), None, None),
    "delete_op_then_delete_then_between": (up(4, "base"), None, DELETE, soft(7), up(5, "again"), None),
    "delete_op_then_older_delete": (BASE, None, DELETE, soft(3), None, None),
    "delete_then_delete_op_then_older": (up(2, "base"), soft(7), DELETE, up(3, "again"), None, None),
    "row_delete_row_delete": (up(1, "base"), up(9, "log"), None, soft(9), up(3, "again"), soft(5)),
    "row_delete_row_older_delete": (up(1, "base"), up(9, "log"), None, soft(9), up(10, "again"), soft(5)),
    "row_late_delete_row": (up(1, "base"), up(9, "log"), None, soft(7), up(8, "again"), None),
    "delete_row_older_delete": (up(1, "base"), soft(7), None, up(8, "again"), soft(6), None),
    "delete_op_row_older_delete": (up(1, "base"), None, DELETE, up(3, "again"), soft(2), None),
    "nulls_out_of_order": (
        up(1, None, None),
        up(5, "a", None),
        None,
        up(3, None, 3.0),
        up(4, None, 4.0),
        None,
    ),
    "nulls_out_of_order_then_newer": (
        up(1, "base", None),
        up(5, None, None),
        None,
        up(3, None, 3.0),
        up(6, None, None),
        up(4, "late", 4.0),
    ),
    "nulls_late_twice": (up(5, None, None), up(3, "log", None), None, up(2, "older", 2.0), None, None),
    "nulls_late_then_delete_late": (
        up(5, None, None),
        up(3, "log", 3.0),
        None,
        soft(2),
        up(4, "again", None),
        None,
    ),
    "nulls_after_late_delete": (BASE, up(7, None, 7.0), None, soft(6), up(8, "log", None), None),
}
FILES = {"merge_cases.json": CASES, "merge_cases_of_long_logs.json": LONG_LOGS}

PAYLOADS = "org.apache.hudi.common.model."
PAYLOAD, MODE = "hoodie.datasource.write.payload.class", "hoodie.write.record.merge.mode"
PRECOMBINE = "hoodie.datasource.write.precombine.field"
MARKER = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
EVENT_TIME = {MODE: "EVENT_TIME_ORDERING"}
# An option with an empty value is left out.
CONFIGURATIONS: dict[str, dict[str, str]] = {
    "default": {},
    "overwrite_latest": {PAYLOAD: f"{PAYLOADS}OverwriteWithLatestAvroPayload"},
    "default_payload": {PAYLOAD: f"{PAYLOADS}DefaultHoodieRecordPayload"},
    "default_payload_marker": {PAYLOAD: f"{PAYLOADS}DefaultHoodieRecordPayload", **MARKER},
    "event_time_payload": {PAYLOAD: f"{PAYLOADS}EventTimeAvroPayload"},
    "partial_update": {PAYLOAD: f"{PAYLOADS}PartialUpdateAvroPayload"},
    "overwrite_non_defaults": {PAYLOAD: f"{PAYLOADS}OverwriteNonDefaultsWithLatestAvroPayload"},
}
LATER_CONFIGURATIONS: dict[str, dict[str, str]] = {
    "commit_time": {MODE: "COMMIT_TIME_ORDERING"},
    "event_time": EVENT_TIME,
    "event_time_marker": EVENT_TIME | MARKER,
    "no_ordering": {PRECOMBINE: ""},
    "two_ordering_fields": {PRECOMBINE: "", "hoodie.table.ordering.fields": "ts,ts2", **EVENT_TIME},
}
LONG_LOG_CONFIGURATIONS = (
    "event_time",
    "commit_time",
    "overwrite_latest",
    "default_payload",
    "default_payload_marker",
    "partial_update",
    "overwrite_non_defaults",
)
KEPT_PROPERTIES = ("merge", "payload", "precombine", "ordering", "partial")


def options(version: int, configuration: Mapping[str, str], operation: str) -> dict[str, str]:
    chosen = {
        **COMMON,
        **MERGE_ON_READ,
        "hoodie.table.name": "m",
        "hoodie.datasource.write.recordkey.field": "key",
        "hoodie.datasource.write.partitionpath.field": "p",
        "hoodie.datasource.write.operation": operation,
        "hoodie.write.table.version": str(version),
        "hoodie.bloom.index.filter.dynamic.max.entries": "2000",
        **configuration,
    }
    return {key: value for key, value in chosen.items() if value}


def rows_of(cases: Cases, number: int) -> Iterator[tuple[Any, ...]]:
    """Rows of one commit. A delete operation needs only keys and partitions."""
    for key, steps in cases.items():
        step = steps[number]
        if step == DELETE:
            yield key, 0, 0, "a", None, None, None, None
        elif step is not None:
            for each in step if isinstance(step, list) else [step]:
                yield key, each["ts"], each["ts2"], "a", each["v"], each["s"], each["op"], each["deleted"]


def answers(
    spark: SparkSession, path: Path, configuration: Mapping[str, str], query: str
) -> dict[str, list[Any]]:
    """The row of each key: ts, ts2, v, s, and the number of the commit that wrote it."""
    read = {key: value for key, value in configuration.items() if key in MARKER}
    read |= {"hoodie.metadata.enable": "false", "hoodie.datasource.query.type": query}
    found = spark.read.format("hudi").options(**read).load(str(path))
    rows = found.select("key", "ts", "ts2", "v", "s", "_hoodie_commit_time").collect()
    assert len({row[0] for row in rows}) == len(rows)
    numbers = {time: number for number, time in enumerate(commit_times(path), start=1)}
    return {row[0]: [*row[1:5], numbers[row[5]]] for row in rows}


def commit_times(path: Path) -> Sequence[str]:
    hoodie = path / ".hoodie"
    names = [file.name for file in (*hoodie.glob("*.deltacommit"), *hoodie.glob("timeline/*.deltacommit"))]
    return sorted(name.split(".")[0].split("_")[0] for name in names)


def ask(
    spark: SparkSession, path: Path, cases: Cases, version: int, configuration: dict[str, str]
) -> dict[str, Any]:
    shutil.rmtree(path, ignore_errors=True)
    for number in range(max(map(len, cases.values()))):
        operation = "delete" if number == 2 else "upsert"
        batch = spark.createDataFrame(list(rows_of(cases, number)), SCHEMA).coalesce(1)
        write = batch.write.format("hudi").options(**options(version, configuration, operation))
        write.mode("append").save(str(path))
    lines = (path / ".hoodie" / "hoodie.properties").read_text(encoding="utf-8").splitlines()
    properties = dict(line.split("=", 1) for line in lines if "=" in line)
    snapshot = answers(spark, path, configuration, "snapshot")
    for key, value in configuration.items():
        if key in MARKER:
            spark.sql(f"set {key}={value}")
    compaction = f"call run_compaction(op => 'run', path => '{path}'"
    spark.sql(f"{compaction}, options => 'hoodie.compact.inline.max.delta.commits=1')").collect()
    for key in MARKER:
        spark.sql(f"reset {key}")
    assert list(path.glob(".hoodie/**/*.commit")), "no compaction ran"
    compacted = answers(spark, path, configuration, "read_optimized")
    return {
        "properties": {
            key: value for key, value in properties.items() if any(x in key for x in KEPT_PROPERTIES)
        },
        "snapshot": {key: snapshot.get(key) for key in cases},
        "compacted": {key: compacted.get(key) for key in cases},
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jar", required=True)
    parser.add_argument("--version", required=True, type=int)
    parser.add_argument("--work", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--only", help="name of one configuration")
    arguments = parser.parse_args()
    spark = session(arguments.jar)
    pin(spark, str(arguments.version))
    release = Path(arguments.jar).stem.split("-")[-1]
    configurations = CONFIGURATIONS | (LATER_CONFIGURATIONS if arguments.version > 6 else {})
    for file, cases in FILES.items():
        out = arguments.out / file
        document = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {"results": {}}
        document["cases"] = cases
        for name, configuration in configurations.items():
            is_wanted = cases is CASES or name in LONG_LOG_CONFIGURATIONS
            if not is_wanted or arguments.only not in (None, name):
                continue
            path = arguments.work / f"{release}_v{arguments.version}_{name}" / "m"
            found = ask(spark, path, cases, arguments.version, configuration)
            document["results"][f"{release}/v{arguments.version}/{name}"] = found
            out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
