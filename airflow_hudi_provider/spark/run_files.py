"""The files of a run's folder, through which supervisor, task and trigger communicate."""

import json
import os
from pathlib import Path
from typing import Any

LOCK = "lock"
"""The supervisor locks this file until the supervisor ends."""
RUN = "run.json"
"""The task writes this file: ``owner``, and ``launch``, the unique name of the run."""
STATE = "state.json"
"""The supervisor writes this file every second: ``host``, ``pid``, ``created``, ``beat``."""
END = "end.json"
"""The supervisor writes this file at the end of the run: ``exit_code``, ``was_asked``."""
END_WANTED = "end_wanted"
"""This file exists if a task or trigger requested the end of the run."""
REQUEST = "request.json"
"""The job's request, including credentials. The supervisor removes this file as soon as the run has ended."""
OUTPUT = "output.log"
LAUNCHER = "spark-submit"
"""The program that Airflow's hook runs as spark-submit."""
SHOWN = "shown"
"""This file contains the number of bytes of the output that the triggerer has already logged."""


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write the document atomically."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(document))
    os.replace(new, path)


def read_json(path: Path) -> dict[str, Any] | None:
    """Read a document. Return None if the file does not exist, cannot be accessed, or contains no JSON object.

    Raises:
        OSError: the file system does not answer.
    """
    try:
        document = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
        return None
    return document if isinstance(document, dict) else None
