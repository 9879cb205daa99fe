"""Say what the demo waits for, if the demo has printed nothing for some seconds."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

INTERVAL_S = 12.0
"""Longest time without a line, in seconds."""

_WORDS = {
    "scheduled": "is scheduled",
    "queued": "is queued",
    "running": "is running",
    "deferred": "waits for its job",
    "up_for_retry": "will be tried again",
    "up_for_reschedule": "will check again",
    "restarting": "is restarting",
}
"""Maps the states of a task that has begun and has not ended to the predicate of a sentence."""

Tasks = Mapping[str, Mapping[str, Any]]
"""Maps the ids of the tasks of a run to their task instances, as Airflow's REST API returns them."""


class Progress:
    """Prints lines, and knows what the demo waits for.

    Args:
        show: prints one line.
        interval_s: longest time without a line.
    """

    def __init__(self, show: Callable[[str], None], interval_s: float = INTERVAL_S) -> None:
        self._show = show
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._began_s = self._last_s = time.monotonic()
        self._text = ""

    def say(self, line: str) -> None:
        """Print a line."""
        with self._lock:
            self._show(line)
            self._last_s = time.monotonic()

    def waits_for(self, text: str) -> None:
        """Set the text of the next progress line."""
        with self._lock:
            self._text = text

    @property
    def needs_text(self) -> bool:
        """Whether a progress line is due soon, so that its text should be set to the newest state."""
        return time.monotonic() - self._last_s > self._interval_s / 2

    def say_if_quiet(self) -> None:
        """Print the progress line if the interval has passed without a line."""
        with self._lock:
            now = time.monotonic()
            if self._text and now - self._last_s >= self._interval_s:
                self._show(f"  … {now - self._began_s:3.0f} s: {self._text}")
                self._last_s = now


@contextmanager
def progress_lines(
    show: Callable[[str], None] = lambda line: print(line, flush=True), interval_s: float = INTERVAL_S
) -> Iterator[Progress]:
    """Print a progress line whenever the interval has passed without a line, also while a request is slow."""
    progress, is_over = Progress(show, interval_s), threading.Event()

    def watch() -> None:
        while not is_over.wait(interval_s / 24):
            progress.say_if_quiet()

    thread = threading.Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield progress
    finally:
        is_over.set()
        thread.join()


def activity(runs: Iterable[Mapping[str, Any]], tasks_of: Callable[[str], Tasks]) -> str:
    """Return in words what the runs of a DAG do now.

    Args:
        runs: the runs, as Airflow's REST API returns them.
        tasks_of: returns the tasks of the run with this id.
    """
    runs = list(runs)
    running = [run for run in runs if run["state"] == "running"]
    queued = sum(run["state"] == "queued" for run in runs)
    parts = [f"{run['logical_date'][:10]} {_busy(tasks_of(run['dag_run_id']))}" for run in running]
    if queued:
        parts.append(f"{queued} {'run is' if queued == 1 else 'runs are'} queued")
    if not parts:
        return (
            "all runs have ended, and Airflow records the end of the backfill"
            if runs
            else "no run exists yet"
        )
    return "; ".join(parts)


def _busy(tasks: Tasks) -> str:
    busy = [f"{name} {_WORDS[each['state']]}" for name, each in tasks.items() if each["state"] in _WORDS]
    return ", ".join(busy) or "waits for the scheduler"
