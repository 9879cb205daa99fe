"""The merge rule that follows from a table's properties, and the tables that cannot be merged."""

import pytest

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.merging.merge_rule import DeleteMarker, Fill, MergeOrder, MergeRule
from hudi_table_services.model.table_config import COMMIT_TIME_STRATEGY, EVENT_TIME_STRATEGY, TableConfig
from hudi_table_services.planning.table.merge_rules import (
    DELETE_FIELD,
    DELETE_MARKER,
    MERGE_PROPERTIES,
    merge_rule,
    refused_merges,
)

PAYLOADS = "org.apache.hudi.common.model."
PAYLOAD = "hoodie.compaction.payload.class"
LEGACY = "hoodie.table.legacy.payload.class"
MODE = "hoodie.record.merge.mode"
STRATEGY = "hoodie.record.merge.strategy.id"
PARTIAL = "hoodie.table.partial.update.mode"
PRECOMBINE, ORDERING = "hoodie.table.precombine.field", "hoodie.table.ordering.fields"
MARKER = {DELETE_FIELD: "op", DELETE_MARKER: "D"}
STORED_MARKER = {f"{MERGE_PROPERTIES}{key}": value for key, value in MARKER.items()}
EVENT_TIME, COMMIT_TIME = "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"


def config(version: int, properties: dict[str, str] | None = None) -> TableConfig:
    return TableConfig({"hoodie.table.version": str(version), **(properties or {})})


def version_6(payload: str | None, ordering: str = "ts") -> TableConfig:
    properties = {PRECOMBINE: ordering} if ordering else {}
    return config(6, properties | ({PAYLOAD: f"{PAYLOADS}{payload}"} if payload else {}))


@pytest.mark.parametrize("payload", [None, "DefaultHoodieRecordPayload", "EventTimeAvroPayload"])
def test_version_6_orders_by_the_ordering_field(payload: str | None) -> None:
    expected = MergeRule(ordering_fields=("ts",), order=MergeOrder.VERSION_6, orders_base_rows=True)
    assert merge_rule(version_6(payload)) == expected


def test_overwrite_payloads_of_version_6_compare_ordering_values_only_between_log_rows() -> None:
    overwrite = merge_rule(version_6("OverwriteWithLatestAvroPayload"))
    assert overwrite == MergeRule(ordering_fields=("ts",), order=MergeOrder.VERSION_6, orders_base_rows=False)
    non_defaults = merge_rule(version_6("OverwriteNonDefaultsWithLatestAvroPayload"))
    assert (non_defaults.fill, non_defaults.fills_between_log_rows) == (Fill.DEFAULTS, False)
    assert not non_defaults.orders_base_rows


def test_partial_updates_of_version_6_fill_nulls() -> None:
    rule = merge_rule(version_6("PartialUpdateAvroPayload"))
    assert (rule.fill, rule.fills_between_log_rows, rule.keeps_meta_of_latest) == (Fill.NULLS, True, True)
    assert rule.orders_base_rows


def test_versions_4_and_5_have_the_rules_of_version_6() -> None:
    for version in (4, 5):
        assert merge_rule(config(version, {PRECOMBINE: "ts"})) == merge_rule(version_6(None))


@pytest.mark.parametrize("version", [8, 9])
def test_merge_modes_decide_from_version_8_on(version: int) -> None:
    key = ORDERING if version == 9 else PRECOMBINE
    event_time = merge_rule(config(version, {MODE: EVENT_TIME, key: "ts", STRATEGY: EVENT_TIME_STRATEGY}))
    assert event_time == MergeRule(
        ordering_fields=("ts",), order=MergeOrder.BY_ORDERING, orders_base_rows=True
    )
    commit_time = merge_rule(config(version, {MODE: COMMIT_TIME, key: "ts", STRATEGY: COMMIT_TIME_STRATEGY}))
    assert commit_time == MergeRule(ordering_fields=(), order=MergeOrder.BY_ARRIVAL, orders_base_rows=False)


def test_event_time_without_ordering_field_keeps_the_later_version() -> None:
    assert merge_rule(config(9, {MODE: EVENT_TIME})) == merge_rule(config(9, {MODE: COMMIT_TIME}))


def test_version_9_orders_by_several_fields_and_fills_defaults() -> None:
    properties = {MODE: EVENT_TIME, ORDERING: "ts, ts2", PARTIAL: "IGNORE_DEFAULTS"}
    rule = merge_rule(config(9, properties | {LEGACY: f"{PAYLOADS}PartialUpdateAvroPayload"}))
    assert rule.ordering_fields == ("ts", "ts2")
    assert (rule.fill, rule.fills_between_log_rows, rule.keeps_meta_of_latest) == (Fill.DEFAULTS, True, False)


