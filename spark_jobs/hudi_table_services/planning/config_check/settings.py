"""The settings that the rules of the check read, and the record of a rule."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from hudi_table_services.contract.config_check import RuntimeFacts, Severity
from hudi_table_services.options.keys.writing import OPERATION
from hudi_table_services.options.registry import ALIASES, KNOWN_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """What is known of the table that the settings are for.

    Attributes:
        properties: of ``hoodie.properties``.
        active_commits: completed writes on the active timeline; None: not known.
        pending_plans: requested time of each pending clustering or compaction → partition paths of its files.
        partitions: partition paths; None: not known.
    """

    properties: Mapping[str, str]
    active_commits: int | None = None
    pending_plans: Mapping[str, frozenset[str]] = field(default_factory=dict)
    partitions: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The options under one name each, with the surroundings.

    Attributes:
        given: options as they were given.
        options: the same by the name that this project uses; of two names of one key the first given counts.
        table: None: there is none to compare with.
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
        """Whether the key is given, with a text that is not blank."""
        return bool(self.options.get(key))

    def text(self, key: str) -> str:
        """The text in effect: the text given, else the default."""
        known = KNOWN_OPTIONS.get(key)
        return self.options.get(key) or (known.default if known is not None else "")

    def number(self, key: str) -> float | None:
        """The value in effect as a number; None: it is none, which another rule reports."""
        try:
            return float(self.text(key))
        except ValueError:
            return None

    def is_on(self, key: str) -> bool:
        return self.text(key).lower() == "true"

    def is_off(self, key: str) -> bool:
        return self.text(key).lower() == "false"

    def class_name(self, key: str) -> str:
        """A Java class without its package."""
        return self.text(key).rpartition(".")[2]

    @property
    def operation(self) -> str:
        return self.text(OPERATION.key).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What a rule found.

    Attributes:
        keys: options, by the names of `Settings.options` or as given; and facts and properties, with what they are.
        severity: None: the one of the rule.
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
        rule_id: words with hyphens; stable, since it is what users accept by name.
        severity: of its findings, unless a finding says otherwise.
        finds: what a finding means, for the documentation.
        source: where the rule comes from: Hudi's class, its documentation or the thread in which users met it.
        for_native, for_hudi: whose options it checks.
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
    """Make a rule of a function. ``engines``: whose options it checks, ``native``, ``hudi`` or ``both``."""

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
