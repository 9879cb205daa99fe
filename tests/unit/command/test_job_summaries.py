"""Summaries of results: which rows they list first, which rows they leave out, and how a terminal shows them."""

import inspect
import io
import typing
from collections.abc import Callable

import pytest
from rich.console import Console

from hudi_table_services.command.job_summary import details_of, job_summary
from hudi_table_services.command.output import console_of
from hudi_table_services.command.rendering import print_summary
from hudi_table_services.command.summary import Grid, Summary
from hudi_table_services.contract.archival import ArchiveReport
from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport
from hudi_table_services.contract.clustering import (
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
)
from hudi_table_services.contract.compaction.compaction import CompactionReport
from hudi_table_services.contract.config_check import ConfigFinding, ConfigReport
from hudi_table_services.contract.health import HealthFinding, HealthReport, PendingInstant
from hudi_table_services.contract.metadata_table import MetadataPartitionReport, MetadataTableReport
from hudi_table_services.contract.recovery import (
    OrphanFile,
    OrphanReport,
    RecoveryReport,
    SavepointReport,
    UndoneInstant,
)
from hudi_table_services.contract.report import Report
from hudi_table_services.contract.result import (
    FileGroupChange,
    FileStats,
    JobResult,
    Outcome,
    PartitionReport,
    RowCounts,
)
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.services.service import Service

MIB = 1 << 20


def shown(summary: Summary, width: int = 120) -> str:
    stream = io.StringIO()
    print_summary(Console(file=stream, width=width, highlight=False, markup=False), summary)
    return stream.getvalue()


def result_of(report: Report | None, outcome: Outcome = Outcome.COMPLETED, **fields: object) -> JobResult:
    return JobResult(request_id="r", outcome=outcome, table_name="flights", report=report, **fields)  # type: ignore[arg-type]


def group(partition: str, files: int, after: int, mib: int) -> ClusteringGroupReport:
    return ClusteringGroupReport(
        partition_path=partition, input_files=files, input_bytes=mib * MIB, expected_files=after
    )


def plan_of(*groups: ClusteringGroupReport) -> ClusteringReport:
    return ClusteringReport(plans=(ClusteringPlanReport(instant_time="", state="previewed", groups=groups),))


def first_words(text: str, column: int = 0) -> list[str]:
    return [line.split()[column] for line in text.splitlines() if line.strip()]


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.name)
def test_every_service_has_a_module_with_the_details_of_its_report(service: Service) -> None:
    function = details_of(service.name)
    report = inspect.signature(function).parameters
    types = typing.get_type_hints(function)
    assert types[next(iter(report))] is (service.report or type(None))


def test_a_preview_of_a_clustering_lists_the_groups_by_benefit() -> None:
    report = plan_of(
        group("few", 3, 2, 900), group("many", 20, 1, 10), group("small", 5, 1, 1), group("big", 5, 1, 50)
    )
    text = shown(job_summary(result_of(report, Outcome.PLANNED), "cluster"))
    listed = [word for word in first_words(text) if word in ("few", "many", "small", "big")]
    assert listed == ["many", "big", "small", "few"]
    assert "cluster of flights: preview, nothing was written" in text
    assert "33 → 5, 961.0 MiB in 4 groups" in text


def test_a_long_preview_has_at_most_about_ten_lines_and_counts_the_rest() -> None:
    groups = [group(f"day={number:02}", number + 2, 1, number + 1) for number in range(38)]
    text = shown(job_summary(result_of(plan_of(*groups), Outcome.PLANNED), "cluster"))
    assert "… and 30 more groups" in text
    assert "day=37" in text
    assert "day=29" not in text
    assert len(text.splitlines()) <= 12


def test_the_summary_of_a_compaction_that_is_not_due_names_the_trigger_once() -> None:
    trigger = "2 delta commits since the first delta commit 2026, fewer than 5"
    report = CompactionReport(trigger=trigger)
    reason = f"{trigger}; to compact now, set ignore_trigger (--ignore-trigger)"
    text = shown(job_summary(result_of(report, Outcome.NOTHING_TO_DO, reason=reason), "compact"))
    assert text.count(trigger) == 1
    assert trigger in shown(job_summary(result_of(report, Outcome.PLANNED), "compact"))