def test_a_delete_marker_is_read_from_the_table_or_from_the_settings() -> None:
    marker = DeleteMarker(field="op", value="D")
    stored = config(9, {MODE: EVENT_TIME, ORDERING: "ts"} | STORED_MARKER)
    assert merge_rule(stored).delete_marker == merge_rule(stored, MARKER).delete_marker == marker
    for older in (version_6("DefaultHoodieRecordPayload"), version_6(None), config(8, {MODE: EVENT_TIME})):
        assert merge_rule(older, MARKER).delete_marker == marker
        assert merge_rule(older).delete_marker is None


@pytest.mark.parametrize(
    ("table", "settings", "message"),
    [
        (version_6(None), {DELETE_FIELD: "op"}, "must be set together"),
        (version_6(None), {DELETE_MARKER: "D"}, "must be set together"),
        (version_6("OverwriteWithLatestAvroPayload"), MARKER, "has no effect on this table"),
        (config(9, {MODE: EVENT_TIME, ORDERING: "ts"}), MARKER, "has no effect on this table"),
        (
            config(9, {MODE: EVENT_TIME} | STORED_MARKER),
            MARKER | {DELETE_MARKER: "X"},
            "by op=D, but the settings by op=X",
        ),
    ],
)
def test_settings_that_do_not_fit_the_table_are_refused(
    table: TableConfig, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidRequestError, match=message):
        merge_rule(table, settings)


REFUSED = [
    (version_6("debezium.PostgresDebeziumAvroPayload"), PAYLOAD, "PostgresDebeziumAvroPayload"),
    (version_6("AWSDmsAvroPayload"), PAYLOAD, "AWSDmsAvroPayload"),
    (config(8, {MODE: EVENT_TIME, PAYLOAD: f"{PAYLOADS}PartialUpdateAvroPayload"}), PAYLOAD, "PartialUpdate"),
    (
        config(9, {MODE: EVENT_TIME, LEGACY: f"{PAYLOADS}debezium.MySqlDebeziumAvroPayload"}),
        LEGACY,
        "MySqlDebezium",
    ),
    (config(9, {MODE: "CUSTOM"}), MODE, "CUSTOM"),
    (config(9, {MODE: "CUSTOM", STRATEGY: "00000000-0000-0000-0000-000000000000"}), STRATEGY, "00000000"),
    (config(9, {MODE: EVENT_TIME, STRATEGY: "7c1e"}), STRATEGY, "strategy 7c1e"),
    (
        config(6, {"hoodie.compaction.record.merger.strategy": "7c1e"}),
        "hoodie.compaction.record.merger.strategy",
        "7c1e",
    ),
    (config(9, {MODE: EVENT_TIME, PARTIAL: "FILL_UNAVAILABLE"}), PARTIAL, "FILL_UNAVAILABLE"),
    (config(9, {MODE: EVENT_TIME, PARTIAL: "KEEP_VALUES"}), PARTIAL, "KEEP_VALUES"),
    (config(8, {MODE: EVENT_TIME, PARTIAL: "IGNORE_DEFAULTS"}), PARTIAL, "IGNORE_DEFAULTS"),
    (
        config(9, {MODE: EVENT_TIME, f"{MERGE_PROPERTIES}own": "1"}),
        f"{MERGE_PROPERTIES}own",
        "merge properties that this release does not know",
    ),
    (
        config(9, {MODE: EVENT_TIME, f"{MERGE_PROPERTIES}{DELETE_FIELD}": "op"}),
        f"{MERGE_PROPERTIES}{DELETE_FIELD}",
        "incomplete",
    ),
    (config(9, {MODE: EVENT_TIME, ORDERING: "at.ts"}), ORDERING, "nested column at.ts"),
    (version_6(None, "at.ts"), PRECOMBINE, "nested column at.ts"),
    (version_6(None, "ts,ts2"), PRECOMBINE, "several ordering fields although it is of version 6"),
    (
        config(9, {MODE: EVENT_TIME} | STORED_MARKER | {f"{MERGE_PROPERTIES}{DELETE_FIELD}": "a.op"}),
        f"{MERGE_PROPERTIES}{DELETE_FIELD}",
        "nested column a.op",
    ),
]


@pytest.mark.parametrize(("table", "name", "text"), REFUSED, ids=[f"{each[1]}-{each[2]}" for each in REFUSED])
def test_the_refusal_of_a_table_that_cannot_be_merged_names_the_property(
    table: TableConfig, name: str, text: str
) -> None:
    assert name in refused_merges(table).values()
    with pytest.raises(UnsupportedTableError) as caught:
        merge_rule(table)
    assert text in caught.value.message
    assert f"({name})" in caught.value.message


def test_all_features_that_cannot_be_merged_are_named() -> None:
    table = config(9, {MODE: "CUSTOM", PARTIAL: "FILL_UNAVAILABLE", ORDERING: "a.b"})
    with pytest.raises(UnsupportedTableError) as caught:
        merge_rule(table)
    assert [name for name in (MODE, PARTIAL, ORDERING) if f"({name})" not in caught.value.message] == []
