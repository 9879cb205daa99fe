"""Make health reports of a table on a worker."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.contract.health import HealthReport


def health_of(
    hook: "HudiHook", warn_above: Mapping[str, float], hudi_options: Mapping[str, str]
) -> "HealthReport":
    """Implement `HudiHook.health`."""
    from hudi_table_services.contract.health import HealthReport, HealthRequest
    from hudi_table_services.services.registry import script

    request = HealthRequest(
        base_path=hook.location.base_path,
        warn_above={name: str(limit) for name, limit in warn_above.items()},
        options=dict(hudi_options),
    )
    report = script("table_health.py").run(None, request, storage=hook.storage).report_as(HealthReport)
    assert report is not None  # noqa: S101 - the job makes a report or raises
    return report
