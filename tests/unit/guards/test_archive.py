"""The zip that spark-submit ships: whole, importable on its own, and the same for the same sources."""

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[3]
SOURCES = REPOSITORY / "spark_jobs"

# Started with -I and -S, so that neither this checkout nor its environment can help out.
IMPORT_FROM_ARCHIVE = """
import sys
sys.path.insert(0, sys.argv[1])
import hudi_table_services.model.instant as instant
import hudi_table_services.planning.file_sizing
assert instant.__file__.startswith(sys.argv[1]), instant.__file__
"""


@pytest.fixture(scope="module")
def build_archive() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "build_archive", REPOSITORY / "scripts" / "build_archive.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_archive_holds_every_file_of_the_package(build_archive: ModuleType, tmp_path: Path) -> None:
    archive = build_archive.build_archive(tmp_path / "dist" / "engine.zip")
    package = (SOURCES / "hudi_table_services").rglob("*")
    sources = {path.relative_to(SOURCES).as_posix() for path in package if path.is_file()}
    assert {name for name in sources if "__pycache__" not in name} == set(zipfile.ZipFile(archive).namelist())
    assert [path.name for path in archive.parent.iterdir()] == ["engine.zip"]


def test_same_sources_give_the_same_archive(build_archive: ModuleType, tmp_path: Path) -> None:
    first = build_archive.build_archive(tmp_path / "first.zip")
    second = build_archive.build_archive(tmp_path / "second.zip")
    assert first.read_bytes() == second.read_bytes()


def test_archive_works_without_the_checkout(build_archive: ModuleType, tmp_path: Path) -> None:
    archive = build_archive.build_archive(tmp_path / "engine.zip")
    command = [sys.executable, "-I", "-S", "-c", IMPORT_FROM_ARCHIVE, str(archive)]
    imported = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr
