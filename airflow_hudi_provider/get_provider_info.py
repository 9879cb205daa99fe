"""What Airflow's provider manager reads; it imports nothing else of this package."""

from typing import Any

_TEXT = {"type": ["string", "null"], "default": None}


def get_provider_info() -> dict[str, Any]:
    """Provider information, valid against Airflow's ``provider_info.schema.json``."""
    hudi = "Apache Hudi"
    return {
        "package-name": "airflow-provider-hudi",
        "name": hudi,
        "description": "Table services for Apache Hudi tables, as tasks that the table's timeline judges.",
        "integrations": [
            {"integration-name": hudi, "external-doc-url": "https://hudi.apache.org/", "tags": ["apache"]}
        ],
        "hooks": [{"integration-name": hudi, "python-modules": ["airflow_hudi_provider.hooks.hudi"]}],
        "operators": [
            {
                "integration-name": hudi,
                "python-modules": [
                    "airflow_hudi_provider.operators.upsert",
                    "airflow_hudi_provider.operators.archive",
                    "airflow_hudi_provider.operators.clean",
                    "airflow_hudi_provider.operators.clustering",
                    "airflow_hudi_provider.operators.health",
                    "airflow_hudi_provider.operators.recovery",
                ],
            }
        ],
        "sensors": [
            {
                "integration-name": hudi,
                "python-modules": [
                    "airflow_hudi_provider.sensors.instant",
                    "airflow_hudi_provider.sensors.commit_count",
                    "airflow_hudi_provider.sensors.pending_service",
                ],
            }
        ],
        "triggers": [
            {
                "integration-name": hudi,
                "python-modules": [
                    "airflow_hudi_provider.triggers.instant",
                    "airflow_hudi_provider.triggers.commit_count",
                    "airflow_hudi_provider.triggers.pending_service",
                ],
            }
        ],
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
                        "description": "Where jobs on these tables run, unless a task says otherwise.",
                        "schema": _TEXT,
                    },
                    "storage_conn_id": {
                        "label": "Storage connection",
                        "description": "Credentials and endpoint of the object store; empty: those of the environment.",
                        "schema": _TEXT,
                    },
                    "result_base_path": {
                        "label": "Results",
                        "description": "Folder for requests and results of jobs whose driver runs on a cluster.",
                        "schema": _TEXT,
                    },
                },
            }
        ],
        "asset-uris": [
            {
                "schemes": ["hudi"],
                "handler": "airflow_hudi_provider.assets.sanitize_uri",
                "factory": "airflow_hudi_provider.assets.create_asset",
            }
        ],
    }
