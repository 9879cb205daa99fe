"""shim"""
from dataclasses import dataclass, field
@dataclass(frozen=True, kw_only=True)
class UpsertRequest:
    base_path: str
    request_id: str
    table_name: str | None = None
    operation: str = "upsert"
    options: dict = field(default_factory=dict)
    storage_options: dict = field(default_factory=dict)
    dry_run: bool = False
