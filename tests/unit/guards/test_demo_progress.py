"""The lines that `make demo` prints while it waits."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from demo_support.progress import Progress, activity, progress_lines

DAYS = [f"2013-01-0{number}T00:00:00Z" for number in (1, 2, 3, 4)]


def runs(*states: str) -> list[dict[str, str]]:
    return [
        {"dag_run_id": day[:10], "logical_date": day, "state": state}
        for day, state in zip(DAYS, states, strict=False)
    ]


def test_the_text_names_each_busy_task_of_each_running_run() -> None:
    tasks = {
        "2013-01-02": {"load_day": {"state": "running"}, "cluster": {"state": None}},
        "2013-01-03": {"load_day": {"state": None}},
    }
    text = activity(runs("success", "running", "running", "queued"), tasks.__getitem__)
    assert text == "2013-01-02 load_day is running; 2013-01-03 waits for the scheduler; 1 run is queued"


def test_the_text_without_running_runs_says_what_airflow_does() -> None:
    assert activity([], {}.__getitem__) == "no run exists yet"
    assert activity(runs("queued", "queued"), {}.__getitem__) == "2 runs are queued"
    assert activity(runs("success"), {}.__getitem__).startswith("all runs have ended")


def test_a_line_appears_only_after_an_interval_without_a_line() -> None:
    for interval_s, expected in ((3600.0, ["a day"]), (0.0, ["a day", "load_day is running"])):
        lines: list[str] = []
        progress = Progress(lines.append, interval_s)
        progress.say_if_quiet()
        progress.waits_for("load_day is running")
        progress.say("a day")
        progress.say_if_quiet()
        assert [line.rpartition(": ")[2] for line in lines] == expected
        assert progress.needs_text == (interval_s == 0)


def test_lines_appear_while_a_request_is_slow() -> None:
    lines: list[str] = []
    with progress_lines(lines.append, interval_s=0.1) as progress:
        progress.waits_for("load_day is running")
        deadline = time.monotonic() + 20
        while len(lines) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert len(lines) >= 2
    assert {line.partition(": ")[2] for line in lines} == {"load_day is running"}
