"""Each option of compaction sets one field of the settings for a plan, and invalid values are refused."""

from dataclasses import fields, replace
from typing import Any

import pytest

from hudi_table_services.contract.compaction.compaction import (
    CompactionRequest,
    ExecuteCompactionRequest,
    ScheduleCompactionRequest,
)
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.model.compaction.compaction_settings import (
    CompactionOptions,
    CompactionStrategyKind,
    CompactionTrigger,
)
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.options.compaction.compaction_options import DEFAULT_COMPACTION, compaction_options
from hudi_table_services.options.keys.compaction import COMPACTION_OPTIONS, MAX_DELTA_COMMITS
from hudi_table_services.options.option import Effect, OptionGroup

OWN = [option for group in COMPACTION_OPTIONS.values() for option in group]
PACKAGE = "org.apache.hudi.table.action.compact.strategy."
CASES: list[tuple[str, str, str, Any]] = [
    ("hoodie.compact.inline.trigger.strategy", "num_or_time", "trigger", CompactionTrigger.NUM_OR_TIME),
    ("hoodie.compact.inline.max.delta.commits", "7", "max_delta_commits", 7),
    ("hoodie.compact.inline.max.delta.seconds", "7", "max_delta_seconds", 7),
    (
        "hoodie.compaction.strategy",
        f"{PACKAGE}DayBasedCompactionStrategy",
        "strategy",
        CompactionStrategyKind.DAY_BASED,
    ),
    ("hoodie.compaction.target.io", "7", "target_io_mb", 7),
    ("hoodie.compaction.logfile.size.threshold", "7", "min_log_bytes", 7),
    ("hoodie.compaction.logfile.num.threshold", "7", "min_log_files", 7),
    ("hoodie.compaction.daybased.target.partitions", "7", "target_partitions", 7),
    ("hoodie.compaction.partition.path.regex", "a.*", "partition_pattern", "a.*"),
    ("hoodie.airflow.compaction.partitions", "a, b", "selected_partitions", ("a", "b")),
    ("hoodie.airflow.compaction.rank.by.benefit", "true", "ranks_by_benefit", True),
    ("hoodie.airflow.compaction.min.log.ratio", "0.5", "min_log_ratio", 0.5),
    ("hoodie.airflow.compaction.max.log.age.seconds", "7", "max_log_age_seconds", 7),
    ("hoodie.airflow.compaction.max.task.seconds", "7", "max_task_seconds", 7),
    ("hoodie.airflow.compaction.bytes.per.second", "7", "default_bytes_per_second", 7),
    ("hoodie.parquet.max.file.size", "7", "new_base_file_bytes", 7),
]


@pytest.mark.parametrize(("key", "text", "field", "expected"), CASES)
def test_a_key_sets_its_field_and_no_other(key: str, text: str, field: str, expected: object) -> None:
    assert compaction_options({key: text}) == replace(DEFAULT_COMPACTION, **{field: expected})  # type: ignore[arg-type]


def test_every_field_and_every_honoured_key_has_a_case() -> None:
    assert {field for _, _, field, _ in CASES} == {field.name for field in fields(CompactionOptions)}
    assert {o.key for o in OWN if o.effect is Effect.HONOURED} <= {key for key, *_ in (*CASES, *JOB_CASES)}


def test_without_keys_a_plan_follows_the_defaults_of_hudi() -> None:
    assert (
        CompactionOptions(
            trigger=CompactionTrigger.NUM_COMMITS,
            max_delta_commits=5,
            max_delta_seconds=3600,
            strategy=CompactionStrategyKind.LOG_FILE_SIZE,
            target_io_mb=512_000,
            min_log_bytes=0,
            min_log_files=0,
            target_partitions=10,
            partition_pattern="",
            selected_partitions=(),
            ranks_by_benefit=False,
            min_log_ratio=0.0,
            max_log_age_seconds=86_400,
            max_task_seconds=0,
            default_bytes_per_second=16 << 20,
            new_base_file_bytes=120 << 20,
        )
        == DEFAULT_COMPACTION
    )


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("hoodie.compact.inline.trigger.strategy", "SOMETIMES"),
        ("hoodie.compact.inline.max.delta.commits", "0"),
        ("hoodie.compact.inline.max.delta.seconds", "-1"),
        ("hoodie.compaction.target.io", "0"),
        ("hoodie.compaction.logfile.size.threshold", "-1"),
        ("hoodie.compaction.daybased.target.partitions", "0"),
        ("hoodie.compaction.partition.path.regex", "("),
        ("hoodie.airflow.compaction.min.log.ratio", "nan"),
        ("hoodie.airflow.compaction.min.log.ratio", "inf"),
        ("hoodie.airflow.compaction.max.log.age.seconds", "0"),
        ("hoodie.airflow.compaction.bytes.per.second", "0"),
    ],
)
def test_an_invalid_value_is_refused_with_its_key(key: str, text: str) -> None:
    with pytest.raises(InvalidRequestError, match=f"{key}="):
        compaction_options({key: text})


