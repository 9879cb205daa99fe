"""Real Hudi executes plans that the engine encoded (rule 21 of ``test_acceptance_rules``).

Oracles: Hudi 0.15.0 on table version 6 and Hudi 1.2.0 on versions 6, 8 and 9.
"""

from pathlib import Path

import pytest

from hudi_table_services.hudi_format.table_service_plans import encode_clean_plan, encode_requested_replace
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import (
    CleanFile,
    CleanPlan,
    ClusteringGroup,
    ClusteringPlan,
    ClusteringSlice,
    RetainedInstant,
)
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.stores.factory import open_storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.storage.timeline_store import TimelineStore
from judges.engine import Engine
from judges.oracle import SAMPLED_ORACLES, Oracle
from judges.rows import OUR_ROWS, as_table, assert_rows_equal, merged
from judges.table_files import data_files, file_id_of, instant_names, latest_data_files

pytestmark = pytest.mark.parametrize("oracle", SAMPLED_ORACLES)

OURS = merged({}, OUR_ROWS)


def test_hudi_lists_and_executes_our_clustering_plan(hudi, ours, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    planned = latest_data_files(base_path)
    plan = ClusteringPlan(groups=tuple(_clustering_group(path) for path in planned))
    action = Action.REPLACE_COMMIT if oracle.table_version == 6 else Action.CLUSTERING
    _request(base_path, action, encode_requested_replace(plan))

    settings = {"hoodie.metadata.enable": "false", **oracle.pins}
    (shown,) = judge.call(base_path, "show_clustering", settings=settings)
    assert (shown["state"], shown["input_group_size"]) == ("REQUESTED", len(planned))
    assert_rows_equal(judge.read(base_path), OURS, str(oracle))
    judge.call(base_path, "run_clustering", "op => 'execute'", settings=settings)
    assert len(instant_names(base_path, ".replacecommit")) == 1
    assert {path.name for path in latest_data_files(base_path)} > {path.name for path in planned}
    assert_rows_equal(judge.read(base_path), OURS, str(oracle))


def test_hudi_executes_our_clean_plan(hudi, ours, engine: Engine, oracle: Oracle) -> None:
    judge, base_path = hudi(oracle.release), ours(oracle.table_version)
    superseded = data_files(base_path)
    newer = [{**row, "ts": 2} for row in OUR_ROWS]
    engine.write(base_path, as_table(newer), version=oracle.table_version)
    latest = set(data_files(base_path)) - set(superseded)
    _request(base_path, Action.CLEAN, encode_clean_plan(_clean_plan(base_path, superseded)))

    judge.call(base_path, "run_clean", settings={"hoodie.metadata.enable": "false", **oracle.pins})
    assert instant_names(base_path, ".clean")
    assert set(data_files(base_path)) == latest
    assert_rows_equal(judge.read(base_path), merged({}, newer), str(oracle))


def _request(base_path: Path, action: Action, content: bytes) -> None:
    storage = open_storage(str(base_path))
    TimelineStore(storage, read_table_config(storage), SystemClock()).request(action, content)


def _clustering_group(path: Path) -> ClusteringGroup:
    planned = ClusteringSlice(
        file_id=file_id_of(path), partition_path=path.parent.name, data_file_path=path.as_uri()
    )
    return ClusteringGroup(slices=(planned,))


def _clean_plan(base_path: Path, files: list[Path]) -> CleanPlan:
    latest = instant_names(base_path, ".commit")[-1][:17]
    by_partition = {
        partition: tuple(CleanFile(path=path.as_uri()) for path in files if path.parent.name == partition)
        for partition in sorted({path.parent.name for path in files})
    }
    return CleanPlan(
        policy="KEEP_LATEST_COMMITS",
        earliest_instant_to_retain=RetainedInstant(requested_time=latest, action="commit", state="COMPLETED"),
        last_completed_commit_time=latest,
        files_to_delete=by_partition,
    )
