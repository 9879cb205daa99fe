"""Derive the merge rule of a merge-on-read table from its properties, or refuse the table.

Merge modes and payload classes are those of Hudi 0.15 and 1.2. The module refuses rules that were not compared with
real Hudi.
"""

from collections.abc import Mapping

from hudi_table_services.errors import InvalidRequestError, UnsupportedTableError
from hudi_table_services.model.merging.merge_rule import DeleteMarker, Fill, MergeOrder, MergeRule
from hudi_table_services.model.table_config import (
    COMMIT_TIME_STRATEGY,
    DEFAULT_PAYLOAD,
    EVENT_TIME_PAYLOADS,
    EVENT_TIME_STRATEGY,
    OVERWRITE_NON_DEFAULTS_PAYLOAD,
    OVERWRITE_PAYLOAD,
    PARTIAL_UPDATE_PAYLOAD,
    RecordMergeMode,
    TableConfig,
)

DELETE_FIELD = "hoodie.payload.delete.field"
DELETE_MARKER = "hoodie.payload.delete.marker"
MERGE_PROPERTIES = "hoodie.record.merge.property."
"""Prefix under which tables of version 9 store properties for merges, such as `DELETE_FIELD`."""
PARTIAL_UPDATES = "hoodie.table.partial.update.mode"

_PAYLOAD = "hoodie.compaction.payload.class"
_LEGACY_PAYLOAD = "hoodie.table.legacy.payload.class"
_STRATEGIES = ("hoodie.record.merge.strategy.id", "hoodie.compaction.record.merger.strategy")
_IGNORE_DEFAULTS = "IGNORE_DEFAULTS"
_FILLING_PAYLOADS = frozenset({PARTIAL_UPDATE_PAYLOAD, OVERWRITE_NON_DEFAULTS_PAYLOAD})
_PAYLOADS = EVENT_TIME_PAYLOADS | {OVERWRITE_PAYLOAD} | _FILLING_PAYLOADS


def merge_rule(config: TableConfig, settings: Mapping[str, str] | None = None) -> MergeRule:
    """Derive the merge rule of a table.

    Args:
        settings: `DELETE_FIELD` and `DELETE_MARKER` for a table of version 8 or older, which does not store them.
            Readers and compactions of such a table must use the same settings as its writers.

    Raises:
        UnsupportedTableError: this release cannot merge records as the table requires; the message names each feature
            and its property.
        InvalidRequestError: the settings are incomplete, contradict the table, or have no effect on it.
        MalformedMetadataError: a property has an impossible value.
    """
    refused = refused_merges(config)
    if refused:
        features = "; it ".join(f"{feature} ({name})" for feature, name in refused.items())
        raise UnsupportedTableError(
            f"This release cannot merge the log files of the table: it {features}.",
            hint="Read and compact the table with Hudi.",
        )
    marker = _delete_marker(config, settings or {})
    if config.table_version.has_merge_mode:
        return _rule_of_mode(config, marker)
    return _rule_of_payload(config, marker)


def refused_merges(config: TableConfig) -> Mapping[str, str]:
    """Return the features of the table that this release cannot merge, as phrases that follow the words "The table".

    Returns:
        Maps each feature to the name of the table property that shows the feature; empty if this release can merge the
        table.

    Raises:
        MalformedMetadataError: a property has an impossible value.
    """
    return {
        feature: name
        for feature, name, is_present in (
            *_refused_payloads(config),
            *_refused_properties(config),
            *_refused_fields(config),
        )
        if is_present
    }


def _refused_payloads(config: TableConfig) -> tuple[tuple[str, str, bool], ...]:
    version, payload, legacy = config.table_version, config.get(_PAYLOAD), config.get(_LEGACY_PAYLOAD)
    # From version 8 on, tables have a merge mode. They may also have a payload class that corresponds to a merge mode.
    known = _PAYLOADS - _FILLING_PAYLOADS if version.has_merge_mode else _PAYLOADS
    has_known_payload = payload is None or payload in known
    is_custom = config.record_merge_mode is RecordMergeMode.CUSTOM
    strategy = next((name for name in _STRATEGIES if config.get(name)), "")
    strategy_id = config.get(strategy)
    return (
        (f"merges with the payload class {payload}", _PAYLOAD, not has_known_payload),
        (f"was created with the payload class {legacy}", _LEGACY_PAYLOAD, legacy not in (None, *_PAYLOADS)),
        (
            "merges by a custom rule (merge mode CUSTOM)",
            "hoodie.record.merge.mode",
            is_custom and version.has_merge_mode and has_known_payload,
        ),
        (
            f"merges with the strategy {strategy_id}",
            strategy,
            strategy_id not in (None, EVENT_TIME_STRATEGY, COMMIT_TIME_STRATEGY),
        ),
    )


