"""Preview the plans of clusterings and compactions in this process. Nothing is written."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hudi_table_services.contract.clustering import ScheduleClusteringRequest
from hudi_table_services.contract.compaction.compaction import ScheduleCompactionRequest

if TYPE_CHECKING:
    from airflow_hudi_provider.hooks.hudi import HudiHook
    from hudi_table_services.contract.result import JobResult


def preview_clustering(hook: "HudiHook", hudi_options: Mapping[str, str]) -> "JobResult":
    """Implement `HudiHook.preview_clustering`."""
    from hudi_table_services.services.registry import script

    request = ScheduleClusteringRequest(
        base_path=hook.location.base_path, preview=True, options=dict(hudi_options)
    )
    return script("schedule_clustering.py").run(None, request, storage=hook.storage)


def preview_compaction(hook: "HudiHook", hudi_options: Mapping[str, str]) -> "JobResult":
    """Implement `HudiHook.preview_compaction`."""
    from hudi_table_services.services.registry import script

    request = ScheduleCompactionRequest(
        base_path=hook.location.base_path, preview=True, ignore_trigger=True, options=dict(hudi_options)
    )
    return script("schedule_compaction.py").run(None, request, storage=hook.storage)
