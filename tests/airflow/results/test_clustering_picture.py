"""The text of a clustering result in the task log, and the return value for other tasks."""

import json
from dataclasses import replace

from airflow_hudi_provider.results.clustering import clustering_answer, clustering_event, draw_clustering
from airflow_hudi_provider.results.log import log_result
from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
    ColumnSkipping,
)
from hudi_table_services.contract.clustering_text import SHOWN_GROUPS
from hudi_table_services.contract.result import FileStats, JobError, JobResult, Outcome

MIB = 1 << 20
INSTANT = "20260102030405678"

PLANNED = (
    ClusteringGroupReport(
        partition_path="city=a",
        input_files=80,
        input_bytes=100 * MIB,
        expected_files=1,
        reason="80 files into 1",
    ),
    ClusteringGroupReport(
        partition_path="city=b",
        input_files=3,
        input_bytes=240 * MIB,
        expected_files=2,
        reason="rows in order",
    ),
)


def planned(*groups: ClusteringGroupReport) -> JobResult:
    plan = ClusteringPlanReport(
        instant_time="",
        state="previewed",
        layout="ZORDER(x, y)",
        target_file_max_bytes=120 * MIB,
        groups=groups or PLANNED,
    )
    return JobResult(
        request_id="r",
        outcome=Outcome.PLANNED,
        operation="schedule_clustering",
        files_before=FileStats.of([MIB] * 80 + [80 * MIB] * 3),
        files_after=FileStats.of([100 * MIB, 120 * MIB, 120 * MIB]),
        report=ClusteringReport(
            plans=(plan,),
            skipped=("city=c: 1 file, nothing to merge it with",),
            skipped_count=1,
            skipped_slices=1,
            commits="5 commits and no clustering yet",
        ),
    )


def executed() -> JobResult:
    result = planned()
    assert result.report is not None
    groups = tuple(
        replace(group, output_files=group.expected_files, output_bytes=group.input_bytes - MIB, rows=1000)
        for group in PLANNED
    )
    plan = replace(
        result.report.plans[0],
        instant_time=INSTANT,
        state="completed",
        groups=groups,
        rows_checked=2000,
        groups_given_up=1,
        skipping=(ColumnSkipping(column="x", before=1.0, after=0.034),),
    )
    return replace(
        result,
        outcome=Outcome.COMPLETED,
        instant_time=INSTANT,
        files_after=FileStats.of([99 * MIB, 119 * MIB, 120 * MIB]),
        report=replace(result.report, plans=(plan,)),
    )


def test_a_plan_is_drawn_as_a_table_with_current_and_expected_sizes() -> None:
    text = draw_clustering(planned())
    assert "Clustering plan (previewed, rows by ZORDER(x, y), files of 120.0 MiB)" in text
    assert "city=a        80   100.0 MiB        1  80 files into 1" in text
    assert "now: 83 files, 320.0 MiB" in text
    assert "expected: 3 files, 340.0 MiB" in text
    assert "  120-256 MiB ████████████████████████ 2" in text
    assert "   96-120 MiB ████████████············ 1" in text
    assert "city=c: 1 file, nothing to merge it with" in text
    assert text.splitlines()[-1] == (
        "Planned, nothing written: 83 files of 340.0 MiB in 2 groups would become 3 files "
        "(5 commits and no clustering yet)"
    )


def test_the_text_of_an_execution_shows_sizes_before_and_after() -> None:
    text = draw_clustering(executed())
    assert "city=a        80   100.0 MiB       1     99.0 MiB  80 files into 1" in text
    assert "New files have 112.7 MiB on average, 94% of the target of 120.0 MiB" in text
    assert "2,000 rows checked" in text
    assert "A query for one x reads 3.4% of the rewritten rows; before the clustering, it read 100%" in text
    assert "1 group dropped" in text
    assert "before: 83 files" in text
    assert "after: 3 files" in text
    assert f"completed: {INSTANT}: 83 files of 340.0 MiB in 2 groups became 3 of 338.0 MiB" in text


def test_the_text_of_a_failure_shows_the_work_done_before_the_failure() -> None:
    result = executed()
    assert result.report is not None
    failed = ClusteringPlanReport(
        instant_time="20260102030405679", state="failed", groups=PLANNED, error="It broke."
    )
    report = replace(result.report, plans=(*result.report.plans, failed))
    error = JobError(kind="ExecutionFailedError", message="It broke.", retryable=True)
    text = draw_clustering(replace(result, outcome=Outcome.FAILED, report=report, error=error))
    assert "Clustering 20260102030405679 (failed)" in text
    assert text.count("Failed: It broke.") == 2


def test_the_text_and_the_return_value_have_a_limited_size() -> None:
    many = planned(*(replace(PLANNED[0], partition_path=f"city={n:04}") for n in range(500)))
    assert many.report is not None
    many = replace(many, report=replace(many.report, skipped=("why",) * 500, skipped_count=500))
    (_, lines), *_ = many.sections()
    assert lines[-1] == f"… and {500 - SHOWN_GROUPS} more groups"
    answer = clustering_answer(many)
    assert len(json.dumps(answer)) < 10_000
    assert (answer["groups"], answer["partition_count"], answer["skipped_count"]) == (500, 500, 500)


def test_the_return_value_is_json_and_contains_the_instants_and_figures() -> None:
    answer = clustering_answer(executed())
    assert json.loads(json.dumps(answer)) == answer
    assert (answer["instant"], answer["instants"]) == (INSTANT, [INSTANT])
    figures = (
        "groups",
        "files_in",
        "bytes_in",
        "expected_files",
        "files_out",
        "bytes_out",
        "rows",
        "rows_checked",
    )
    assert [answer[name] for name in figures] == [2, 83, 340 * MIB, 3, 3, 338 * MIB, 2000, 2000]
    assert answer["plans"][0]["skipping"] == [{"column": "x", "before": 1.0, "after": 0.034}]
    assert answer["files_before"]["files"] == 83
    assert "picture" not in answer
    preview = clustering_answer(planned())
    assert (preview["instant"], preview["instants"], preview["files_out"]) == (None, [], None)
    assert "city=a" in preview["picture"]
    assert clustering_event(executed())["instants"] == [INSTANT]


def test_every_outcome_and_state_has_a_summary() -> None:
    for outcome in Outcome:
        assert replace(executed(), outcome=outcome, reason="because").summary()
        empty = JobResult(request_id="r", outcome=outcome, reason="because", report=ClusteringReport())
        assert empty.summary()
        assert clustering_answer(empty)["instant"] is None
    for state in ("requested", "reused", "cancelled"):
        plan = ClusteringPlanReport(instant_time=INSTANT, state=state, groups=PLANNED)
        result = replace(executed(), report=ClusteringReport(plans=(plan,)))
        assert f"{state}: {INSTANT}" in result.summary()


def test_the_log_folds_each_section() -> None:
    lines: list[str] = []

    class Log:
        def info(self, message: str, *arguments: object) -> None:
            lines.append(message % arguments if arguments else message)

        warning = info

    log_result(Log(), executed())
    assert lines.count("::endgroup::") == 3
    assert lines[0] == f"::group::Clustering {INSTANT} (completed, rows by ZORDER(x, y), files of 120.0 MiB)"
    assert lines[-1].startswith("completed: ")
