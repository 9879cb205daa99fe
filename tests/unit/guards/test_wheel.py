"""The built wheel has every file that pages and tasks need besides Python modules, and its command works."""

import configparser
import importlib.util
import json
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from hudi_table_services.model.file_group import FileGroupId
from hudi_table_services.model.table_version import TableVersion
from hudi_table_services.storage.stores.local import LocalStorage
from support.small_tables import SmallTable

REPOSITORY = Path(__file__).parents[3]
PAGES = REPOSITORY / "airflow_hudi_provider" / "pages" / "static"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """Build the wheel with the back end that pyproject.toml names, without a package index."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_has_every_file_of_the_pages(wheel: zipfile.ZipFile) -> None:
    sources = {path.relative_to(REPOSITORY).as_posix(): path for path in PAGES.rglob("*") if path.is_file()}
    assert {Path(name).suffix for name in sources} >= {".css", ".html", ".js", ".svg"}
    assert any("/vendor/" in name and name.endswith("LICENSE") for name in sources)
    packed = {name for name in wheel.namelist() if name.startswith("airflow_hudi_provider/pages/static/")}
    assert packed == sources.keys()
    assert [name for name, path in sources.items() if wheel.read(name) != path.read_bytes()] == []


def test_the_wheel_has_every_job_script_and_no_tests(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    scripts = {
        f"airflow_hudi_provider/spark_jobs/{path.name}" for path in (REPOSITORY / "spark_jobs").glob("*.py")
    }
    assert scripts
    assert scripts <= set(names)
    assert [name for name in names if name.startswith(("tests/", "docs/"))] == []


def test_the_wheel_has_the_command_and_the_log_configuration_of_spark(wheel: zipfile.ZipFile) -> None:
    (entry_points,) = [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    declared = configparser.ConfigParser()
    declared.read_string(wheel.read(entry_points).decode())
    assert dict(declared["console_scripts"]) == {"hudi-services": "hudi_table_services.command.main:main"}
    assert "hudi_table_services/command/log4j2-terminal.properties" in wheel.namelist()


PROGRAM = """
import sys
from importlib.metadata import entry_points
(program,) = entry_points(group="console_scripts", name="hudi-services")
sys.exit(program.load()())
"""


@pytest.fixture(scope="module")
def fresh(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the wheel, without requirements, into a new environment; return the environment's Python."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    wheel.extractall(packages)
    return folder / "bin" / "python"


def run_in(python: Path, *words: str, path: str = "") -> subprocess.CompletedProcess[str]:
    command = [python, "-c", PROGRAM, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": path})


def test_if_the_extra_is_missing_the_command_names_the_extra_in_one_sentence(fresh: Path) -> None:
    ended = run_in(fresh, "show", "table", "/t")
    assert (ended.returncode, ended.stdout) == (70, "")
    assert re.fullmatch(
        r"hudi-services needs the package '\w+': .*airflow-provider-hudi\[engine\]'\.\n", ended.stderr
    )


def packages_of_the_extra(folder: Path) -> str:
    """Link the packages that views need, including indirect requirements; return the Python path."""
    folder.mkdir()
    for name in ("argcomplete", "fastavro", "markdown_it", "mdurl", "obstore", "pygments", "rich"):
        source = importlib.util.find_spec(name)
        assert source is not None
        assert source.origin is not None
        (folder / name).symlink_to(Path(source.origin).parent)
    return str(folder)


def test_the_command_works_in_a_new_environment_with_the_packages_of_the_extra(
    fresh: Path, tmp_path: Path
) -> None:
    path = packages_of_the_extra(tmp_path / "packages")
    shown = run_in(fresh, "--help", path=path)
    assert shown.returncode == 0, shown.stderr
    assert "rebuild-metadata-table" in shown.stdout
    table = SmallTable(LocalStorage(str(tmp_path / "trips")), TableVersion.V9)
    table.commit(FileGroupId("city=a", "f"))
    ended = run_in(fresh, "show", "table", str(tmp_path / "trips"), path=path)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["table_name"] == "trips"


def test_operators_find_the_job_scripts_of_an_installed_wheel(fresh: Path, tmp_path: Path) -> None:
    """The process imports the provider from the wheel, and Airflow from this environment (not the linked checkout)."""
    code = "from airflow_hudi_provider.spark.engine_files import script_path; print(script_path('clean.py'))"
    packages = {"PYTHONPATH": sysconfig.get_path("purelib"), "AIRFLOW_HOME": str(tmp_path)}
    command = [fresh, "-c", code]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=packages, cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    found = Path(ended.stdout.splitlines()[-1])
    assert found.is_relative_to(fresh.parents[1])
    assert found.read_bytes() == (REPOSITORY / "spark_jobs" / "clean.py").read_bytes()


@pytest.mark.thorough
def test_pip_installs_the_command(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel.filename)]
    subprocess.run([programs / "python", *install], check=True)
    path = packages_of_the_extra(tmp_path / "packages")
    command = [programs / "hudi-services", "--version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONPATH": path})
    assert re.fullmatch(r"hudi-services \d+\.\d+\.\d+\n", ended.stdout)
