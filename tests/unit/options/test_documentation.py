"""The pages of docs/ describe options, requests, results, errors, measures and rules as the code defines them."""

import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from hudi_table_services.contract.config_check import FACTS, RuntimeFacts
from hudi_table_services.contract.health import DEFAULT_WARNINGS, MEASURES
from hudi_table_services.contract.result import HISTOGRAM_EDGES_MIB, JobResult, Outcome
from hudi_table_services.errors import HudiTableServiceError
from hudi_table_services.planning.config_check.check import CONFIG_RULES, check_config
from hudi_table_services.planning.config_check.settings import ConfigRule
from hudi_table_services.services.registry import SERVICES

REPOSITORY = Path(__file__).parents[3]
CONTRACT_PAGE = (REPOSITORY / "docs" / "job-contract.md").read_text(encoding="utf-8")
PAGES = "\n".join(page.read_text(encoding="utf-8") for page in sorted((REPOSITORY / "docs").glob("*.md")))


def documents() -> list[type]:
    """List the requests and reports of all services, the result, and the classes of their fields."""
    found: dict[type, None] = {}
    waiting: list[type] = [JobResult]
    for service in SERVICES:
        waiting += [*(script.request_type for script in service.scripts), *filter(None, [service.report])]
    while waiting:
        kind = waiting.pop()
        if kind in found or not dataclasses.is_dataclass(kind):
            continue
        found[kind] = None
        for hint in get_type_hints(kind).values():
            waiting += [part for part in (hint, *parts_of(hint)) if isinstance(part, type)]
    return [kind for kind in found if dataclasses.fields(kind)]


def parts_of(hint: object) -> Iterator[object]:
    """Yield the types that a type hint such as ``tuple[FileStats, ...] | None`` contains."""
    for part in get_args(hint):
        yield part
        yield from parts_of(part)


def test_the_options_page_is_current() -> None:
    command = [sys.executable, REPOSITORY / "scripts" / "make_options_doc.py", "--check"]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def section(heading: str) -> str:
    found = re.search(rf"^###? .*`{heading}`.*\n((?:(?!^##).*\n)*)", PAGES, flags=re.MULTILINE)
    assert found, f"No page of docs/ has a section for {heading}"
    return found[1]


@pytest.mark.parametrize("document", documents())
def test_a_page_lists_exactly_the_fields_of_a_document(document: type) -> None:
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


def test_the_settings_on_the_page_about_concurrency_have_no_errors() -> None:
    page = (REPOSITORY / "docs" / "concurrency.md").read_text(encoding="utf-8")
    block = page.split("## Settings for Hudi writers on the same table")[1].split("```")[1]
    options = dict(line.split("=", 1) for line in block.split())
    assert len(options) == 3
    facts = RuntimeFacts(engine="both", writers=2, services_apart=True, storage_scheme="file")
    assert [each.rule for each in check_config(options, facts).findings] == ["file-lock-never-expires"]
    assert check_config({**options, "hoodie.write.lock.filesystem.expire": "15"}, facts).status == "clean"


def errors(root: type[HudiTableServiceError]) -> list[type[HudiTableServiceError]]:
    """The class and its subclasses, without classes that other tests define."""
    own = (child for child in root.__subclasses__() if child.__module__ == root.__module__)
    return [root, *(error for child in own for error in errors(child))]


@pytest.mark.parametrize("error", errors(HudiTableServiceError)[1:])
def test_the_contract_page_states_exit_code_and_retry_of_an_error(error: type[HudiTableServiceError]) -> None:
    answer = "yes" if error.retryable else "no"
    assert re.search(
        rf"^\| `{error.__name__}` \| {error.exit_code} \| {answer} \|", CONTRACT_PAGE, re.MULTILINE
    )
