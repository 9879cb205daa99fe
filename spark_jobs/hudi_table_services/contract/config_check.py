"""Request and report of the job that checks settings."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_table_services.contract.report import Report, Section
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.text import RULE_TITLES, counted, did_you_mean
from hudi_table_services.errors import InvalidRequestError

if TYPE_CHECKING:
    from hudi_table_services.contract.result import JobResult

CONFIG_CHECK = "config_check"
"""Name of the service."""


class Severity(str, Enum):
    """Severity of a finding. ERROR: rows are lost or the job fails. WARNING: the table becomes slower or larger."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"

    @property
    def rank(self) -> int:
        """Return the position in the order of severities; 0 is the most severe."""
        return list(Severity).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFinding:
    """One setting that causes a problem, or several settings that cause a problem together.

    Attributes:
        rule: id of the rule, see docs/config-check.md.
        severity: ``error``, ``warning`` or ``advice``.
        options: the names and values that the rule examined; secrets are hidden. A name is an option key, a fact
            (``fact: writers``) or a table property (``table: …``).
        reason: what is wrong with these settings.
        cure: which setting to change, and the new value.
        source: origin of the rule, such as a class of Hudi.
    """

    rule: str
    severity: str
    options: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    cure: str = ""
    source: str = ""

    @property
    def title(self) -> str:
        """Return the title of the rule, see `RULE_TITLES`; the id for a rule of another release."""
        return RULE_TITLES.get(self.rule, self.rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigReport(Report):
    """Outcome of one check.

    Attributes:
        status: severity of the most severe finding; ``clean`` if there are no findings.
        findings: the findings, most severe first.
        rules_checked: number of rules that were applied. Other rules need facts or a table that the request did not
            contain.
        options_checked: number of checked options.
        engine: the jobs that read the options: ``native`` (of this project), ``hudi`` (of Hudi) or ``both``.
        table: name of the table whose properties were compared; empty if no table was compared.
    """

    service: ClassVar[str] = CONFIG_CHECK

    status: str = "clean"
    findings: tuple[ConfigFinding, ...] = ()
    rules_checked: int = 0
    options_checked: int = 0
    engine: str = "native"
    table: str = ""

    @classmethod
    def from_document(cls, values: Mapping[str, Any]) -> "ConfigReport":
        return cls(**{**values, "findings": tuple(ConfigFinding(**each) for each in values["findings"])})

    def summary(self, result: "JobResult") -> str:
        return self.verdict

    def sections(self, result: "JobResult") -> list[Section]:
        return [("Settings", self.lines())]

    @property
    def verdict(self) -> str:
        """Return the report in one line."""
        counts = [
            f"{counted(count, 'finding')} of severity {severity.value}"
            for severity in Severity
            if (count := sum(each.severity == severity.value for each in self.findings))
        ]
        table = f" and the properties of table {self.table!r}" if self.table else ""
        rules = counted(self.rules_checked, "rule")
        checked = f"{rules} checked {counted(self.options_checked, 'option')}{table}"
        return f"{self.status.upper()}: {', '.join(counts) or 'no findings'} ({checked})"

    def lines(self) -> list[str]:
        """Return the verdict, then each finding with its cure."""
        return [self.verdict, *(line for each in self.findings for line in _finding_lines(each))]


def _finding_lines(finding: ConfigFinding) -> Iterator[str]:
    """Yield the rule and its settings, the reason, the cure and the source of a finding."""
    settings = ", ".join(f"{key}={value}" for key, value in finding.options.items())
    yield f"  {finding.severity}: {finding.title} ({finding.rule}): {settings}"
    yield f"    {finding.reason}"
    yield f"    cure: {finding.cure}"
    yield f"    source: {finding.source}"


FACTS = {
    "engine": "jobs that read the options: those of this project (`native`, the default), Hudi's own (`hudi`), or "
    "`both`",
    "hudi_version": "release of Hudi that writes the table, such as `1.0.2`",
    "spark_version": "release of the Spark that Hudi runs on, such as `3.5.1`",
    "writers": "maximum number of processes that may change the table at the same time, including table services",
    "services_apart": "`true`: table services and the writer run in different processes",
    "storage_scheme": "scheme of the table's URI, such as `s3`; default: the scheme of the base path, if one is given",
    "commits_per_day": "number of commits to the table per day",
    "longest_query_hours": "duration of the longest query on the table, in hours",
    "max_active_runs": "`max_active_runs` of the DAG that writes the table",
    "max_active_tis_per_dag": "`max_active_tis_per_dag` of the task that writes the table",
    "pool_slots": "number of slots of the pool that the writing tasks share",
    "takes_turns": "`true`: every task that writes the table has `take_turns=True`",
    "catchup": "`true`: the DAG catches up on missed intervals",
    "depends_on_past": "`true`: the task has `depends_on_past=True`, so it waits for the same task of the previous run",
    "retries": "`retries` of the task that writes the table",
}
"""Maps the name of each fact to its meaning."""

_ENGINES = ("native", "hudi", "both")


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFacts:
    """Facts about the environment, see `FACTS`. An empty string or None means that the fact is unknown."""

    engine: str = "native"
    hudi_version: str = ""
    spark_version: str = ""
    writers: int | None = None
    services_apart: bool | None = None
    storage_scheme: str = ""
    commits_per_day: float | None = None
    longest_query_hours: float | None = None
    max_active_runs: int | None = None
    max_active_tis_per_dag: int | None = None
    pool_slots: int | None = None
    takes_turns: bool | None = None
    catchup: bool | None = None
    depends_on_past: bool | None = None
    retries: int | None = None

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "RuntimeFacts":
        """Convert facts from strings. A blank string means that the fact is unknown.

        Raises:
            InvalidRequestError: a name is not the name of a fact, or a string is not a valid value of its fact.
        """
        types = {each.name: each.type for each in fields(cls)}
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name not in types:
                raise InvalidRequestError(f"There is no fact {name!r}.", hint=_similar(name))
            if text.strip():
                values[name] = _READERS[types[name]](name, text.strip())
        return cls(**values)

    @property
    def is_native(self) -> bool:
        """Whether the jobs of this project read these options."""
        return self.engine != "hudi"

    @property
    def is_hudi(self) -> bool:
        """Whether Hudi's own jobs read these options."""
        return self.engine != "native"

    @property
    def hudi_release(self) -> tuple[int, ...]:
        """Return the numbers of the Hudi release; empty if the release is unknown."""
        return _release(self.hudi_version)

    @property
    def spark_release(self) -> tuple[int, ...]:
        """Return the numbers of the Spark release; empty if the release is unknown."""
        return _release(self.spark_version)

    @property
    def runs_one_after_another(self) -> bool:
        """Whether Airflow itself prevents tasks of two runs from writing at the same time."""
        singles = (self.max_active_runs, self.max_active_tis_per_dag, self.pool_slots)
        return 1 in singles or bool(self.depends_on_past)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("-")[0].split(".")) if text else ()


