"""List all table services, find a script by its file name, and parse the result of any service."""

from hudi_table_services.contract.request import JobRequest
from hudi_table_services.contract.result import JobResult
from hudi_table_services.services.archival import ARCHIVAL
from hudi_table_services.services.catalog import CATALOG_SYNC
from hudi_table_services.services.cleaning import CLEANING
from hudi_table_services.services.clustering import CLUSTERING
from hudi_table_services.services.compaction import COMPACTION
from hudi_table_services.services.config_check import CONFIG_CHECK
from hudi_table_services.services.health import HEALTH
from hudi_table_services.services.metadata_table import METADATA_TABLE_BUILDS
from hudi_table_services.services.orphans import ORPHANS
from hudi_table_services.services.recovery import RECOVERY
from hudi_table_services.services.savepoints import SAVEPOINTS
from hudi_table_services.services.service import Script, Service
from hudi_table_services.services.writing import WRITING

SERVICES: tuple[Service, ...] = (
    WRITING,
    CLUSTERING,
    COMPACTION,
    CLEANING,
    ARCHIVAL,
    RECOVERY,
    SAVEPOINTS,
    ORPHANS,
    METADATA_TABLE_BUILDS,
    CATALOG_SYNC,
    HEALTH,
    CONFIG_CHECK,
)
"""All services. Code outside this package that handles every service iterates over these records."""

_SCRIPTS = {each.file_name: each for service in SERVICES for each in service.scripts}
_REPORTS = {service.name: service.report for service in SERVICES if service.report is not None}


def script(file_name: str) -> Script[JobRequest]:
    """Return the script with this file name, such as ``clean.py``. Raises KeyError if there is no such script."""
    return _SCRIPTS[file_name]


def read_result(text: str) -> JobResult:
    """Parse a result document. Raises InvalidRequestError for any other text and for unknown versions."""
    return JobResult.from_json(text, _REPORTS)
