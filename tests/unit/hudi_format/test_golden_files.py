"""Files of real Hudi releases are decoded to the expected values, and encoded to the bytes that Hudi wrote."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pytest

from hudi_table_services.hudi_format import table_service_plans as codec
from hudi_table_services.hudi_format.commit_metadata import decode_commit_metadata, encode_commit_metadata
from hudi_table_services.hudi_format.table_properties import decode_properties
from hudi_table_services.model.data_file import BaseFile, LogFile
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_config import RecordMergeMode, TableConfig
from hudi_table_services.model.table_service_plans import SORT_AND_SIZE_STRATEGY
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.model.write_stat import NEW_FILE_GROUP, WriteOperation

GOLDEN = Path(__file__).parents[2] / "golden"
V6 = GOLDEN / "hudi-0.15.0" / "v6"
V9 = GOLDEN / "hudi-1.2.0" / "v9"
BOTH = pytest.mark.parametrize("version", [V6, V9], ids=["0.15.0", "1.2.0"])
TABLES = sorted(path.parent for path in GOLDEN.glob("hudi-*/v*/*/hoodie.properties"))
EACH_TABLE = pytest.mark.parametrize("table", TABLES, ids=lambda table: "-".join(table.parts[-3:]))

CODECS: dict[tuple[Action, InstantState], tuple[Callable[[bytes], Any], Callable[[Any], bytes]]] = {
    (Action.CLEAN, InstantState.REQUESTED): (codec.decode_clean_plan, codec.encode_clean_plan),
    (Action.CLEAN, InstantState.INFLIGHT): (codec.decode_clean_plan, codec.encode_clean_plan),
    (Action.CLEAN, InstantState.COMPLETED): (codec.decode_clean_metadata, codec.encode_clean_metadata),
    (Action.ROLLBACK, InstantState.REQUESTED): (codec.decode_rollback_plan, codec.encode_rollback_plan),
    (Action.ROLLBACK, InstantState.COMPLETED): (
        codec.decode_rollback_metadata,
        codec.encode_rollback_metadata,
    ),
    (Action.SAVEPOINT, InstantState.COMPLETED): (
        codec.decode_savepoint_metadata,
        codec.encode_savepoint_metadata,
    ),
    (Action.RESTORE, InstantState.REQUESTED): (codec.decode_restore_plan, codec.encode_restore_plan),
    (Action.RESTORE, InstantState.COMPLETED): (codec.decode_restore_metadata, codec.encode_restore_metadata),
    (Action.COMPACTION, InstantState.REQUESTED): (codec.decode_compaction_plan, codec.encode_compaction_plan),
    (Action.REPLACE_COMMIT, InstantState.REQUESTED): (
        codec.decode_requested_replace,
        lambda requested: codec.encode_requested_replace(requested.clustering_plan),
    ),
    (Action.CLUSTERING, InstantState.REQUESTED): (
        codec.decode_requested_replace,
        lambda requested: codec.encode_requested_replace(requested.clustering_plan),
    ),
}


def config(table: Path) -> TableConfig:
    return TableConfig(decode_properties((table / "hoodie.properties").read_bytes()))


def instants(table: Path) -> dict[Instant, Path]:
    layout = config(table).table_version.layout
    return {Instant.from_file_name(path.name, layout): path for path in (table / "timeline").iterdir()}


def content(table: Path, action: Action, state: InstantState = InstantState.COMPLETED) -> list[bytes]:
    found = instants(table)
    return [found[i].read_bytes() for i in sorted(found) if (i.action, i.state) == (action, state)]


def record(data: bytes) -> Any:
    (only,) = fastavro.reader(io.BytesIO(data))
    return only


def written(value: Any) -> Any:
    """Content of a record, in which an empty list or map is equal to null."""
    if isinstance(value, dict):
        contents = {key: written(item) for key, item in value.items()}
        return {key: item for key, item in contents.items() if item not in (None, {}, [])}
    return [written(item) for item in value] if isinstance(value, list) else value


def test_the_corpus_is_complete() -> None:
    assert {table.relative_to(GOLDEN).as_posix() for table in TABLES} == {
        *(f"hudi-0.15.0/v6/{name}" for name in ("commits", "services", "restored", "logs")),
        *(f"hudi-1.2.0/v{version}/commits" for version in (6, 8, 9)),
        *(f"hudi-1.2.0/v9/{name}" for name in ("services", "restored", "logs")),
    }
    for version in (V6, V9):
        kinds = {(i.action, i.state) for table in TABLES if table.parent == version for i in instants(table)}
        pending = Action.CLUSTERING if version is V9 else Action.REPLACE_COMMIT
        assert kinds >= {
            (Action.COMMIT, InstantState.COMPLETED),
            (Action.DELTA_COMMIT, InstantState.COMPLETED),
            (Action.REPLACE_COMMIT, InstantState.COMPLETED),
            (pending, InstantState.REQUESTED),
            (Action.COMPACTION, InstantState.REQUESTED),
            (Action.CLEAN, InstantState.COMPLETED),
            (Action.ROLLBACK, InstantState.COMPLETED),
            (Action.SAVEPOINT, InstantState.COMPLETED),
            (Action.RESTORE, InstantState.COMPLETED),
        }


def test_the_corpus_names_its_origin() -> None:
    text = (GOLDEN / "PROVENANCE.md").read_text(encoding="utf-8")
    assert all(word in text for word in ("hudi-0.15.0", "hudi-1.2.0", "make_golden.py"))
    assert (GOLDEN / "make_golden.py").is_file()


@EACH_TABLE
def test_names_of_instants_are_written_as_they_were_read(table: Path) -> None:
    layout = config(table).table_version.layout
    assert all(instant.file_name(layout) == path.name for instant, path in instants(table).items())


@EACH_TABLE
def test_only_a_requested_compaction_is_pending_on_the_golden_timelines(table: Path) -> None:
    timeline = Timeline.of(instants(table))
    expected = [Action.COMPACTION] if table.name == "logs" else []
    assert [instant.action for instant in timeline.pending] == expected


@EACH_TABLE
def test_the_properties_of_golden_tables_are_decoded(table: Path) -> None:
    read = config(table)
    assert read.table_name == table.name
    assert read.table_version == int(table.parent.name.removeprefix("v"))
    assert read.record_key_fields == ("id",)
    assert read.partition_fields == ("region",)
    assert read.ordering_fields == ("ts",)
    assert read.metadata_partitions == ()
    if read.table_version is TableVersion.V9:
        assert read.record_merge_mode is RecordMergeMode.EVENT_TIME_ORDERING


@EACH_TABLE
def test_commit_metadata_is_unchanged_after_decoding_and_encoding(table: Path) -> None:
    version = config(table).table_version
    for instant, path in instants(table).items():
        data = path.read_bytes()
        if not data or not instant.action.writes_data or (instant.action, instant.state) in CODECS:
            continue
        metadata = decode_commit_metadata(data)
        again = encode_commit_metadata(metadata, version)
        assert decode_commit_metadata(again) == metadata
        if version.stores_commit_metadata_as_avro:
            assert record(again) == record(data)
        elif "0.15.0" in str(path.relative_to(GOLDEN)):
            assert again == data
        else:
            # In table version 6, Hudi 1.2.0 writes three additional fields, which have no meaning in this version.
            assert_same_except_additions(json.loads(again), json.loads(data))


def assert_same_except_additions(ours: Any, real: Any) -> None:
    if isinstance(real, dict):
        added = real.keys() - ours.keys()
        assert {real[name] for name in added} <= {None, 0}
        for name in ours:
            assert_same_except_additions(ours[name], real[name])
    elif isinstance(real, list):
        assert len(ours) == len(real)
        for one, other in zip(ours, real, strict=True):
            assert_same_except_additions(one, other)
    else:
        assert ours == real


@EACH_TABLE
def test_plans_and_results_are_unchanged_after_decoding_and_encoding(table: Path) -> None:
    for instant, path in instants(table).items():
        data = path.read_bytes()
        if data and (instant.action, instant.state) in CODECS:
            decode, encode = CODECS[instant.action, instant.state]
            again = encode(decode(data))
            assert written(record(again)) == written(record(data))
            assert decode(again) == decode(data)


@pytest.mark.parametrize(
    "table", [t for t in TABLES if t.name == "commits"], ids=lambda t: "-".join(t.parts[-3:])
)
def test_an_insert_an_upsert_and_an_overwrite_are_read(table: Path) -> None:
    insert, upsert = map(decode_commit_metadata, content(table, Action.COMMIT))
    (overwrite,) = map(decode_commit_metadata, content(table, Action.REPLACE_COMMIT))
    assert [metadata.operation_type for metadata in (insert, upsert, overwrite)] == [
        WriteOperation.INSERT,
        WriteOperation.UPSERT,
        WriteOperation.INSERT_OVERWRITE,
    ]
    assert insert.partition_to_replace_file_ids is None
    assert sorted(insert.partition_to_write_stats) == ["north", "south"]
    assert sum(stat.num_inserts for stat in insert.write_stats) == 6
    assert {stat.prev_commit for stat in insert.write_stats} == {NEW_FILE_GROUP}
    assert json.loads(insert.extra_metadata["schema"])["type"] == "record"
    assert [stat.num_writes for stat in upsert.write_stats] == [4, 4]
    assert [stat.num_update_writes for stat in upsert.write_stats] == [1, 1]
    assert all(stat.file_size_bytes > 0 for stat in upsert.write_stats)
    groups = {stat.partition_path: (stat.file_id,) for stat in insert.write_stats}
    assert overwrite.partition_to_replace_file_ids == groups
    for stat in (*insert.write_stats, *upsert.write_stats):
        assert BaseFile.from_file_name(stat.path.rpartition("/")[2]).file_id == stat.file_id


@BOTH
def test_a_workload_profile_is_read(version: Path) -> None:
    _, profile = content(version / "commits", Action.COMMIT, InstantState.INFLIGHT)
    stats = decode_commit_metadata(profile).partition_to_write_stats["north"]
    assert [(stat.file_id != "", stat.path, stat.num_inserts, stat.num_update_writes) for stat in stats] == [
        (False, "", 1, 0),
        (True, "", 0, 1),
    ]


@BOTH
def test_a_clean_is_read(version: Path) -> None:
    (plan,) = map(
        codec.decode_clean_plan, content(version / "services", Action.CLEAN, InstantState.REQUESTED)
    )
    (done,) = map(codec.decode_clean_metadata, content(version / "services", Action.CLEAN))
    assert (plan.version, plan.policy) == (2, "KEEP_LATEST_COMMITS")
    assert plan.earliest_instant_to_retain is not None
    assert plan.earliest_instant_to_retain.state == "COMPLETED"
    planned = [file.path for files in plan.files_to_delete.values() for file in files]
    deleted = [name for partition in done.partitions.values() for name in partition.deleted_files]
    assert planned
    assert all(path.startswith("file:/data/") for path in planned)
    assert sorted(path.rpartition("/")[2] for path in planned) == sorted(deleted)
    assert done.total_files_deleted == len(deleted)


@BOTH
def test_a_rollback_is_read(version: Path) -> None:
    (plan,) = map(
        codec.decode_rollback_plan, content(version / "services", Action.ROLLBACK, InstantState.REQUESTED)
    )
    (done,) = map(codec.decode_rollback_metadata, content(version / "services", Action.ROLLBACK))
    assert plan.instant_to_rollback is not None
    assert plan.instant_to_rollback.action == "commit"
    assert done.commits_rolled_back == (plan.instant_to_rollback.requested_time,)
    assert done.instants_rolled_back == (plan.instant_to_rollback,)
    planned = {path for request in plan.requests for path in request.files_to_delete}
    assert {path for partition in done.partitions.values() for path in partition.deleted_files} == planned
    assert done.total_files_deleted == len(planned) == 2


@BOTH
def test_a_clustering_is_read(version: Path) -> None:
    action = Action.CLUSTERING if version is V9 else Action.REPLACE_COMMIT
    (requested,) = map(
        codec.decode_requested_replace, content(version / "services", action, InstantState.REQUESTED)
    )
    (done,) = map(decode_commit_metadata, content(version / "services", Action.REPLACE_COMMIT))
    plan = requested.clustering_plan
    assert plan is not None
    assert (requested.operation_type, done.operation_type) == ("CLUSTER", WriteOperation.CLUSTER)
    assert plan.strategy.class_name == SORT_AND_SIZE_STRATEGY
    assert plan.strategy.parameters["hoodie.clustering.plan.strategy.sort.columns"] == "ts"
    assert plan.preserve_hoodie_metadata is True
    planned = {(piece.partition_path, piece.file_id) for group in plan.groups for piece in group.slices}
    replaced = done.partition_to_replace_file_ids or {}
    assert planned == {(partition, file_id) for partition, ids in replaced.items() for file_id in ids}


@BOTH
def test_a_savepoint_and_the_restore_to_it_are_read(version: Path) -> None:
    table = version / "restored"
    (savepoint,) = map(codec.decode_savepoint_metadata, content(table, Action.SAVEPOINT))
    (plan,) = map(codec.decode_restore_plan, content(table, Action.RESTORE, InstantState.REQUESTED))
    (done,) = map(codec.decode_restore_metadata, content(table, Action.RESTORE))
    kept = [name for partition in savepoint.partitions.values() for name in partition.file_names]
    assert (savepoint.saved_by, savepoint.comments, len(kept)) == ("golden", "here", 2)
    assert plan.savepoint_to_restore == BaseFile.from_file_name(kept[0]).instant_time
    (undone,) = plan.instants_to_rollback
    assert done.instants_rolled_back == (undone.requested_time,)
    (rollback,) = done.rollbacks[undone.requested_time]
    assert rollback.commits_rolled_back == (undone.requested_time,)


@BOTH
def test_a_compaction_plan_and_its_delta_commits_are_read(version: Path) -> None:
    (plan,) = map(
        codec.decode_compaction_plan, content(version / "logs", Action.COMPACTION, InstantState.REQUESTED)
    )
    _, delta = map(decode_commit_metadata, content(version / "logs", Action.DELTA_COMMIT))
    assert plan.version == 2
    assert {operation.partition_path for operation in plan.operations} == {"north", "south"}
    for operation in plan.operations:
        assert operation.data_file_path is not None
        base = BaseFile.from_file_name(operation.data_file_path)
        assert (base.file_id, base.instant_time) == (operation.file_id, operation.base_instant_time)
        (log,) = map(LogFile.from_file_name, operation.delta_file_paths)
        assert log.file_id == operation.file_id
    for stat in delta.write_stats:
        assert stat.extra["logVersion"] == 1
        assert stat.extra["logFiles"] == [stat.path.rpartition("/")[2]]