def test_only_the_compaction_jobs_read_the_keys() -> None:
    honoured = {option.key: option.services for option in OWN if option.effect is Effect.HONOURED}
    # Archival keeps the delta commits that make the next compaction due.
    assert honoured.pop(MAX_DELTA_COMMITS.key) == (OptionGroup.COMPACTION, OptionGroup.ARCHIVAL)
    assert set(honoured.values()) == {(OptionGroup.COMPACTION,)}


JOB_CASES: list[tuple[str, str, str, Any]] = [
    ("hoodie.airflow.compaction.task.memory.bytes", "2000000", "task_memory_bytes", 2_000_000),
    ("hoodie.airflow.compaction.expiration.minutes", "7", "expires_after_minutes", 7),
    ("hoodie.airflow.compaction.wait.seconds", "7", "wait_seconds", 7),
]


@pytest.mark.parametrize(("key", "text", "field", "expected"), JOB_CASES)
def test_a_key_sets_a_field_of_the_jobs(key: str, text: str, field: str, expected: object) -> None:
    found = resolve_compaction_options(ExecuteCompactionRequest(base_path="/t", options={key: text}))
    defaults = resolve_compaction_options(ExecuteCompactionRequest(base_path="/t"))
    assert found == replace(defaults, **{field: expected})  # type: ignore[arg-type]


def test_the_fields_of_a_request_set_options() -> None:
    request = ScheduleCompactionRequest(base_path="/t", partitions=("a", "b"))
    assert resolve_compaction_options(request).plan.selected_partitions == ("a", "b")
    other = replace(request, options={"hoodie.airflow.compaction.partitions": "c"})
    with pytest.raises(InvalidRequestError, match="Give either the field or the option"):
        resolve_compaction_options(other)


def test_every_n_commits_is_another_name_for_the_limit_of_delta_commits() -> None:
    limit = "hoodie.compact.inline.max.delta.commits"
    by_key = ScheduleCompactionRequest(base_path="/t", options={limit: "4"})
    for request in (
        ScheduleCompactionRequest(base_path="/t", every_n_commits=4),
        CompactionRequest(base_path="/t", every_n_commits=4),
        replace(by_key, every_n_commits=4),
    ):
        assert resolve_compaction_options(request) == resolve_compaction_options(by_key)
    assert resolve_compaction_options(replace(by_key, every_n_commits=0)).plan.max_delta_commits == 4
    with pytest.raises(InvalidRequestError, match=f"--every-n-commits is '5', but its option {limit} is '4'"):
        resolve_compaction_options(replace(by_key, every_n_commits=5))
    with pytest.raises(InvalidRequestError, match="every_n_commits is -1, below 0"):
        ScheduleCompactionRequest(base_path="/t", every_n_commits=-1)


@pytest.mark.parametrize("trigger", list(CompactionTrigger))
def test_every_n_commits_needs_a_trigger_that_counts_delta_commits(trigger: CompactionTrigger) -> None:
    request = ScheduleCompactionRequest(
        base_path="/t", options={"hoodie.compact.inline.trigger.strategy": trigger.value.lower()}
    )
    assert resolve_compaction_options(request).plan.trigger is trigger
    counting = replace(request, every_n_commits=4)
    if trigger is CompactionTrigger.TIME_ELAPSED:
        with pytest.raises(InvalidRequestError, match="every_n_commits is 4, but .*=TIME_ELAPSED"):
            resolve_compaction_options(counting)
    else:
        assert resolve_compaction_options(counting).plan.max_delta_commits == 4


def test_the_delete_marker_that_a_table_does_not_store_is_passed_to_the_merge() -> None:
    options = {"hoodie.payload.delete.field": "op", "hoodie.payload.delete.marker": "D"}
    found = resolve_compaction_options(ExecuteCompactionRequest(base_path="/t", options=options))
    assert found.merge_settings == options
    assert found.warnings == ()


def test_an_unknown_key_of_compaction_is_refused_and_an_inline_switch_gives_a_warning() -> None:
    unknown = {"hoodie.compaction.target.iO": "1"}
    with pytest.raises(InvalidRequestError, match=r"Unknown option hoodie\.compaction\.target\.iO"):
        resolve_compaction_options(ExecuteCompactionRequest(base_path="/t", options=unknown))
    inline = {"hoodie.compact.inline": "true"}
    (warning,) = resolve_compaction_options(ExecuteCompactionRequest(base_path="/t", options=inline)).warnings
    assert "separate job" in warning
