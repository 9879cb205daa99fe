"""Convert the views of `hudi-services show` to summaries for a terminal."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hudi_table_services.command.summaries.details import shown_path
from hudi_table_services.command.summaries.health import pending_grid
from hudi_table_services.command.summary import Grid, Summary
from hudi_table_services.contract.text import counted, human_bytes, partitioned_by
from hudi_table_services.model.write_stat import WriteOperation
from hudi_table_services.options.writing import recorded_limits
from hudi_table_services.tables.clustering_history import GAVE_WAY_KEY, PARENT_KEY, PREDECESSOR_KEY
from hudi_table_services.tables.views.documents import (
    CommitView,
    FileRow,
    FilesView,
    InstantView,
    PartitionsView,
    SchemaView,
    TableView,
    TimelineView,
)

SHOWN_ROWS = 20
"""Largest number of rows of a view, if the user gives no other number."""

_EXTRA_TITLES = {
    GAVE_WAY_KEY: "Released plans",
    PARENT_KEY: "Scheduled with",
    PREDECESSOR_KEY: "Replaces plan",
}
"""Maps keys of this project in the extra metadata of an instant to titles."""


def table_summary(view: TableView) -> Summary:
    """Return the summary of a table."""
    kind = view.table_type.replace("_", "-").lower()
    rows = "" if view.row_count is None else f", {counted(view.row_count, 'row', ',')}"
    if view.log_files:
        rows = ", rows not counted"
    return Summary(
        title=f"{view.table_name} ({kind}, version {view.table_version})",
        facts=(
            ("Path", view.base_path),
            ("Record key", ", ".join(view.record_key)),
            ("Partitions", _partitioning(view)),
            ("Ordering", ", ".join(view.ordering_fields)),
            ("Live files", f"{counted(view.file_count, 'file', ',')}, {human_bytes(view.size_bytes)}{rows}"),
            ("Log files", _logs(view)),
            ("Metadata table", ", ".join(view.metadata_partitions) or "none"),
            ("Timeline", f"{counted(view.instant_count, 'active instant', ',')}"),
            (
                "Last write",
                "none on the active timeline" if view.last_write is None else _write(view.last_write),
            ),
            ("Pending", "" if view.pending else "none"),
        ),
        grids=(pending_grid(view.pending),),
    )


def _logs(view: TableView) -> str:
    """Return the log files that no compaction has merged; empty if there are none."""
    if not view.log_files:
        return ""
    return f"{counted(view.log_files, 'file', ',')}, {human_bytes(view.log_bytes)}, oldest {view.oldest_log}"


def _partitioning(view: TableView) -> str:
    if not view.partition_by:
        return "not partitioned"
    columns = partitioned_by(view.partition_by, view.partition_time_format)
    return f"{counted(view.partition_count, 'partition', ',')} by {columns}"


def _write(write: InstantView) -> str:
    by = f", request {write.request_id}" if write.request_id else ""
    return f"{write.instant_time} {write.operation}, {local_time(write.requested_at)}{by}"


def timeline_summary(view: TimelineView) -> Summary:
    """Return the summary of a timeline, newest instant first."""
    rows = [
        (
            each.instant_time,
            local_time(each.requested_at),
            each.action,
            each.operation,
            each.state,
            _rows(each),
            f"{each.files_written:,}" if each.operation else "",
            human_bytes(each.bytes_written) if each.operation else "",
        )
        for each in view.instants
    ]
    older = view.instant_count - len(view.instants)
    notes = [f"… and {counted(older, 'older active instant', ',')}"] if older else []
    columns = ("instant", "time", "action", "operation", "state", ">rows", ">files", ">size")
    return Summary(
        title=f"Timeline of {view.table_name}: {counted(view.instant_count, 'active instant', ',')}",
        grids=(
            Grid(
                columns=columns,
                rows=rows,
                noun="instant",
                optional=("time", ">files", ">size"),
                whole=("instant",),
            ),
            _undone(view.instants),
        ),
        notes=[*notes, "Older instants are archived."] if view.has_archive else notes,
        shown_rows=None,
    )


def _undone(instants: Sequence[InstantView]) -> Grid:
    """Return a table of the rollbacks and restores, each with the instants that it undoes and the reason."""
    rows = [
        (each.instant_time, each.action, ", ".join(each.undone), _reason(each))
        for each in instants
        if each.undone
    ]
    columns = ("instant", "action", "undoes", "reason")
    return Grid(columns=columns, rows=rows, noun="row", title="Rollbacks and restores", whole=("instant",))


def _reason(instant: InstantView) -> str:
    """Return the reason of a rollback or a restore; empty for other instants."""
    return (instant.undo_reason or "not recorded") if instant.undone else ""


def _rows(instant: InstantView) -> str:
    """Return the numbers of inserted, updated and deleted rows, such as ``+10 ~2 -1``.

    For a clustering, return the number of rewritten rows, such as ``=10``.
    """
    if instant.operation == WriteOperation.CLUSTER.value.lower():
        return f"={instant.rows_inserted:,}" if instant.rows_inserted else ""
    counts = (("+", instant.rows_inserted), ("~", instant.rows_updated), ("-", instant.rows_deleted))
    return " ".join(f"{sign}{count:,}" for sign, count in counts if count)


def files_summary(view: FilesView) -> Summary:
    """Return the summary of the live files."""
    rows = [
        (
            shown_path(each.partition_path),
            _file_name(each),
            human_bytes(each.size_bytes),
            _count(each.row_count),
            each.instant_time,
        )
        for each in view.files
    ]
    size = human_bytes(sum(each.size_bytes for each in view.files))
    columns = ("partition", "file", ">size", ">rows", "written by")
    return Summary(
        title=f"Files of {view.table_name}: {counted(len(view.files), 'file', ',')}, {size}",
        grids=(
            Grid(columns=columns, rows=rows, noun="file", optional=("written by",), whole=("written by",)),
        ),
        shown_rows=SHOWN_ROWS,
    )


def _file_name(file: FileRow) -> str:
    """Return the name of the base file with the number and size of the log files that readers merge into it."""
    if not file.log_files:
        return file.name
    logs = f"{counted(file.log_files, 'log file', ',')}, {human_bytes(file.log_bytes)}"
    return f"{file.name} + {logs}" if file.name else f"{file.file_id} ({logs}, no base file)"


_SMALL_FILES = "small: files below the writers' small-file limit, if the partition has several such files."


def partitions_summary(view: PartitionsView) -> Summary:
    """Return the summary of the partitions."""
    rows = [
        (
            shown_path(each.partition_path),
            f"{each.file_count:,}",
            f"{each.small_file_count:,}",
            human_bytes(each.size_bytes),
            _count(each.row_count),
            each.last_write,
        )
        for each in view.partitions
    ]
    columns = ("partition", ">files", ">small", ">size", ">rows", "last write")
    return Summary(
        title=f"Partitions of {view.table_name}: {counted(len(rows), 'partition', ',')}",
        grids=(Grid(columns=columns, rows=rows, noun="partition", whole=("last write",)),),
        notes=[_SMALL_FILES] if rows else [],
        shown_rows=SHOWN_ROWS,
    )


def schema_summary(view: SchemaView) -> Summary:
    """Return the summary of the columns. A terminal shows all columns."""
    rows = [
        (each.name, each.type, "yes" if each.nullable else "no", ", ".join(each.roles), each.doc)
        for each in view.columns
    ]
    return Summary(
        title=f"Columns of {view.table_name}: {counted(len(rows), 'column', ',')}",
        grids=(Grid(columns=("column", "type", "nullable", "role", "comment"), rows=rows, noun="column"),),
        shown_rows=None,
    )


def commit_summary(view: CommitView) -> Summary:
    """Return the summary of one instant. The partitions with the most written bytes come first."""
    instant = view.instant
    rows = [
        (
            shown_path(each.partition_path),
            f"{each.rows_inserted:,}",
            f"{each.rows_updated:,}",
            f"{each.rows_deleted:,}",
            f"{each.files_written:,}",
            human_bytes(each.bytes_written),
            f"{each.files_replaced:,}",
        )
        for each in sorted(view.partitions, key=lambda each: -each.bytes_written)
    ]
    columns = ("partition", ">inserted", ">updated", ">deleted", ">files", ">size", ">replaced")
    extra = [
        _extra_fact(key, value) for key, value in view.extra_metadata.items() if value != instant.request_id
    ]
    return Summary(
        title=f"{instant.action} {instant.instant_time} of {view.table_name}: {instant.state}"
        + (", archived" if view.is_archived else ""),
        facts=(
            ("Operation", instant.operation),
            ("Requested", local_time(instant.requested_at)),
            ("Completed", local_time(instant.completed_at)),
            ("Request", instant.request_id),
            ("Rows", _rows(instant)),
            ("Undoes", ", ".join(instant.undone)),
            ("Reason", _reason(instant)),
            *_pending_facts(view),
            *extra,
        ),
        grids=(Grid(columns=columns, rows=rows, noun="partition"),),
    )


def _extra_fact(key: str, value: str) -> tuple[str, str]:
    """Return name and value of an entry of the extra metadata, in words if this project stored the entry."""
    limits = recorded_limits({key: value}, "")
    if limits is not None:
        target, small = human_bytes(limits.max_file_size_bytes), human_bytes(limits.small_file_limit_bytes)
        return "File sizes", f"target {target}, small-file limit {small}"
    return _EXTRA_TITLES.get(key, key), value


def _pending_facts(view: CommitView) -> tuple[tuple[str, str], ...]:
    if view.pending is None:
        return ()
    pending = view.pending
    return (
        ("Meaning", pending.meaning),
        ("Blocks", "; ".join(pending.blocks)),
        ("Next step", pending.next_step),
        ("Avoid", pending.avoid),
    )


def _count(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


def local_time(iso_time: str) -> str:
    """Convert an ISO time to the time zone of this machine; return an empty string unchanged."""
    return f"{datetime.fromisoformat(iso_time).astimezone():%Y-%m-%d %H:%M:%S}" if iso_time else ""


SUMMARIES: Mapping[type, Callable[[Any], Summary]] = {
    TableView: table_summary,
    TimelineView: timeline_summary,
    FilesView: files_summary,
    PartitionsView: partitions_summary,
    SchemaView: schema_summary,
    CommitView: commit_summary,
}
"""Maps the class of each view to the function that returns its summary."""
