"""Client of real Apache Hudi, which runs in one helper process per release for a whole test session.

``HudiJudge("1.2.0", folder)`` starts ``hudi_server.py`` in the judges' environment and returns immediately; the
first request waits until Spark has started. A request can fail in three ways:

- Hudi throws an exception: :class:`HudiRefusedError`, which a test may expect;
- the process dies or does not answer in time: :class:`JudgeCrashedError` with the end of its log; the test fails;
- the bundle or the judges' environment is missing: :class:`JudgeUnavailableError`.

Environment:
    HUDI_JUDGE_PYTHON: the Python of the judges' environment; default ``.venv-judges/bin/python`` of the checkout.
    HUDI_BUNDLE_JAR_0_15_0, HUDI_BUNDLE_JAR_1_2_0: local bundles to use instead of those that Spark downloads.
"""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from judges.rows import META_COLUMNS
from support.depth import number_from

REPOSITORY = Path(__file__).resolve().parents[2]
SERVER = Path(__file__).with_name("hudi_server.py")
START_SECONDS = 420.0  # on a new machine, Spark first downloads 100 MB per release
REQUEST_SECONDS = number_from("JUDGE_SECONDS", 180, 600)
"""How long a judge may work on one request. The tests of `make test-all` send larger requests."""
LOG_TAIL_CHARACTERS = 6000


class HudiRefusedError(AssertionError):
    """Hudi threw an exception; ``trace`` contains the whole stack trace."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.trace = trace


class JudgeCrashedError(RuntimeError):
    """The process ended, or did not answer in time."""


class JudgeUnavailableError(RuntimeError):
    """Real Hudi cannot run on this machine; the message gives the reason in one line."""


def judge_python() -> Path:
    """Path of the Python interpreter of the judges' environment."""
    return Path(os.environ.get("HUDI_JUDGE_PYTHON") or REPOSITORY / ".venv-judges" / "bin" / "python")


