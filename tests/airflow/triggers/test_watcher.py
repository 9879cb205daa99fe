"""The trigger of the watcher on real timelines; tests/airflow/stack runs the watcher in a real triggerer."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_provider.assets import HudiAsset
from airflow_hudi_provider.hooks.hudi import HudiHook
from airflow_hudi_provider.tables.commit_cursor import CommitCursor
from airflow_hudi_provider.tables.watched_commits import CommitWatch
from airflow_hudi_provider.triggers.watcher import HudiTableWatcherTrigger
from airflow_hudi_provider.watchers import HudiTableWatcher
from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.recovery import CreateSavepointRequest
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.jobs.archival.archive import archive
from hudi_table_services.jobs.recovery.savepoint import create_savepoint
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.model.timeline import Timeline
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.storage.timeline_store import TimelineStore
from support.archived_tables import SMALL_LIMITS
from support.small_tables import SmallTable

GROUP = FileGroupId("city=a", "a-0")


class MemoryStateStore:
    """An in-memory state store of an asset; with ``shared``, reads fail as if two assets shared a trigger."""

    def __init__(self, *, shared: bool = False) -> None:
        self.values: dict[str, Any] = {}
        self.shared = shared

    async def aget(self, key: str, default: Any = None) -> Any:
        if self.shared:
            raise ValueError("Task has 2 concrete inlets")
        return self.values.get(key, default)

    async def aset(self, key: str, value: Any) -> None:
        self.values[key] = value


@pytest.fixture(params=[TableVersion.V6, TableVersion.V9], ids=lambda v: v.name)
def table(tmp_path: Path, request: pytest.FixtureRequest) -> SmallTable:
    return SmallTable(LocalStorage(str(tmp_path / "trips")), request.param)


def trigger(table: SmallTable, store: MemoryStateStore | None, **arguments: Any) -> HudiTableWatcherTrigger:
    made = HudiTableWatcherTrigger(base_path=table.storage.base_path, poke_interval=0.02, **arguments)
    made.asset_state_store = store  # type: ignore[assignment]
    return made


def watch(
    watcher: HudiTableWatcherTrigger, scenario: Callable[[Callable[[], Awaitable[dict]]], Awaitable[None]]
) -> None:
    """Run a scenario that awaits events one by one."""

    async def run() -> None:
        async with aclosing(watcher.run()) as events:

            async def event() -> dict[str, Any]:
                return (await asyncio.wait_for(anext(events), 10)).payload

            await scenario(event)

    asyncio.run(run())


def test_a_watcher_reports_each_commit_once_and_continues_after_a_restart(table: SmallTable) -> None:
    store, old = MemoryStateStore(), table.commit(GROUP)
    seen: list[str] = []

    async def first(event: Any) -> None:
        waiting = asyncio.ensure_future(event())
        await asyncio.sleep(0.2)
        new = table.commit(GROUP)
        payload = await waiting
        assert payload["instants"] == [new.requested_time]
        assert payload["to"] == new.visible_from
        assert payload["operations"] == ["upsert"]
        assert payload["partitions"] == ["city=a"]
        seen.append(payload["dedupe_key"])
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(event(), 0.3)  # the trigger saves the cursor during this wait

    watch(trigger(table, store), first)
    assert old.requested_time in store.values["cursor"]["known"]
    late = [table.commit(GROUP).requested_time for _ in range(2)]

    async def second(event: Any) -> None:
        payload = await event()
        assert payload["instants"] == late
        assert payload["dedupe_key"] not in seen

    watch(trigger(table, store), second)


def test_an_event_before_the_death_of_a_triggerer_is_sent_again_with_the_same_key(table: SmallTable) -> None:
    store = MemoryStateStore()
    events: list[dict[str, Any]] = []
    watcher = trigger(table, store, from_beginning=True)
    table.commit(GROUP)

    async def take_one_event(event: Any) -> None:
        events.append(await event())  # no further event is requested, so the cursor is not saved

    watch(watcher, take_one_event)
    watch(trigger(table, store, from_beginning=True), take_one_event)
    assert events[0] == events[1]


def test_a_repeated_event_keeps_its_key_after_further_commits(table: SmallTable) -> None:
    store = MemoryStateStore()
    events: list[dict[str, Any]] = []

    async def take_one_event(event: Any) -> None:
        events.append(await event())

    table.commit(GROUP)
    watch(trigger(table, store, from_beginning=True), take_one_event)
    later = [table.commit(GROUP).requested_time for _ in range(2)]

    async def both(event: Any) -> None:
        assert await event() == events[0]
        assert (await event())["instants"] == later

    watch(trigger(table, store), both)


def test_a_watcher_waits_for_n_commits_of_the_given_operations(table: SmallTable) -> None:
    for _ in range(5):
        table.commit(GROUP)

    async def three(event: Any) -> None:
        payload = await event()
        assert (payload["count"], payload["every"]) == (5, 3)

    watch(trigger(table, MemoryStateStore(), every_n_commits=3, from_beginning=True), three)
    store = MemoryStateStore()

    async def none(event: Any) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(event(), 0.3)

    watch(trigger(table, store, operations=["delete"], from_beginning=True), none)
    assert len(store.values["cursor"]["known"]) == 5, "commits of other operations are read only once"


def test_clusterings_of_this_project_do_not_count(table: SmallTable) -> None:
    from support.undone_tables import clustered

    table.commit(FileGroupId("a", "f1"))
    clustered(table)

    async def one(event: Any) -> None:
        assert (await event())["count"] == 1

    watch(trigger(table, MemoryStateStore(), from_beginning=True), one)


@pytest.mark.parametrize("store", [None, MemoryStateStore(shared=True)], ids=["no store", "shared"])
def test_a_watcher_works_without_a_usable_state_store(
    table: SmallTable, store: MemoryStateStore | None
) -> None:
    async def on(event: Any) -> None:
        waiting = asyncio.ensure_future(event())
        await asyncio.sleep(0.2)
        table.commit(GROUP)
        assert (await waiting)["count"] == 1

    watch(trigger(table, store), on)


def test_a_watcher_waits_for_a_missing_table(tmp_path: Path) -> None:
    watcher = HudiTableWatcherTrigger(base_path=str(tmp_path / "later"), poke_interval=0.02)

    async def later(event: Any) -> None:
        waiting = asyncio.ensure_future(event())
        await asyncio.sleep(0.2)
        SmallTable(LocalStorage(str(tmp_path / "later"))).commit(GROUP)
        assert (await waiting)["count"] == 1

    watch(watcher, later)


def test_a_restarted_watcher_reports_all_commits_of_a_table_that_was_missing(tmp_path: Path) -> None:
    path, store = str(tmp_path / "later"), MemoryStateStore()

    def watcher() -> HudiTableWatcherTrigger:
        made = HudiTableWatcherTrigger(base_path=path, poke_interval=0.02)
        made.asset_state_store = store  # type: ignore[assignment]
        return made

    async def nothing(event: Any) -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(event(), 0.3)

    watch(watcher(), nothing)
    table = SmallTable(LocalStorage(path))
    for number in range(10):
        table.commit(FileGroupId("city=a", f"a-{number}"))
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    archive(request, storage=table.storage, clock=table.clock)
    assert len(table.timeline_store.load().completed_writes) < 10

    async def all_of_them(event: Any) -> None:
        assert (await event())["count"] == 10

    watch(watcher(), all_of_them)


class ArchivedAfterLoad(HudiHook):
    """A hook that runs an archival of the oldest commits after its first read of the timeline."""

    def __init__(self, table: SmallTable) -> None:
        super().__init__(table.storage.base_path)
        self._table: SmallTable | None = table

    def timeline_store(self) -> TimelineStore:
        store = super().timeline_store()
        load, table = store.load, self._table

        def loaded() -> Timeline:
            timeline = load()
            if table is not None:
                self._table = None
                beyond = {**SMALL_LIMITS, "hoodie.archive.beyond.savepoint": "true"}
                request = ArchiveRequest(base_path="/t", options=beyond, min_commits=2, max_commits=3)
                archive(request, storage=table.storage, clock=table.clock)
            return timeline

        store.load = loaded  # type: ignore[method-assign]
        return store


@pytest.mark.parametrize(
    "saved", [False, True], ids=["", "a savepointed commit stays in the active timeline"]
)
def test_commits_archived_during_a_read_are_reported_later(table: SmallTable, saved: bool) -> None:
    table.commit(GROUP)
    if saved:
        create_savepoint(CreateSavepointRequest(base_path="/t"), storage=table.storage, clock=table.clock)
    cursor = CommitCursor.at_head(table.timeline_store.load())
    made = [table.commit(FileGroupId("city=a", f"a-{number}")).requested_time for number in range(8)]
    watch, reported, hook = CommitWatch(), [], ArchivedAfterLoad(table)
    for _ in range(2):
        found = watch.poll(hook, cursor)
        reported += [instant.requested_time for instant, _ in found.wanted]
        cursor = found.moved(cursor, reported=[instant for instant, _ in found.wanted])
    assert len(hook.timeline().completed_writes) < 8
    assert sorted(reported) == made


def test_a_watcher_keeps_only_archived_writes_that_may_be_new(table: SmallTable) -> None:
    """A watcher runs for months in the triggerer, so its memory must stay bounded."""
    made = [table.commit(FileGroupId("city=a", f"a-{number}")).requested_time for number in range(10)]
    request = ArchiveRequest(base_path="/t", options=SMALL_LIMITS, min_commits=2, max_commits=3)
    archive(request, storage=table.storage, clock=table.clock)
    watch, hook = CommitWatch(), HudiHook(table.storage.base_path)
    archived = [write.instant.requested_time for write in hook.archived_writes()]
    assert len(archived) > 4
    found = watch.poll(hook, CommitCursor(floor=made[3]))
    assert [instant.requested_time for instant in found.writes] == made[3:]
    assert [instant.requested_time for instant in watch._archived[1]] == archived[3:]


def test_arguments_are_checked_when_the_dag_is_parsed() -> None:
    with pytest.raises(ValueError, match="base_path"):
        HudiTableWatcher()
    with pytest.raises(ValueError, match="every_n_commits"):
        HudiTableWatcher("/t", every_n_commits=0)
    with pytest.raises(ValueError, match="poke_interval"):
        HudiTableWatcher("/t", poke_interval=0)
    with pytest.raises(InvalidRequestError, match="merge"):
        HudiTableWatcher("/t", operations=["merge"])


def test_watchers_of_two_assets_make_two_triggers() -> None:
    from airflow.triggers.base import BaseEventTrigger

    hashes = {
        BaseEventTrigger.hash(*HudiTableWatcher("/t", name=name).trigger.serialize()) for name in ("a", "b")
    }
    assert len(hashes) == 2
    kwargs = HudiTableWatcher("/t", operations=["upsert"]).trigger.serialize()[1]
    assert HudiTableWatcherTrigger(**kwargs).serialize()[1] == kwargs


def test_an_asset_with_a_watcher_can_be_serialised() -> None:
    from datetime import datetime

    from airflow.sdk import DAG

    from support.airflow.airflow_versions import serialized

    asset = HudiAsset("/data/flights", watchers=[HudiTableWatcher("/data/flights", every_n_commits=4)])
    with DAG("watching", schedule=[asset], start_date=datetime(2026, 1, 1)) as dag:
        pass
    assert "HudiTableWatcherTrigger" in str(serialized(dag))
