"""shim"""
from dataclasses import dataclass, field
@dataclass(frozen=True, kw_only=True)
class JobResult:
    outcome: str
    reused: bool = False
    instant: str | None = None
    detail: dict = field(default_factory=dict)