def _refused_properties(config: TableConfig) -> tuple[tuple[str, str, bool], ...]:
    mode = config.get(PARTIAL_UPDATES)
    fills = mode == _IGNORE_DEFAULTS and config.table_version.names_ordering_fields
    known = {f"{MERGE_PROPERTIES}{key}" for key in (DELETE_FIELD, DELETE_MARKER)}
    stored = {key for key in config.properties if key.startswith(MERGE_PROPERTIES)}
    unknown = sorted(stored - known)
    return (
        (
            f"merges partial updates in the mode {mode}",
            PARTIAL_UPDATES,
            mode not in (None, "", "NONE") and not fills,
        ),
        ("has merge properties that this release does not know", ", ".join(unknown), bool(unknown)),
        (
            "marks deletes by an incomplete pair of properties",
            ", ".join(sorted(stored & known)),
            len(stored & known) == 1,
        ),
    )


def _refused_fields(config: TableConfig) -> tuple[tuple[str, str, bool], ...]:
    version = config.table_version
    property_name = (
        "hoodie.table.ordering.fields" if version.names_ordering_fields else "hoodie.table.precombine.field"
    )
    nested = [name for name in config.ordering_fields if "." in name]
    several = len(config.ordering_fields) > 1 and not version.names_ordering_fields
    marker_field = config.get(f"{MERGE_PROPERTIES}{DELETE_FIELD}") or ""
    return (
        (f"orders records by the nested column {', '.join(nested)}", property_name, bool(nested)),
        (f"has several ordering fields although it is of version {version.value}", property_name, several),
        (
            f"marks deletes in the nested column {marker_field}",
            f"{MERGE_PROPERTIES}{DELETE_FIELD}",
            "." in marker_field,
        ),
    )


def _delete_marker(config: TableConfig, settings: Mapping[str, str]) -> DeleteMarker | None:
    """Return the delete marker in the table's properties, or else the delete marker in the settings."""
    stored = {key: config.get(f"{MERGE_PROPERTIES}{key}") for key in (DELETE_FIELD, DELETE_MARKER)}
    given = {key: settings.get(key) for key in (DELETE_FIELD, DELETE_MARKER)}
    is_stored, is_given = all(stored.values()), any(given.values())
    if is_given and not all(given.values()):
        raise InvalidRequestError(f"{DELETE_FIELD} and {DELETE_MARKER} must be set together.")
    if is_given and is_stored and given != stored:
        raise InvalidRequestError(
            f"The table marks deletes by {stored[DELETE_FIELD]}={stored[DELETE_MARKER]}, but the settings by "
            f"{given[DELETE_FIELD]}={given[DELETE_MARKER]}.",
            hint=f"Remove {DELETE_FIELD} and {DELETE_MARKER} from the settings.",
        )
    if is_given and not is_stored and not _honours_marker(config):
        raise InvalidRequestError(
            f"{DELETE_FIELD} has no effect on this table.",
            hint=f"Tables of version 9 store it as {MERGE_PROPERTIES}{DELETE_FIELD}; tables of older versions use it "
            f"only with the payload class {DEFAULT_PAYLOAD} or a class derived from it.",
        )
    chosen = stored if is_stored else given
    field, value = chosen[DELETE_FIELD], chosen[DELETE_MARKER]
    return DeleteMarker(field=field, value=value) if field and value else None


def _honours_marker(config: TableConfig) -> bool:
    """Whether a delete marker in the settings has an effect, although the table's properties do not contain it."""
    if config.table_version.names_ordering_fields:
        return False
    return config.get(_PAYLOAD) in (None, *EVENT_TIME_PAYLOADS)


def _rule_of_mode(config: TableConfig, marker: DeleteMarker | None) -> MergeRule:
    """Return the rule of a table of version 8 or later. Without ordering fields, the later record wins in any mode."""
    is_event_time = config.record_merge_mode is RecordMergeMode.EVENT_TIME_ORDERING
    by_ordering = is_event_time and bool(config.ordering_fields)
    fills = config.get(PARTIAL_UPDATES) == _IGNORE_DEFAULTS
    return MergeRule(
        ordering_fields=config.ordering_fields if by_ordering else (),
        order=MergeOrder.BY_ORDERING if by_ordering else MergeOrder.BY_ARRIVAL,
        orders_base_rows=by_ordering,
        fill=Fill.DEFAULTS if fills else Fill.NOTHING,
        fills_between_log_rows=fills,
        delete_marker=marker,
    )


def _rule_of_payload(config: TableConfig, marker: DeleteMarker | None) -> MergeRule:
    """Return the rule of a table of version 6.

    With every payload class, even with OverwriteWithLatest, Hudi 0.15 compares the ordering values of log rows.
    """
    payload = config.get(_PAYLOAD) or DEFAULT_PAYLOAD
    overwrites_base = payload in (OVERWRITE_PAYLOAD, OVERWRITE_NON_DEFAULTS_PAYLOAD)
    fills = {PARTIAL_UPDATE_PAYLOAD: Fill.NULLS, OVERWRITE_NON_DEFAULTS_PAYLOAD: Fill.DEFAULTS}
    is_partial = payload == PARTIAL_UPDATE_PAYLOAD
    return MergeRule(
        ordering_fields=config.ordering_fields,
        order=MergeOrder.VERSION_6,
        orders_base_rows=not overwrites_base,
        fill=fills.get(payload, Fill.NOTHING),
        fills_between_log_rows=is_partial,
        keeps_meta_of_latest=is_partial,
        delete_marker=marker,
    )
