"""Interpret the state of a table: pending instants, the actions that they block, and measures above their limits."""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_table_services.contract.health import (
    FEW_SMALL_FILES,
    SMALL_PARTITION_BYTES,
    HealthFinding,
    PartitionHealth,
    PendingInstant,
)
from hudi_table_services.contract.text import counted
from hudi_table_services.model.instant import Action, Instant, InstantState
from hudi_table_services.model.table_snapshot import TableSnapshot
from hudi_table_services.options.keys.archival import MAX_COMMITS, MIN_COMMITS
from hudi_table_services.options.keys.metadata_table import COMPACT_DELTA_COMMITS

_MAX_WORST_PARTITIONS = 10
_YOUNG_S = 3600.0
_NEWER_INSTANTS = "cleaning and archival of newer instants"
_REBUILD = (
    "Build the metadata table again with rebuild_metadata_table.py, or drop it with "
    "rebuild_metadata_table.py --drop all."
)
_SMALL_FILES = (
    "Cluster the table: a clustering merges {small_files:,g} small files into fewer files, and "
    "queries then open fewer files."
)
_COMPACT = (
    "Compact the table with CompactionOperator or run_compaction.py: a compaction merges log files into base files, so "
    "snapshot queries read fewer bytes."
)
_EXECUTE_COMPACTIONS = (
    "Execute the pending compactions with ExecuteCompactionOperator or execute_compaction.py."
)
_ADVICE = {
    "active_commits": "Archive the timeline: readers list and load all of it. With Hudi's defaults, archival begins "
    f"above {MAX_COMMITS.default} commits; to keep fewer, set {MAX_COMMITS} and {MIN_COMMITS}.",
    "commits_since_clean": "Clean the table, or find out why its cleans do not run.",
    "commits_since_clustering": "Cluster the table.",
    "commits_to_archive": "Archive the timeline: readers list and load all of it.",
    "commits_to_clean": "Clean the table.",
    "damaged": "Write nothing until the file is restored or the instant is rolled back; `damage` in the report names "
    "the file or the instant.",
    "dead_instants": "Run the next write, or take the next step that is listed for each dead instant.",
    "file_groups_in_compactions": _EXECUTE_COMPACTIONS,
    "foreign_files": "Move the foreign files out of the table, because some readers treat them as data files. No job "
    "of this project touches them.",
    "hours_ahead": "Correct the clocks of all writers. Until the clocks pass the newest instant, each new instant gets "
    "a time one millisecond after the newest one.",
    "hours_since_commit": "Find out why no job writes to the table.",
    "leftover_bytes": "List the leftover files with repair_orphan_files.py, which by default deletes nothing.",
    "leftover_files": "List the leftover files with repair_orphan_files.py, which by default deletes nothing.",
    "log_bytes": _COMPACT,
    "log_files": _COMPACT,
    "log_ratio": _COMPACT,
    "metadata_bytes": "Run jobs that change the table: they also compact and clean the metadata table. Or drop indexes "
    "that no reader uses.",
    "metadata_commits_ahead": f"Readers that use the metadata table may see files of rolled-back writes. {_REBUILD}",
    "metadata_commits_behind": "A writer ignored the metadata table, and readers that use it lose rows. Find the "
    f"writer. {_REBUILD}",
    "metadata_commits_since_compaction": "Finish or roll back the pending instants of the table and of its metadata "
    f"table: they prevent the compaction. Compare the limit with {COMPACT_DELTA_COMMITS} of the writers.",
    "metadata_log_bytes": f"Lower {COMPACT_DELTA_COMMITS} for the writers.",
    "metadata_log_files": f"Lower {COMPACT_DELTA_COMMITS} for the writers.",
    "metadata_missing_files": "Readers that use the metadata table fail, or read old files. If the files were deleted "
    f"by mistake, copy them back. Otherwise: {_REBUILD}",
    "metadata_pending_instants": "Run a job that changes the table: the job finishes or rolls back these instants.",
    "metadata_unlisted_files": "Readers that use the metadata table do not see these files. Run "
    "repair_orphan_files.py to find copied files. A clean that failed to delete a file also leaves such a file. If "
    f"readers need the files: {_REBUILD}",
    "metadata_unusable": f"`metadata_table_state` in the report names the reason. {_REBUILD}",
    "metadata_wrong_statistics": "Readers that skip files with these statistics lose rows. "
    f"`metadata_table_state` in the report names some of the records. {_REBUILD}",
    "missing_files": "Copy the files back from a backup, or restore the table to a savepoint. Until then, run no "
    "clustering and no clean: they would make the loss permanent.",
    "oldest_compaction_hours": "Execute the compaction with ExecuteCompactionOperator or execute_compaction.py, or "
    "cancel the compaction. Until then, readers merge more and more log files, and cleaning and archival wait.",
    "oldest_log_hours": _COMPACT,
    "oldest_pending_hours": "Take the next step that is listed for the oldest pending instant.",
    "outdated_bytes": "Clean the table, or keep fewer versions.",
    "outdated_files": "Clean the table, or keep fewer versions.",
    "pending_compactions": _EXECUTE_COMPACTIONS,
    "pending_instants": "Take the next step that is listed for each pending instant.",
    "small_file_ratio": _SMALL_FILES,
    "small_files": _SMALL_FILES,
    "small_partitions": "Load the rows into a new table with fewer partitions: partition it by a column with fewer "
    "values, or by a longer unit of time, such as month instead of day. No clustering merges files of different "
    "partitions, and readers open at least one file in each.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingFacts:
    """Facts about a pending instant, read from storage.

    Attributes:
        is_clustering: whether the instant's requested file contains a clustering plan.
        has_content: whether the instant's plan was written; a writer that dies early leaves an empty file.
        heartbeat: ``alive``, ``expired``, ``ahead`` (later than the clock of this job), or ``none``.
        file_groups: number of file groups in the instant's plan.
    """

    instant: Instant
    age_s: float
    heartbeat: str = "none"
    is_clustering: bool = False
    has_content: bool = True
    file_groups: int = 0
    operation: str = ""


@dataclass(frozen=True, slots=True)
class _Diagnosis:
    meaning: str
    next_step: str
    avoid: str = ""
    blocks: tuple[str, ...] = ()
    is_dead: bool = False


def describe_pending(facts: PendingFacts) -> PendingInstant:
    """Describe a pending instant: its meaning, the actions that it blocks, the next step, and steps to avoid."""
    diagnosis = _diagnose(facts)
    return PendingInstant(
        instant_time=facts.instant.requested_time,
        action=facts.instant.action.value,
        state=facts.instant.state.value,
        operation=facts.operation,
        age_s=facts.age_s,
        heartbeat=facts.heartbeat,
        is_dead=diagnosis.is_dead,
        file_groups=facts.file_groups,
        meaning=diagnosis.meaning,
        next_step=diagnosis.next_step,
        avoid=diagnosis.avoid,
        blocks=diagnosis.blocks,
    )


def _diagnose(facts: PendingFacts) -> _Diagnosis:
    action = facts.instant.action
    if facts.is_clustering or action in (Action.CLUSTERING, Action.COMPACTION, Action.LOG_COMPACTION):
        return _diagnose_plan(facts)
    if action.writes_data:
        return _diagnose_write(facts)
    return _OTHERS.get(
        action, _Diagnosis("An action that this release does not support", "Let Hudi finish the action")
    )


_OTHERS = {
    Action.CLEAN: _Diagnosis(
        "An unfinished clean",
        "Clean the table again: the job finishes pending cleans first",
        "deleting its timeline files by hand: the next clean would not know which files were deleted",
        is_dead=True,
    ),
    Action.ROLLBACK: _Diagnosis(
        "An unfinished rollback",
        "Run the next write, or roll back again: the job finishes the pending rollback first",
        "removing its timeline files: readers would see half of a write",
        ("the same actions as the instant that it rolls back",),
        is_dead=True,
    ),
    Action.RESTORE: _Diagnosis(
        "An unfinished restore: the table is between two states",
        "Restore to the same savepoint again: the restore continues where it stopped",
        "any write before the restore is finished",
        ("every write and table service",),
        is_dead=True,
    ),
    Action.SAVEPOINT: _Diagnosis(
        "A savepoint that was not completed; it protects no files yet",
        "Create the savepoint again",
        is_dead=True,
    ),
    Action.INDEXING: _Diagnosis(
        "An index that Hudi has not built yet", "Let Hudi's indexer finish the index"
    ),
}


def _diagnose_heartbeat_ahead(what: str, facts: PendingFacts, blocks: tuple[str, ...]) -> _Diagnosis:
    return _Diagnosis(
        f"A {what} whose heartbeat is ahead of the clock: the {what} counts as alive until the clock reaches the time "
        "of the heartbeat",
        f"Check the clocks of all machines. If no machine runs the {what}, delete its heartbeat, "
        f".hoodie/.heartbeat/{facts.instant.requested_time}",
        "deleting the heartbeat while its writer runs",
        blocks,
    )


def _diagnose_write(facts: PendingFacts) -> _Diagnosis:
    blocks = (_NEWER_INSTANTS, "padding and clustering of the file groups that the write rewrites")
    if facts.heartbeat == "ahead":
        return _diagnose_heartbeat_ahead("write", facts, blocks)
    if facts.heartbeat == "alive":
        return _Diagnosis(
            "A write that is running, or whose writer was killed in the last two minutes",
            "Wait until the write ends. If its job has certainly ended, load the rows again: the next write after two "
            "minutes, when the heartbeat has expired, rolls this attempt back. A write with the same request id "
            "(--request-id) does so at once",
            "running the same request again while its job still runs: the new attempt would roll back the running one",
            blocks=blocks,
        )
    if facts.heartbeat == "none" and facts.age_s < _YOUNG_S:
        return _Diagnosis(
            "A write without a heartbeat: its writer has just ended, or does not write heartbeats",
            "Check whether its writer is still running; if the table has only one writer, the next write rolls "
            "this write back",
            "deleting its files by hand",
            blocks,
        )
    died = "lost its heartbeat" if facts.heartbeat == "expired" else "has no heartbeat"
    return _Diagnosis(
        f"A write that {died}: its writer died",
        "Run the request again, or run any write or clean, which rolls it back first; or use rollback.py",
        "deleting its files by hand: markers and timeline would contradict each other",
        blocks,
        is_dead=True,
    )


def _diagnose_plan(facts: PendingFacts) -> _Diagnosis:
    is_clustering = facts.is_clustering or facts.instant.action is Action.CLUSTERING
    what = "clustering" if is_clustering else "compaction"
    groups = f"the plan's {counted(facts.file_groups, 'file group')}"
    held = f"updates and padding of {groups}, unless a write may release file groups from the plan"
    if not is_clustering:
        held = f"padding, clustering and other compactions of {groups} (updates do not wait)"
    blocks = (held, _NEWER_INSTANTS)
    if not facts.has_content:
        return _Diagnosis(
            f"A {what} whose plan was never written",
            f"Cancel the {what}",
            is_dead=True,
            blocks=(_NEWER_INSTANTS,),
        )
    if facts.heartbeat == "ahead":
        return _diagnose_heartbeat_ahead(what, facts, blocks)
    if facts.heartbeat == "alive":
        return _Diagnosis(
            f"A {what} that is being executed", "Wait until the execution ends", "a second execution", blocks
        )
    executes = "Execute the plan, or cancel it"
    if facts.instant.state is InstantState.INFLIGHT:
        if facts.heartbeat == "none" and facts.age_s < _YOUNG_S:
            return _Diagnosis(
                f"A {what} that is being executed without a heartbeat; Hudi's own executions have no heartbeat",
                "Check whether its job is still running before you execute the plan again",
                "a second execution while the first runs",
                blocks,
            )
        return _Diagnosis(
            f"A {what} whose execution died",
            f"{executes}: files that the dead attempt wrote are removed first",
            "deleting its files by hand",
            blocks,
            is_dead=True,
        )
    if facts.age_s < _YOUNG_S:
        return _Diagnosis(
            f"A {what} that is scheduled but not started",
            executes,
            f"scheduling a second {what} before this {what} is executed",
            blocks,
        )
    return _Diagnosis(
        f"A {what} that was scheduled long ago and never executed",
        executes,
        "deleting its plan while another job may be starting to execute the plan",
        blocks,
    )


def relevant_limits(
    limits: Mapping[str, float], measures: Mapping[str, float], partition_count: int
) -> dict[str, float]:
    """Leave out limits that mean nothing for this table.

    These are the limit of ``small_file_ratio`` if the table has only few small files, and the limit of
    ``small_partitions`` if at least half of the partitions are larger.
    """
    ignored = set()
    if measures.get("small_files", 0) <= FEW_SMALL_FILES:
        ignored.add("small_file_ratio")
    if 2 * measures.get("small_partitions", 0) <= partition_count:
        ignored.add("small_partitions")
    return {name: limit for name, limit in limits.items() if name not in ignored}


def findings(
    measures: Mapping[str, float], warn_above: Mapping[str, float], fail_above: Mapping[str, float]
) -> tuple[HealthFinding, ...]:
    """Return the measures above their limits, failures first.

    A measure above its failure limit has no additional warning.
    """
    found: list[HealthFinding] = []
    for level, limits in (("fail", fail_above), ("warn", warn_above)):
        for measure, limit in sorted(limits.items()):
            value = measures.get(measure)
            known = {each.measure for each in found}
            if value is not None and value > limit and measure not in known:
                found.append(
                    HealthFinding(
                        level=level,
                        measure=measure,
                        value=value,
                        limit=limit,
                        advice=_advice(measure, measures),
                    )
                )
    return tuple(found)


def _advice(measure: str, measures: Mapping[str, float]) -> str:
    advice = _ADVICE[measure]
    return advice.format(small_files=measures["small_files"]) if advice is _SMALL_FILES else advice


def status_of(found: tuple[HealthFinding, ...]) -> str:
    """Return the status of a table with these findings: ``failing``, ``warning`` or ``healthy``."""
    levels = {each.level for each in found}
    return "failing" if "fail" in levels else "warning" if levels else "healthy"


def partition_health(snapshot: TableSnapshot, small_file_limit_bytes: int) -> tuple[PartitionHealth, ...]:
    """Return numbers and sizes of the live files of each partition, in the order of paths."""
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
    """Return the number and the share of small files. If a partition has only one small file, the file does not count.

    A clustering could not merge such a file with another small file.
    """
    small = sum(each.small_file_count for each in partitions if each.small_file_count > 1)
    live = sum(each.file_count for each in partitions)
    return {"small_files": small, "small_file_ratio": round(small / live, 4) if live else 0.0}


def partition_measures(partitions: tuple[PartitionHealth, ...]) -> dict[str, float]:
    """Return the number of small partitions."""
    return {"small_partitions": float(sum(each.size_bytes < SMALL_PARTITION_BYTES for each in partitions))}


def worst_partitions(partitions: tuple[PartitionHealth, ...]) -> tuple[PartitionHealth, ...]:
    """Return the partitions in which clustering would merge the most files."""
    several = [each for each in partitions if each.small_file_count > 1]
    several.sort(key=lambda each: (-each.small_file_count, each.partition_path))
    return tuple(several[:_MAX_WORST_PARTITIONS])
