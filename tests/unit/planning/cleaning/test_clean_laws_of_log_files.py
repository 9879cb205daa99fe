"""Laws of cleans of merge-on-read tables, for random histories of writes and compactions."""

from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.jobs.cleaning.clean import clean
from hudi_table_services.model.instant import Action, Instant
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.file_listing import list_partitions
from hudi_table_services.storage.file_slices import Visibility
from hudi_table_services.storage.file_versions import partition_files
from hudi_table_services.storage.pending_plans import planned_file_paths
from support.fixed_clock import FixedClock
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table

STEPS = st.lists(
    st.sampled_from(["log a", "log b", "base b", "compact a", "plan a", "run a", "open", "close"]),
    max_size=14,
)
VERSIONS = st.sampled_from([TableVersion.V6, TableVersion.V8, TableVersion.V9])


def played(table: LoggedTable, steps: list[str]) -> None:
    """Carry out the steps that are possible. At most one compaction and one delta commit are pending."""
    table.delta(bases=[A, B])
    planned: Instant | None = None
    running: Instant | None = None
    for step in steps:
        if step.startswith("log"):
            table.delta(logs=[A if step.endswith("a") else B])
        elif step == "base b":
            table.delta(bases=[B])
        elif step == "compact a" and planned is None and running is None:
            table.compact(A)
        elif step == "plan a" and planned is None and running is None:
            planned = table.plan_compaction(A)
        elif step == "run a" and planned is not None:
            table.run_compaction(planned, A)
            planned = None
        elif step == "open" and running is None:
            running = table.begin(Action.DELTA_COMMIT)
        elif step == "close" and running is not None:
            table.delta(logs=[B], pending=running)
            running = None


@given(steps=STEPS, version=VERSIONS, kept=st.integers(1, 3), by_commits=st.booleans())
def test_a_clean_changes_nothing_that_readers_or_plans_need(
    steps: list[str], version: TableVersion, kept: int, by_commits: bool
) -> None:
    table = a_logged_table(version)
    played(table, steps)
    before, files, slices = table.seen(), table.data_files(), all_slices(table)
    retained = {"commits_retained": kept} if by_commits else {"file_versions_retained": kept}
    clock = FixedClock(datetime.now(timezone.utc) + timedelta(days=1), timedelta(milliseconds=1))
    options = {"hoodie.clean.failed.writes.policy": "NEVER"}
    request = CleanRequest(base_path="/t", options=options, **retained)  # type: ignore[arg-type]
    clean(request, storage=table.storage, clock=clock)
    left = table.data_files()
    assert table.seen() == before
    assert left <= files
    store = table.timeline_store
    for pending in store.load().pending:
        assert planned_file_paths(store, pending) <= left
    for whole in slices:
        assert whole <= left or not whole & left, "only a part of a slice was deleted"


def all_slices(table: LoggedTable) -> list[set[str]]:
    """Paths of the files of each visible slice, outdated ones included."""
    visibility = Visibility.of(table.timeline_store.load(), has_own_log_instants=table.has_own_log_instants)
    return [
        {f"{path}/{name}" for name in each.sizes}
        for path, files in list_partitions(table.storage).items()
        for group in partition_files(path, files, visibility, {}, {}, with_logs=True).groups
        for each in group.slices
    ]
