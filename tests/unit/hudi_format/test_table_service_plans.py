"""Plans and results of table services are unchanged after encoding and decoding, and other data is refused."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.errors import CorruptTableError, MalformedMetadataError
from hudi_table_services.hudi_format import table_service_plans as codec
from hudi_table_services.hudi_format import timeline_schemas as schemas
from hudi_table_services.hudi_format.avro_container import encode_container
from hudi_table_services.model import table_service_plans as plans

TEXT = st.text(max_size=6)
OPTIONAL_TEXT = st.none() | TEXT
LONG = st.integers(0, 2**62)
INT = st.integers(0, 2**31 - 1)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
PAIRS = st.dictionaries(TEXT, TEXT, max_size=2)
SIZES = st.dictionaries(TEXT, LONG, max_size=2)
METRICS = st.dictionaries(TEXT, st.floats(allow_nan=False), max_size=2)


def tuples(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


def by_partition(items: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(TEXT, items, max_size=2)


STRATEGY = st.builds(plans.PlanStrategy, class_name=OPTIONAL_TEXT, parameters=PAIRS)
CLUSTERING_SLICE = st.builds(
    plans.ClusteringSlice,
    file_id=TEXT,
    partition_path=TEXT,
    data_file_path=OPTIONAL_TEXT,
    delta_file_paths=TEXTS,
    bootstrap_file_path=OPTIONAL_TEXT,
)
CLUSTERING_GROUP = st.builds(
    plans.ClusteringGroup,
    slices=tuples(CLUSTERING_SLICE),
    metrics=METRICS,
    output_file_groups=INT,
    extra_metadata=PAIRS,
)
CLUSTERING_PLAN = st.builds(
    plans.ClusteringPlan,
    groups=tuples(CLUSTERING_GROUP),
    strategy=STRATEGY,
    extra_metadata=PAIRS,
    preserve_hoodie_metadata=st.none() | st.booleans(),
    missing_schedule_partitions=TEXTS,
)
COMPACTION_PLAN = st.builds(
    plans.CompactionPlan,
    operations=tuples(
        st.builds(
            plans.CompactionOperation,
            base_instant_time=OPTIONAL_TEXT,
            file_id=TEXT,
            partition_path=TEXT,
            data_file_path=OPTIONAL_TEXT,
            delta_file_paths=TEXTS,
            metrics=METRICS,
            bootstrap_file_path=OPTIONAL_TEXT,
        )
    ),
    extra_metadata=PAIRS,
    version=INT,
    strategy=st.none() | STRATEGY,
    preserve_hoodie_metadata=st.booleans(),
    missing_schedule_partitions=TEXTS,
)
CLEAN_PLAN = st.builds(
    plans.CleanPlan,
    policy=TEXT,
    earliest_instant_to_retain=st.none()
    | st.builds(plans.RetainedInstant, requested_time=TEXT, action=TEXT, state=TEXT),
    last_completed_commit_time=TEXT,
    file_names_to_delete=by_partition(TEXTS),
    version=INT,
    files_to_delete=by_partition(
        tuples(st.builds(plans.CleanFile, path=TEXT, is_bootstrap_base_file=st.booleans()))
    ),
    partitions_to_delete=TEXTS,
    extra_metadata=PAIRS,
)
CLEAN_PARTITION = st.builds(
    plans.CleanPartition,
    partition_path=TEXT,
    policy=TEXT,
    delete_path_patterns=TEXTS,
    deleted_files=TEXTS,
    failed_files=TEXTS,
    is_partition_deleted=st.booleans(),
)
CLEAN_METADATA = st.builds(
    plans.CleanMetadata,
    start_clean_time=TEXT,
    time_taken_ms=LONG,
    total_files_deleted=INT,
    partitions=by_partition(CLEAN_PARTITION),
    earliest_commit_to_retain=TEXT,
    last_completed_commit_time=TEXT,
    version=INT,
    bootstrap_partitions=by_partition(CLEAN_PARTITION),
    extra_metadata=PAIRS,
)
INSTANT = st.builds(plans.InstantReference, requested_time=TEXT, action=TEXT)
ROLLBACK_PLAN = st.builds(
    plans.RollbackPlan,
    instant_to_rollback=st.none() | INSTANT,
    requests=tuples(
        st.builds(
            plans.RollbackRequest,
            partition_path=TEXT,
            file_id=OPTIONAL_TEXT,
            latest_base_instant=OPTIONAL_TEXT,
            files_to_delete=TEXTS,
            log_blocks_to_delete=SIZES,
        )
    ),
    version=INT,
)
ROLLBACK_METADATA = st.builds(
    plans.RollbackMetadata,
    start_rollback_time=TEXT,
    time_taken_ms=LONG,
    total_files_deleted=INT,
    commits_rolled_back=TEXTS,
    partitions=by_partition(
        st.builds(
            plans.RollbackPartition,
            partition_path=TEXT,
            deleted_files=TEXTS,
            failed_files=TEXTS,
            rollback_log_files=SIZES,
            log_files_of_failed_commit=SIZES,
        )
    ),
    version=INT,
    instants_rolled_back=tuples(INSTANT),
)
SAVEPOINT_METADATA = st.builds(
    plans.SavepointMetadata,
    saved_by=TEXT,
    saved_at_ms=LONG,
    comments=TEXT,
    partitions=by_partition(st.builds(plans.SavepointPartition, partition_path=TEXT, file_names=TEXTS)),
    version=INT,
)
RESTORE_PLAN = st.builds(
    plans.RestorePlan,
    instants_to_rollback=tuples(INSTANT),
    version=INT,
    savepoint_to_restore=OPTIONAL_TEXT,
)
RESTORE_METADATA = st.builds(
    plans.RestoreMetadata,
    start_restore_time=TEXT,
    time_taken_ms=LONG,
    instants_rolled_back=TEXTS,
    rollbacks=by_partition(tuples(ROLLBACK_METADATA)),
    version=INT,
    restored_instants=tuples(INSTANT),
)


@dataclass(frozen=True)
class Kind:
    name: str
    values: st.SearchStrategy[Any]
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


KINDS = [
    Kind("compaction plan", COMPACTION_PLAN, codec.encode_compaction_plan, codec.decode_compaction_plan),
    Kind("clean plan", CLEAN_PLAN, codec.encode_clean_plan, codec.decode_clean_plan),
    Kind("clean metadata", CLEAN_METADATA, codec.encode_clean_metadata, codec.decode_clean_metadata),
    Kind("rollback plan", ROLLBACK_PLAN, codec.encode_rollback_plan, codec.decode_rollback_plan),
    Kind(
        "rollback metadata", ROLLBACK_METADATA, codec.encode_rollback_metadata, codec.decode_rollback_metadata
    ),
    Kind("savepoint", SAVEPOINT_METADATA, codec.encode_savepoint_metadata, codec.decode_savepoint_metadata),
    Kind("restore plan", RESTORE_PLAN, codec.encode_restore_plan, codec.decode_restore_plan),
    Kind("restore metadata", RESTORE_METADATA, codec.encode_restore_metadata, codec.decode_restore_metadata),
]
DECODERS = [*(kind.decode for kind in KINDS), codec.decode_requested_replace]


def record_of(data: bytes) -> dict[str, Any]:
    (record,) = fastavro.reader(io.BytesIO(data))
    assert isinstance(record, dict)
    return record


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_values_are_unchanged_after_encoding_and_decoding(kind: Kind, data: st.DataObject) -> None:
    value = data.draw(kind.values)
    assert kind.decode(kind.encode(value)) == value


@given(CLUSTERING_PLAN)
def test_clustering_plans_are_unchanged_after_encoding_and_decoding(plan: plans.ClusteringPlan) -> None:
    requested = codec.decode_requested_replace(codec.encode_requested_replace(plan))
    assert requested == plans.RequestedReplace(operation_type="CLUSTER", clustering_plan=plan)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda data: b"Obj\x01" + data))
def test_arbitrary_bytes_are_refused_as_corrupt(data: bytes) -> None:
    for decode in DECODERS:
        with pytest.raises(CorruptTableError):
            decode(data)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(data=st.data())
def test_damaged_bytes_are_decoded_or_refused_as_corrupt(kind: Kind, data: st.DataObject) -> None:
    content = bytearray(kind.encode(data.draw(kind.values)))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with contextlib.suppress(CorruptTableError):
        kind.decode(bytes(content[: data.draw(st.integers(0, len(content)))]))


def test_an_empty_file_is_refused() -> None:
    for decode in DECODERS:
        with pytest.raises(MalformedMetadataError, match="0 bytes"):
            decode(b"")


def test_all_fields_in_the_requested_file_of_an_overwrite_are_null() -> None:
    data = codec.encode_requested_replace(None)
    assert set(record_of(data).values()) == {None}
    assert codec.decode_requested_replace(data) == plans.RequestedReplace()


def test_a_clustering_plan_always_has_its_strategy_record() -> None:
    plan = record_of(codec.encode_requested_replace(plans.ClusteringPlan(groups=())))["clusteringPlan"]
    assert plan["strategy"]["strategyClassName"].endswith(".SparkSortAndSizeExecutionStrategy")
    assert plan["preserveHoodieMetadata"] is True


def test_a_clustering_plan_without_strategy_is_read_with_the_default_strategy() -> None:
    data = encode_container(schemas.REQUESTED_REPLACE, {"clusteringPlan": {"inputGroups": []}})
    plan = codec.decode_requested_replace(data).clustering_plan
    assert plan == plans.ClusteringPlan(groups=(), preserve_hoodie_metadata=None)


def test_a_null_is_refused_if_the_attribute_has_no_default_and_cannot_be_none() -> None:
    data = encode_container(
        schemas.COMPACTION_PLAN, {"operations": [{"baseInstantTime": "1", "fileId": None}]}
    )
    with pytest.raises(MalformedMetadataError, match="fileId"):
        codec.decode_compaction_plan(data)


@pytest.mark.parametrize("reason", [None, *plans.UndoReason])
def test_a_rollback_plan_carries_its_reason_and_request_in_the_header(
    reason: plans.UndoReason | None,
) -> None:
    plan = plans.RollbackPlan(instant_to_rollback=plans.InstantReference(requested_time="1", action="commit"))
    note = plans.UndoNote(reason=reason, request_id="d/r/t")
    data = codec.encode_rollback_plan(plan, note)
    assert codec.decode_undo_note(data) == note
    assert codec.is_own_rollback_plan(data)
    assert codec.decode_rollback_plan(data) == plan
    assert record_of(data) == record_of(codec.encode_rollback_plan(plan))


def test_a_rollback_plan_of_hudi_or_of_a_later_release_has_an_unknown_reason() -> None:
    record = record_of(codec.encode_rollback_plan(plans.RollbackPlan(instant_to_rollback=None)))
    assert codec.decode_undo_note(encode_container(schemas.ROLLBACK_PLAN, record)) == plans.NO_UNDO_NOTE
    later = encode_container(schemas.ROLLBACK_PLAN, record, {"airflow.undo_reason": "of a later release"})
    assert codec.decode_undo_note(later) == plans.NO_UNDO_NOTE


def test_one_kind_of_plan_is_not_decoded_as_another() -> None:
    data = codec.encode_rollback_plan(plans.RollbackPlan(instant_to_rollback=None))
    with pytest.raises(MalformedMetadataError):
        codec.decode_clean_metadata(data)


def test_a_restore_of_hudi_0_15_is_decoded_although_its_rollbacks_are_not_in_a_union_with_null() -> None:
    metadata = plans.RollbackMetadata(
        start_rollback_time="2",
        time_taken_ms=1,
        total_files_deleted=0,
        commits_rolled_back=("1",),
        partitions={},
    )
    schema = {
        **schemas.RESTORE_METADATA,
        "fields": [dict(field) for field in schemas.RESTORE_METADATA["fields"]],
    }
    wrapped = schema["fields"][3]
    wrapped["type"] = {"type": "map", "values": {"type": "array", "items": schemas.ROLLBACK_METADATA}}
    data = encode_container(
        schema,
        {
            "startRestoreTime": "3",
            "timeTakenInMillis": 1,
            "instantsToRollback": ["1"],
            "hoodieRestoreMetadata": {"1": [record_of(codec.encode_rollback_metadata(metadata))]},
        },
    )
    assert codec.decode_restore_metadata(data).rollbacks == {"1": (metadata,)}
