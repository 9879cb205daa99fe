"""The files of a run's folder, through which supervisor, task and trigger communicate."""

import json
import os
from pathlib import Path
from typing import Any

LOCK = "lock"
"""The supervisor holds a lock on it as long as it lives."""
RUN = "run.json"
"""Written by the task: ``owner``, and ``launch``, a name that no other run has."""
STATE = "state.json"
"""Written by the supervisor every second: ``host``, ``pid``, ``created``, ``beat``."""
END = "end.json"
"""Written by the supervisor at the end: ``exit_code``, ``was_asked``."""
END_WANTED = "end_wanted"
"""Exists if the run was asked to end."""
REQUEST = "request.json"
"""The job's request, credentials included; removed as soon as the run has ended."""
OUTPUT = "output.log"
LAUNCHER = "spark-submit"
"""The program that Airflow's hook runs as spark-submit."""
SHOWN = "shown"
"""Number of bytes of the output that are in the log of the triggerer."""


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write the document atomically."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(document))
    os.replace(beside, path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a document; None: it does not exist, may not be read, or is no JSON object.

    Raises:
        OSError: the file system does not answer.
    """
    try:
        document = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
        return None
    return document if isinstance(document, dict) else None
