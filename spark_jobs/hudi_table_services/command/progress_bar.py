"""Show the log of a job on a terminal: a progress bar with the current work, and warnings above the bar."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text

from hudi_table_services.cli import NewWarnings
from hudi_table_services.command.rendering import printable
from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress
from hudi_table_services.contract.text import human_time

_LEVEL_STYLES = {logging.WARNING: "yellow", logging.ERROR: "bold red", logging.CRITICAL: "bold red"}


class TerminalLog(logging.Handler):
    """Log handler that shows warnings and errors as lines, and the newest message or progress next to a bar.

    Attributes:
        shown_warnings: messages of the warnings that the terminal shows.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._new_warnings = NewWarnings()
        self.shown_warnings = self._new_warnings.shown
        self._console = console
        self._bar: tuple[Progress, TaskID] | None = None
        # After Ctrl+C, py4j logs tracebacks with the root logger. A job reports each failed call itself.
        self.addFilter(lambda record: "/py4j/" not in record.pathname)

    @contextmanager
    def progress_bar(self, title: str) -> Iterator[None]:
        """Show a bar during a job. The bar disappears at the end."""
        progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[left]}"),
            TimeElapsedColumn(),
            console=self._console,
            refresh_per_second=4,
            transient=True,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        with progress:
            self._bar = progress, progress.add_task(title, total=None, left="")
            try:
                yield
            finally:
                self._bar = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._show(record)
        except Exception:
            self.handleError(record)

    def _show(self, record: logging.LogRecord) -> None:
        progress = getattr(record, PROGRESS_FIELD, None)
        message = record.getMessage()
        if record.levelno >= logging.WARNING:
            if not self._new_warnings.filter(record):
                return  # the checks that run before Spark have already shown this warning
            self.print_line(self.format(record), _LEVEL_STYLES.get(record.levelno, ""))
        elif self._bar is not None:
            bar, task = self._bar
            if isinstance(progress, JobProgress):
                bar.update(
                    task,
                    description=progress.phase,
                    total=progress.total,
                    completed=progress.done,
                    left=_left(progress),
                )
            else:
                bar.update(task, description=printable(message), total=None, completed=0, left="")

    def print_line(self, text: str, style: str = "") -> None:
        """Print a text above the bar."""
        lines = "\n".join(map(printable, text.splitlines()))
        self._console.print(Text(lines, style=style), soft_wrap=True)


def _left(progress: JobProgress) -> str:
    parts = [f"{progress.done:,} of {progress.total:,}"]
    if progress.remaining_s is not None:
        parts.append(f"about {human_time(progress.remaining_s)} left")
    return ", ".join(parts)
