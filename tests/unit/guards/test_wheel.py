"""The built wheel has every file that the pages and tasks need besides Python modules, byte for byte."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