def test_a_preview_of_a_clean_lists_the_largest_partitions_first() -> None:
    partitions = tuple(
        CleanedPartition(partition_path=path, file_count=count, size_bytes=size)
        for path, count, size in (("a", 9, 10), ("b", 1, 5 * MIB), ("c", 2, 3000))
    )
    text = shown(
        job_summary(result_of(CleanReport(policy="P", partitions=partitions), Outcome.PLANNED), "clean")
    )
    assert [word for word in first_words(text) if word in "abc"] == ["b", "c", "a"]
    assert "12 files would be deleted, 5.0 MiB" in text


def test_a_preview_of_a_clean_that_would_delete_nothing_gives_the_reason() -> None:
    reason = "nothing to delete: the 3 outdated files stay"
    text = shown(job_summary(result_of(CleanReport(policy="P"), Outcome.PLANNED, reason=reason), "clean"))
    assert reason in text


def test_the_summary_of_a_health_report_shows_outdated_files_and_the_retention() -> None:
    measures = {"outdated_files": 3.0, "outdated_bytes": 2.5 * MIB}
    report = HealthReport(measures=measures, retention="2 commits; cleaning keeps 10")
    text = " ".join(shown(job_summary(result_of(report), "health")).split())
    assert "Outdated files 3, 2.5 MiB Retention 2 commits; cleaning keeps 10" in text


def test_the_summary_of_a_health_report_says_which_files_are_small() -> None:
    report = HealthReport(measures={"small_files": 4.0}, small_file_limit_bytes=100 * MIB)
    text = " ".join(shown(job_summary(result_of(report), "health")).split())
    assert "Small files 4 (below 100.0 MiB, in partitions with more than one such file)" in text


def written(path: str, before_bytes: int, after_bytes: int) -> PartitionReport:
    change = FileGroupChange(
        partition_path=path,
        file_id="f",
        update_count=2,
        insert_count=1,
        size_before_bytes=before_bytes,
        expected_size_bytes=after_bytes,
    )
    return PartitionReport(
        partition_path=path,
        padded=(change,),
        files_before=FileStats.of([before_bytes]),
        files_after=FileStats.of([after_bytes]),
    )


def test_a_write_shows_rows_files_and_the_partitions_that_changed_most() -> None:
    result = result_of(
        None,
        rows=RowCounts(inserted=1000, updated=20, older_than_stored=3),
        partitions=(written("a", MIB, MIB + 1), written("b", MIB, 8 * MIB)),
        files_before=FileStats.of([MIB, MIB]),
        files_after=FileStats.of([MIB, 8 * MIB, 1]),
        instant_time="20260102030405006",
        action="commit",
    )
    text = shown(job_summary(result, "upsert", elapsed_s=12.4))
    assert "✓ upsert of flights: completed" in text
    assert "1,000 inserted, 20 updated, 0 deleted, 3 older than the stored version" in text
    assert "Files in 2 written partitions  2 → 3, 2.0 MiB → 9.0 MiB" in text
    assert [word for word in first_words(text) if word in "ab"] == ["b", "a"]
    assert "12 s" in text


def test_a_dry_run_shows_what_would_happen_in_each_partition() -> None:
    result = result_of(None, Outcome.PLANNED, rows=RowCounts(inserted=2), partitions=(written("a", 1, 2),))
    text = shown(job_summary(result, "upsert"))
    assert "small files padded" in text
    assert text.splitlines()[-1].split() == ["a", "3", "1", "0", "0", "2", "B"]


