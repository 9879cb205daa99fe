"""Rules of the configuration check, and their inputs: options, facts and the table."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hudi_table_services.contract.config_check import RuntimeFacts, Severity
from hudi_table_services.options.keys.writing import OPERATION
from hudi_table_services.options.registry import ALIASES, KNOWN_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """Facts about the table to which the settings apply.

    Attributes:
        properties: contents of ``hoodie.properties``.
        active_commits: number of completed writes on the active timeline; None if unknown.
        pending_plans: maps the requested time of each pending clustering or compaction to the partition paths of its
            files.
        partitions: partition paths; None if unknown.
        has_partitioned_record_index: whether the record index has file groups for each partition of the table.
        refused_secondary_index: why jobs cannot update a secondary index; empty if they can update all secondary
            indexes.
        definitions_damage: why the definitions of the indexes cannot be read, with the name of the file; empty if they
            can be read, or if jobs do not need them.
        definitions_cure: what to do about the damage.
        bucket_numbers: numbers of buckets in the ids of the file groups that the newest write wrote; empty if unknown.
        has_other_file_ids: whether the newest write wrote file groups whose ids contain no bucket number.
    """

    properties: Mapping[str, str]
    active_commits: int | None = None
    pending_plans: Mapping[str, frozenset[str]] = field(default_factory=dict)
    partitions: tuple[str, ...] | None = None
    has_partitioned_record_index: bool = False
    refused_secondary_index: str = ""
    definitions_damage: str = ""
    definitions_cure: str = ""
    bucket_numbers: frozenset[int] = frozenset()
    has_other_file_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Input of the rules: options, facts about the environment, and the table.

    Attributes:
        given: options under the names that the user wrote.
        options: the same options under their main names; if the user wrote two names of one option,
            the value of the first name.
        table: table with which the options are compared; None if there is no table.
    """

    given: Mapping[str, str]
    options: Mapping[str, str]
    facts: RuntimeFacts
    table: TableFacts | None = None

    @classmethod
    def of(cls, given: Mapping[str, str], facts: RuntimeFacts, table: TableFacts | None) -> "Settings":
        named: dict[str, str] = {}
        for key, value in given.items():
            named.setdefault(ALIASES.get(key, key), value.strip())
        return cls(given=given, options=named, facts=facts, table=table)

    def has(self, key: str) -> bool:
        """Whether the option is given and not blank."""
        return bool(self.options.get(key))

    def text(self, key: str) -> str:
        """Return the value of the option as a string: the user's value, or else the default."""
        known = KNOWN_OPTIONS.get(key)
        return self.options.get(key) or (known.default if known is not None else "")

    def number(self, key: str) -> float | None:
        """Return the value of the option as a number; None if it is no number (the rule ``bad-value`` reports this)."""
        try:
            return float(self.text(key))
        except ValueError:
            return None

    def is_on(self, key: str) -> bool:
        return self.text(key).lower() == "true"

    def is_off(self, key: str) -> bool:
        return self.text(key).lower() == "false"

    def class_name(self, key: str) -> str:
        """Return the value of the option, a Java class, without its package."""
        return self.text(key).rpartition(".")[2]

    @property
    def operation(self) -> str:
        return self.text(OPERATION.key).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem that a rule found.

    Attributes:
        keys: options that cause the problem, under their main names or the user's names.
        facts, properties: names of facts and of table properties that cause the problem.
        severity: severity of this finding; None for the severity of the rule.
    """

    reason: str
    cure: str
    keys: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    severity: Severity | None = None


Check = Callable[[Settings], Iterator[Problem]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigRule:
    """One rule.

    Attributes:
        rule_id: words joined by hyphens. Ids must not change, because users list them in ``accepted_rules``.
        severity: default severity of its findings.
        finds: description of its findings, for the documentation.
        source: origin of the rule: a class of Hudi, Hudi's documentation, or an issue that describes the problem.
        for_native: whether the rule applies to the options of this project's jobs.
        for_hudi: whether the rule applies to the options of Hudi's jobs.
    """

    rule_id: str
    severity: Severity
    finds: str
    source: str
    check: Check
    for_native: bool = True
    for_hudi: bool = True

    def applies_to(self, facts: RuntimeFacts) -> bool:
        return (self.for_native and facts.is_native) or (self.for_hudi and facts.is_hudi)


def _for(engines: str) -> dict[str, bool]:
    return {"for_native": engines != "hudi", "for_hudi": engines != "native"}


def config_rule(
    rule_id: str, severity: Severity, finds: str, *, source: str, engines: str = "both"
) -> Callable[[Check], ConfigRule]:
    """Return a decorator that turns a function into a rule.

    Args:
        engines: the jobs whose options the rule checks: ``native`` (jobs of this project), ``hudi`` (Hudi's jobs) or
            ``both``.
    """

    def made(check: Check) -> ConfigRule:
        return ConfigRule(
            rule_id=rule_id,
            severity=severity,
            finds=finds,
            source=source,
            check=check,
            **_for(engines),
        )

    return made
