"""The processor time of a scenario is divided among its steps and shown in a table, a picture and the page."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.page_sections import PageError
from bench.profiling.core_seconds import Profile, collapsed, profile_of, weigh
from bench.profiling.flame_graph import flame_graph, short_name
from bench.profiling.page import picture_name, write_profile_page
from bench.profiling.processes import ProcessTime, Role, TreeTimes
from bench.profiling.stacks import Stack
from bench.profiling.steps import Step
from bench.profiling.table import step_table

BEGIN, END = (f"<!-- results of make profile: {edge} -->" for edge in ("begin", "end"))
TIMES = TreeTimes(
    processes=(
        ProcessTime(pid=1, role=Role.DRIVER, cpu_seconds=1.0),
        ProcessTime(pid=2, role=Role.JVM, cpu_seconds=6.0),
        ProcessTime(pid=3, role=Role.WORKER, cpu_seconds=4.0),
        ProcessTime(pid=4, role=Role.WORKER, cpu_seconds=0.5),
    ),
    ended_cpu_seconds=0.5,
)
STACKS = [
    Stack(1, ("main (a.py:1)", "plan (b.py:2)"), Step.PLAN, 10),
    Stack(2, ("Task.run", "Reader.read"), Step.DECODE, 20),
    Stack(2, ("Task.run", "Codec.compress"), Step.COMPRESS, 10),
    Stack(3, ("worker (w.py:1)", "encode (e.py:2)"), Step.ENCODE, 300),
    Stack(3, ("worker (w.py:1)", "other (o.py:2)"), Step.OTHER, 100),
    Stack(3, ("worker (w.py:1)", "pthread_cond_wait (libc.so.6)"), Step.WAITING, 5000),
    Stack(99, ("ended (w.py:1)",), Step.ENCODE, 7),
]


def profile(**changes: object) -> Profile:
    made = profile_of("first_insert", "ours", STACKS, TIMES, wall_seconds=7.5, correct=True)
    return replace(made, **changes)


def test_a_step_gets_its_share_of_the_samples_of_each_process() -> None:
    made = profile()
    seconds = {step: value for step, value in made.by_step.items() if value}
    assert seconds == {"plan": 1.0, "decode": 4.0, "compress": 2.0, "encode": 3.0, "other": 1.0}
    assert made.cpu_seconds == 12.0
    assert made.by_role == {"Python driver": 1.0, "JVM": 6.0, "Python workers": 4.5}


def test_processor_time_without_samples_is_shown() -> None:
    made = profile()
    assert made.unsampled_seconds == 1.0
    assert made.sampled_share == pytest.approx(11 / 12)
    assert sum(made.by_step.values()) + made.unsampled_seconds == pytest.approx(made.cpu_seconds)


def test_processor_time_of_native_threads_is_not_sampled() -> None:
    worker = replace(TIMES.processes[2], hidden_seconds=1.0)
    made = profile_of(
        "first_insert",
        "ours",
        STACKS,
        TreeTimes(processes=(worker,), ended_cpu_seconds=0.0),
        wall_seconds=1.0,
        correct=True,
    )
    assert (made.cpu_seconds, made.unsampled_seconds) == (4.0, 1.0)
    assert (made.by_step["encode"], made.by_step["other"]) == (2.25, 0.75)


def test_waiting_threads_have_no_processor_time_but_are_counted() -> None:
    made = profile()
    assert made.waiting_samples == 5000
    assert made.samples == {"Python driver": 10, "JVM": 30, "Python workers": 400}


def test_the_time_before_the_timed_part_does_not_count() -> None:
    before = TreeTimes(
        processes=(ProcessTime(pid=2, role=Role.JVM, cpu_seconds=5.5),), ended_cpu_seconds=0.25
    )
    since = TIMES.since(before)
    assert {each.pid: each.cpu_seconds for each in since.processes} == {1: 1.0, 2: 0.5, 3: 4.0, 4: 0.5}
    assert since.ended_cpu_seconds == 0.25


def test_the_table_has_a_row_for_each_step_and_a_column_for_each_system() -> None:
    lines = step_table([profile(), profile(system="hudi", cpu_seconds=24.0)]).splitlines()
    assert lines[0] == ("| step | this engine: core-seconds | share | Hudi 1.2.0: core-seconds | share |")
    assert "| decode | 4.0 | 33% | 4.0 | 17% |" in lines
    assert "| not sampled | 1.0 | 8% | 1.0 | 4% |" in lines
    assert lines[-1] == "| **all steps** | 12.0 | 100% | 24.0 | 100% |"
    assert len(lines) == 2 + len(Step) - 1 + 2


def test_stacks_for_other_viewers_are_counted_in_milliseconds() -> None:
    lines = collapsed(weigh(STACKS, TIMES)).splitlines()
    assert "JVM;Task.run;Reader.read 4000" in lines
    assert sum(int(line.rpartition(" ")[2]) for line in lines) == 11_000


def test_the_flame_graph_is_an_svg_whose_frames_are_as_wide_as_their_share() -> None:
    root = ElementTree.fromstring(flame_graph("first insert <&>", weigh(STACKS, TIMES)))
    space = "{http://www.w3.org/2000/svg}"
    widths = {
        group.findtext(f"{space}title", "").partition(":")[0]: float(group.find(f"{space}rect").get("width"))  # type: ignore[union-attr,arg-type]
        for group in root.iter(f"{space}g")
    }
    assert widths["Task.run"] == pytest.approx(1180 * 6 / 11, abs=1)
    assert widths["Reader.read"] == pytest.approx(1180 * 4 / 11, abs=1)
    assert "pthread_cond_wait (libc.so.6)" not in widths


def test_the_flame_graph_leaves_out_imports_and_the_innermost_frames_of_deep_stacks() -> None:
    deep = ("_load (<frozen importlib._bootstrap>:1)", *(f"f{number}" for number in range(100)))
    times = TreeTimes(processes=(TIMES.processes[0],), ended_cpu_seconds=0.0)
    picture = flame_graph("deep", weigh([Stack(1, deep, Step.PLAN, 1)], times))
    assert "frozen" not in picture
    assert ">f69: " in picture
    assert ">f70: " not in picture


def test_a_flame_graph_without_samples_is_an_error() -> None:
    with pytest.raises(ValueError, match="no sample of nothing"):
        flame_graph("nothing", [])


@pytest.mark.parametrize(
    ("frame", "short"),
    [
        (
            "parquet::ColumnWriterImpl<parquet::PhysicalType<(parquet::Type::type)6> >::Write (pyarrow/libparquet.so)",
            "parquet::ColumnWriterImpl::Write (libparquet.so)",
        ),
        ("route (hudi_table_services/execution/writing/routing.py:150)", "route (routing.py)"),
        ("org/apache/spark/scheduler/Task.run", "Task.run"),
        ("ZSTD_compress2", "ZSTD_compress2"),
    ],
)
def test_frames_of_the_picture_have_short_names(frame: str, short: str) -> None:
    assert short_name(frame) == short


def write_run(folder: Path, *profiles: Profile, scale: float = 1.0) -> Path:
    """Write results as ``profile_steps.py`` does."""
    results = folder / "profile-1.json"
    pictures = results.with_suffix("")
    pictures.mkdir()
    for each in profiles:
        (pictures / picture_name(each)).write_text(f"<svg>{each.system}</svg>", encoding="utf-8")
    document = {
        "measured_at": "2026-11-26T12:00:00+00:00",
        "scale": scale,
        "cores": 2,
        "profiles": [each.to_document() for each in profiles],
    }
    results.write_text(json.dumps(document), encoding="utf-8")
    return results


def page_in(folder: Path) -> Path:
    page = folder / "benchmarks.md"
    page.write_text(f"# Before\n\n{BEGIN}\n\nold\n\n{END}\n\n# After\n", encoding="utf-8")
    return page


def test_the_page_gets_the_tables_and_pictures_of_a_whole_run(tmp_path: Path) -> None:
    page = page_in(tmp_path)
    written = write_profile_page(write_run(tmp_path, profile(), profile(system="hudi")), page)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# Before\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\n# After\n")
    assert "old" not in text
    assert "### First insert" in text
    assert "| decode | 4.0 | 33% | 4.0 | 33% |" in text
    assert "![Flame graph of first insert, Hudi 1.2.0](images/profile-first_insert-hudi.svg)" in text
    assert [path.name for path in written] == [
        "benchmarks.md",
        "profile-first_insert-ours.svg",
        "profile-first_insert-hudi.svg",
    ]
    assert all(path.exists() for path in written)


@pytest.mark.parametrize(
    ("scale", "correct", "message"), [(0.1, True, "scale 0.1"), (1.0, False, "first_insert of ours")]
)
def test_runs_of_small_scale_or_with_wrong_results_are_not_written_to_the_page(
    tmp_path: Path, scale: float, correct: bool, message: str
) -> None:
    page = page_in(tmp_path)
    before = page.read_text(encoding="utf-8")
    with pytest.raises(PageError, match=message):
        write_profile_page(write_run(tmp_path, profile(correct=correct), scale=scale), page)
    assert page.read_text(encoding="utf-8") == before


def test_a_page_without_markers_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text("# Before\n", encoding="utf-8")
    with pytest.raises(PageError, match="lacks the lines"):
        write_profile_page(write_run(tmp_path, profile()), page)