def _similar(name: str) -> str:
    return did_you_mean(name, FACTS, otherwise=f"Valid facts: {', '.join(FACTS)}.")


def _text(name: str, text: str) -> str:
    if name == "engine" and text not in _ENGINES:
        raise InvalidRequestError(
            f"Fact engine={text} is not known.", hint=f"Give one of: {', '.join(_ENGINES)}."
        )
    if name.endswith("_version"):
        try:
            _release(text)
        except ValueError:
            raise InvalidRequestError(f"Fact {name}={text} is not a release such as 1.0.2.") from None
    return text.lower() if name in ("engine", "storage_scheme") else text


def _flag(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidRequestError(f"Fact {name}={text} is neither true nor false.")
    return text.lower() == "true"


def _whole(name: str, text: str) -> int:
    if not text.isdecimal():
        raise InvalidRequestError(f"Fact {name}={text} is not a whole number of 0 or more.")
    return int(text)


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise InvalidRequestError(f"Fact {name}={text} is not a number of 0 or more.")
    return number


_READERS: dict[object, Any] = {
    str: _text,
    bool | None: _flag,
    int | None: _whole,
    float | None: _number,
}


NEVER = "never"
FAIL_ON = (*(each.value for each in Severity), NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfigRequest(JobRequest):
    """Request to check settings. The job changes nothing.

    Attributes:
        base_path: table whose properties are compared with the settings. Empty means no table: the job reads no files.
        options: the settings of writes and of all services.
        facts: facts about the environment, as strings; see `FACTS`.
        fail_on: lowest severity with which a finding makes the job fail: ``error``, ``warning`` or ``advice``.
            ``never`` means that no finding makes the job fail.
        accepted_rules: ids of rules that the check skips, because the user accepts their findings.

    Raises:
        InvalidRequestError: the value of a field is invalid.
    """

    service: ClassVar[str] = CONFIG_CHECK
    needs_base_path: ClassVar[bool] = False

    base_path: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    fail_on: str = Severity.ERROR.value
    accepted_rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.fail_on not in FAIL_ON:
            hint = did_you_mean(self.fail_on, FAIL_ON, otherwise=f"Use one of {', '.join(FAIL_ON)}.")
            raise InvalidRequestError(f"fail_on={self.fail_on} is not a known value.", hint=hint)
        for name, value in self.facts.items():
            if not isinstance(value, str):
                raise InvalidRequestError(
                    f"Fact {name} is a {type(value).__name__}; write its value as a string."
                )
        _ = self.runtime

    @property
    def work(self) -> str:
        return "check_config"

    @property
    def runtime(self) -> RuntimeFacts:
        """Return the facts. If no storage scheme is given, use the scheme of the base path."""
        scheme = self.base_path.partition("://")[0] if "://" in self.base_path else ""
        if self.base_path and not scheme:
            scheme = "file"
        return RuntimeFacts.of({"storage_scheme": scheme, **self.facts})

    def fails_with(self, severity: str) -> bool:
        """Whether a finding of this severity makes the job fail."""
        return self.fail_on != NEVER and Severity(severity).rank <= Severity(self.fail_on).rank
