"""Show a job: on a terminal with a progress bar and a summary, in a pipe with log lines and JSON."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from rich.console import Console
from rich.text import Text

from hudi_table_services.cli import Presentation
from hudi_table_services.command.job_summary import job_summary
from hudi_table_services.command.output import console_of, is_terminal, print_text
from hudi_table_services.command.progress_bar import TerminalLog
from hudi_table_services.command.rendering import print_summary, printable
from hudi_table_services.command.script_names import with_commands
from hudi_table_services.command.spark_log import SPARK_SETTINGS, is_needless_line, log_errors_only
from hudi_table_services.command.stderr_lines import stderr_lines
from hudi_table_services.command.summary import Summary
from hudi_table_services.contract.config_check import ConfigReport
from hudi_table_services.contract.error_text import TEXT_WIDTH, Failure
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.errors import HudiTableServiceError, UnsafeConfigError

_LABEL_WIDTH = 16
"""Width of the labels of `Failure.lines`, with their indent."""


class CommandPresentation(Presentation):
    """Presentation of one sub-command.

    Standard output gets the result: a terminal shows a summary, and a pipe contains JSON. With ``--json``, a terminal
    shows JSON, too. Standard error gets the log and the error: a terminal shows a progress bar, warnings, and the error
    as a block of lines, and a file contains log lines. With ``--verbose``, a terminal shows log lines instead of the
    progress bar.

    Args:
        command: name of the sub-command.
        table: base path of the table; empty if it is not known.
        as_json: whether to print JSON on a terminal too.
        verbose: whether to print log lines on a terminal too.
        wide: whether lines of the result may be longer than the terminal is wide.
    """

    def __init__(
        self,
        command: str,
        *,
        table: str = "",
        as_json: bool = False,
        verbose: bool = False,
        wide: bool = False,
    ) -> None:
        self._command = command
        self._table = table
        self._is_wide = wide
        self._prints_json = as_json or not is_terminal(sys.stdout)
        self._started = time.monotonic()
        self._has_terminal = is_terminal(sys.stderr)
        self._log: TerminalLog | None = None
        if self._has_terminal and not verbose:
            self._log = TerminalLog(_lasting_console())
            self.spark_settings: Mapping[str, str] = SPARK_SETTINGS

    @property
    def prints_json(self) -> bool:
        """Whether standard output gets JSON."""
        return self._prints_json

    def start_logging(self) -> None:
        if self._log is None:
            super().start_logging()
            return
        root = logging.getLogger()
        root.setLevel(logging.INFO)
        root.addHandler(self._log)
        logging.getLogger("py4j").setLevel(logging.WARNING)

    def running(self, request: JobRequest, *, with_spark: bool) -> AbstractContextManager[None]:
        return nullcontext() if self._log is None else self._with_bar(self._log, with_spark=with_spark)

    @contextmanager
    def _with_bar(self, log: TerminalLog, *, with_spark: bool) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(log.progress_bar(self._command))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", module=r"pyspark\.")  # users cannot act on these warnings
            if with_spark and "PYSPARK_GATEWAY_PORT" not in os.environ:
                log_errors_only()
                stack.enter_context(stderr_lines(lambda line: _print_foreign(log, line)))
            yield

    def show_ui_address(self, address: str) -> None:
        if self._log is None:
            super().show_ui_address(address)
        else:
            self._log.print_line(f"Spark UI: {address}", "dim")

    def show_result(self, result: JobResult) -> None:
        if self._prints_json:
            print_text(result.to_json())
            return
        shown = self._log.shown_warnings if self._log else ()
        elapsed_s = time.monotonic() - self._started
        self.print_summary(job_summary(result, self._command, elapsed_s, shown))

    def print_summary(self, summary: Summary) -> None:
        """Print a summary to standard output."""
        print_summary(console_of(sys.stdout, is_wide=self._is_wide), summary)

    def show_failure(self, result: JobResult) -> None:
        """Print the whole result as JSON. On a terminal, print its summary if the failed job made a report."""
        if self._prints_json or result.report is not None:
            self.show_result(result)

    def show_error(self, error: HudiTableServiceError) -> None:
        if not self._has_terminal:
            super().show_error(error)
            return
        if isinstance(error.evidence, ConfigReport) and not self._prints_json:
            # The summary of the report follows, and contains the findings with their reasons and cures.
            error = UnsafeConfigError(f"{error.evidence.verdict}.", evidence=error.evidence)
        print_error(console_of(sys.stderr), self._command, error, self._table)

    def show_unexpected_error(self) -> None:
        """Show the traceback, because only the maintainers can correct the error."""
        super().show_unexpected_error()


def print_error(console: Console, command: str, error: HudiTableServiceError, table: str = "") -> None:
    """Print an error as a block: what happened to which object, what to do, and whether a second run may succeed."""
    retry = "The same command may succeed if you run it again." if error.retryable else ""
    texts = {name: _readable(text) for name, text in (("message", error.message), ("hint", error.hint))}
    failure = Failure(kind=error.kind, table=printable(table), table_now="", retry=retry, **texts)
    width = min(TEXT_WIDTH, console.width - _LABEL_WIDTH)
    console.print(Text(f"✗ {command} failed: {error.kind}", style="bold red"))
    for line in failure.lines(width=width)[1:]:
        text = Text(line)
        text.stylize("bold", 0, _LABEL_WIDTH)
        console.print(text, overflow="fold")


def _readable(text: str) -> str:
    return with_commands("\n".join(map(printable, text.splitlines())))


def _lasting_console() -> Console:
    """Return a console that writes to the terminal even while `stderr_lines` redirects standard error."""
    return console_of(os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace"))


def _print_foreign(log: TerminalLog, line: str) -> None:
    if not is_needless_line(line):
        log.print_line(line)
