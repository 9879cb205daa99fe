"""The output of the command on a terminal, checked with a pseudo-terminal."""

import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rich.console import Console

from hudi_table_services.command.progress_bar import TerminalLog
from hudi_table_services.command.spark_log import is_needless_line, log_errors_only
from hudi_table_services.command.stderr_lines import stderr_lines
from hudi_table_services.contract.progress import PROGRESS_FIELD, JobProgress
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.storage.stores.local import LocalStorage
from hudi_table_services.tables.views.live_files import read_files
from support.command.terminal import CONTROL, run_on_a_terminal, without_control
from support.small_tables import SmallTable

REPOSITORY = Path(__file__).parents[3]
CODE = "import sys; from hudi_table_services.command.main import main; sys.exit(main())"


def on_a_terminal(*words: str, columns: int = 100, **variables: str) -> tuple[int, str]:
    """Run the command; return its exit code and what the terminal received."""
    environment = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    environment["PYTHONPATH"] = str(REPOSITORY / "spark_jobs")
    command = [sys.executable, "-c", CODE, *words]
    return run_on_a_terminal(command, {**environment, **variables}, columns=columns)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    made = SmallTable(LocalStorage(str(tmp_path_factory.mktemp("lake") / "trips")))
    for number in range(3):
        made.commit(FileGroupId("city=a", f"a{number}"), FileGroupId("city=b", "b"))
    made.begin()
    return made


def path_of(table: SmallTable) -> str:
    return table.storage.uri.removeprefix("file://")


def test_a_view_has_colours_and_aligned_columns(table: SmallTable) -> None:
    exit_code, text = on_a_terminal("show", "partitions", path_of(table))
    assert exit_code == 0
    assert CONTROL.search(text)
    lines = [line.rstrip() for line in without_control(text).splitlines()]
    assert lines[0] == "Partitions of trips: 2 partitions"
    header, first, second = lines[1:4]
    assert "".join(lines[4:]).lstrip().startswith("small: files below the writers' small-file limit")
    assert header.split() == ["partition", "files", "small", "size", "rows", "last", "write"]
    ends = [line.index("B") for line in (first, second)]
    assert ends[0] == ends[1]


def test_without_colours_the_text_stays_and_json_can_be_requested(table: SmallTable) -> None:
    exit_code, text = on_a_terminal("show", "schema", path_of(table), NO_COLOR="1")
    assert exit_code == 0
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", text)
    exit_code, text = on_a_terminal("show", "schema", path_of(table), "--json")
    assert json.loads(text)["view"] == "schema"


def test_a_job_shows_a_bar_a_summary_and_no_log_lines(table: SmallTable) -> None:
    exit_code, received = on_a_terminal("health", path_of(table))
    assert exit_code == 0
    assert "\x1b[?25l" in received, "there was no bar"
    text = without_control(received)
    assert "! health of trips: warning" in text
    assert "Dead instants (dead_instants)  " in text
    assert " INFO " not in text
    assert '"contract_version"' not in text


@pytest.mark.parametrize("view", ["timeline", "files"])
def test_a_narrow_terminal_breaks_no_word(table: SmallTable, view: str) -> None:
    for columns in (40, 60):
        exit_code, received = on_a_terminal("show", view, path_of(table), columns=columns)
        assert exit_code == 0
        words = without_control(received).split()
        if view == "timeline":
            assert {each.requested_time for each in table.timeline_store.load()} <= set(words)
            assert words.count("completed") == 3
        else:
            names = {each.name for each in read_files(table.storage).files}
            assert len(names) == 4
            assert names <= set(words)
    exit_code, received = on_a_terminal("show", view, path_of(table), "--wide", columns=60)
    text = without_control(received)
    assert "Not shown" not in text
    rows = [line for line in text.splitlines() if "city=" in line or " commit " in line]
    assert all(re.search(r"\d{17}", row) for row in rows)
    assert len(rows) == 4


def test_verbose_shows_log_lines_instead_of_a_bar(table: SmallTable) -> None:
    exit_code, received = on_a_terminal("health", path_of(table), "--verbose")
    assert exit_code == 0
    assert " INFO Request " in received
    assert "\x1b[?25l" not in received


