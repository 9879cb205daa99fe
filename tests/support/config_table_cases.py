"""Cases of the configuration rules about writers and tables."""

from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
)
from support.config_cases import (
    COMPLEX,
    DAYS,
    HUDI,
    METADATA,
    OCC,
    PLAN,
    STRATEGY,
    V6,
    V9,
    WRITE,
    Case,
    Cases,
    found,
    lock,
    table,
)

WRITER_CASES: Cases = {
    "writers-without-lock": (
        [found("error", "2 writers", "fact: writers", facts={**HUDI, "writers": "2"})],
        [
            Case(facts={**HUDI, "writers": "1"}),
            Case(facts={"writers": "2"}),
            Case(options=OCC, facts={**HUDI, "writers": "2"}),
            Case(
                options={"hoodie.write.concurrency.mode": "NON_BLOCKING_CONCURRENCY_CONTROL"},
                facts={**HUDI, "writers": "2"},
            ),
        ],
    ),
    "services-without-lock": (
        [found("error", "at the same moment", facts={**HUDI, "services_apart": "true"})],
        [
            Case(options=lock(FILE_SYSTEM_PROVIDER), facts={**HUDI, "services_apart": "true"}),
            Case(facts={"services_apart": "true"}),
        ],
    ),
    "occ-without-provider": (
        [
            found("error", FILE_SYSTEM_PROVIDER, options=OCC),
            found("error", STORAGE_BASED_PROVIDER, options=OCC, facts={**HUDI, "storage_scheme": "s3a"}),
        ],
        [Case(options={**OCC, **lock(FILE_SYSTEM_PROVIDER)})],
    ),
    "lock-within-process": (
        [
            found("error", "lock of its own", options={**OCC, **lock(IN_PROCESS_PROVIDER)}),
            found(
                "error",
                "lock of its own",
                "fact: writers",
                options=lock(IN_PROCESS_PROVIDER),
                facts={**HUDI, "writers": "3"},
            ),
        ],
        [Case(options=lock(IN_PROCESS_PROVIDER)), Case(options={**OCC, **lock(FILE_SYSTEM_PROVIDER)})],
    ),
    "file-lock-on-object-store": (
        [
            found(
                "error",
                STORAGE_BASED_PROVIDER,
                options=lock(FILE_SYSTEM_PROVIDER),
                facts={"storage_scheme": "s3"},
            )
        ],
        [
            Case(options=lock(FILE_SYSTEM_PROVIDER), facts={"storage_scheme": "file"}),
            Case(options=lock(FILE_SYSTEM_PROVIDER)),
            Case(options=lock(STORAGE_BASED_PROVIDER), facts={"storage_scheme": "s3"}),
        ],
    ),
    "storage-lock-on-files": (
        [
            found(
                "error",
                FILE_SYSTEM_PROVIDER,
                options=lock(STORAGE_BASED_PROVIDER),
                facts={"storage_scheme": "hdfs"},
            )
        ],
        [Case(options=lock(STORAGE_BASED_PROVIDER), facts={"storage_scheme": "gs"})],
    ),
    "storage-lock-too-new": (
        [
            found(
                "error",
                "Hudi 1.0.2",
                options=lock(STORAGE_BASED_PROVIDER),
                facts={**HUDI, "hudi_version": "0.15.0"},
            ),
            found(
                "error",
                "Hudi 1.2",
                options=lock(STORAGE_BASED_PROVIDER),
                facts={**HUDI, "hudi_version": "1.1.0", "storage_scheme": "abfss"},
            ),
        ],
        [
            Case(options=lock(STORAGE_BASED_PROVIDER), facts={**HUDI, "hudi_version": "1.0.2"}),
            Case(options=lock(STORAGE_BASED_PROVIDER), facts=HUDI),
        ],
    ),
    "eager-beside-writers": (
        [
            found(
                "error",
                "pending write as dead",
                options={**OCC, **lock(FILE_SYSTEM_PROVIDER), "hoodie.clean.failed.writes.policy": "EAGER"},
            ),
            found("error", "pending write as dead", facts={"engine": "both", "writers": "2"}),
        ],
        [
            Case(options={**OCC, **lock(FILE_SYSTEM_PROVIDER)}),
            Case(options={"hoodie.cleaner.policy.failed.writes": "LAZY"}, facts={**HUDI, "writers": "2"}),
            Case(facts={"writers": "2"}),
        ],
    ),
    "file-lock-never-expires": (
        [found("warning", "never expires", options=lock(FILE_SYSTEM_PROVIDER), facts=HUDI)],
        [
            Case(
                options=lock(FILE_SYSTEM_PROVIDER, **{"hoodie.write.lock.filesystem.expire": "15"}),
                facts=HUDI,
            ),
            Case(options=lock(FILE_SYSTEM_PROVIDER)),
        ],
    ),
    "runs-overlap": (
        [
            found("advice", "writes its rows again", facts={"max_active_runs": "16"}),
            found("warning", "only writer", facts={**HUDI, "max_active_runs": "2"}),
        ],
        [
            Case(facts={"max_active_runs": "1"}),
            Case(facts={"max_active_runs": "16", "max_active_tis_per_dag": "1"}),
            Case(facts={**HUDI, "max_active_runs": "16", "pool_slots": "1"}),
            Case(facts={"max_active_runs": "16", "takes_turns": "true"}),
        ],
    ),
    "catchup-overlaps": (
        [found("warning", "at the same time", facts={"catchup": "true", "max_active_runs": "3"})],
        [
            Case(facts={"catchup": "false", "max_active_runs": "3"}),
            Case(facts={"catchup": "true", "max_active_runs": "1"}),
            Case(facts={"catchup": "true", "depends_on_past": "true"}),
        ],
    ),
    "retry-repeats-insert": (
        [
            found(
                "warning",
                "first try",
                options={f"{WRITE}operation": "insert"},
                facts={**HUDI, "retries": "2"},
            )
        ],
        [
            Case(options={f"{WRITE}operation": "insert"}, facts={"retries": "2"}),
            Case(options={f"{WRITE}operation": "insert"}, facts={**HUDI, "retries": "0"}),
            Case(
                options={f"{WRITE}operation": "insert", f"{WRITE}insert.drop.duplicates": "true"},
                facts={**HUDI, "retries": "0"},
            ),
            Case(
                options={f"{WRITE}operation": "insert", "hoodie.datasource.insert.dup.policy": "drop"},
                facts={**HUDI, "retries": "2"},
            ),
        ],
    ),
}

