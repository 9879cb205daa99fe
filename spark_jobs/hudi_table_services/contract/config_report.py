"""What the check of settings tells: findings, each with its reason, its cure and where the rule comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Severity(str, Enum):
    """How bad a finding is. ERROR: rows, or the whole job, are at stake. WARNING: the table suffers in time."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"

    @property
    def rank(self) -> int:
        """0 is the worst."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFinding:
    """One setting, or some that do not fit together.

    Attributes:
        rule: id of the rule, see docs/config-check.md.
        severity: ``error``, ``warning`` or ``advice``.
        options: keys, facts (``fact: writers``) and table properties (``table: …``) concerned → value; secrets hidden.
        reason: what is wrong with them.
        cure: what to set instead.
        source: where the rule comes from.
    """

    rule: str
    severity: str
    options: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    cure: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReport:
    """Outcome of one check.

    Attributes:
        status: severity of the worst finding; ``clean``: there is none.
        findings: the worst first.
        rules_checked: rules that were applied; others need facts or a table that were not given.
        options_checked: number of options.
        engine: who is to obey them: ``native``, ``hudi`` or ``both``.
        table: name of the table whose properties were compared; empty: none was.
    """

    status: str = "clean"
    findings: tuple[ConfigFinding, ...] = ()
    rules_checked: int = 0
    options_checked: int = 0
    engine: str = "native"
    table: str = ""


def config_report_from_document(values: Mapping[str, Any]) -> ConfigReport:
    """The report of a result document. Raises KeyError or TypeError where it is none."""
    fields = dict(values)
    fields["findings"] = tuple(ConfigFinding(**each) for each in fields["findings"])
    return ConfigReport(**fields)
