"""Provider information for Airflow's provider manager. This module imports no other module of the package."""

from pathlib import Path
from typing import Any

_TEXT = {"type": ["string", "null"], "default": None}
_BASES_AND_HELPERS = {
    "operators": {"job", "plans", "service_job", "upkeep", "write"},
    "sensors": {"table"},
    "triggers": {"ending", "job", "pool", "table"},
}
"""Modules that define no operator, sensor or trigger for users. A test checks these names."""


def get_provider_info() -> dict[str, Any]:
    """Return the provider information, which is valid against Airflow's ``provider_info.schema.json``."""
    hudi = "Apache Hudi"
    return {
        "package-name": "airflow-provider-hudi",
        "name": hudi,
        "description": "Operators, sensors and a hook that write, maintain and watch Apache Hudi tables.",
        "integrations": [
            {"integration-name": hudi, "external-doc-url": "https://hudi.apache.org/", "tags": ["apache"]}
        ],
        "hooks": [{"integration-name": hudi, "python-modules": ["airflow_hudi_provider.hooks.hudi"]}],
        "operators": [
            {
                "integration-name": hudi,
                "python-modules": _modules("operators"),
            }
        ],
        "sensors": [
            {
                "integration-name": hudi,
                "python-modules": _modules("sensors"),
            }
        ],
        "triggers": [
            {
                "integration-name": hudi,
                "python-modules": _modules("triggers"),
            }
        ],
        "extra-links": [
            "airflow_hudi_provider.links.HudiTableLink",
            "airflow_hudi_provider.links.HudiSparkUiLink",
        ],
        "notifications": ["airflow_hudi_provider.notifications.health.HudiHealthNotifier"],
        "connection-types": [
            {
                "connection-type": "hudi",
                "hook-class-name": "airflow_hudi_provider.hooks.hudi.HudiHook",
                "hook-name": hudi,
                "ui-field-behaviour": {
                    "hidden-fields": ["port", "login", "password", "schema"],
                    "relabeling": {"host": "Base path"},
                    "placeholders": {"host": "s3://lake/flights, or the folder of several tables"},
                },
                "conn-fields": {
                    "spark_conn_id": {
                        "label": "Spark connection",
                        "description": "Spark or Spark Connect connection of tasks that set no spark_conn_id.",
                        "schema": _TEXT,
                    },
                    "storage_conn_id": {
                        "label": "Storage connection",
                        "description": "Connection to the object store. Default: credentials of the environment.",
                        "schema": _TEXT,
                    },
                    "result_base_path": {
                        "label": "Results",
                        "description": "Folder for request and result documents of drivers on a cluster.",
                        "schema": _TEXT,
                    },
                },
            }
        ],
        "config": {
            "hudi": {
                "description": "Settings of the Hudi provider.",
                "options": {
                    "tables": {
                        "description": (
                            "Tables that the pages of the UI show, in addition to the tables that DAGs name as assets. "
                            "A JSON object that maps the name of each table to its base_path, hudi_conn_id and "
                            "storage_conn_id."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": '{"flights": {"base_path": "s3://lake/flights", "storage_conn_id": "lake"}}',
                        "default": "",
                    },
                    "run_folder": {
                        "description": (
                            "Folder for requests, output and exit codes of the Spark runs of deferred tasks. Workers "
                            "and triggerers must share it. Default: a folder in the machine's temporary folder."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "/var/lib/airflow/hudi-runs",
                        "default": "",
                    },
                    "triggerer_looks": {
                        "description": (
                            "Maximum number of tables that one triggerer reads at the same time, for all its sensors, "
                            "watchers and waiting writers. Other reads wait in a queue."
                        ),
                        "version_added": "0.1.0",
                        "type": "integer",
                        "example": None,
                        "default": "8",
                    },
                },
            }
        },
        "asset-uris": [
            {
                "schemes": ["hudi"],
                "handler": "airflow_hudi_provider.assets.sanitize_uri",
                "factory": "airflow_hudi_provider.assets.create_asset",
                "to_openlineage_converter": "airflow_hudi_provider.assets.to_openlineage_dataset",
            }
        ],
    }


def _modules(folder: str) -> list[str]:
    """Return the names of a folder's modules that define classes for users, in alphabetical order."""
    package = Path(__file__).parent
    names = {path.stem for path in (package / folder).glob("[!_]*.py")} - _BASES_AND_HELPERS[folder]
    return [f"{package.name}.{folder}.{name}" for name in sorted(names)]
