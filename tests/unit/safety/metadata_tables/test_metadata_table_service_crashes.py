"""Services of the metadata table stop at any call of storage: readers see the same records, the next run finishes."""

from collections.abc import Callable
from functools import cache

import pytest

from hudi_table_services.commits.metadata_table_services.run import finish_services
from hudi_table_services.errors import CorruptTableError
from hudi_table_services.hudi_format.metadata_table import file_groups
from hudi_table_services.model.instant import Action
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.options.metadata_settings_values import ServiceSettings
from hudi_table_services.storage.metadata_table.slice_history import slice_history
from hudi_table_services.storage.stores.storage import Storage
from support.depth import cases, number_from
from support.fail_points import tried
from support.failing_calls import FailingCalls, OutageError
from support.faulty_storage import crashes_everywhere
from support.metadata_table.growing_metadata_tables import Changes, GrowingMetadataTable, eager
from support.metadata_table.small_metadata_tables import all_partitions, files, location, stats
from support.metadata_table.whole_metadata_golden import VERSIONS

BY_VERSION = pytest.mark.parametrize(
    "version", cases(VERSIONS, [TableVersion.V6, TableVersion.V9], lambda v: v.name)
)
EVERY = int(number_from("FAIL_EVERY", 40, 1))
NO_ARCHIVAL = {"kept": 40, "most": 50}
SERVICES = ("compaction", "clean", "archival")


def changes(number: int) -> Changes:
    return {
        file_groups.FILES: ([all_partitions("a"), files("a", {f"f{number}": number + 1})], []),
        file_groups.COLUMN_STATS: ([stats(f"s{number}", 1, 2), stats("same", number, number)], []),
        file_groups.RECORD_INDEX: (
            [location(f"k{number}-{each}", "f") for each in range(4)],
            [f"k{number - 1}-0"],
        ),
    }


def due(service: str) -> ServiceSettings:
    """Settings with which only this service is due."""
    if service == "archival":
        return eager(every=100)
    return eager(every=2 if service == "compaction" else 100, **NO_ARCHIVAL)


@cache
def prepared(version: TableVersion, service: str) -> GrowingMetadataTable:
    """A table on which the service is due."""
    table = GrowingMetadataTable.new(version)
    rounds = 2 if service == "compaction" else 4
    for number in range(3 * rounds):
        table.commit(changes(number))
        if number % 3 == 2:
            compacted = GrowingMetadataTable(table.storage, table.clock)
            compacted.services(due("compaction"))
    for number in range(3 * rounds, 3 * rounds + 3):
        table.commit(changes(number))
    if service == "archival":
        table.services(due("clean"))
        store = table.access.timeline_store
        store.remove_archived(store.load().completed[:6])  # the table's own archival
    return table


@BY_VERSION
@pytest.mark.parametrize("service", SERVICES)
def test_the_next_run_completes_a_service_that_crashed(service: str, version: TableVersion) -> None:
    start = prepared(version, service)
    expected, settings = start.read(), due(service)
    usual = start.copy()
    report = usual.services(settings)
    assert done(service, report)

    def act(storage: Storage) -> None:
        start.on(storage).services(settings)

    crashes = 0
    for left in crashes_everywhere(act, lambda: start.copy().storage):
        crashes += 1
        table = GrowingMetadataTable(left, usual.copy().clock)
        assert table.read() == expected
        table.services(settings)
        assert table.read() == expected
        assert_finished(table)
    assert crashes >= 4
    tried(f"metadata table {service}", crashes)


def done(service: str, report: object) -> bool:
    name = {"compaction": "compacted_at", "clean": "cleaned_at", "archival": "archived_instants"}[service]
    others = {"compacted_at", "cleaned_at", "archived_instants"} - {name}
    return bool(getattr(report, name)) and not any(getattr(report, other) for other in others)


def assert_finished(table: GrowingMetadataTable) -> None:
    """Check that no service is pending, every base file has an instant, and a clean leaves at most four slices."""
    metadata = table.open()
    assert metadata.timeline.pending == ()
    visible = {i.requested_time for i in metadata.timeline.completed_writes}
    first = min(visible)
    for partition in metadata.partitions:
        for stored in metadata.storage.list_folder(partition).files:
            if stored.name.endswith(".hfile"):
                time = stored.name.rpartition("_")[2].removesuffix(".hfile")
                assert time in visible or time < first
    kept = [len(found) for found in slice_history(metadata, file_groups.FILES).values()]
    cleans = [i for i in metadata.timeline.completed if i.action is Action.CLEAN]
    assert not cleans or max(kept) <= 4


@BY_VERSION
@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_the_next_run_completes_a_service_after_one_failure(
    service: str, version: TableVersion, after: bool
) -> None:
    start = prepared(version, service)
    expected, settings = start.read(), due(service)
    fail_at, failures = 1 + int(after), 0
    while True:
        storage = FailingCalls(start.copy().storage, fail_at, after)
        table = start.on(storage)
        try:
            table.services(settings)
        except OutageError:
            failures += 1
        if not storage.failed:
            break
        assert table.read() == expected, storage.failed
        table.services(settings)
        assert table.read() == expected, storage.failed
        assert_finished(table)
        fail_at += EVERY
    assert failures
    tried(f"metadata table {service}", failures)


@pytest.mark.parametrize("version", cases(VERSIONS, [TableVersion.V9], lambda v: v.name))
def test_a_delta_commit_after_a_crash_is_in_the_next_compaction(version: TableVersion) -> None:
    """The writer of the delta commit did not finish the services first, as it should in table version 6.

    In table version 6, the log files of this delta commit then belong to slices that the pending compaction replaces.
    Our compaction includes them. Hudi's compaction would lose them, and no reader can distinguish the two cases, so the
    next check refuses the metadata table as damaged.
    """
    start = prepared(version, "compaction")
    whole = start.copy()
    whole.commit(changes(50))
    expected, settings = whole.read(), due("compaction")

    def act(storage: Storage) -> None:
        start.on(storage).services(settings)

    runs: list[Callable[[GrowingMetadataTable], object]] = [
        lambda table: table.services(settings),
        lambda table: finish_services(table.access, None),
    ]
    refused = 0
    for run in runs:
        for left in crashes_everywhere(act, lambda: start.copy().storage):
            table = GrowingMetadataTable(left, whole.copy().clock)
            is_after_a_plan = has_planned_compaction(table)
            table.commit(changes(50))
            assert table.read() == expected
            run(table)
            assert table.read() == expected
            assert_finished(table)
            table.commit(changes(51))
            whole_again = whole.copy()
            whole_again.commit(changes(51))
            if version is TableVersion.V6 and is_after_a_plan:
                refused += 1
                with pytest.raises(CorruptTableError, match="contain no block of these instants"):
                    table.services(eager(**NO_ARCHIVAL))
            else:
                table.services(eager(**NO_ARCHIVAL))
            assert table.read() == whole_again.read()
    assert bool(refused) is (version is TableVersion.V6)


def has_planned_compaction(table: GrowingMetadataTable) -> bool:
    metadata = table.open()
    return any(
        i.action is Action.COMPACTION and metadata.timeline_store.read_requested(i)
        for i in metadata.timeline.pending
    )
