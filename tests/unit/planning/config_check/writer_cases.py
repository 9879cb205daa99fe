"""Cases of the configuration rules about writers."""

from config_check_cases import (
    HUDI,
    OCC,
    WRITE,
    Case,
    Cases,
    found,
    lock,
)

from hudi_table_services.options.locks import (
    FILE_SYSTEM_PROVIDER,
    IN_PROCESS_PROVIDER,
    STORAGE_BASED_PROVIDER,
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
