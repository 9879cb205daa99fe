"""The modules that test all services use a request of each service."""

from types import ModuleType

import pytest

import support.jobs_on_tables
import unit.safety.test_damaged_tables
from hudi_table_services.services.registry import SERVICES
from hudi_table_services.services.service import Service

MODULES = [support.jobs_on_tables, unit.safety.test_damaged_tables]
SERVICES_WITHOUT_SPARK = [each for each in SERVICES if not all(script.needs_spark for script in each.scripts)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("service", SERVICES_WITHOUT_SPARK, ids=lambda service: service.name)
def test_every_service_that_needs_no_spark_is_tested(module: ModuleType, service: Service) -> None:
    """Ruff refuses imports that are not used, so a module that imports a request also uses the request."""
    requests = {script.request_type for script in service.scripts if not script.needs_spark}
    assert requests & {value for value in vars(module).values() if isinstance(value, type)}


def test_the_jobs_on_tables_use_every_request_of_a_job_without_spark() -> None:
    requests = {
        script.request_type for service in SERVICES for script in service.scripts if not script.needs_spark
    }
    assert {each.__name__ for each in requests} <= vars(support.jobs_on_tables).keys()
