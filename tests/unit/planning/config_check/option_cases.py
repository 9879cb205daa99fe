"""Cases of the configuration rules about options, sizes and table services."""

from config_check_cases import HUDI, STRATEGY, WRITE, Case, Cases, found, lock, table

NAME_AND_UPKEEP_CASES: Cases = {
    "unknown-option": (
        [
            found(
                "error",
                "Did you mean hoodie.clustering.inline?",
                "hoodie.clustring.inline",
                options={"hoodie.clustring.inline": "true"},
            ),
            found(
                "warning",
                "hoodie.keep.min.commits",
                options={"hoodie.keep.min.commit": "20"},
                facts=HUDI,
            ),
            found("warning", "does not list", options={"hoodie.clustering.some.new.thing": "1"}),
            found("error", "Did you mean", options={"hoodie.clustering.inlin": "true"}),
            found("error", "no option path", options={"path": "/t"}),
        ],
        [
            Case(options={"hoodie.clustering.inline": "true", "_note": "x"}),
            Case(options={"path": "/t"}, facts=HUDI),
            Case(options={"#note": "x", f"{WRITE}commitmeta.key.prefix": "#"}),
        ],
    ),
    "two-names": (
        [
            found(
                "error",
                "their values differ",
                "hoodie.cleaner.commits.retained",
                "hoodie.clean.commits.retained",
                options={"hoodie.cleaner.commits.retained": "4", "hoodie.clean.commits.retained": "5"},
            )
        ],
        [Case(options={"hoodie.cleaner.commits.retained": "4", "hoodie.clean.commits.retained": "4 "})],
    ),
    "bad-value": (
        [
            found("error", "whole number", options={"hoodie.parquet.max.file.size": "120MB"}),
            found("error", "neither true nor false", options={"hoodie.clustering.inline": "yes"}, facts=HUDI),
        ],
        [
            Case(options={"hoodie.parquet.max.file.size": "125829120", "hoodie.clustering.inline": "FALSE"}),
            Case(
                options={
                    "hoodie.parquet.small.file.limit": "-1",
                    "hoodie.record.size.estimation.threshold": "0.5",
                }
            ),
        ],
    ),
    "unsupported-option": (
        [
            found("error", "Java", options={"hoodie.precommit.validators": "a.B"}),
        ],
        [
            Case(options={f"{WRITE}table.type": "copy_on_write"}),
            Case(options={f"{WRITE}table.type": "MERGE_ON_READ"}),
        ],
    ),
    "service-not-inline": (
        [
            found(
                "warning",
                "ClusteringOperator",
                "hoodie.clustering.inline",
                options={"hoodie.clustering.inline": "true"},
            ),
            found("warning", "CleanOperator", options={"hoodie.clean.automatic": "true"}),
            found(
                "warning", "every_n_commits", options={"hoodie.datasource.clustering.async.enable": "true"}
            ),
        ],
        [
            Case(options={"hoodie.clustering.inline": "false"}),
            Case(options={"hoodie.clustering.inline": "true"}, facts=HUDI),
        ],
    ),
    "no-service": (
        [found("advice", "accumulate", options={"hoodie.clean.automatic": "false"}, facts=HUDI)],
        [
            Case(options={"hoodie.clean.automatic": "true"}, facts=HUDI),
            Case(options={"hoodie.clean.automatic": "false"}),
        ],
    ),
    "archival-before-cleaning": (
        [
            found(
                "error",
                "cleaning retains the files of 24 commits",
                "hoodie.keep.min.commits",
                options={"hoodie.keep.min.commits": "24", "hoodie.cleaner.commits.retained": "24"},
            ),
            found(
                "error",
                "cleaning retains the files of 30 commits",
                options={"hoodie.cleaner.commits.retained": "30"},
            ),
            found("warning", "above 10", options={"hoodie.keep.min.commits": "10"}, facts=HUDI),
        ],
        [
            Case(options={"hoodie.keep.min.commits": "11", "hoodie.clean.commits.retained": "10"}),
            Case(
                options={
                    "hoodie.clean.policy": "KEEP_LATEST_BY_HOURS",
                    "hoodie.clean.commits.retained": "24",
                }
            ),
        ],
    ),
    "archival-before-hours": (
        [
            found(
                "warning",
                "about 48 commits",
                options={"hoodie.clean.hours.retained": "48"},
                facts={"commits_per_day": "24"},
            )
        ],
        [
            Case(options={"hoodie.clean.hours.retained": "12"}, facts={"commits_per_day": "24"}),
            Case(options={"hoodie.clean.hours.retained": "48"}),
        ],
    ),
    "archival-bounds": (
        [found("error", "minimum is 30", options={"hoodie.keep.min.commits": "30"})],
        [Case(options={"hoodie.keep.min.commits": "29"})],
    ),
    "clean-before-queries": (
        [
            found(
                "error",
                "about 2 hours",
                options={"hoodie.clean.hours.retained": "2"},
                facts={"longest_query_hours": "3"},
            ),
            found(
                "error",
                "about 5 hours",
                "fact: commits_per_day",
                facts={"longest_query_hours": "6", "commits_per_day": "48"},
            ),
        ],
        [
            Case(options={"hoodie.clean.hours.retained": "3"}, facts={"longest_query_hours": "3"}),
            Case(facts={"longest_query_hours": "6"}),
            Case(
                options={"hoodie.airflow.clean.floor.hours": "6"},
                facts={"longest_query_hours": "6", "commits_per_day": "48"},
            ),
        ],
    ),
    "clean-regex-incremental": (
        [
            found(
                "warning",
                "Incremental",
                options={"hoodie.cleaner.partition.filter.regex": "2024.*"},
                facts=HUDI,
            )
        ],
        [
            Case(options={"hoodie.clean.partition.filter.regex": "2024.*"}),
            Case(
                options={
                    "hoodie.clean.partition.filter.regex": "2024.*",
                    "hoodie.cleaner.incremental.mode": "false",
                },
                facts=HUDI,
            ),
        ],
    ),
    "small-limit-above-max": (
        [
            found(
                "warning",
                "below 100 MiB",
                options={"hoodie.parquet.max.file.size": str(64 << 20)},
                facts=HUDI,
            ),
            found(
                "warning",
                "no file becomes larger",
                options={
                    "hoodie.parquet.max.file.size": str(64 << 20),
                    "hoodie.parquet.small.file.limit": str(64 << 20),
                },
            ),
        ],
        [
            Case(options={"hoodie.parquet.max.file.size": str(64 << 20)}),
            Case(
                options={
                    "hoodie.parquet.max.file.size": str(64 << 20),
                    "hoodie.parquet.small.file.limit": str(50 << 20),
                },
                facts=HUDI,
            ),
        ],
    ),
    "block-below-file-size": (
        [
            found(
                "warning",
                "row groups have 120 MiB",
                options={"hoodie.parquet.max.file.size": str(512 << 20)},
                facts=HUDI,
            )
        ],
        [
            Case(options={"hoodie.parquet.max.file.size": str(512 << 20)}),
            Case(
                options={
                    "hoodie.parquet.max.file.size": str(512 << 20),
                    "hoodie.parquet.block.size": str(512 << 20),
                },
                facts=HUDI,
            ),
        ],
    ),
    "bulk-insert-small-files": (
        [
            found("warning", "creates new files", options={f"{WRITE}operation": "bulk_insert"}, facts=HUDI),
            found("advice", "creates new files", options={f"{WRITE}operation": "BULK_INSERT"}),
        ],
        [
            Case(options={f"{WRITE}operation": "insert"}, facts=HUDI),
            Case(
                options={f"{WRITE}operation": "bulk_insert", "hoodie.clustering.inline": "true"},
                facts=HUDI,
            ),
        ],
    ),
    "clustering-target-small": (
        [
            found(
                "error",
                "200 MiB",
                f"{STRATEGY}target.file.max.bytes",
                options={f"{STRATEGY}target.file.max.bytes": str(200 << 20)},
            ),
            found(
                "warning", "300 MiB", options={f"{STRATEGY}target.file.max.bytes": str(300 << 20)}, facts=HUDI
            ),
        ],
        [
            Case(options={f"{STRATEGY}target.file.max.bytes": str(300 << 20)}),
            Case(options={f"{STRATEGY}target.file.max.bytes": str(301 << 20)}, facts=HUDI),
        ],
    ),
    "clustering-target-above-group": (
        [found("warning", "4096 MiB", options={f"{STRATEGY}target.file.max.bytes": str(4 << 30)})],
        [
            Case(
                options={
                    f"{STRATEGY}target.file.max.bytes": str(4 << 30),
                    f"{STRATEGY}max.bytes.per.group": str(8 << 30),
                }
            )
        ],
    ),
    "sizes-disagree": (
        [
            found(
                "advice",
                "1024 MiB",
                options={
                    "hoodie.parquet.max.file.size": str(128 << 20),
                    f"{STRATEGY}target.file.max.bytes": str(1 << 30),
                },
            )
        ],
        [
            Case(options={f"{STRATEGY}target.file.max.bytes": str(1 << 30)}),
            Case(
                options={
                    "hoodie.parquet.max.file.size": str(512 << 20),
                    f"{STRATEGY}target.file.max.bytes": str(1 << 30),
                }
            ),
        ],
    ),
    "row-writer-implicit": (
        [
            found(
                "advice",
                "is not set, and its default",
                options={"hoodie.clustering.inline": "true"},
                facts=HUDI,
            )
        ],
        [
            Case(
                options={"hoodie.clustering.inline": "true", f"{WRITE}row.writer.enable": "false"},
                facts=HUDI,
            ),
            Case(options={"hoodie.clustering.inline": "true"}),
        ],
    ),
}

OTHER_CASES: Cases = {
    "refused-by-job": (
        [
            found("error", "ZooKeeper", options=lock("org.apache.hudi.x.ZookeeperBasedLockProvider")),
            found("error", "names no partitions", options={f"{WRITE}operation": "delete_partition"}),
            found("error", "not a regular expression", options={"hoodie.clean.partition.filter.regex": "("}),
        ],
        [
            Case(options={f"{WRITE}operation": "delete_partition"}, facts=HUDI),
            # A more specific rule has a finding in the next case.
            Case(options={"hoodie.keep.min.commits": "10"}),
            Case(options={f"{STRATEGY}target.file.max.bytes": "1000"}),
        ],
    ),
    "ignored-option": (
        [found("advice", "No effect", options={"hoodie.upsert.shuffle.parallelism": "200"})],
        [
            Case(options={"hoodie.upsert.shuffle.parallelism": "200"}, facts=HUDI),
            # A more specific rule has a finding in the next case.
            Case(options={"hoodie.clean.automatic": "true"}),
        ],
    ),
    "timeline-too-long": (
        [found("warning", "has 61 commits", table=table(active_commits=61))],
        [Case(table=table(active_commits=60)), Case(table=table())],
    ),
}
