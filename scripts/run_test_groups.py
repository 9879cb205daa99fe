"""Run groups of tests in lanes at the same time: ``make test``, ``make test-all``.

Most groups wait for a JVM or for Airflow's processes half of the time, so groups can share two cores. Each lane takes
the next group of a common queue. The longest groups are at its front, so that all lanes end at about the same time.
``LANES`` is the number of lanes, by default 2, and 3 in ``make test-all``, whose groups wait more often. The output of
the first lane is printed immediately, and the output of each other lane is printed when all lanes have ended. The first
failure ends all lanes; with ``KEEP_GOING=1``, all groups run.

With ``RESUME=1``, a run that was ended continues: groups that have passed do not run again. A group runs again if a
file has changed since then, except pages, modules of ``tests/`` and files of ``benchmarks/`` that its tests do not use.

``build/test-times.json`` contains the seconds and the number of tests of each group. ``scripts/make_testing_doc.py``
writes these numbers into ``docs/testing.md``.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

from changed_tests import PAGES, affects

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "build" / "test-reports"
ENDED = ROOT / "build" / "test-groups"
"""Folder with a file for each group that has run: commit, depth, lane and seconds, and whether the group passed."""

TIMES = ROOT / "build" / "test-times.json"
GROUPS = (
    "test-conformance",
    "test-unit",
    "test-spark",
    "test-airflow-stack",
    "test-airflow",
    "test-e2e",
    "test-airflow31",
    "test-spark35",
    "test-s3",
    "test-docs",
)
"""Groups of ``make test``, roughly from the longest to the shortest."""

GROUPS_OF_ALL = (
    "test-conformance-metadata",
    "test-platforms",
    "test-conformance-logs",
    "test-s3",
    "test-unit",
    "test-spark",
    "test-spark35",
    "test-airflow",
    "test-airflow-stack",
    "test-conformance-tables",
    "test-conformance42",
    "test-e2e",
    "test-compose",
    "test-readers",
    "test-connect35",
    "test-airflow31",
    "test-docs",
)
"""Groups of ``make test-all``, roughly from the longest to the shortest."""

FOLDERS = {
    "test-airflow-stack": ("tests/airflow/stack",),
    "test-compose": ("tests/compose",),
    "test-conformance-logs": (
        "tests/conformance/compaction",
        "tests/conformance/merge_on_read",
        "tests/conformance/merge_on_read_services",
    ),
    "test-conformance-metadata": ("tests/conformance/metadata_table",),
    "test-conformance-tables": ("tests/conformance",),
    "test-connect35": ("tests/e2e",),
    "test-e2e": ("tests/e2e",),
    "test-platforms": ("tests/platforms", "tests/unit/storage/stores"),
    "test-readers": ("tests/readers",),
    "test-s3": ("tests/s3", "tests/unit/storage/stores"),
    "test-spark": ("tests/spark",),
    "test-spark35": ("tests/spark",),
}
"""Folders with the test modules of a group. Each group that is missing here may read any file of the repository."""

KEEPS_GOING = os.environ.get("KEEP_GOING", "0") not in ("", "0")
LANES = int(os.environ.get("LANES") or (2 if os.environ.get("TEST_DEPTH", "sample") == "sample" else 3))
RESUMES = os.environ.get("RESUME", "0") not in ("", "0")
SECONDS_TO_END = 120.0
"""Time that an interrupted group gets for ending its processes."""


@dataclass
class Lane:
    """Groups that run one after the other. Each group runs in a separate session, so `end` also ends its children.

    Attributes:
        number: number of the lane, from 1.
        queue: groups that no lane has started yet; all lanes share this queue.
    """

    number: int
    queue: deque[str]
    output: IO[bytes] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    running: "subprocess.Popen[bytes] | None" = None
    is_ended: bool = False

    def run(self, on_failure: threading.Event) -> None:
        while not self.is_ended:
            try:
                group = self.queue.popleft()
            except IndexError:
                return
            started = time.monotonic()
            self.running = subprocess.Popen(
                ["make", "--no-print-directory", group, f"PYTEST_ARGS={_pytest_arguments(group)}"],
                cwd=ROOT,
                stdout=self.output,
                stderr=subprocess.STDOUT if self.output else None,
                start_new_session=True,
            )
            code = self.running.wait()
            self.seconds[group] = time.monotonic() - started
            if not self.is_ended:
                _note(group, self.number, self.seconds[group], has_passed=code == 0)
            if code and not self.is_ended:
                self.failed.append(group)
                if not KEEPS_GOING:
                    on_failure.set()
                    return

    def end(self) -> None:
        """End the running group. After SIGINT, pytest ends what its fixtures started, such as Airflow's processes."""
        self.is_ended = True
        if self.running is None or self.running.poll() is not None:
            return
        os.killpg(self.running.pid, signal.SIGINT)
        try:
            self.running.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            os.killpg(self.running.pid, signal.SIGKILL)


