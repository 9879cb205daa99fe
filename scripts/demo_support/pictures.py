"""Format the demo's output as text."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType

from demo_support.backfill import Clustered, Day
from demo_support.clusterings import Layout, TimelineCheck
from demo_support.loading import Load, Sizes
from demo_support.reading import DataFile, DayCheck
from hudi_table_services.contract.result import JobResult
from hudi_table_services.contract.text import counted

WIDTH = 100
_BAR_WIDTH = 56
_EIGHTHS = " ▏▎▍▌▋▊▉"
_KIB = 1024


def heading(text: str) -> str:
    return f"\n── {text} {'─' * max(0, WIDTH - len(text) - 4)}"


def bar(value: float, full: float, width: int = _BAR_WIDTH) -> str:
    """Draw a bar of at most ``width`` characters for ``value`` out of ``full``, in steps of an eighth."""
    eighths = round(min(max(value / full, 0), 1) * width * 8)
    blocks, rest = divmod(eighths, 8)
    return ("█" * blocks + (_EIGHTHS[rest] if rest else "")).ljust(width)


def load_line(load: Load) -> str:
    """Format one commit: its rows, the small files that it padded, and its new files."""
    return _commit_line(f"{load.delivery.day:%a %d %b}  {load.delivery.note}", load.result, load.seconds)


def day_line(day: Day) -> str:
    """Format the commit of one run of the DAG."""
    return _commit_line(f"{day.day:%a %d %b}", day.result, day.seconds)


def clustered_line(done: Clustered) -> str:
    """Format one clustering: files and bytes before and after."""
    before, after = (_kib(size) for size in (done.bytes_in, done.bytes_out))
    what = (
        f"{done.files_in} files, {before} KiB → {done.files_out} files, {after} KiB, sorted by {done.order}"
    )
    label = f"clustering after {done.commit_count} commits"
    return f"    {label:<27}{what:<60}{done.seconds:5.1f} s"


def _commit_line(label: str, result: JobResult, seconds: float) -> str:
    rows = result.rows
    changes = [
        text
        for text in (
            f"+{rows.inserted}" if rows.inserted else "",
            f"~{rows.updated}" if rows.updated else "",
            f"{rows.older_than_stored} older than stored" if rows.older_than_stored else "",
        )
        if text
    ]
    return f"  {label:<28}{', '.join(changes) or 'no change':<26}{_files(result):<34}{seconds:5.1f} s"


def _files(result: JobResult) -> str:
    parts = []
    for partition in result.partitions:
        for change in partition.padded:
            before, after = _kib(change.size_before_bytes), _kib(change.size_after_bytes or 0)
            parts.append(f"padded {before} → {after} KiB")
        parts += [f"new {_kib(change.size_after_bytes or 0)} KiB" for change in partition.opened]
        parts += [f"rewrote {_kib(change.size_after_bytes or 0)} KiB" for change in partition.rewritten]
    return ", ".join(parts)


def _kib(size_bytes: int) -> str:
    return f"{size_bytes / _KIB:.0f}"


def calendar(checks: Sequence[DayCheck]) -> Iterator[str]:
    """Format one week per line: rows of each day, and whether the table equals the source."""
    for start in range(0, len(checks), 7):
        cells = (
            f"{check.day:%d %b} {check.table_count:>4} {'ok' if check.is_equal else 'NO'}"
            for check in checks[start : start + 7]
        )
        yield "  " + "  ".join(cells)


def file_bars(
    files: Sequence[DataFile], sizes: Sizes, notes: Mapping[str, str] = MappingProxyType({})
) -> Iterator[str]:
    """Draw the files of every partition as bars, with notes by file name. A bar is full at the maximum file size."""
    limit = round(sizes.small_file_limit_bytes / sizes.max_file_bytes * _BAR_WIDTH)
    legend = f"small, will be padded: below {_kib(sizes.small_file_limit_bytes)} KiB"
    mark = f"{legend:>{limit}}│" if len(legend) <= limit else f"{'':{limit}}│ {legend}"
    yield f"  {mark:<{_BAR_WIDTH}}▏ max {_kib(sizes.max_file_bytes)} KiB"
    for partition, group in groupby(files, key=lambda file: file.partition_path):
        members = list(group)
        total = sum(file.row_count for file in members)
        yield f"  {partition}: {len(members)} files, {total:,} rows"
        for file in members:
            filled = bar(file.size_bytes, sizes.max_file_bytes)
            note = notes.get(file.name, file.name[:8])
            yield f"  {filled}▏{_kib(file.size_bytes):>5} KiB {file.row_count:>7,} rows  {note}"


def layout_lines(loaded: Layout, now: Layout) -> Iterator[str]:
    """Format files, sizes and the share that a query for one value reads, before and after the clustering."""
    yield f"  {'':34}a query for one {loaded.column} reads"
    for name, layout in (("as loaded", loaded), ("clustered", now)):
        share = layout.read_share
        yield (
            f"  {name:<12}{len(layout.files):>3} files {_kib(layout.size_bytes):>6} KiB   "
            f"{bar(share, 1, 40)}▏{share:>5.0%} of the rows"
        )


def timeline_line(check: TimelineCheck, every: int) -> str:
    """Format the number of commits before each clustering."""
    counts = ", ".join(map(str, check.commits_before)) or "none"
    return (
        f"  {counted(len(check.clusterings), 'clustering')} on the timeline, after {counts} commits, and "
        f"{counted(check.commits_since, 'commit')} since the last (expected: at least {every} before each)"
    )


def record_size_lines(results: Sequence[JobResult], files: Sequence[DataFile]) -> Iterator[str]:
    """Format, for each partition, the first and the last estimate and the actual bytes per row of the files."""
    yield f"  {'partition':<12}{'first estimate':>16}{'last estimate':>16}{'actual':>12}{'error of last':>18}"
    for partition in sorted({file.partition_path for file in files}):
        estimates = [
            report.record_size_bytes
            for result in results
            for report in result.partitions
            if report.partition_path == partition and (report.padded or report.opened)
        ]
        members = [file for file in files if file.partition_path == partition]
        truth = sum(f.size_bytes - f.footer_bytes for f in members) / sum(f.row_count for f in members)
        if estimates:
            off = estimates[-1] / truth - 1
            yield f"  {partition:<12}{estimates[0]:>14.1f} B{estimates[-1]:>14.1f} B{truth:>10.1f} B{off:>17.1%}"


def last_estimate_source(results: Sequence[JobResult]) -> str:
    """Return the source of the last estimate, as the engine names it."""
    texts = [report.record_size for result in results for report in result.partitions if report.record_size]
    return texts[-1] if texts else "no estimate was needed"
