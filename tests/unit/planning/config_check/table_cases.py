"""Cases of the configuration rules about tables."""

from config_check_cases import (
    COMPLEX,
    DAYS,
    HUDI,
    PLAN,
    STRATEGY,
    V6,
    V9,
    WRITE,
    Case,
    Cases,
    found,
    table,
)

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
            found(
                "error",
                "merges by custom rules",
                "table: hoodie.record.merge.property.x",
                table=table({**V6, "hoodie.record.merge.property.x": "y"}),
            ),
            found(
                "error",
                "can only read",
                "table: hoodie.table.version",
                table=table({**V6, "hoodie.table.version": "5"}),
            ),
            found(
                "error",
                "hoodie.table.type is 'HEAP'",
                "table: hoodie.table.type",
                table=table({**V6, "hoodie.table.type": "HEAP"}),
            ),
            found("error", "'12' is not supported", table=table({**V6, "hoodie.table.version": "12"})),
        ],
        [
            Case(table=table()),
            Case(table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"})),
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
    "compaction-in-every-writer": (
        [
            found(
                "warning",
                "fifth delta commit",
                "hoodie.compact.inline",
                "table: hoodie.table.type",
                table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"}),
                facts=HUDI,
            ),
            found(
                "warning",
                "fifth delta commit",
                "hoodie.compact.inline",
                options={f"{WRITE}table.type": "MERGE_ON_READ"},
                facts=HUDI,
            ),
        ],
        [
            Case(table=table(), facts=HUDI),
            Case(facts=HUDI),
            Case(table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"})),
            *(
                Case(
                    options={"hoodie.compact.inline": value},
                    table=table({**V6, "hoodie.table.type": "MERGE_ON_READ"}),
                    facts=HUDI,
                )
                for value in ("true", "false")
            ),
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
                "encodes a complex key of one column as `value`.",
                options=COMPLEX,
                facts={**HUDI, "hudi_version": "0.15.0"},
            ),
            found(
                "warning",
                "encodes a complex key of one column as `column:value`.",
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