def test_a_failed_check_of_settings_shows_each_finding_once() -> None:
    options = ("--option=hoodie.keep.min.commits=10", "--option=hoodie.clean.commits.retained=24")
    exit_code, text = on_a_terminal("check-config", *options)
    words = " ".join(without_control(text).split())
    assert exit_code == 78
    assert words.count("Archival may leave only 10 commits") == 1
    assert "1 finding of severity error (" in words


def test_an_error_is_a_block_without_a_traceback(tmp_path: Path) -> None:
    exit_code, received = on_a_terminal("clean", str(tmp_path / "none"))
    assert exit_code == 66
    text = without_control(received)
    assert "✗ clean failed: TableNotFoundError" in text
    words = " ".join(text.split())
    assert "What happened There is no Hudi table at" in words
    assert "no write has completed there. What to do Run a load first" in words
    assert f"Table {tmp_path / 'none'}" in words
    assert "Traceback" not in text
    assert all(len(line) <= 100 for line in text.splitlines() if "⠋" not in line)


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)


def written_to(console: Console) -> str:
    stream = console.file
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def record(message: str, level: int = logging.INFO, progress: JobProgress | None = None) -> logging.LogRecord:
    made = logging.LogRecord("job", level, __file__, 1, message, None, None)
    if progress is not None:
        setattr(made, PROGRESS_FIELD, progress)
    return made


def test_the_bar_shows_the_progress_of_a_phase_and_warnings_stay_visible(console: Console) -> None:
    log = TerminalLog(console)
    with log.progress_bar("cluster"):
        log.handle(record("loading the table"))
        progress = JobProgress(phase="rewriting groups", done=3, total=8, remaining_s=90.0)
        log.handle(record("3 of 8", progress=progress))
        log.handle(record("columns have no time zone", logging.WARNING))
        assert log._bar is not None
        bar, task = log._bar
        assert (bar.tasks[task].completed, bar.tasks[task].total) == (3, 8)
        bar.refresh()
    text = written_to(console)
    assert "rewriting groups" in text
    assert "3 of 8, about 2 min left" in text
    assert "columns have no time zone" in text
    assert log.shown_warnings == {"columns have no time zone"}


def test_tracebacks_of_py4j_are_not_shown(console: Console) -> None:
    interrupted = record("KeyboardInterrupt while sending command.", logging.ERROR)
    interrupted.pathname = "/venv/site-packages/py4j/java_gateway.py"
    TerminalLog(console).handle(interrupted)
    assert written_to(console) == ""


def test_lines_that_other_processes_write_to_stderr_are_passed_on() -> None:
    lines: list[str] = []
    with stderr_lines(lines.append):
        subprocess.run(["sh", "-c", "echo first >&2; printf 'zweite ü' >&2"], check=True)
        os.write(2, b"third\n")
    assert lines == ["first", "zweite üthird"]
    assert not [each for each in threading.enumerate() if each.name == "stderr"]


def test_stderr_is_restored_while_another_program_still_writes() -> None:
    before = os.fstat(2)
    with stderr_lines(lambda line: None):
        running = subprocess.Popen(["sleep", "30"])
    running.kill()
    running.wait()
    assert os.path.samestat(before, os.fstat(2))


@pytest.mark.parametrize(
    ("line", "is_hidden"),
    [
        ("WARNING: Using incubator modules: jdk.incubator.vector", True),
        ("WARNING: package sun.security.action not in java.base", True),
        ("Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties", True),
        ('Setting default log level to "WARN".', True),
        (
            '{"ts": "2026-11-26 13:22:34", "level": "ERROR", "logger": "SQLQueryContextLogger", "msg": "x"}',
            True,
        ),
        ('{"ts": "2026-11-26 13:22:34", "level": "ERROR", "logger": "other", "msg": "x"}', False),
        ("12:00:01 ERROR TaskSetManager: Task 0 failed", False),
        ("java.lang.OutOfMemoryError: Java heap space", False),
    ],
)
def test_only_repeated_errors_and_lines_that_spark_writes_at_every_start_are_hidden(
    line: str, is_hidden: bool
) -> None:
    assert is_needless_line(line) is is_hidden


def test_the_log_configuration_of_a_user_has_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    own = "-Dlog4j2.configurationFile=file:/own.properties"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", own)
    log_errors_only()
    assert os.environ["SPARK_SUBMIT_OPTS"] == own
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xmx1g")
    log_errors_only()
    first, second = os.environ["SPARK_SUBMIT_OPTS"].split()
    assert first == "-Xmx1g"
    assert Path(second.partition("=file://")[2]).is_file()
