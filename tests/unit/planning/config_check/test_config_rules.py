"""Every rule of the configuration check finds the settings that it describes, and does not report similar settings."""

import pytest
from bucket_cases import BUCKET_CASES
from config_check_cases import Case
from metadata_cases import METADATA_CASES
from option_cases import NAME_AND_UPKEEP_CASES, OTHER_CASES
from table_cases import TABLE_CASES
from writer_cases import WRITER_CASES

from hudi_table_services.contract.archival import ArchiveRequest
from hudi_table_services.contract.catalog.catalog_sync import SyncCatalogRequest
from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ClusteringRequest
from hudi_table_services.contract.compaction.compaction import CompactionRequest
from hudi_table_services.contract.config_check import RuntimeFacts
from hudi_table_services.contract.metadata_table import RebuildMetadataTableRequest
from hudi_table_services.contract.writing import UpsertRequest
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.options.archival import resolve_archive_options
from hudi_table_services.options.catalog.catalog_options import resolve_catalog_options
from hudi_table_services.options.cleaning import resolve_clean_options
from hudi_table_services.options.clustering import resolve_clustering_options
from hudi_table_services.options.compaction.compaction_job_options import resolve_compaction_options
from hudi_table_services.options.keys.archival import MIN_COMMITS
from hudi_table_services.options.keys.cleaning import COMMITS_RETAINED
from hudi_table_services.options.keys.clustering import INLINE, SCHEDULE_INLINE
from hudi_table_services.options.keys.locks import LOCK_PROVIDER
from hudi_table_services.options.keys.writing import CONCURRENCY_MODE, MAX_FILE_SIZE, SMALL_FILE_LIMIT
from hudi_table_services.options.metadata_table import resolve_metadata_table_options
from hudi_table_services.options.option import Effect
from hudi_table_services.options.registry import KNOWN_OPTIONS
from hudi_table_services.options.writing import resolve_options
from hudi_table_services.planning.config_check.check import CONFIG_RULES, check_config

CASES = {
    **NAME_AND_UPKEEP_CASES,
    **WRITER_CASES,
    **TABLE_CASES,
    **METADATA_CASES,
    **BUCKET_CASES,
    **OTHER_CASES,
}
FOUND = [(rule, case) for rule, (cases, _) in CASES.items() for case in cases]
NOT_FOUND = [(rule, case) for rule, (_, cases) in CASES.items() for case in cases]


def test_every_rule_has_cases_with_and_without_a_finding() -> None:
    assert set(CASES) == {rule.rule_id for rule in CONFIG_RULES}
    assert all(cases and others for cases, others in CASES.values())


@pytest.mark.parametrize(("rule", "case"), FOUND, ids=[f"{rule}-{n}" for n, (rule, _) in enumerate(FOUND)])
def test_the_rule_finds_the_problem(rule: str, case: Case) -> None:
    (finding,) = case.findings(rule)
    assert finding.severity == case.severity
    text = f"{finding.reason} {finding.cure}"
    assert case.text in text
    assert set(case.names) <= finding.options.keys()
    assert finding.source
    assert finding.cure


@pytest.mark.parametrize(
    ("rule", "case"), NOT_FOUND, ids=[f"{rule}-{n}" for n, (rule, _) in enumerate(NOT_FOUND)]
)
def test_the_rule_does_not_report_valid_settings(rule: str, case: Case) -> None:
    assert case.findings(rule) == []


def test_empty_options_have_no_findings_for_any_engine() -> None:
    for engine in ("native", "hudi", "both"):
        assert check_config({}, RuntimeFacts(engine=engine)).status == "clean"


def test_the_most_severe_finding_is_first_and_determines_the_status() -> None:
    report = check_config(
        {
            "hoodie.upsert.shuffle.parallelism": "3",
            INLINE.key: "true",
            MIN_COMMITS.key: "3",
        }
    )
    assert [each.severity for each in report.findings] == ["error", "warning", "advice"]
    assert (report.status, report.options_checked, report.engine) == ("error", 3, "native")


def test_an_accepted_rule_is_not_applied() -> None:
    options = {MIN_COMMITS.key: "3"}
    every, less = check_config(options), check_config(options, accepted_rules=["archival-before-cleaning"])
    assert less.rules_checked == every.rules_checked - 1
    assert {each.rule for each in every.findings} - {each.rule for each in less.findings} == {
        "archival-before-cleaning"
    }


def test_a_finding_shows_given_values_and_marks_defaults() -> None:
    (finding,) = check_config({CONCURRENCY_MODE.key: "optimistic_concurrency_control"}).findings
    assert finding.options == {
        CONCURRENCY_MODE.key: "optimistic_concurrency_control",
        LOCK_PROVIDER.key: "(not given)",
    }
    (finding,) = check_config({"hoodie.cleaner.commits.retained": "25"}).findings
    assert finding.options == {
        MIN_COMMITS.key: "20 (default)",
        COMMITS_RETAINED.key: "25",
    }


def test_secrets_are_not_shown() -> None:
    report = check_config({"hoodie.datasource.hive_sync.password": "canary", "hoodie.secret.thing": "canary"})
    assert len(report.findings) == 2
    assert "canary" not in repr(report)
    assert all("***" in each.options.values() for each in report.findings)


NUMBERS = sorted(
    o.key for o in KNOWN_OPTIONS.values() if o.effect is Effect.HONOURED and o.default.isdecimal()
)


def is_refused_by_a_job(options: dict[str, str]) -> bool:
    attempts = (
        lambda: resolve_options(UpsertRequest(base_path="/", options=options)),
        lambda: resolve_clean_options(CleanRequest(base_path="/", options=options)),
        lambda: resolve_clustering_options(ClusteringRequest(base_path="/", options=options)),
        lambda: resolve_compaction_options(CompactionRequest(base_path="/", options=options)),
        lambda: resolve_catalog_options(SyncCatalogRequest(base_path="/", options=options)),
        lambda: resolve_archive_options(ArchiveRequest(base_path="/", options=options)),
        lambda: resolve_metadata_table_options(RebuildMetadataTableRequest(base_path="/", options=options)),
    )
    for attempt in attempts:
        try:
            attempt()
        except HudiTableServiceError:
            return True
    return False


@pytest.mark.parametrize("key", dict.fromkeys(NUMBERS))
def test_the_rule_bad_value_rejects_a_number_if_and_only_if_a_job_rejects_it(key: str) -> None:
    # The minimum numbers of commits are read only if their option (inline or async clustering) is on.
    switches = {SCHEDULE_INLINE.key: "true"} if ".async.max" in key else {}
    switches |= {INLINE.key: "true"} if ".inline.max" in key else {}
    options = {key: f"{KNOWN_OPTIONS[key].default}.5", **switches}
    found = [each.rule for each in check_config(options).findings if each.rule == "bad-value"]
    assert bool(found) == is_refused_by_a_job(options)


def test_an_error_is_reported_although_a_less_severe_finding_names_the_same_options() -> None:
    options = {MAX_FILE_SIZE.key: "0", SMALL_FILE_LIMIT.key: "10"}
    found = {each.rule: each.severity for each in check_config(options).findings}
    assert found == {"small-limit-above-max": "warning", "refused-by-job": "error"}
