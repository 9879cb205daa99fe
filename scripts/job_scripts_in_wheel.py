"""Build hook of hatchling: put the job scripts of ``spark_jobs/`` into the wheel, where the operators find them."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JobScripts(BuildHookInterface[Any]):
    """Add ``spark_jobs/<script>.py`` as ``airflow_hudi_provider/spark_jobs/<script>.py``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # the operators find the scripts of a checkout in its folder spark_jobs
            return
        for script in Path(self.root, "spark_jobs").glob("*.py"):
            build_data["force_include"][str(script)] = f"airflow_hudi_provider/spark_jobs/{script.name}"
