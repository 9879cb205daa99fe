"""Cases of the configuration rules about the metadata table, and about keys that writes cannot build."""

from config_check_cases import HUDI, METADATA, V6, V9, WRITE, Case, Cases, found, table

LISTED = "hoodie.table.metadata.partitions"
SECONDARY = {**V9, LISTED: "column_stats,files,secondary_index_city"}
RECORDS = {**V9, LISTED: "files,record_index"}
STATISTICS = {**V9, LISTED: "column_stats,files"}
DAMAGE = {
    "definitions_damage": "index.json: not a document",
    "definitions_cure": "Restore the file from a backup.",
}
PARTITIONED = "hoodie.metadata.record.level.index.enable"
OFF = {"hoodie.metadata.enable": "false"}
INDEX = "hoodie.metadata.index."
CUSTOM = {
    **V6,
    "hoodie.table.partition.fields": "day",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator",
}
TIMES = {
    **V6,
    "hoodie.table.partition.fields": "at",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
}
TYPED = {
    "hoodie.keygen.timebased.timestamp.type": "EPOCHMILLISECONDS",
    "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
}

METADATA_CASES: Cases = {
    "keys-not-written": (
        [
            found(
                "error",
                "its keys are generated",
                table=table({k: v for k, v in V6.items() if k != "hoodie.table.recordkey.fields"}),
            ),
            found(
                "error",
                "needs a type",
                f"{WRITE}partitionpath.field",
                "table: hoodie.table.partition.fields",
                table=table(CUSTOM),
            ),
            found(
                "error",
                "hoodie.keygen.timebased.timestamp.type does not give their meaning",
                "hoodie.keygen.timebased.timestamp.type",
                table=table(TIMES),
            ),
        ],
        [
            Case(table=table()),
            Case(table=table(TIMES), options=TYPED),
            Case(table=table({**TIMES, **TYPED})),
            Case(table=table(CUSTOM), options={f"{WRITE}partitionpath.field": "day:SIMPLE"}),
            Case(table=table(CUSTOM), facts=HUDI),
            # Other rules report the next cases.
            Case(table=table(), options={f"{WRITE}recordkey.field": "uuid"}),
            Case(table=table({**CUSTOM, "hoodie.table.version": "5"})),
            Case(table=table({**CUSTOM, "hoodie.table.version": "5.5"})),
        ],
    ),
    "metadata-table-stale": (
        [
            found(
                "error",
                "no definition of secondary_index_city",
                f"table: {LISTED}",
                table=table(
                    SECONDARY, refused_secondary_index="The table has no definition of secondary_index_city."
                ),
            ),
            found(
                "error", "--drop expr_index_day", table=table({**METADATA, LISTED: "files,expr_index_day"})
            ),
            found("error", "is building the index files", table=table({**V9, f"{LISTED}.inflight": "files"})),
        ],
        [
            Case(table=table()),
            Case(table=table(METADATA)),
            Case(table=table(RECORDS)),
            Case(table=table(RECORDS, has_partitioned_record_index=True)),
            Case(
                table=table({**V9, LISTED: "bloom_filters,column_stats,files,partition_stats"}),
                options={"hoodie.metadata.enable": "true"},
            ),
            Case(table=table(SECONDARY)),
            Case(table=table(SECONDARY, refused_secondary_index="no"), options=OFF),
            Case(table=table(SECONDARY, refused_secondary_index="no"), facts=HUDI),
        ],
    ),
    "index-definitions-damaged": (
        [
            found(
                "error",
                "index.json: not a document",
                f"table: {LISTED}",
                table=table(STATISTICS, **DAMAGE),
            )
        ],
        [
            Case(table=table(STATISTICS)),
            Case(table=table(STATISTICS, **DAMAGE), options=OFF),
            Case(),
        ],
    ),
    "metadata-table-deleted": (
        [
            found(
                "warning",
                "column_stats, files, secondary_index_city",
                "hoodie.metadata.enable",
                f"table: {LISTED}",
                options=OFF,
                table=table(SECONDARY),
            ),
        ],
        [
            Case(table=table(), options=OFF),
            Case(table=table(METADATA)),
            Case(table=table(METADATA), options={"hoodie.metadata.enable": "true"}),
            Case(table=table(METADATA), options=OFF, facts=HUDI),
        ],
    ),
    "record-index-kind": (
        [
            found(
                "error",
                "for each partition",
                PARTITIONED,
                f"table: {LISTED}",
                table=table(RECORDS, has_partitioned_record_index=True),
                facts=HUDI,
            ),
            found(
                "error",
                "for the whole table",
                PARTITIONED,
                f"table: {LISTED}",
                table=table(RECORDS),
                options={PARTITIONED: "true"},
                facts=HUDI,
            ),
        ],
        [
            Case(table=table(RECORDS), facts=HUDI),
            Case(
                table=table(RECORDS, has_partitioned_record_index=True),
                options={PARTITIONED: "TRUE"},
                facts=HUDI,
            ),
            Case(table=table(RECORDS, has_partitioned_record_index=True)),
            Case(table=table(RECORDS, has_partitioned_record_index=True), options=OFF, facts=HUDI),
            Case(options={PARTITIONED: "true"}, facts=HUDI),
        ],
    ),
    "record-index-unused": (
        [
            found(
                "warning",
                "locates a key only within one partition",
                "hoodie.index.type",
                f"table: {LISTED}",
                table=table(RECORDS, has_partitioned_record_index=True),
                options={"hoodie.index.type": index_type, PARTITIONED: "true"},
            )
            for index_type in ("RECORD_INDEX", "GLOBAL_RECORD_LEVEL_INDEX")
        ],
        [
            Case(
                table=table(RECORDS, has_partitioned_record_index=True),
                options={"hoodie.index.type": "RECORD_LEVEL_INDEX"},
            ),
            Case(table=table(RECORDS, has_partitioned_record_index=True)),
            Case(table=table(RECORDS), options={"hoodie.index.type": "RECORD_INDEX"}),
        ],
    ),
    "record-index-keys-not-global": (
        [
            found(
                "warning",
                f"{index_type} allows",
                "hoodie.index.type",
                f"table: {LISTED}",
                table=table(RECORDS),
                options={"hoodie.index.type": index_type},
            )
            for index_type in ("SIMPLE", "BLOOM", "RECORD_LEVEL_INDEX", "BUCKET")
        ],
        [
            Case(table=table(RECORDS)),
            Case(table=table(RECORDS), options={"hoodie.index.type": "GLOBAL_SIMPLE"}),
            Case(table=table(METADATA), options={"hoodie.index.type": "SIMPLE"}),
            Case(
                table=table(RECORDS, has_partitioned_record_index=True),
                options={"hoodie.index.type": "SIMPLE"},
            ),
        ],
    ),
    "metadata-settings-differ": (
        [found("warning", "builds it again", options=OFF, table=table(METADATA), facts=HUDI)],
        [
            Case(options={"hoodie.metadata.enable": "true"}, table=table(METADATA), facts=HUDI),
            Case(options=OFF, table=table(), facts=HUDI),
        ],
    ),
    "metadata-index-without-table": (
        [
            found(
                "warning",
                "has no effect",
                f"{INDEX}column.stats.enable",
                options={**OFF, f"{INDEX}column.stats.enable": "true"},
                facts=HUDI,
            ),
            found(
                "warning",
                "looks up keys in all files",
                "hoodie.index.type",
                options={**OFF, "hoodie.index.type": "RECORD_INDEX"},
                facts=HUDI,
            ),
        ],
        [
            Case(options={f"{INDEX}column.stats.enable": "true"}, facts=HUDI),
            Case(options={**OFF, f"{INDEX}column.stats.enable": "false"}, facts=HUDI),
            Case(options={**OFF, "hoodie.index.type": "BLOOM"}, facts=HUDI),
            Case(options={**OFF, f"{INDEX}column.stats.enable": "true"}),
        ],
    ),
    "partition-stats-without-columns": (
        [
            found(
                "error",
                "from the statistics of its columns",
                f"{INDEX}column.stats.enable",
                options={f"{INDEX}partition.stats.enable": "true", f"{INDEX}column.stats.enable": "false"},
                facts=HUDI,
            )
        ],
        [
            Case(options={f"{INDEX}partition.stats.enable": "true"}, facts=HUDI),
            Case(options={f"{INDEX}column.stats.enable": "false"}, facts=HUDI),
        ],
    ),
    "metadata-compaction-after-archival": (
        [
            found(
                "warning",
                "40 delta commits",
                "hoodie.metadata.compact.max.delta.commits",
                "hoodie.keep.max.commits",
                options={"hoodie.metadata.compact.max.delta.commits": "40"},
            ),
            found(
                "warning",
                "at most 8 commits",
                options={"hoodie.keep.max.commits": "8", "hoodie.keep.min.commits": "7"},
                table=table(METADATA),
            ),
        ],
        [
            Case(options={"hoodie.metadata.compact.max.delta.commits": "40"}, table=table()),
            Case(options={"hoodie.keep.max.commits": "8", "hoodie.keep.min.commits": "7"}),
            Case(options={"hoodie.metadata.compact.max.delta.commits": "30"}),
            Case(options={**OFF, "hoodie.metadata.compact.max.delta.commits": "40"}),
            Case(
                options={
                    "hoodie.metadata.compact.max.delta.commits": "40",
                    "hoodie.keep.max.commits": "50",
                }
            ),
        ],
    ),
}