def main() -> int:
    """Run all lanes. Returns 1 if a group failed."""
    groups, passed = _groups(), _passed_before() if RESUMES else {}
    for group in groups:
        if group not in passed:
            for old in (REPORTS / f"{group}.xml", _note_of(group)):
                old.unlink(missing_ok=True)
    TIMES.unlink(missing_ok=True)
    with contextlib.ExitStack() as files:
        outputs = [files.enter_context(tempfile.TemporaryFile()) for _ in range(LANES - 1)]
        queue = deque(group for group in groups if group not in passed)
        lanes = [Lane(number, queue, output) for number, output in enumerate([None, *outputs], 1)]
        _run(lanes)
        sys.stdout.flush()
        for output in outputs:
            output.seek(0)
            sys.stdout.buffer.write(output.read())
        sys.stdout.flush()
    has_passed = _print_summary(groups, passed, lanes)
    if has_passed:
        _write_times(groups)
    return 0 if has_passed else 1


def _run(lanes: list[Lane]) -> None:
    """Return when all groups of the queue have run, or when one group failed and all lanes have ended."""
    failure = threading.Event()
    threads = [threading.Thread(target=lane.run, args=(failure,)) for lane in lanes]
    for thread in threads:
        thread.start()
    try:
        while any(thread.is_alive() for thread in threads) and not failure.wait(1):
            pass
    finally:
        if failure.is_set() or sys.exc_info()[0] is not None:
            for lane in lanes:
                lane.end()
        for thread in threads:
            thread.join()


def _note_of(group: str) -> Path:
    return ENDED / f"{group}.json"


def _note(group: str, lane: int, seconds: float, *, has_passed: bool) -> None:
    ENDED.mkdir(parents=True, exist_ok=True)
    note = {
        "commit": _commit(),
        "depth": _depth(),
        "lane": lane,
        "seconds": round(seconds),
        "passed": has_passed,
    }
    _note_of(group).write_text(json.dumps(note) + "\n", encoding="utf-8")


def _passed_before() -> dict[str, float]:
    """Map each group that has passed with the same files and depth to its seconds. With local changes, return {}."""
    commit, found = _commit(), {}
    for path in ENDED.glob("*.json"):
        try:
            note = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            continue  # The note is incomplete, for example because the disk was full.
        is_same = note["depth"] == _depth() and _has_same_files(path.stem, note["commit"], commit)
        if note["passed"] and is_same:
            found[path.stem] = note["seconds"]
    return found


def _has_same_files(group: str, before: str, now: str) -> bool:
    """Whether every file that the group may read is the same in both commits."""
    if any(not commit or commit.endswith("-dirty") for commit in (before, now)):
        return False
    folders = FOLDERS.get(group)
    if before == now or folders is None:
        return before == now
    return not any(_may_affect(path, folders) for path in _changed(before, now))


def _may_affect(path: str, folders: Sequence[str]) -> bool:
    is_known = path.endswith(PAGES) or path.startswith("benchmarks/")
    is_known = is_known or (path.startswith("tests/") and path.endswith(".py"))
    return not is_known or affects(ROOT, path, folders)


def _changed(before: str, now: str) -> list[str]:
    """Paths of the files that differ between two commits, below the root of the repository."""
    command = ["git", "diff", "--name-only", before, now]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def _depth() -> str:
    return os.environ.get("TEST_DEPTH", "sample")


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""  # an archive of the sources has no commit


def _groups() -> tuple[str, ...]:
    return GROUPS if _depth() == "sample" else GROUPS_OF_ALL


def _pytest_arguments(group: str) -> str:
    return f"{os.environ.get('PYTEST_ARGS', '')} --junit-xml={REPORTS / group}.xml".strip()


def _print_summary(groups: tuple[str, ...], passed: Mapping[str, float], lanes: list[Lane]) -> bool:
    """Print a line for each group. Return whether all groups passed.

    Args:
        passed: groups that have passed in an earlier run, with their seconds.
    """
    for group in groups:
        lane = next((each for each in lanes if group in each.seconds), None)
        if group in passed:
            print(f"{group:<26} passed {passed[group]:>6.0f} s{_tests_of(group)}, in an earlier run")
        elif lane is None:
            print(f"{group:<26} not run")
        else:
            state = "FAILED" if group in lane.failed else "ended" if lane.is_ended else "passed"
            print(f"{group:<26} {state:<7} {lane.seconds[group]:>6.0f} s{_tests_of(group)}")
    ended = {*passed, *(group for lane in lanes for group in lane.seconds)}
    return ended.issuperset(groups) and not any(lane.failed for lane in lanes)


def _tests_of(group: str) -> str:
    counts = _counts(group)
    if not counts:
        return ""
    return f" {counts['tests']:>5} tests" + (f", {counts['skipped']} skipped" if counts["skipped"] else "")


def _write_times(groups: tuple[str, ...]) -> None:
    notes = {group: json.loads(_note_of(group).read_text(encoding="utf-8")) for group in groups}
    found = {
        group: {"lane": note["lane"], "seconds": note["seconds"], **_counts(group)}
        for group, note in notes.items()
    }
    of_lanes: Counter[int] = Counter()
    for note in notes.values():
        of_lanes[note["lane"]] += note["seconds"]
    document = {"depth": _depth(), "seconds": max(of_lanes.values()), "groups": found}
    TIMES.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _counts(group: str) -> dict[str, int]:
    """Return the numbers of executed and skipped tests, or an empty dictionary if there is no report."""
    report = REPORTS / f"{group}.xml"
    if not report.exists():
        return {}
    suite = ElementTree.parse(report).getroot().find("testsuite")
    if suite is None:
        return {}
    skipped = int(suite.get("skipped", "0"))
    return {"tests": int(suite.get("tests", "0")) - skipped, "skipped": skipped}


if __name__ == "__main__":
    sys.exit(main())
