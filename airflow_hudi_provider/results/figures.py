"""What a job did in a few numbers, the same for every service: for metrics and lineage."""

from dataclasses import dataclass

from hudi_table_services.contract.result import JobResult, Outcome

_SERVICES = {"upsert_with_sizing": "write", "run_clustering": "clustering"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Zeros where nothing was done now: previews, failures, and what an earlier try had done.

    Attributes:
        rows: rows inserted, updated or deleted by a write, rewritten by a clustering, or undone.
        files_written, bytes_written: data files that a commit added.
        files_removed: data files deleted from storage; those that a newer version only hides are still there.
    """

    rows: int = 0
    files_written: int = 0
    bytes_written: int = 0
    files_removed: int = 0


def service_of(script: str) -> str:
    """The service of a job script: ``clean.py`` → ``clean``; all operations of writes are ``write``."""
    stem = script.removesuffix(".py")
    return _SERVICES.get(stem, stem)


def figures_of(result: JobResult) -> Figures:
    """What this job did itself."""
    if result.outcome is not Outcome.COMPLETED or result.reused:
        return Figures()
    if result.clustering is not None:
        return _of_clustering(result)
    return Figures(
        rows=_rows(result),
        files_written=len(_sizes_written(result)),
        bytes_written=sum(_sizes_written(result)),
        files_removed=_removed(result),
    )


def _of_clustering(result: JobResult) -> Figures:
    plans = result.clustering.plans if result.clustering is not None else ()
    groups = [group for plan in plans if plan.state == "completed" for group in plan.groups]
    return Figures(
        rows=sum(group.rows or 0 for group in groups),
        files_written=sum(group.output_files or 0 for group in groups),
        bytes_written=sum(group.output_bytes or 0 for group in groups),
    )


def _rows(result: JobResult) -> int:
    if result.recovery is not None:
        return result.recovery.row_count
    return result.rows.inserted + result.rows.updated + result.rows.deleted


def _sizes_written(result: JobResult) -> list[int]:
    return [
        change.size_after_bytes
        for partition in result.partitions
        for change in (*partition.padded, *partition.opened, *partition.rewritten)
        if change.size_after_bytes is not None
    ]


def _removed(result: JobResult) -> int:
    if result.clean is not None:
        return result.clean.file_count - result.clean.failed_count
    if result.recovery is not None:
        return result.recovery.file_count
    return result.orphans.deleted_count if result.orphans is not None else 0
