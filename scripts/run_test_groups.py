"""Run groups of tests in two lanes, one beside the other: ``make test``.

Most groups wait for a JVM or for Airflow's processes half of the time, so two of them share two cores well. The first
lane prints as it goes, the second one when it is done. The first failure ends both.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
LANES = (
    ("test-unit", "test-docs", "test-s3", "test-e2e", "test-spark35", "test-conformance", "test-airflow31"),
    ("test-airflow-stack", "test-airflow", "test-spark"),
)


@dataclass
class Lane:
    """Groups that run one after the other, in a session of their own so that they can be ended with their children."""

    groups: tuple[str, ...]
    output: IO[bytes] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    failed: str = ""
    running: "subprocess.Popen[bytes] | None" = None
    is_ended: bool = False

    def run(self, on_failure: threading.Event) -> None:
        for group in self.groups:
            if self.is_ended:
                return
            started = time.monotonic()
            self.running = subprocess.Popen(
                ["make", "--no-print-directory", group],
                cwd=ROOT,
                stdout=self.output,
                stderr=subprocess.STDOUT if self.output else None,
                start_new_session=True,
            )
            code = self.running.wait()
            self.seconds[group] = time.monotonic() - started
            if code and not self.is_ended:
                self.failed = group
                on_failure.set()
                return

    def end(self) -> None:
        self.is_ended = True
        if self.running is not None and self.running.poll() is None:
            os.killpg(self.running.pid, signal.SIGTERM)


def main() -> int:
    """Run both lanes; exit code 1: some group failed."""
    with tempfile.TemporaryFile() as second_output:
        lanes = [Lane(LANES[0]), Lane(LANES[1], second_output)]
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
        second_output.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(second_output.read())
        sys.stdout.flush()
    return _report(lanes)


def _report(lanes: list[Lane]) -> int:
    for lane in lanes:
        for group in lane.groups:
            if group in lane.seconds:
                state = "FAILED" if group == lane.failed else "ended" if lane.is_ended else "passed"
                print(f"{group:<20} {state:<7} {lane.seconds[group]:>6.0f} s")
            else:
                print(f"{group:<20} not run")
    return 1 if any(lane.failed for lane in lanes) else 0


if __name__ == "__main__":
    sys.exit(main())
