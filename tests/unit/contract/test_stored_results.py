"""This release reads documents of contract version 1, as the last code with that version wrote them.

The task logs beside the documents (`.log`) have the texts of this release. Change these logs when you change a text.
"""

import dataclasses
import json
from pathlib import Path

import pytest

from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.registry import SERVICES, read_result, script

STORED = Path(__file__).parents[2] / "golden" / "results-v1"
RESULTS = sorted(path for path in STORED.glob("*.json") if not path.name.endswith(".request.json"))
REQUESTS = sorted(STORED.glob("*.request.json"))
FIELDS = {
    "clustering": "clustering",
    "clean": "cleaning",
    "archive": "archival",
    "recovery": "recovery",
    "orphans": "orphans",
    "health": "health",
    "config": "config_check",
}
SERVICES_OF_VERSION_1 = {"writing", "savepoints", *FIELDS.values()}
"""Services with documents of version 1; later services have none."""

LATER_FIELDS = {"health": ("live_files", "metadata_table_state", "small_file_limit_source")}
"""Service → fields of its report that documents of version 1 lack."""

LATER_COUNTS = {"clustering": ("skipped_count", "skipped_slices")}
"""Service → counts of left-out file slices that documents of version 1 lack. A read counts the listed sentences."""

LATER_SOURCE_FIELDS = ("table", "mode", "chain", "begin", "first_begin", "storage_options")
"""Fields of sources of writes that were added later."""

LATER_REQUEST_FIELDS = {"timestamps_without_zone", "skip_unchanged", "check_source", "deep"}
"""Fields that requests of version 1 lack."""

LATER_ROW_COUNTS = {"unchanged", "replaced"}
"""Counts of rows that results of version 1 lack."""


def task_log(result: JobResult) -> str:
    lines = []
    for title, of_section in result.sections():
        if of_section:
            lines += [f"::group::{title}", *of_section, "::endgroup::"]
    return "\n".join([*lines, result.summary(), *result.warnings]) + "\n"


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_stored_result_is_read_without_loss(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    result = read_result(path.read_text(encoding="utf-8"))
    assert read_result(result.to_json()) == result
    written = json.loads(result.to_json())
    reports = {name: stored.pop(name) for name in FIELDS}
    for field in LATER_FIELDS.get(result.service, ()):
        if written["report"] is not None:
            later = written["report"].pop(field)
            assert not any(later.values() if isinstance(later, dict) else later)
    if written["report"] is not None:
        counts = {written["report"].pop(field) for field in LATER_COUNTS.get(result.service, ())}
        assert counts <= {len(written["report"].get("skipped", ()))}
    for name in FIELDS:
        assert reports[name] == (written["report"] if result.service == FIELDS[name] else None)
    assert stored.pop("contract_version") == 1
    assert not any(written["rows"].pop(name) for name in LATER_ROW_COUNTS)
    assert stored == {name: written[name] for name in stored}


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_stored_result_gives_the_stored_task_log(path: Path) -> None:
    result = read_result(path.read_text(encoding="utf-8"))
    assert task_log(result) == path.with_suffix(".log").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", REQUESTS, ids=lambda path: path.name)
def test_a_stored_request_is_read_by_its_script(path: Path) -> None:
    stored = json.loads(path.read_text(encoding="utf-8"))
    scripts = [each for service in SERVICES for each in service.scripts]
    result = read_result((STORED / path.name.replace(".request", "")).read_text(encoding="utf-8"))
    (own,) = (
        each for each in scripts if each.request_type.service == result.service and has_fields_of(each, path)
    )
    written = json.loads(own.read(path.read_text(encoding="utf-8")).to_json())
    assert (stored.pop("contract_version"), written.pop("contract_version")) == (1, 2)
    assert {written.pop(name) for name in LATER_REQUEST_FIELDS & written.keys()} <= {"", False, True}
    if (source := written.get("source")) is not None:
        assert {source.pop(name) for name in LATER_SOURCE_FIELDS} == {"", None}
    assert written == stored


def has_fields_of(own: object, path: Path) -> bool:
    stored = json.loads(path.read_text(encoding="utf-8")).keys()
    names = {field.name for field in dataclasses.fields(own.request_type)}  # type: ignore[attr-defined]
    return names - LATER_REQUEST_FIELDS | {"contract_version"} == stored


def test_every_service_and_report_of_version_1_has_a_stored_document() -> None:
    results = [read_result(path.read_text(encoding="utf-8")) for path in RESULTS]
    assert {result.service for result in results} == SERVICES_OF_VERSION_1
    assert {service.name for service in SERVICES} >= SERVICES_OF_VERSION_1
    reports = {each.report for each in SERVICES if each.report and each.name in SERVICES_OF_VERSION_1}
    assert {type(result.report) for result in results} == {*reports, type(None)}
    assert script("clean.py").request_type.service == "cleaning"