def test_an_overwrite_and_a_deletion_of_partitions_show_how_many_stored_rows_they_remove() -> None:
    known = {"rows": RowCounts(inserted=50, replaced=6700), "replaced_file_groups": 2}
    unknown = {"rows": RowCounts(inserted=50), "replaced_file_groups": 2}
    for fields, outcome, expected in (
        (known, Outcome.COMPLETED, "50 inserted, 0 updated, 0 deleted, 6,700 stored rows replaced"),
        (known, Outcome.PLANNED, "0 deleted, 6,700 stored rows would be replaced"),
        (unknown, Outcome.PLANNED, "0 deleted, all rows of 2 file groups would be replaced"),
    ):
        result = result_of(
            None, outcome, operation="insert_overwrite", partitions=(written("a", 1, 2),), **fields
        )
        assert expected in shown(job_summary(result, "upsert"))
        assert expected.split(", ")[-1] in result.summary()
    deletion = result_of(None, Outcome.PLANNED, operation="delete_partition", **known)
    text = shown(job_summary(deletion, "upsert"))
    assert "6,700 stored rows would be removed" in text
    assert "inserted" not in text
    assert deletion.summary() == "Planned, nothing written: 0 rows read, 6,700 stored rows would be removed."


OTHERS: list[tuple[Report, Outcome, list[str]]] = [
    (
        ArchiveReport(commits_before=9, archived_commits=1, instants=("20260102030405006.commit",)),
        Outcome.COMPLETED,
        ["1 of 9 commits", "20260102030405006  commit"],
    ),
    (
        RecoveryReport(
            undone=(UndoneInstant(instant_time="2026", action="commit", state="inflight", size_bytes=2048),)
        ),
        Outcome.PLANNED,
        ["Would be undone", "2026", "2.0 KiB"],
    ),
    (SavepointReport(), Outcome.COMPLETED, ["savepoint of 2026 exists"]),
    (
        OrphanReport(
            file_count=2, size_bytes=4096, files=(OrphanFile(path="a/f", size_bytes=4096, reason="dead"),)
        ),
        Outcome.PLANNED,
        ["2 files, 4.0 KiB", "a/f", "dead"],
    ),
    (
        MetadataTableReport(
            built=(MetadataPartitionReport(name="files", file_groups=1, records=12, size_bytes=99),)
        ),
        Outcome.PLANNED,
        ["Would be built", "about 12", "about 99 B"],
    ),
    (
        ConfigReport(
            status="error",
            findings=(ConfigFinding(rule="r", severity="error", options={"hoodie.a": "1"}, cure="set 2"),),
        ),
        Outcome.FAILED,
        ["✗", "1 finding", "hoodie.a=1", "set 2"],
    ),
    (
        HealthReport(
            status="warning",
            measures={"small_files": 4.0, "commits_since_clean": 3.0},
            findings=(
                HealthFinding(level="warn", measure="dead_instants", value=1, limit=0, advice="Run it."),
            ),
            pending=(PendingInstant(instant_time="2026", action="commit", state="inflight", is_dead=True),),
        ),
        Outcome.COMPLETED,
        ["! x of flights: warning", "none on the active timeline; 3 commits without one", "Dead instants"],
    ),
]


@pytest.mark.parametrize(("report", "outcome", "texts"), OTHERS, ids=lambda each: type(each).__name__)
def test_the_summary_of_a_service_names_its_figures(
    report: Report, outcome: Outcome, texts: list[str]
) -> None:
    reason = "savepoint of 2026 exists"
    text = shown(job_summary(result_of(report, outcome, reason=reason), "x"))
    assert [each for each in texts if each not in text] == []


def test_a_job_with_nothing_to_do_gives_the_reason() -> None:
    result = result_of(ClusteringReport(), Outcome.NOTHING_TO_DO, reason="2 of 4 commits")
    text = shown(job_summary(result, "cluster"))
    assert "nothing to do" in text
    assert "2 of 4 commits" in text


def test_a_request_without_a_name_is_shown_with_the_folder_of_the_table() -> None:
    result = JobResult(request_id="r", outcome=Outcome.COMPLETED, base_path="s3://lake/flights/")
    assert job_summary(result, "upsert").title == "upsert of flights: completed"


def test_rows_that_were_not_written_are_counted_by_reason() -> None:
    result = result_of(None, rows=RowCounts(updated=1, unchanged=7, dropped_existing=2))
    text = shown(job_summary(result, "upsert"))
    assert "1 updated, 0 deleted, 7 unchanged, 2 dropped because their key exists" in text


