"""What the preparation of a Python worker changes in its process."""

import importlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hudi_table_services.execution import python_worker

PROGRAM = """
import gc, importlib, sys, zipfile, zipimport
from hudi_table_services.execution.python_worker import prepare_worker

archive, read = sys.argv[1], zipimport._read_directory
reads = []
zipimport._read_directory = lambda path: reads.append(path) or read(path)

def next_task():
    del reads[:]
    gc.collect()
    importlib.invalidate_caches()
    prepare_worker()
    return reads.count(archive)

sys.path.insert(0, archive)
import first_module
counts = [next_task() for _ in range(4)]
frozen = gc.get_freeze_count()
with zipfile.ZipFile(archive, "a") as changed:
    changed.writestr("second_module.py", "VALUE = 2")
counts.append(next_task())
import second_module
counts.append(next_task())
assert second_module.VALUE == 2
print(counts, frozen > 10_000, gc.get_freeze_count() > frozen)
"""


@pytest.mark.skipif(
    sys.version_info >= (3, 13), reason="Python 3.13 reads directories only when it needs them."
)
def test_the_directory_of_an_archive_is_read_again_only_after_a_change(tmp_path: Path) -> None:
    archive = tmp_path / "modules.zip"
    with zipfile.ZipFile(archive, "w") as created:
        created.writestr("first_module.py", "VALUE = 1")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(archive)], capture_output=True, text=True, check=True
    )
    # Before the first preparation, and once after it, each task reads the directory.
    assert answer.stdout.strip() == "[1, 1, 0, 0, 1, 0] True True"


def test_an_archive_that_does_not_exist_any_more_is_read_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "modules.zip"
    with zipfile.ZipFile(archive, "w") as created:
        created.writestr("gone_module.py", "VALUE = 1")
    monkeypatch.syspath_prepend(str(archive))
    importer = sys.path_importer_cache.get(str(archive)) or importlib.import_module("zipimport").zipimporter(
        str(archive)
    )
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("gone_module") is not None
    archive.unlink()
    python_worker._read_changed_directory(importer)
    assert importer.find_spec("gone_module") is None
