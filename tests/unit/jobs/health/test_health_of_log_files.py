"""The health job on merge-on-read tables: unmerged log files, and pending compactions."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from hudi_table_services.contract.health import HealthReport, HealthRequest
from hudi_table_services.jobs.health.table_health import table_health
from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.clock import instant_moment
from support.fixed_clock import FixedClock
from support.log_golden import ARCHIVES
from support.with_logs.logged_tables import A, B, LoggedTable, a_logged_table, data_block, golden_logged_table

VERSIONS = pytest.mark.parametrize(
    "version", [TableVersion.V6, TableVersion.V8, TableVersion.V9], ids=lambda v: v.name
)
BLOCK_BYTES = len(data_block("20260101000000000"))


def report(table: LoggedTable, later: timedelta = timedelta(), **fields: Any) -> HealthReport:
    clock = FixedClock(datetime.now(timezone.utc) + later)
    result = table_health(HealthRequest(base_path="/t", **fields), storage=table.storage, clock=clock)
    assert isinstance(result.report, HealthReport)
    return result.report


@VERSIONS
def test_log_files_are_measured_until_a_compaction_merges_them(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    first = table.delta(logs=[A])
    table.delta(logs=[A, B])
    found = report(table)
    assert (found.measures["log_files"], found.measures["log_bytes"]) == (3, 3 * BLOCK_BYTES)
    assert found.measures["log_ratio"] == round(3 * BLOCK_BYTES / 8, 4)
    written = instant_moment(first.requested_time, table.config)
    assert written is not None
    age_hours = (datetime.now(timezone.utc) - written).total_seconds() / 3600
    assert found.measures["oldest_log_hours"] == pytest.approx(age_hours, abs=0.02)
    assert [(each.measure, each.limit) for each in found.findings] == [("log_ratio", 1.0)]
    assert (found.measures["leftover_files"], found.measures["outdated_files"]) == (0, 0)
    table.compact(A, B)
    found = report(table)
    names = ("log_files", "log_bytes", "log_ratio", "oldest_log_hours")
    assert [found.measures[name] for name in names] == [0, 0, 0, 0]
    assert (found.measures["outdated_files"], found.status) == (5, "healthy")


@VERSIONS
def test_a_pending_compaction_shows_its_age_and_its_file_groups(version: TableVersion) -> None:
    table = a_logged_table(version)
    table.delta(bases=[A, B])
    table.delta(logs=[A, B])
    table.plan_compaction(A, B)
    table.delta(logs=[A])
    found = report(table, later=timedelta(days=2))
    assert (found.measures["pending_compactions"], found.measures["file_groups_in_compactions"]) == (1, 2)
    assert 48 < found.measures["oldest_compaction_hours"] < 58
    (finding,) = [each for each in found.findings if each.measure == "oldest_compaction_hours"]
    assert "Execute the compaction" in finding.advice
    (pending,) = found.pending
    assert "updates do not wait" in pending.blocks[0]
    # The log file that was written after the plan is also unmerged.
    assert found.measures["log_files"] == 3


def test_a_table_of_log_files_only_has_no_ratio() -> None:
    table = a_logged_table()
    table.delta(logs=[FileGroupId("a", "f7")])
    found = report(table)
    assert found.measures["log_files"] == 1
    assert "log_ratio" not in found.measures


def test_limits_in_the_request_apply_to_log_files() -> None:
    table = a_logged_table()
    table.delta(bases=[A])
    table.delta(logs=[A])
    found = report(table, warn_above={"log_files": "0", "log_ratio": "1000", "oldest_log_hours": "1"})
    assert [each.measure for each in found.findings] == ["log_files", "oldest_log_hours"]


@pytest.mark.parametrize("version", ARCHIVES, ids=str)
@pytest.mark.parametrize("name", ["updates", "compacted_logs"])
def test_log_files_of_real_hudi_are_measured(version: TableVersion, name: str) -> None:
    table = golden_logged_table(version, name)
    found = report(table, later=timedelta(days=2))
    sizes = [f.size_bytes for f in table.storage.list_files() if ".log." in f.name]
    assert (found.measures["log_files"], found.measures["log_bytes"]) == (len(sizes), sum(sizes))
    assert found.measures["missing_files"] == 0
