"""The measured operations, each on a table of `scale.generator`. An operation returns what it found, for the report.

The operations call the code of the product as jobs, sensors and pages call it.
"""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from hudi_table_services.contract.report import Report
from hudi_table_services.contract.result import JobResult
from hudi_table_services.storage.clock import SystemClock
from hudi_table_services.storage.locks.lock import TableLock
from hudi_table_services.storage.stores import factory
from hudi_table_services.storage.stores.storage import Storage
from hudi_table_services.storage.table_store import read_table_config
from hudi_table_services.tables.table import TableAccess
from scale.measuring import Found, Meter
from scale.shapes import TableShape
from scale.stores import TablePlace

UPSERT_ROWS, UPSERT_PARTITIONS = 1_000_000, 200
EVERY_COMMITS = 10
"""Number of commits that the commit sensor waits for."""

MEASURED_COMMITS = 11
"""Number of commits that the operation `commit` makes: the metadata table is compacted after at most ten commits."""

_Report = TypeVar("_Report", bound=Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table to measure.

    Attributes:
        storage: storage of the table; requests to it are counted.
    """

    place: TablePlace
    shape: TableShape
    storage: Storage

    @property
    def access(self) -> TableAccess:
        return TableAccess(storage=self.storage, clock=SystemClock(), config=read_table_config(self.storage))


def load_timeline(target: Target, meter: Meter) -> Found:
    with meter.measured():
        timeline = target.access.load_timeline()
    return {"instants": len(timeline.instants)}


def plan_upsert(target: Target, meter: Meter) -> Found:
    """Plan an upsert whose rows are already staged and placed: half of them change rows, and half are new.

    The search for the keys of the rows is a Spark job, so it is not part of the plan.
    """
    from scale.upsert_plan import plan_placed_upsert

    with meter.measured():
        tasks = plan_placed_upsert(target.access, target.shape, UPSERT_ROWS, UPSERT_PARTITIONS)
    return {"tasks": len(tasks), "rows": sum(_rows(task) for task in tasks)}


def _rows(task: Any) -> int:
    return int(task.insert_count + sum(batch.row_count for batch in task.changes))


def plan_clustering(target: Target, meter: Meter) -> Found:
    from hudi_table_services.contract.clustering import ClusteringReport, ScheduleClusteringRequest
    from hudi_table_services.jobs.clustering.schedule import schedule_clustering

    request = ScheduleClusteringRequest(base_path=target.place.uri, preview=True)
    with meter.measured():
        result = schedule_clustering(request, storage=target.storage)
    report = _report_of(result, ClusteringReport)
    return {"files": sum(group.input_files for plan in report.plans for group in plan.groups)}


def plan_compaction(target: Target, meter: Meter) -> Found:
    from hudi_table_services.contract.compaction.compaction import CompactionReport, ScheduleCompactionRequest
    from hudi_table_services.jobs.compaction.schedule import schedule_compaction

    request = ScheduleCompactionRequest(base_path=target.place.uri, preview=True, ignore_trigger=True)
    with meter.measured():
        result = schedule_compaction(request, storage=target.storage)
    report = _report_of(result, CompactionReport)
    return {"slices": sum(part.slices for plan in report.plans for part in plan.partitions)}


def plan_clean(target: Target, meter: Meter) -> Found:
    from hudi_table_services.contract.cleaning import CleanReport, CleanRequest
    from hudi_table_services.jobs.cleaning.clean import clean

    request = CleanRequest(base_path=target.place.uri, commits_retained=10, preview=True)
    with meter.measured():
        result = clean(request, storage=target.storage)
    report = _report_of(result, CleanReport)
    return {"files": report.file_count}


def check_health(target: Target, meter: Meter) -> Found:
    from hudi_table_services.contract.health import HealthReport, HealthRequest
    from hudi_table_services.jobs.health.table_health import table_health

    with meter.measured():
        result = table_health(HealthRequest(base_path=target.place.uri), storage=target.storage)
    report = _report_of(result, HealthReport)
    return {"files": report.live_files.file_count}


def show_page(target: Target, meter: Meter) -> Found:
    """Read the view that the page of a table needs before it shows anything. Needs Airflow."""
    from airflow_hudi_provider.pages.content_views import Wanted
    from airflow_hudi_provider.pages.views import VIEWS
    from airflow_hudi_provider.tables.registry import RegisteredTable

    _open_with(target)
    table = RegisteredTable.of("scale", target.place.uri, None, None)
    with meter.measured():
        view = VIEWS["overview"](table, Wanted())
    return {"files": view["files"]}


def poll_instants(target: Target, meter: Meter) -> Found:
    """Poll as an instant sensor that waits for the next commit: the first poll of a process. Needs Airflow."""
    poll = _instant_poll(target)
    with meter.measured():
        found = poll()
    return {"instants": found}


def poll_instants_again(target: Target, meter: Meter) -> Found:
    """Poll for the second time as an instant sensor that waits for the next commit. Needs Airflow."""
    poll = _instant_poll(target)
    poll()
    with meter.measured():
        found = poll()
    return {"instants": found}


def _instant_poll(target: Target) -> Callable[[], int]:
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from airflow_hudi_provider.instant_query import InstantQuery
    from airflow_hudi_provider.triggers.instant import query_once
    from hudi_table_services.storage.archive.examined_history import ExaminedHistory

    _open_with(target)
    newest = max(instant.visible_from for instant in target.access.load_timeline().completed)
    query, examined = InstantQuery(after=newest), ExaminedHistory()

    def poll() -> int:
        answer = query_once(HudiHook(target.place.uri), query, examined, fails_if_missing=True)
        return answer.count if answer is not None else -1

    return poll


def poll_commit_count(target: Target, meter: Meter) -> Found:
    """Poll as a sensor that counts commits since the last clustering: the first poll of a process. Needs Airflow."""
    poll = _commit_poll(target)
    with meter.measured():
        found = poll()
    return {"commits": found}


def poll_commit_count_again(target: Target, meter: Meter) -> Found:
    """Poll for the second time as a sensor that counts commits since the last clustering. Needs Airflow."""
    poll = _commit_poll(target)
    poll()
    with meter.measured():
        found = poll()
    return {"commits": found}


def _commit_poll(target: Target) -> Callable[[], int]:
    """Return a function that polls. The table was never clustered."""
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from airflow_hudi_provider.triggers.commit_count import count_once
    from hudi_table_services.model.write_stat import WriteOperation

    _open_with(target)
    remembered: dict[str, WriteOperation] = {}

    def poll() -> int:
        hook = HudiHook(target.place.uri)
        found = count_once(hook, (), enough=EVERY_COMMITS, remembered=remembered, fails_if_missing=True)
        return found.count if found is not None else -1

    return poll


def _report_of(result: JobResult, wanted: type[_Report]) -> _Report:
    report = result.report_as(wanted)
    if report is None:
        raise RuntimeError(f"The job made no {wanted.__name__}: {result.reason}")
    return report


def _open_with(target: Target) -> None:
    """Let hooks open the counted storage of the table, without a connection of Airflow."""
    factory.open_storage = lambda uri, options=None: target.storage


def commit(target: Target, meter: Meter) -> Found:
    """Make commits and measure the critical section of each: the time under the table lock, with lock and release.

    An attempt takes the lock to request its instant, to complete it, and again if services of the metadata table are
    due. The section that completes the instant is measured here, the section of the services by `services_of_commits`.
    Another commit completes between the plan and the completion of the first measured commit, so the changes of that
    commit are checked, too. The files of the commits are not written.
    """
    return _commit(target, meter, services=False)


def services_of_commits(target: Target, meter: Meter) -> Found:
    """Make commits and measure the critical sections in which the services of the metadata table run."""
    return _commit(target, meter, services=True)


def _commit(target: Target, meter: Meter, *, services: bool) -> Found:
    from scale.product_commits import ProductCommit, lock_of_table

    first = target.shape.commits
    sections = len(meter.sections)
    for number in range(MEASURED_COMMITS):
        lock = _MeteredLock(lock_of_table(target.access, f"measured-{number}"), meter)
        measured = ProductCommit(target.access, target.shape, f"measured-{number}", lock)
        with measured.attempt() as attempt:
            measured.start(attempt)
            if number == 0:
                other = ProductCommit(target.access, target.shape, "other")
                with other.attempt() as concurrent:
                    other.start(concurrent)
                    concurrent.complete(other.metadata(first, concurrent.instant_time))
            lock.wait_for(2 if services else 1)
            attempt.complete(measured.metadata(first + 1 + number, attempt.instant_time))
    return {"commits": MEASURED_COMMITS, "sections": len(meter.sections) - sections}


class _MeteredLock:
    """A table lock that measures one of its critical sections."""

    def __init__(self, inner: TableLock, meter: Meter) -> None:
        self._inner = inner
        self._meter = meter
        self._section = ExitStack()
        self._remaining = 0

    def wait_for(self, number: int) -> None:
        """Measure the section of this number, counted from 1, of the following sections."""
        self._remaining = number

    def __enter__(self) -> "_MeteredLock":
        self._remaining -= 1
        if self._remaining == 0:
            self._section.enter_context(self._meter.measured())
        self._inner.__enter__()
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._inner.__exit__(error_type, error, traceback)
        self._section.close()

    def verify(self) -> None:
        self._inner.verify()


def archive_commits(target: Target, meter: Meter) -> Found:
    from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
    from hudi_table_services.jobs.archival.archive import archive

    # One commit less than the table has, so that the archival is due.
    request = ArchiveRequest(base_path=target.place.uri, min_commits=20, max_commits=29)
    with meter.measured():
        result = archive(request, storage=target.storage)
    report = _report_of(result, ArchiveReport)
    return {"commits": report.archived_commits}


OPERATIONS: dict[str, Callable[[Target, Meter], Found]] = {
    "timeline": load_timeline,
    "upsert plan": plan_upsert,
    "clustering plan": plan_clustering,
    "compaction plan": plan_compaction,
    "clean plan": plan_clean,
    "health": check_health,
    "page": show_page,
    "sensor, first poll": poll_instants,
    "sensor": poll_instants_again,
    "commit sensor, first poll": poll_commit_count,
    "commit sensor": poll_commit_count_again,
    "archive": archive_commits,
    "commit": commit,
    "services of commits": services_of_commits,
}
"""Functions by name. The last three operations change the table, so they run after all others."""
