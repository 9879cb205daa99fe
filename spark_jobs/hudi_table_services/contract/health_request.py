"""Request of the health job."""

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from hudi_table_services.contract.health_report import MEASURES
from hudi_table_services.contract.job_request import JobRequest
from hudi_table_services.errors import InvalidRequestError

DEFAULT_WARNINGS = {
    "dead_instants": 0.0,
    "foreign_files": 0.0,
    "leftover_files": 0.0,
    "hours_ahead": 1.0,
    "oldest_pending_hours": 24.0,
    "small_file_ratio": 0.5,
}
"""What is worth a warning unless the request says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthRequest(JobRequest):
    """Look at a table as a whole, and change nothing.

    Attributes:
        warn_above, fail_above: measure (see `MEASURES`) → number, as text, that it should not exceed. A measure
            named in one of them is not warned of by default.
        small_file_limit_bytes: files below count as small; 0: Hudi's default, 100 MiB.

    Raises:
        InvalidRequestError: a field has no possible value.
    """

    warn_above: Mapping[str, str] = field(default_factory=dict)
    fail_above: Mapping[str, str] = field(default_factory=dict)
    small_file_limit_bytes: int = 0

    def __post_init__(self) -> None:
        JobRequest.__post_init__(self)
        if self.small_file_limit_bytes < 0:
            raise InvalidRequestError(f"small_file_limit_bytes is {self.small_file_limit_bytes}, below 0.")
        _numbers("warn_above", self.warn_above)
        _numbers("fail_above", self.fail_above)

    @property
    def work(self) -> str:
        return "table_health"

    @property
    def warning_limits(self) -> dict[str, float]:
        """Measure → limit, the defaults included."""
        own = _numbers("warn_above", self.warn_above)
        return {name: limit for name, limit in DEFAULT_WARNINGS.items() if name not in self.fail_above} | own

    @property
    def failure_limits(self) -> dict[str, float]:
        """Measure → limit. A timeline that cannot be trusted fails always, and so do lost files."""
        return {"damaged": 0.0, "missing_files": 0.0} | _numbers("fail_above", self.fail_above)


def _numbers(name: str, limits: Mapping[str, str]) -> dict[str, float]:
    return {measure: _number(name, measure, text) for measure, text in limits.items()}


def _number(name: str, measure: str, text: str) -> float:
    if measure not in MEASURES:
        close = difflib.get_close_matches(measure, MEASURES, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Known: {', '.join(MEASURES)}."
        raise InvalidRequestError(f"{name} names {measure!r}, which is not measured.", hint=hint)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number >= 0 or math.isinf(number):
        raise InvalidRequestError(f"{name}: {measure}={text} is not a number of 0 or more.")
    return number