def test_a_write_without_changes_counts_the_unchanged_rows() -> None:
    result = result_of(None, Outcome.NOTHING_TO_DO, rows=RowCounts(unchanged=60))
    assert "60 unchanged" in shown(job_summary(result, "upsert"))


def test_the_title_names_the_operation_if_it_differs_from_the_command() -> None:
    result = result_of(None, operation="bulk_insert")
    assert job_summary(result, "upsert").title.startswith("upsert (bulk_insert) of ")


def test_warnings_that_the_terminal_shows_are_not_repeated() -> None:
    result = result_of(None, warnings=("first", "second"))
    summary = job_summary(result, "upsert", shown_warnings={"first"})
    assert summary.notes == ["Warning: second"]
    assert "1, shown above" in shown(summary)
    assert "shown above" not in shown(job_summary(result, "upsert"))


def test_findings_of_a_health_report_are_not_repeated_as_warnings() -> None:
    finding = HealthFinding(level="warn", measure="dead_instants", value=1, limit=0, advice="Run it.")
    report = HealthReport(status="warning", findings=(finding,))
    warnings = ("Dead instants (dead_instants): 1, above 0. Run it.", "other")
    assert job_summary(result_of(report, warnings=warnings), "health").notes == ["Warning: other"]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("two\nlines", "two lines"),
        ("use rollback.py", "use hudi-services rollback"),
        ("s3://lake/rollback.py", "s3://lake/rollback.py"),
    ],
)
def test_strings_of_the_table_are_printed_literally_and_names_of_scripts_as_commands(
    text: str, printed: str
) -> None:
    assert printed in shown(Summary(title="t", facts=(("name", text),)))


def test_a_table_that_is_too_wide_without_its_optional_columns_becomes_a_list_of_all_values() -> None:
    grid = Grid(
        columns=("instant", "text", "empty", ">size"),
        rows=[("2" * 17, "a b c", "", "1"), ("3" * 17, "x" * 30, "", "")],
        noun="r",
        title="Rows",
        optional=("text",),
        whole=("instant",),
    )
    assert shown(Summary(title="t", grids=(grid,)), width=20).splitlines() == [
        "t",
        "  Rows",
        "  instant:",
        f"    {'2' * 17}",
        "    text: a b c",
        "    size: 1",
        "  instant:",
        f"    {'3' * 17}",
        "    text:",
        f"    {'x' * 30}",
    ]


def test_cells_of_several_words_wrap_between_words() -> None:
    words = "a sentence with several words that fit in one line of at least twenty characters"
    grid = Grid(columns=("name", "text"), rows=[("x" * 30, words)], noun="r")
    lines = shown(Summary(title="t", grids=(grid,)), width=54).splitlines()
    assert lines[1].split() == ["name", "text"]
    assert lines[2].split()[0] == "x" * 30
    assert " ".join(" ".join(lines[2:]).split()[1:]) == words
    assert all(len(line.rstrip()) <= 54 for line in lines)


def test_a_narrow_terminal_leaves_out_optional_columns_and_names_them() -> None:
    grid = Grid(columns=("a", "b"), rows=[("x" * 30, "y" * 30)], noun="r", optional=("b",))
    assert "Not shown: b. --wide shows all columns." in shown(Summary(title="t", grids=(grid,)), width=60)
    text = shown(Summary(title="t", grids=(grid,)), width=64)
    assert "y" * 30 in text
    assert "Not shown" not in text


def test_lines_for_a_file_are_not_limited() -> None:
    grid = Grid(columns=("a",), rows=[("x" * 300,)], noun="r")
    stream = io.StringIO()
    print_summary(console_of(stream), Summary(title="t", grids=(grid,)))
    assert "x" * 300 in stream.getvalue()


def test_a_narrow_terminal_wraps_cells_and_loses_nothing() -> None:
    report = plan_of(group("a-very-long-partition-path/with-several-parts", 3, 1, 5))
    text = shown(job_summary(result_of(report, Outcome.PLANNED), "cluster"), width=50)
    assert all(len(line) <= 50 for line in text.splitlines())
    joined: Callable[[str], str] = lambda lines: "".join(lines.split())  # noqa: E731
    assert "3" in joined(text)
    assert "5.0MiB" in joined(text)
