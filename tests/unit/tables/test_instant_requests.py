"""Cleans, restores, rollbacks and savepoints name the request that began them; other instants do not."""

from pathlib import Path

import pytest

from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.hudi_format.table_service_plans import (
    encode_clean_metadata,
    encode_clean_plan,
    encode_restore_plan,
    encode_rollback_plan,
)
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_service_plans import CleanMetadata, CleanPlan, RestorePlan, UndoNote
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.write_stat import REQUEST_ID_KEY
from hudi_table_services.planning.recovery.rollback_plan import plan_rollback
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.instant_requests import request_id_of, request_ids_of
from support.small_tables import SmallTable

PLAN = CleanPlan(policy="KEEP_LATEST_COMMITS", extra_metadata={REQUEST_ID_KEY: "d/r/clean"})


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path)), request.param)


def test_pending_and_completed_cleans_name_their_request(table: SmallTable) -> None:
    store = table.timeline_store
    pending = store.request(Action.CLEAN, encode_clean_plan(PLAN))
    assert request_id_of(store, pending) == "d/r/clean"
    metadata = CleanMetadata(
        start_clean_time=pending.requested_time,
        time_taken_ms=1,
        total_files_deleted=0,
        partitions={},
        extra_metadata=PLAN.extra_metadata,
    )
    completed = store.complete(store.start(pending), encode_clean_metadata(metadata))
    assert request_id_of(store, completed) == "d/r/clean"


def test_a_restore_names_its_request(table: SmallTable) -> None:
    plan = RestorePlan(instants_to_rollback=(), savepoint_to_restore="20260102030405678")
    content = encode_restore_plan(plan, notes={REQUEST_ID_KEY: "d/r/restore"})
    store = table.timeline_store
    assert request_id_of(store, store.request(Action.RESTORE, content)) == "d/r/restore"


def test_a_rollback_and_a_savepoint_name_their_request(table: SmallTable) -> None:
    store = table.timeline_store
    undone = table.begin()
    plan = plan_rollback(undone, (), table.storage.base_path)
    rollback = store.request(Action.ROLLBACK, encode_rollback_plan(plan, UndoNote(request_id="d/r/undo")))
    assert request_id_of(store, rollback) == "d/r/undo"
    saved = table.commit(FileGroupId("city=a", "a-0"))
    request = CreateSavepointRequest(base_path="/t", request_id="d/r/keep", instant=saved.requested_time)
    create_savepoint(request, storage=table.storage, clock=table.clock)
    savepoint = next(i for i in store.load().completed if i.action is Action.SAVEPOINT)
    assert request_ids_of(store, [rollback, savepoint]) == {rollback: "d/r/undo", savepoint: "d/r/keep"}


def test_instants_without_an_id_and_damaged_files_are_left_out(table: SmallTable) -> None:
    store = table.timeline_store
    table.commit(FileGroupId("city=a", "a-0"), extra={REQUEST_ID_KEY: "d/r/load"})
    store.request(Action.CLEAN, b"no Avro")
    store.request(Action.ROLLBACK, b"")
    named = store.request(Action.CLEAN, encode_clean_plan(PLAN))
    assert request_ids_of(store, store.load().instants) == {named: "d/r/clean"}
