"""The records of services: each script has its own file, job and request type."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_table_services.contract.cleaning import CleanRequest
from hudi_table_services.contract.clustering import ExecuteClusteringRequest
from hudi_table_services.contract.request import JobRequest
from hudi_table_services.errors import TableNotFoundError
from hudi_table_services.services.registry import SERVICES, script
from hudi_table_services.services.service import Script
from hudi_table_services.storage.stores.memory import MemoryStorage

REPOSITORY = Path(__file__).parents[3]
SCRIPTS: list[Script[JobRequest]] = [each for service in SERVICES for each in service.scripts]


def all_requests(kind: type[JobRequest] = JobRequest) -> set[type[JobRequest]]:
    return {kind, *(each for child in kind.__subclasses__() for each in all_requests(child))}


def test_every_script_has_its_own_file() -> None:
    named = sorted(each.file_name for each in SCRIPTS)
    assert named == sorted(path.name for path in (REPOSITORY / "spark_jobs").glob("*.py"))


def test_every_request_has_exactly_one_script() -> None:
    assert len({each.request_type for each in SCRIPTS}) == len(SCRIPTS)
    # The decorator of a class with slots creates a second class; `__subclasses__` lists both classes.
    ours = {each for each in all_requests() if vars(sys.modules[each.__module__]).get(each.__name__) is each}
    assert {each.request_type for each in SCRIPTS} == ours - {JobRequest}


def test_a_service_its_requests_and_its_report_have_one_name() -> None:
    for service in SERVICES:
        assert {each.request_type.service for each in service.scripts} == {service.name}
        assert service.report is None or service.report.service == service.name


def test_names_of_services_and_metrics_are_unique() -> None:
    assert len({service.name for service in SERVICES}) == len(SERVICES)
    assert len({each.metric_name for each in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("each", SCRIPTS, ids=lambda each: each.file_name)
def test_the_file_runs_its_own_script(each: Script[JobRequest]) -> None:
    spec = importlib.util.spec_from_file_location("script", REPOSITORY / "spark_jobs" / each.file_name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert each in vars(module).values()


def test_a_script_is_found_by_its_name_and_runs_its_job() -> None:
    with pytest.raises(TableNotFoundError):
        script("clean.py").run(None, CleanRequest(base_path="/t"), storage=MemoryStorage("t"))


def test_a_script_refuses_another_request_type_and_a_missing_spark_session() -> None:
    with pytest.raises(
        TypeError, match=r"archive\.py needs a request of type ArchiveRequest, not CleanRequest"
    ):
        script("archive.py").run(None, CleanRequest(base_path="/t"))
    with pytest.raises(TypeError, match="needs a Spark session"):
        script("execute_clustering.py").run(None, ExecuteClusteringRequest(base_path="/t"))


def test_the_registry_imports_no_jobs_and_no_large_packages() -> None:
    """A DAG file may import the registry. Airflow must parse the file fast, without Spark and Arrow."""
    code = (
        "import sys, hudi_table_services.services.registry; "
        "layers = ('jobs', 'commits', 'tables', 'storage', 'execution'); "
        "heavy = [n for n in sys.modules if n.split('.')[:2] in [['hudi_table_services', l] for l in layers]]; "
        "heavy += sys.modules.keys() & {'pyspark', 'pyarrow', 'numpy', 'fastavro', 'obstore', 'airflow'}; "
        "sys.exit(str(heavy) if heavy else 0)"
    )
    path = str(REPOSITORY / "spark_jobs")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
