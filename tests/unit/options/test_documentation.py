"""What docs/ says of options, request and result is what the code does."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_table_services.contract.archival import ArchiveReport, ArchiveRequest
from hudi_table_services.contract.cleaning import CleanedPartition, CleanReport, CleanRequest
from hudi_table_services.contract.clustering import (
    CancelClusteringRequest,
    ClusteringGroupReport,
    ClusteringPlanReport,
    ClusteringReport,
    ClusteringRequest,
    ColumnSkipping,
    ExecuteClusteringRequest,
    ScheduleClusteringRequest,
)
from hudi_table_services.contract.config_check import (
    FACTS,
    CheckConfigRequest,
    ConfigFinding,
    ConfigReport,
    RuntimeFacts,
)
from hudi_table_services.contract.health import (
    DEFAULT_WARNINGS,
    MEASURES,
    HealthFinding,
    HealthReport,
    HealthRequest,
    PartitionHealth,
    PendingInstant,
)
from hudi_table_services.contract.recovery import (
    CreateSavepointRequest,
    DeleteSavepointRequest,
    OrphanFile,
    OrphanReport,
    RecoveryReport,
    RepairOrphansRequest,
    RestoreRequest,
    RollbackRequest,
    UndoneInstant,
)
from hudi_table_services.contract.result import (
    HISTOGRAM_EDGES_MIB,
    FileGroupChange,
    FileStats,
    JobError,
    JobResult,
    Outcome,
    PartitionReport,
    RowCounts,
)
from hudi_table_services.contract.writing import SourceSpec, UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.planning.config_check.check import CONFIG_RULES, check_config
from hudi_table_services.planning.config_check.settings import ConfigRule

REPOSITORY = Path(__file__).parents[3]
CONTRACT_PAGE = (REPOSITORY / "docs" / "job-contract.md").read_text(encoding="utf-8")

DOCUMENTS = (
    UpsertRequest,
    SourceSpec,
    JobResult,
    RowCounts,
    FileStats,
    PartitionReport,
    FileGroupChange,
    JobError,
    ScheduleClusteringRequest,
    ExecuteClusteringRequest,
    ClusteringRequest,
    CancelClusteringRequest,
    ClusteringReport,
    ClusteringPlanReport,
    ClusteringGroupReport,
    ColumnSkipping,
    ArchiveRequest,
    ArchiveReport,
    CleanRequest,
    CleanReport,
    CleanedPartition,
    HealthRequest,
    HealthReport,
    HealthFinding,
    PendingInstant,
    PartitionHealth,
    CreateSavepointRequest,
    DeleteSavepointRequest,
    RollbackRequest,
    RestoreRequest,
    RepairOrphansRequest,
    RecoveryReport,
    UndoneInstant,
    OrphanReport,
    OrphanFile,
    CheckConfigRequest,
    ConfigReport,
    ConfigFinding,
)


def test_options_page_is_current() -> None:
    command = [sys.executable, REPOSITORY / "scripts" / "make_options_doc.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def section(heading: str) -> str:
    found = re.search(rf"^###? .*`{heading}`.*\n((?:(?!^##).*\n)*)", CONTRACT_PAGE, flags=re.MULTILINE)
    assert found, f"docs/job-contract.md has no section for {heading}"
    return found[1]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_contract_page_lists_exactly_the_fields_of(document: type) -> None:
    listed = re.findall(r"^\| `(\w+)` \|", section(document.__name__), flags=re.MULTILINE)
    fields = [field.name for field in dataclasses.fields(document)]
    assert sorted(set(listed) - {"contract_version"}) == sorted(fields)


def test_contract_page_lists_every_outcome_and_size_class() -> None:
    for outcome in Outcome:
        assert f"`{outcome.value}`" in CONTRACT_PAGE
    assert ", ".join(map(str, HISTOGRAM_EDGES_MIB)) in CONTRACT_PAGE


def test_health_page_lists_every_measure_and_default() -> None:
    page = (REPOSITORY / "docs" / "health.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", page, flags=re.MULTILINE)
    assert {name: meaning for name, meaning, _ in listed} == MEASURES
    defaults = {name: float(limit) for name, _, limit in listed if limit and name != "damaged"}
    assert defaults == DEFAULT_WARNINGS


def whose(rule: ConfigRule) -> str:
    if rule.for_native and rule.for_hudi:
        return "both"
    return "native" if rule.for_native else "hudi"


def test_config_page_lists_every_rule_and_fact() -> None:
    page = (REPOSITORY / "docs" / "config-check.md").read_text(encoding="utf-8")
    facts, rules = page.split("## Facts")[1].split("## Rules")
    assert dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", facts, flags=re.MULTILINE)) == FACTS
    assert re.findall(r"^\| `([\w-]+)` \| (.*) \| (.*) \| (.*) \| (.*) \|$", rules, flags=re.MULTILINE) == [
        (r.rule_id, r.severity.value, whose(r), r.finds, r.source) for r in CONFIG_RULES
    ]


def test_what_the_page_of_several_writers_tells_to_set_is_free_of_errors() -> None:
    page = (REPOSITORY / "docs" / "concurrency.md").read_text(encoding="utf-8")
    block = page.split("## Settings for Hudi writers on the same table")[1].split("```")[1]
    options = dict(line.split("=", 1) for line in block.split())
    assert len(options) == 3
    facts = RuntimeFacts(engine="both", writers=2, services_apart=True, storage_scheme="file")
    assert [each.rule for each in check_config(options, facts).findings] == ["file-lock-never-expires"]
    assert check_config({**options, "hoodie.write.lock.filesystem.expire": "15"}, facts).status == "clean"


def errors(root: type[HudiTableServiceError]) -> list[type[HudiTableServiceError]]:
    """The class and those below it, but for such as other tests make up."""
    own = (child for child in root.__subclasses__() if child.__module__ == root.__module__)
    return [root, *(error for child in own for error in errors(child))]


@pytest.mark.parametrize("error", errors(HudiTableServiceError)[1:])
def test_contract_page_gives_exit_code_and_retry_of(error: type[HudiTableServiceError]) -> None:
    answer = "yes" if error.retryable else "no"
    assert re.search(
        rf"^\| `{error.__name__}` \| {error.exit_code} \| {answer} \|", CONTRACT_PAGE, re.MULTILINE
    )
