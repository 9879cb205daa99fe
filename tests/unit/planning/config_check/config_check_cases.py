"""Test cases of the configuration check: settings with a finding, and similar settings without one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hudi_table_services.contract.config_check import ConfigFinding, RuntimeFacts
from hudi_table_services.planning.config_check.check import check_config
from hudi_table_services.planning.config_check.settings import TableFacts

STRATEGY = "hoodie.clustering.plan.strategy."
WRITE = "hoodie.datasource.write."
OCC = {"hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL"}
HUDI = {"engine": "hudi"}
V6 = {
    "hoodie.table.name": "trips",
    "hoodie.table.version": "6",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.recordkey.fields": "id",
}
V9 = {**V6, "hoodie.table.version": "9"}
METADATA = {**V6, "hoodie.table.metadata.partitions": "files"}
DAYS = ("2024/01/01", "2024/01/02")


@dataclass(frozen=True)
class Case:
    """Options, facts and a table for the check, and the finding that the rule must report, if any.

    Attributes:
        severity: severity of the finding; empty if the rule must find nothing.
        text: part of the reason or of the cure of the finding.
        names: settings that the finding must name.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    table: TableFacts | None = None
    severity: str = ""
    text: str = ""
    names: tuple[str, ...] = ()

    def findings(self, rule: str) -> list[ConfigFinding]:
        report = check_config(self.options, RuntimeFacts.of(self.facts), self.table)
        return [each for each in report.findings if each.rule == rule]


def found(severity: str, text: str, *names: str, **settings: Any) -> Case:
    return Case(severity=severity, text=text, names=names, **settings)


def lock(provider: str, **more: str) -> dict[str, str]:
    return {"hoodie.write.lock.provider": provider, **more}


def table(properties: Mapping[str, str] = V6, **known: Any) -> TableFacts:
    return TableFacts(properties=properties, **known)


COMPLEX = {
    f"{WRITE}recordkey.field": "id",
    f"{WRITE}keygenerator.class": "org.apache.hudi.keygen.ComplexKeyGenerator",
}
PLAN = {"20240101000000000": frozenset({"2024/01/01"})}

Cases = dict[str, tuple[list[Case], list[Case]]]
"""Maps each rule to cases with a finding of the rule, and to cases without a finding of the rule."""
