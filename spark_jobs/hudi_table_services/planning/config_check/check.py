"""Find settings that would harm a table. The check reads no files: its inputs are dictionaries."""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields

from hudi_table_services.contract.config_check import (
    CheckConfigRequest,
    ConfigFinding,
    ConfigReport,
    RuntimeFacts,
    Severity,
)
from hudi_table_services.contract.text import did_you_mean
from hudi_table_services.errors import InvalidRequestError
from hudi_table_services.planning.config_check.bucket_index_rules import BUCKET_INDEX_RULES
from hudi_table_services.planning.config_check.metadata_table_rules import METADATA_TABLE_RULES
from hudi_table_services.planning.config_check.names import LAST_RULES, NAME_RULES
from hudi_table_services.planning.config_check.partition_rules import PARTITION_RULES
from hudi_table_services.planning.config_check.record_index_rules import RECORD_INDEX_RULES
from hudi_table_services.planning.config_check.settings import ConfigRule, Problem, Settings, TableFacts
from hudi_table_services.planning.config_check.table_rules import TABLE_RULES
from hudi_table_services.planning.config_check.upkeep_rules import UPKEEP_RULES
from hudi_table_services.planning.config_check.writer_rules import WRITER_RULES

CONFIG_RULES: tuple[ConfigRule, ...] = (
    *NAME_RULES,
    *UPKEEP_RULES,
    *WRITER_RULES,
    *TABLE_RULES,
    *METADATA_TABLE_RULES,
    *RECORD_INDEX_RULES,
    *BUCKET_INDEX_RULES,
    *PARTITION_RULES,
    *LAST_RULES,
)
"""All rules, in the order of the documentation."""

_SECRET = re.compile(r"password|secret|token|credential|access[._-]?key|private[._-]?key", re.IGNORECASE)


def check_config(
    options: Mapping[str, str],
    facts: RuntimeFacts | None = None,
    table: TableFacts | None = None,
    *,
    accepted_rules: Collection[str] = (),
) -> ConfigReport:
    """Return the findings of all rules, the most severe first.

    Args:
        options: options of writes and of all table services, under Hudi's keys; the values are strings.
        facts: facts about the environment. None means that nothing is known, except that jobs of this project read the
            options.
        table: the table with which the options are compared; None if there is no table.
        accepted_rules: ids of rules to skip; unknown ids are ignored.
    """
    settings = Settings.of(options, facts or RuntimeFacts(), table)
    rules = [r for r in CONFIG_RULES if r.applies_to(settings.facts) and r.rule_id not in accepted_rules]
    findings: list[ConfigFinding] = []
    for rule in rules:
        for problem in rule.check(settings):
            if rule not in LAST_RULES or not _is_reported(rule, problem, findings):
                findings.append(_finding(rule, problem, settings))
    findings.sort(key=lambda each: Severity(each.severity).rank)
    return ConfigReport(
        status=findings[0].severity if findings else "clean",
        findings=tuple(findings),
        rules_checked=len(rules),
        options_checked=len(options),
        engine=settings.facts.engine,
        table=table.properties.get("hoodie.table.name", "") if table is not None else "",
    )


def check_rule_names(request: CheckConfigRequest) -> None:
    """Raise InvalidRequestError if the request accepts a rule that does not exist."""
    known = [rule.rule_id for rule in CONFIG_RULES]
    for name in request.accepted_rules:
        if name not in known:
            hint = did_you_mean(name, known, otherwise="docs/config-check.md lists the rules.")
            raise InvalidRequestError(f"There is no rule {name!r}.", hint=hint)


def _is_reported(rule: ConfigRule, problem: Problem, findings: list[ConfigFinding]) -> bool:
    """Whether a finding of the same or a higher severity names all options of the problem."""
    return bool(problem.keys) and any(
        set(problem.keys) <= each.options.keys() and Severity(each.severity).rank <= rule.severity.rank
        for each in findings
    )


def _finding(rule: ConfigRule, problem: Problem, settings: Settings) -> ConfigFinding:
    return ConfigFinding(
        rule=rule.rule_id,
        severity=(problem.severity or rule.severity).value,
        options={name: _shown(name, text) for name, text in _named(problem, settings)},
        reason=problem.reason,
        cure=problem.cure,
        source=rule.source,
    )


def _named(problem: Problem, settings: Settings) -> Iterator[tuple[str, str]]:
    for key in problem.keys:
        if key in settings.given:
            yield key, settings.given[key].strip()
        else:
            yield key, settings.options.get(key) or _default(key, settings)
    known = {each.name for each in fields(settings.facts)}
    for name in problem.facts:
        assert name in known, name  # noqa: S101 - rules name only existing facts
        yield f"fact: {name}", str(getattr(settings.facts, name)).lower()
    for name in problem.properties:
        yield f"table: {name}", settings.table.properties.get(name, "") if settings.table is not None else ""


def _default(key: str, settings: Settings) -> str:
    text = settings.text(key)
    return f"{text} (default)" if text else "(not given)"


def _shown(name: str, text: str) -> str:
    return "***" if text and _SECRET.search(name) else text
