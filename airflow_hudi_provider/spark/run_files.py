"""The files of a run's folder, by which its supervisor, its task and its trigger tell each other how it goes."""

import json
import os
from pathlib import Path
from typing import Any

LOCK = "lock"
"""Held by the supervisor as long as it lives."""
RUN = "run.json"
"""Whose run it is, written by the task: ``owner``, and ``launch``, which no other run has."""
STATE = "state.json"
"""Where it runs, written by the supervisor again and again: ``host``, ``pid``, ``created``, ``beat``."""
END = "end.json"
"""How it ended, written by the supervisor: ``exit_code``, ``was_asked``."""
END_WANTED = "end_wanted"
"""Somebody wants it to end."""
REQUEST = "request.json"
"""What the job is asked, credentials included; removed as soon as the run has ended."""
OUTPUT = "output.log"
LAUNCHER = "spark-submit"
"""What Airflow's hook takes for spark-submit."""
SHOWN = "shown"
"""As many bytes of the output are in the log of the triggerer."""


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Whole or not at all."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(json.dumps(document))
    os.replace(beside, path)


def read_json(path: Path) -> dict[str, Any] | None:
    """None: it is not there, not ours to see, or nothing that one of us wrote.

    Raises:
        OSError: the file system does not answer now.
    """
    try:
        document = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, PermissionError, ValueError):
        return None
    return document if isinstance(document, dict) else None