class HudiJudge:
    """One running release of Hudi on Spark 3.5.

    Args:
        release: Hudi release, e.g. ``"1.2.0"``.
        folder: scratch folder for files of rows, the Spark warehouse and the log.
        class_path: class path with the bundle; replaces the bundle that Spark downloads.
        settings: further Spark settings.
        variables: further environment variables of the process.
    """

    def __init__(
        self,
        release: str,
        folder: Path,
        *,
        class_path: str = "",
        settings: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.release = release
        self._folder = folder
        self._variables = {
            **(variables or {}),
            "HUDI_CLASS_PATH": class_path,
            "HUDI_SPARK_SETTINGS": json.dumps(dict(settings or {})),
        }
        self._log_path = folder / "log.txt"
        self._last_id = 0
        self._last_table = 0
        self._is_ready = False
        self._buffer = b""
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        python = judge_python()
        if not python.exists():
            raise JudgeUnavailableError(f"real Hudi cannot run: there is no judges' environment at {python}")
        self._folder.mkdir(parents=True, exist_ok=True)
        jar = os.environ.get(f"HUDI_BUNDLE_JAR_{self.release.replace('.', '_')}")
        environment = {key: value for key, value in os.environ.items() if key not in _SPARK_VARIABLES}
        environment["PYSPARK_PYTHON"] = str(python)
        if jar:
            environment["HUDI_BUNDLE_JAR"] = jar
        environment |= self._variables
        with self._log_path.open("wb") as log:
            return subprocess.Popen(
                [str(python), str(SERVER), self.release, str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env=environment,
            )

    # ------------------------------------------------------------------ commands

    def new_table_name(self) -> str:
        """Return a name for a table in SQL that no other test uses: the session caches tables by name."""
        self._last_table += 1
        return f"table_{self._last_table}"

    def ping(self) -> dict[str, Any]:
        """Wait until the process has started, and return its Hudi release and Spark version."""
        return self._request("ping")

    def write(
        self,
        base_path: Path | str,
        rows: pa.Table,
        options: Mapping[str, str],
        *,
        mode: str = "append",
        hadoop: Mapping[str, str] | None = None,
    ) -> None:
        """Write ``rows`` with Hudi's Spark data source; ``hadoop`` settings apply to this write only."""
        source = self._transit_file()
        pq.write_table(rows, source)
        arguments = {
            "source": str(source),
            "base_path": str(base_path),
            "options": dict(options),
            "mode": mode,
        }
        self._request("write", **arguments, hadoop=dict(hadoop or {}))
        source.unlink()

    def read(self, base_path: Path | str, options: Mapping[str, str] | None = None) -> pa.Table:
        """Return the rows that Hudi's Spark data source reads, without the meta columns."""
        return self.read_with_meta_columns(base_path, options).drop_columns(META_COLUMNS)

    def read_with_meta_columns(
        self, base_path: Path | str, options: Mapping[str, str] | None = None, *, where: str = ""
    ) -> pa.Table:
        """Return the rows that :meth:`read` returns, with the five meta columns before the other columns.

        Args:
            where: a condition in SQL; empty for all rows.
        """
        target = self._transit_file()
        arguments = {"base_path": str(base_path), "target": str(target), "options": dict(options or {})}
        self._request("read", **arguments, where=where)
        return _take(target)

    def read_as_of(self, base_path: Path | str, instant_time: str) -> pa.Table:
        """Return the rows as of ``instant_time``, including the changes of that instant (time travel)."""
        return self.read(base_path, {"as.of.instant": instant_time})

    def read_incremental(self, base_path: Path | str, begin: str, end: str | None = None) -> pa.Table:
        """Return the rows changed by commits whose time is after ``begin`` and not after ``end``.

        In table version 6, Hudi compares requested times; from version 8 on, it compares completion times.
        """
        options = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.read.begin.instanttime": begin,
        }
        if end is not None:
            options["hoodie.datasource.read.end.instanttime"] = end
        return self.read(base_path, options)

    def stream(
        self, base_path: Path | str, checkpoint: Path, options: Mapping[str, str] | None = None
    ) -> tuple[list[pa.Table], list[dict[str, Any]]]:
        """Run a stream that continues from ``checkpoint``, until it has read all commits.

        Returns:
            The rows of each new batch, with the meta columns; and the positions in the checkpoint after each batch of
            the stream, including earlier ones.
        """
        target = self._transit_file().with_suffix("")
        arguments = {"target": str(target), "checkpoint": str(checkpoint), "options": dict(options or {})}
        found = self._request("stream", base_path=str(base_path), **arguments)
        return [_take(Path(path)) for path in found["paths"]], found["positions"]

    def sql(self, *statements: str, settings: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """Run SQL statements with session ``settings``; return the last rows (dates and decimals as text)."""
        return list(self._request("sql", statements=list(statements), settings=dict(settings or {})))

    def call(
        self,
        base_path: Path | str,
        procedure: str,
        arguments: str = "",
        *,
        settings: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Call one of Hudi's procedures on the table at ``base_path``, e.g. ``call(path, "show_commits")``."""
        name = self.new_table_name()
        location = str(base_path).replace("'", "\\'")
        given = f", {arguments}" if arguments else ""
        return self.sql(
            f"create table {name} using hudi location '{location}'",
            f"call {procedure}(table => '{name}'{given})",
            settings=settings,
        )

    def planned(
        self,
        strategy: str,
        options: Mapping[str, str],
        slices: Sequence[tuple[str, str, int | None, Sequence[int]]],
    ) -> list[str]:
        """Return the file ids that one of Hudi's compaction strategies plans, in the order of the plan.

        Args:
            strategy: simple name of the class.
            slices: partition path, file id, bytes of the base file, and bytes of each log file.
        """
        return list(self._request("planned", strategy=strategy, options=dict(options), slices=list(slices)))

    def has_ended(self) -> bool:
        """Whether the process has ended, for example because it did not answer in time."""
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the process and its JVM."""
        self._pipe(self._process.stdin).close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._pipe(self._process.stdout).close()

    # ------------------------------------------------------------------ wire

    def _request(self, command: str, **arguments: object) -> Any:
        self._wait_until_ready()
        self._last_id += 1
        line = json.dumps({"id": self._last_id, "command": command, **arguments}) + "\n"
        self._send(line.encode())
        answer = self._receive(REQUEST_SECONDS)
        if answer["id"] != self._last_id:
            raise JudgeCrashedError(f"Hudi {self.release} answered {answer['id']}, expected {self._last_id}")
        if not answer["ok"]:
            raise HudiRefusedError(
                f"Hudi {self.release} refused {command}: {answer['error']}", answer["trace"]
            )
        return answer["result"]

    def _wait_until_ready(self) -> None:
        if not self._is_ready:
            self._receive(START_SECONDS)
            self._is_ready = True

    def _send(self, line: bytes) -> None:
        stdin = self._pipe(self._process.stdin)
        try:
            stdin.write(line)
            stdin.flush()
        except BrokenPipeError as error:
            raise self._crashed("is gone") from error

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        stdout = self._pipe(self._process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while b"\n" not in self._buffer:
                if not selector.select(deadline - time.monotonic()):
                    self._process.kill()
                    raise self._crashed(f"did not answer within {seconds:.0f} s and was killed")
                chunk = os.read(stdout.fileno(), 1 << 16)
                if not chunk:
                    raise self._crashed("ended without an answer")
                self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _crashed(self, what: str) -> Exception:
        with suppress(BrokenPipeError):
            self.stop()
        log = self._log_path.read_text(errors="replace")
        reason = _why_unavailable(log)
        if reason and not self._is_ready:
            return JudgeUnavailableError(f"real Hudi cannot run: Hudi {self.release}: {reason}")
        return JudgeCrashedError(
            f"Hudi {self.release} {what}; the end of its log:\n{log[-LOG_TAIL_CHARACTERS:]}"
        )

    def _transit_file(self) -> Path:
        self._last_id += 1
        return self._folder / f"rows-{self._last_id}.parquet"

    @staticmethod
    def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
        assert pipe is not None
        return pipe


# Environment variables for the Spark under test. The judge's process must not inherit them.
_SPARK_VARIABLES = frozenset(
    {
        "SPARK_HOME",
        "SPARK_CONF_DIR",
        "PYSPARK_PYTHON",
        "PYSPARK_DRIVER_PYTHON",
        "PYSPARK_SUBMIT_ARGS",
        "PYTHONPATH",
    }
)


def _why_unavailable(log: str) -> str:
    """The reason in one line if the start failed because of the environment; otherwise an empty string."""
    signs: Sequence[tuple[str, str]] = (
        ("unresolved dependency", "its bundle cannot be fetched from Maven Central"),
        ("JAVA_HOME is not set", "no Java found"),
        ("No module named 'pyspark'", "no pyspark in the judges' environment"),
    )
    return next((reason for sign, reason in signs if sign in log), "")


def _take(path: Path) -> pa.Table:
    rows = pq.read_table(path, partitioning=None)
    path.unlink()
    return rows
