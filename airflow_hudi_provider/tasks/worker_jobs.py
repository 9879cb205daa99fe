"""Run jobs that need no Spark in the process of the caller."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

from hudi_table_services.contract.config_check import CheckConfigRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult

if TYPE_CHECKING:
    from hudi_table_services.storage.stores.storage import Storage

_JOBS = {
    "archive.py": ("archival.archive", "archive"),
    "cancel_clustering.py": ("clustering.cancel", "cancel_clustering"),
    "check_config.py": ("check_config", "check_table_config"),
    "clean.py": ("cleaning.clean", "clean"),
    "create_savepoint.py": ("recovery.savepoint", "create_savepoint"),
    "delete_savepoint.py": ("recovery.savepoint", "delete_savepoint"),
    "repair_orphan_files.py": ("recovery.repair_orphans", "repair_orphan_files"),
    "restore.py": ("recovery.restore", "restore"),
    "rollback.py": ("recovery.rollback", "rollback"),
    "schedule_clustering.py": ("clustering.schedule", "schedule_clustering"),
    "table_health.py": ("health.table_health", "table_health"),
}


def run_in_worker(script: str, request: JobRequest, *, storage: "Storage | None" = None) -> JobResult:
    """Run the job of a script.

    Args:
        script: file name of a job script that needs no Spark.
        storage: the table's storage; None: opened from the request.

    Raises:
        HudiTableServiceError: the job failed.
        ModuleNotFoundError: the job needs a package for this table that is not installed here.
    """
    module, name = _JOBS[script]
    # Imported when a task calls it: jobs import more of the engine than a DAG file should.
    job = getattr(import_module(f"hudi_table_services.jobs.{module}"), name)
    return cast("Callable[..., JobResult]", job)(request, storage=storage)


def check_rule_names(request: CheckConfigRequest) -> None:
    """Raise InvalidRequestError if a rule that is to be accepted does not exist."""
    import_module("hudi_table_services.jobs.check_config").check_rule_names(request)
