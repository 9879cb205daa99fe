"""What the state of a table means: pending instants and what each one blocks, measures beyond their limits."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.contract.health import HealthFinding, PartitionHealth, PendingInstant
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.writing import SMALL_FILE_LIMIT

_SHOWN_PARTITIONS = 10
_YOUNG_S = 3600.0
_BEYOND = "cleaning and archival of what is newer than it"
_ADVICE = {
    "active_commits": "Archive the timeline: readers list and load all of it.",
    "commits_since_clean": "Clean the table, or look why its cleans do not run.",
    "commits_since_clustering": "Cluster the table.",
    "commits_to_archive": "Archive the timeline: readers list and load all of it.",
    "commits_to_clean": "Clean the table.",
    "damaged": "Write nothing before the file is restored or the instant undone; the damage says which one it is.",
    "dead_instants": "Run the next write, or do for each what is said of it.",
    "foreign_files": "Move them out of the table: some readers take them for data files. No job here touches them.",
    "hours_ahead": "Set the clocks of all writers right. Instants go on a millisecond after the newest one until then.",
    "hours_since_commit": "Look why nothing writes to the table.",
    "leftover_bytes": "Look at them with repair_orphan_files.py, which removes nothing unless told to.",
    "leftover_files": "Look at them with repair_orphan_files.py, which removes nothing unless told to.",
    "missing_files": "Bring the files back from a copy, or restore the table to a savepoint. Run no clustering and no "
    "clean before that: they would settle the loss.",
    "oldest_pending_hours": "Do for the oldest pending instant what is said of it.",
    "outdated_bytes": "Clean the table, or keep fewer versions.",
    "outdated_files": "Clean the table, or keep fewer versions.",
    "pending_instants": "Do for each pending instant what is said of it.",
    "small_file_ratio": f"Cluster the table, or raise {SMALL_FILE_LIMIT} for its writers.",
    "small_files": f"Cluster the table, or raise {SMALL_FILE_LIMIT} for its writers.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFacts:
    """What storage tells of a pending instant.

    Attributes:
        is_clustering: there is a clustering plan in its requested file.
        has_content: its plan was written; a writer that dies early leaves an empty file.
        heartbeat: ``alive``, ``expired``, ``ahead`` (of the clock), or ``none``.
        file_groups: file groups under its plan.
    """

    instant: Instant
    age_s: float
    heartbeat: str = "none"
    is_clustering: bool = False
    has_content: bool = True
    file_groups: int = 0
    operation: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    meaning: str
    next_step: str
    avoid: str = ""
    blocks: tuple[str, ...] = ()
    is_dead: bool = False


def read_pending(facts: PendingFacts) -> PendingInstant:
    """Say what a pending instant is, what waits for it, and what is safe."""
    reading = _reading(facts)
    return PendingInstant(
        instant_time=facts.instant.requested_time,
        action=facts.instant.action.value,
        state=facts.instant.state.value,
        operation=facts.operation,
        age_s=facts.age_s,
        heartbeat=facts.heartbeat,
        is_dead=reading.is_dead,
        file_groups=facts.file_groups,
        meaning=reading.meaning,
        next_step=reading.next_step,
        avoid=reading.avoid,
        blocks=reading.blocks,
    )


def _reading(facts: PendingFacts) -> _Reading:
    action = facts.instant.action
    if facts.is_clustering or action in (Action.CLUSTERING, Action.COMPACTION, Action.LOG_COMPACTION):
        return _of_plan(facts)
    if action.writes_data:
        return _of_write(facts)
    return _OTHERS.get(
        action, _Reading("An action that this release does not carry out", "Let Hudi finish it")
    )


_OTHERS = {
    Action.CLEAN: _Reading(
        "A clean that has not ended",
        "Clean again: pending cleans are finished first",
        "deleting its files by hand: the next clean would not know what went",
        is_dead=True,
    ),
    Action.ROLLBACK: _Reading(
        "A rollback that has not ended",
        "Run the next write, or roll back again: it is finished first",
        "removing its files: half of a write would become visible data",
        ("what the undone write blocks",),
        is_dead=True,
    ),
    Action.RESTORE: _Reading(
        "A restore that has not ended: the table is between two states",
        "Restore to the same savepoint again: it goes on where it stopped",
        "any write before that",
        ("every write and table service",),
        is_dead=True,
    ),
    Action.SAVEPOINT: _Reading(
        "A savepoint that was not completed; it keeps nothing yet", "Create it again", is_dead=True
    ),
    Action.INDEXING: _Reading("An index that Hudi is to build", "Let Hudi's indexer finish it"),
}


def _ahead(what: str, facts: PendingFacts, blocks: tuple[str, ...]) -> _Reading:
    return _Reading(
        f"A {what} whose heartbeat is ahead of the clock: it counts as alive until the clock gets there",
        "Look at the clocks of all machines. If none runs it, delete its heartbeat, "
        f".hoodie/.heartbeat/{facts.instant.requested_time}",
        "deleting the heartbeat while its writer runs",
        blocks,
    )


def _of_write(facts: PendingFacts) -> _Reading:
    blocks = (_BEYOND, "padding and clustering of the file groups that it rewrites")
    if facts.heartbeat == "ahead":
        return _ahead("write", facts, blocks)
    if facts.heartbeat == "alive":
        return _Reading(
            "A write that is running, or whose writer was killed in the last two minutes",
            "Wait for it; if its job is dead for certain, run the same request again: it undoes this attempt first",
            "running the same request again while its job lives: the living attempt would be undone",
            blocks=blocks,
        )
    if facts.heartbeat == "none" and facts.age_s < _YOUNG_S:
        return _Reading(
            "A write without a heartbeat: its writer ended a moment ago, or is one that keeps none",
            "Look whether its writer runs; the next write of a single writer rolls it back",
            "deleting its files by hand",
            blocks,
        )
    died = "lost its heartbeat" if facts.heartbeat == "expired" else "has no heartbeat"
    return _Reading(
        f"A write that {died}: its writer died",
        "Run the request again, or any write or clean: it is rolled back first; or roll it back with rollback.py",
        "deleting its files by hand: markers and timeline would disagree",
        blocks,
        is_dead=True,
    )


def _of_plan(facts: PendingFacts) -> _Reading:
    is_clustering = facts.is_clustering or facts.instant.action is Action.CLUSTERING
    what = "clustering" if is_clustering else "compaction"
    blocks = (
        f"updates and padding of its {facts.file_groups} file groups, unless the plan gives way",
        _BEYOND,
    )
    if not facts.has_content:
        return _Reading(
            f"A {what} whose plan was never written", "Cancel it", is_dead=True, blocks=(_BEYOND,)
        )
    if facts.heartbeat == "ahead":
        return _ahead(what, facts, blocks)
    if facts.heartbeat == "alive":
        return _Reading(f"A {what} that is being executed", "Wait for it", "a second execution of it", blocks)
    executes = "Execute it, or cancel it" if is_clustering else "Let Hudi execute it"
    if facts.instant.state is InstantState.INFLIGHT:
        if facts.heartbeat == "none" and facts.age_s < _YOUNG_S:
            return _Reading(
                f"A {what} in execution without a heartbeat, as Hudi's own executions are",
                "Look whether its job runs before executing it again",
                "a second execution beside the first",
                blocks,
            )
        return _Reading(
            f"A {what} whose execution died",
            f"{executes}: what the dead attempt wrote is removed first",
            "deleting its files by hand",
            blocks,
            is_dead=True,
        )
    if facts.age_s < _YOUNG_S:
        return _Reading(
            f"A {what} that is planned and not begun", executes, "scheduling another one on top of it", blocks
        )
    return _Reading(
        f"A {what} that was planned and forgotten",
        executes,
        "deleting its plan while another job may be starting it",
        blocks,
    )


def findings(
    measures: Mapping[str, float], warn_above: Mapping[str, float], fail_above: Mapping[str, float]
) -> tuple[HealthFinding, ...]:
    """Measures beyond their limits, failures first; one that fails is not warned of as well."""
    found: list[HealthFinding] = []
    for level, limits in (("fail", fail_above), ("warn", warn_above)):
        for measure, limit in sorted(limits.items()):
            value = measures.get(measure)
            known = {each.measure for each in found}
            if value is not None and value > limit and measure not in known:
                found.append(
                    HealthFinding(
                        level=level, measure=measure, value=value, limit=limit, advice=_ADVICE[measure]
                    )
                )
    return tuple(found)


def status_of(found: tuple[HealthFinding, ...]) -> str:
    """``failing``, ``warning`` or ``healthy``."""
    levels = {each.level for each in found}
    return "failing" if "fail" in levels else "warning" if levels else "healthy"


def partition_health(snapshot: TableSnapshot, small_file_limit_bytes: int) -> tuple[PartitionHealth, ...]:
    """Live files of every partition, in order of path."""
    found = []
    for path in snapshot.partitions:
        sizes = [each.size_bytes for each in snapshot.slices_of(path)]
        small = sum(1 for size in sizes if size < small_file_limit_bytes)
        found.append(
            PartitionHealth(
                partition_path=path, file_count=len(sizes), small_file_count=small, size_bytes=sum(sizes)
            )
        )
    return tuple(found)


def small_file_measures(partitions: tuple[PartitionHealth, ...]) -> dict[str, float]:
    """A small file alone in its partition is as good as it gets, so it does not count."""
    small = sum(each.small_file_count for each in partitions if each.small_file_count > 1)
    live = sum(each.file_count for each in partitions)
    return {"small_files": small, "small_file_ratio": round(small / live, 4) if live else 0.0}


def worst_partitions(partitions: tuple[PartitionHealth, ...]) -> tuple[PartitionHealth, ...]:
    """Those in which clustering would merge the most files."""
    several = [each for each in partitions if each.small_file_count > 1]
    several.sort(key=lambda each: (-each.small_file_count, each.partition_path))
    return tuple(several[:_SHOWN_PARTITIONS])
