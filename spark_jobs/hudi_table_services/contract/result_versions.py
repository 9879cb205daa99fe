"""Convert result documents of earlier contract versions to the newest version."""

from collections.abc import Mapping
from typing import Any

_FIELDS = {
    "clustering": "clustering",
    "clean": "cleaning",
    "health": "health",
    "recovery": "recovery",
    "orphans": "orphans",
    "archive": "archival",
    "config": "config_check",
}
"""Maps the field of each report in version 1 to the name of the service."""

_OPERATIONS = {
    "schedule_clustering": "clustering",
    "execute_clustering": "clustering",
    "clustering": "clustering",
    "cancel_clustering": "clustering",
    "clean": "cleaning",
    "archive": "archival",
    "rollback": "recovery",
    "restore": "recovery",
    "create_savepoint": "savepoints",
    "delete_savepoint": "savepoints",
    "repair_orphan_files": "orphans",
    "table_health": "health",
    "check_config": "config_check",
}
"""Maps operations in version 1 to the name of the service. All operations that are not listed here are writes."""


def in_version_2(document: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a document of version 1, which has one field for each kind of report, to version 2.

    `service` and `report` replace these fields.

    Raises:
        KeyError: a field of version 1 is missing.
    """
    fields = dict(document)
    reports = {service: fields.pop(name) for name, service in _FIELDS.items()}
    service = _OPERATIONS.get(fields["operation"], "writing")
    report = reports.get(service)
    # In version 1, savepoints had no report. In version 2, they have a report without fields.
    if service == "savepoints" and fields["outcome"] != "failed":
        report = {}
    return {**fields, "service": service, "report": report}
