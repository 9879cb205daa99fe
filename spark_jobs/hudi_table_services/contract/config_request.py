"""Request of the job that checks settings."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from hudi_table_services.contract.config_facts import RuntimeFacts
from hudi_table_services.contract.config_report import Severity
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.errors import InvalidRequestError

NEVER = "never"
FAIL_ON = (*(each.value for each in Severity), NEVER)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfigRequest(JobRequest):
    """Look through settings, and change nothing.

    Attributes:
        base_path: table to compare with; empty: none, and nothing is read.
        options: the settings, of writes and of all services.
        facts: what the surroundings are, as texts; see `FACTS`.
        fail_on: the least severity with which the job fails: ``error``, ``warning``, ``advice``; or ``never``.
        accepted_rules: ids of rules whose findings are known and meant.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    needs_base_path: ClassVar[bool] = False

    base_path: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)
    fail_on: str = Severity.ERROR.value
    accepted_rules: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.fail_on not in FAIL_ON:
            close = difflib.get_close_matches(self.fail_on, FAIL_ON, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Use one of {', '.join(FAIL_ON)}."
            raise InvalidRequestError(f"fail_on={self.fail_on} is not known.", hint=hint)
        for name, value in self.facts.items():
            if not isinstance(value, str):
                raise InvalidRequestError(
                    f"Fact {name} is a {type(value).__name__}; write its value as text."
                )
        _ = self.runtime

    @property
    def work(self) -> str:
        return "check_config"

    @property
    def runtime(self) -> RuntimeFacts:
        """The facts with the scheme of the base path, unless one was given."""
        scheme = self.base_path.partition("://")[0] if "://" in self.base_path else ""
        if self.base_path and not scheme:
            scheme = "file"
        return RuntimeFacts.of({"storage_scheme": scheme, **self.facts})

    def fails_with(self, severity: str) -> bool:
        """Whether a finding of this severity fails the job."""
        return self.fail_on != NEVER and Severity(severity).rank <= Severity(self.fail_on).rank
