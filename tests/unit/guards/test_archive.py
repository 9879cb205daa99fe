"""The zip for spark-submit is complete, can be imported without the checkout, and is equal for equal sources."""

import subprocess
import sys
import zipfile
from pathlib import Path

from hudi_table_services.source_archive import write_archive

REPOSITORY = Path(__file__).parents[3]
SOURCES = REPOSITORY / "spark_jobs"

# Python runs this program with -I and -S, so the program can import neither this checkout nor its environment.
IMPORT_FROM_ARCHIVE = """
import sys
sys.path.insert(0, sys.argv[1])
import hudi_table_services.model.instant as instant
import hudi_table_services.planning.file_sizing.file_sizing
assert instant.__file__.startswith(sys.argv[1]), instant.__file__
"""


def test_the_archive_has_every_file_of_the_package(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "dist" / "engine.zip")
    package = (SOURCES / "hudi_table_services").rglob("*")
    sources = {path.relative_to(SOURCES).as_posix() for path in package if path.is_file()}
    assert {name for name in sources if "__pycache__" not in name} == set(zipfile.ZipFile(archive).namelist())
    assert [path.name for path in archive.parent.iterdir()] == ["engine.zip"]


def test_equal_sources_give_equal_archives(tmp_path: Path) -> None:
    first = write_archive(tmp_path / "first.zip")
    second = write_archive(tmp_path / "second.zip")
    assert first.read_bytes() == second.read_bytes()


def test_the_archive_can_be_imported_without_the_checkout(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "engine.zip")
    command = [sys.executable, "-I", "-S", "-c", IMPORT_FROM_ARCHIVE, str(archive)]
    imported = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert imported.returncode == 0, imported.stderr
