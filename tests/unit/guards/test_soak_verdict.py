"""The verdict of a soak run reports growth, but not fluctuation."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from soak_support.growth import change
from soak_support.sampling import Sample, samples
from soak_support.summary import summary

ROUNDS = 240
INTERVAL = 15.0
WARM_UP = 600.0
RUNS = {"soak_write": {"success": 24}}


def sample(
    number: int,
    *,
    pid: int = 1,
    uss: float = 150.0,
    files: int = 30,
    threads: int = 4,
    component: str = "triggerer",
) -> Sample:
    return Sample(number * INTERVAL, component, pid, "airflow", uss + 40, uss + 10, uss, files, 9, threads)


def problems_of(of_round: Callable[[int], list[Sample]]) -> list[str]:
    taken = [each for number in range(ROUNDS) for each in of_round(number)]
    return summary(taken, WARM_UP, RUNS, [])[1]


def test_memory_that_moves_up_and_down_is_not_growth() -> None:
    assert problems_of(lambda n: [sample(n, uss=150 + n % 20, files=30 + n % 7, threads=4 + n % 3)]) == []


def test_the_warm_up_is_not_part_of_the_verdict() -> None:
    assert problems_of(lambda n: [sample(n, uss=50 if n * INTERVAL < WARM_UP else 150)]) == []


def test_memory_pages_that_are_no_longer_shared_are_not_growth() -> None:
    """The unshared memory of a forked process can grow although the process allocates no memory."""

    def unshared(number: int) -> Sample:
        uss = 50.0 + min(number * 0.4, 80)
        return Sample(number * INTERVAL, "triggerer", 1, "airflow", 150.0, 100.0, uss, 30, 9, 4)

    assert problems_of(lambda n: [unshared(n)]) == []


def test_growing_memory_is_reported() -> None:
    (problem,) = problems_of(lambda n: [sample(n, uss=150 + n * 0.4)])
    assert "triggerer 1 (airflow): USS" in problem


def test_growing_numbers_of_open_files_and_threads_are_reported() -> None:
    assert [p.split(": ")[1][:10] for p in problems_of(lambda n: [sample(n, files=30 + n // 8)])] == [
        "open files"
    ]
    assert [p.split(": ")[1][:7] for p in problems_of(lambda n: [sample(n, threads=4 + n // 20)])] == [
        "threads"
    ]


def test_a_growing_number_of_processes_is_reported() -> None:
    def more_and_more(number: int) -> list[Sample]:
        return [sample(number, pid=pid) for pid in range(1, 2 + number // 20)]

    assert problems_of(more_and_more) == ["triggerer has more processes: 3 → 9"]


def test_processes_of_single_tasks_are_not_part_of_the_verdict() -> None:
    assert problems_of(lambda n: [sample(n), sample(n, pid=1000 + n, uss=150 + n)]) == []


def test_runs_that_fail_or_never_start_are_reported() -> None:
    taken = [sample(number) for number in range(ROUNDS)]
    _, problems = summary(taken, WARM_UP, {"a": {"failed": 1, "success": 5}, "b": {}}, [])
    assert problems == ["a has failed runs", "b never ran"]


def test_a_soak_that_is_too_short_does_not_pass() -> None:
    text, problems = summary([sample(0)], WARM_UP, RUNS, [])
    assert problems
    assert "FAIL" in text


def test_growth_is_reported_per_hour() -> None:
    found = change((second, second / 3600 * 12) for second in range(0, 3600, 15))
    assert found.per_hour == pytest.approx(12)


def test_a_real_process_is_sampled() -> None:
    import os

    found = [each for each in samples(0.0, {"tests": os.getsid(0)}) if each.pid == os.getpid()]
    assert len(found) == 1
    assert found[0].rss > found[0].uss > 1
    assert found[0].files > 2
    assert found[0].threads >= 1