TABLE_CASES: Cases = {
    "differs-from-table": (
        [
            found(
                "error",
                "property is id, but the option is uuid",
                f"{WRITE}recordkey.field",
                "table: hoodie.table.recordkey.fields",
                options={f"{WRITE}recordkey.field": "uuid"},
                table=table({**V6, "hoodie.table.recordkey.fields": "id"}),
            ),
            found(
                "error",
                "MERGE_ON_READ",
                options={f"{WRITE}table.type": "MERGE_ON_READ"},
                facts=HUDI,
                table=table(),
            ),
        ],
        [
            Case(
                options={
                    f"{WRITE}recordkey.field": "id, day",
                    f"{WRITE}partitionpath.field": "day:SIMPLE",
                    f"{WRITE}precombine.field": "ts",
                    f"{WRITE}table.type": "copy_on_write",
                },
                table=table(
                    {
                        **V9,
                        "hoodie.table.recordkey.fields": "id,day",
                        "hoodie.table.partition.fields": "day",
                        "hoodie.table.ordering.fields": "ts",
                    }
                ),
            ),
            Case(options={f"{WRITE}recordkey.field": "uuid"}),
        ],
    ),
    "table-not-written": (
        [
            found("error", "merge-on-read", table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"})),
            found("error", "can only read", table=table({**V6, "hoodie.table.version": "5"})),
            found("error", "'12' is not supported", table=table({**V6, "hoodie.table.version": "12"})),
        ],
        [
            Case(table=table()),
            Case(table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"}), facts=HUDI),
        ],
    ),
    "bootstrapped-table": (
        [
            found(
                "warning",
                "outside the table",
                table=table({**V6, "hoodie.bootstrap.base.path": "s3://b/p"}),
                facts=HUDI,
            )
        ],
        [Case(table=table(), facts=HUDI)],
    ),
    "metadata-table-stale": (
        [
            found("error", "reject the table", table=table(METADATA)),
            found(
                "warning",
                "deletes the metadata table",
                options={"hoodie.metadata.enable": "false"},
                table=table(METADATA),
            ),
        ],
        [Case(table=table()), Case(table=table(METADATA), facts=HUDI)],
    ),
    "metadata-settings-differ": (
        [
            found(
                "warning",
                "rebuilds it",
                options={"hoodie.metadata.enable": "false"},
                table=table(METADATA),
                facts=HUDI,
            )
        ],
        [
            Case(options={"hoodie.metadata.enable": "true"}, table=table(METADATA), facts=HUDI),
            Case(options={"hoodie.metadata.enable": "false"}, table=table(), facts=HUDI),
        ],
    ),
    "hudi-too-old": (
        [
            found("error", "Hudi 1.1", table=table(V9), facts={**HUDI, "hudi_version": "1.0.2"}),
            found(
                "error",
                "Hudi 1.0",
                options={"hoodie.write.table.version": "8"},
                facts={**HUDI, "hudi_version": "0.15.0"},
            ),
        ],
        [
            Case(table=table(V9), facts={**HUDI, "hudi_version": "1.1.0"}),
            Case(table=table(V6), facts={**HUDI, "hudi_version": "0.15.0"}),
        ],
    ),
    "hudi-upgrades-table": (
        [found("warning", "writes version 8", table=table(), facts={**HUDI, "hudi_version": "1.0.2"})],
        [
            Case(table=table(), facts={**HUDI, "hudi_version": "0.15.0"}),
            Case(table=table(V9), facts={**HUDI, "hudi_version": "1.2.0"}),
            Case(
                options={"hoodie.write.auto.upgrade": "false"},
                table=table(),
                facts={**HUDI, "hudi_version": "1.2.0"},
            ),
        ],
    ),
    "hudi-without-spark": (
        [
            found(
                "error", "Spark 4 needs", facts={**HUDI, "hudi_version": "1.0.2", "spark_version": "4.0.1"}
            ),
            found("error", "Spark 3.3", facts={**HUDI, "hudi_version": "1.0.2", "spark_version": "3.2.4"}),
        ],
        [
            Case(facts={**HUDI, "hudi_version": "1.1.0", "spark_version": "4.0.1"}),
            Case(facts={**HUDI, "hudi_version": "0.15.0", "spark_version": "3.2.4"}),
        ],
    ),
    "hudi-hides-failures": (
        [found("warning", "exit code 0", facts={**HUDI, "hudi_version": "0.14.0"})],
        [
            Case(facts={**HUDI, "hudi_version": "0.14.1"}),
            Case(facts={**HUDI, "hudi_version": "0.14.1-amzn-0"}),
        ],
    ),
    "complex-key-text": (
        [
            found(
                "warning",
                "encodes such a key as `value`.",
                options=COMPLEX,
                facts={**HUDI, "hudi_version": "0.15.0"},
            ),
            found(
                "warning",
                "encodes such a key as `column:value`.",
                table=table(
                    {
                        **V6,
                        "hoodie.table.recordkey.fields": "id",
                        "hoodie.table.partition.fields": "day,city",
                    }
                ),
                facts={**HUDI, "hudi_version": "1.2.0"},
            ),
        ],
        [
            Case(options=COMPLEX, facts={**HUDI, "hudi_version": "1.2.0"}, table=table(V9)),
            Case(
                options={**COMPLEX, f"{WRITE}recordkey.field": "id,day"},
                facts={**HUDI, "hudi_version": "1.2.0"},
            ),
            Case(
                options={**COMPLEX, "hoodie.write.complex.keygen.new.encoding": "true"},
                facts={**HUDI, "hudi_version": "1.2.0"},
            ),
        ],
    ),
    "selector-matches-nothing": (
        [
            found(
                "warning",
                "no partition 2024-01-01",
                options={f"{STRATEGY}partition.selected": "2024/01/01,2024-01-01"},
                table=table(partitions=DAYS),
            ),
            found(
                "warning",
                "stored as '2024/01/01'",
                options={f"{STRATEGY}partition.regex.pattern": "2024"},
                table=table(partitions=DAYS),
            ),
            found(
                "warning",
                "no partition 2023",
                options={f"{WRITE}operation": "delete_partition", f"{WRITE}partitions.to.delete": "2023*"},
                table=table(partitions=DAYS),
            ),
        ],
        [
            Case(
                options={
                    f"{STRATEGY}partition.selected": "2024/01/01",
                    f"{STRATEGY}partition.regex.pattern": "2024/.*",
                    f"{WRITE}partitions.to.delete": "2024*",
                    "hoodie.clean.partition.filter.regex": "(",
                },
                table=table(partitions=DAYS),
            ),
            Case(options={f"{STRATEGY}partition.selected": "2024-01-01"}, table=table()),
        ],
    ),
    "overwrite-under-plan": (
        [
            found(
                "error",
                "20240101000000000",
                options={f"{WRITE}operation": "insert_overwrite_table"},
                facts=HUDI,
                table=table(pending_plans=PLAN),
            ),
            found(
                "advice",
                "20240101000000000",
                options={f"{WRITE}operation": "delete_partition", f"{WRITE}partitions.to.delete": "2024*"},
                table=table(pending_plans=PLAN),
            ),
        ],
        [
            Case(
                options={f"{WRITE}operation": "delete_partition", f"{WRITE}partitions.to.delete": "2023*"},
                table=table(pending_plans=PLAN),
            ),
            Case(options={f"{WRITE}operation": "upsert"}, facts=HUDI, table=table(pending_plans=PLAN)),
            Case(options={f"{WRITE}operation": "insert_overwrite"}, facts=HUDI, table=table()),
        ],
    ),
}
