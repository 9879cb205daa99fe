"""Limit the log of Spark on a terminal to errors, from the start of the JVM on.

Spark's own setting ``spark.log.level`` takes effect after Spark has logged the first lines. A log4j configuration that
the JVM receives at its start also suppresses these lines. Lines that the JVM itself writes at its start cannot be
suppressed, so the command filters them (see `stderr_lines`).
"""

import os
import re
from pathlib import Path

SPARK_SETTINGS = {"spark.log.level": "ERROR", "spark.ui.showConsoleProgress": "false"}
"""Settings of the Spark session. Releases of Spark before 3.5 ignore `spark.log.level`."""

_OPTIONS = "SPARK_SUBMIT_OPTS"
_CONFIGURATION = Path(__file__).with_name("log4j2-terminal.properties")
_STARTUP_LINE = re.compile(
    r"WARNING: (?:Using incubator modules: |package \S+ not in \S+)"
    r"|Using Spark's default log4j profile: "
    r"|Setting default log level to "
    r"|To adjust logging level use "
)
_QUERY_ERROR = re.compile(r'\{"ts": .*"logger": "(?:SQL|DataFrame)QueryContextLogger"')
"""Matches the line in which PySpark 4 logs an error of a query, with Java's stack trace, before it raises the error."""


def is_needless_line(line: str) -> bool:
    """Whether Java or Spark writes this line at each start, or PySpark repeats an error that the job reports."""
    return any(pattern.match(line) is not None for pattern in (_STARTUP_LINE, _QUERY_ERROR))


def log_errors_only() -> None:
    """Configure the JVM that this process starts, so that the JVM logs only errors.

    If the user sets a log4j configuration, that configuration applies instead.
    """
    options = os.environ.get(_OPTIONS, "")
    if "log4j" not in options:
        os.environ[_OPTIONS] = f"{options} -Dlog4j2.configurationFile={_CONFIGURATION.as_uri()}".strip()
