"""Build ``dist/hudi_table_services.zip``, the engine as ``spark-submit --py-files`` takes it.

``--py-files`` takes ``.py``, ``.zip`` and ``.egg``, not wheels. The same sources give the same bytes: entries are
sorted and carry a fixed date and mode, so that a deployment can be compared by its checksum.

Usage: ``python scripts/build_archive.py [TARGET]``. Needs nothing but the standard library.
"""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCES = REPOSITORY / "spark_jobs"
PACKAGE = SOURCES / "hudi_table_services"
TARGET = REPOSITORY / "dist" / "hudi_table_services.zip"

OLDEST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
READABLE_FILE = 0o100644 << 16


def package_files() -> Iterator[Path]:
    """The files that belong into the archive, in a fixed order."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
            yield path


def build_archive(target: Path = TARGET) -> Path:
    """Write the archive, replacing an older one only when the new one is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f"{target.name}.unfinished")
    with zipfile.ZipFile(unfinished, "w") as archive:
        for path in package_files():
            entry = zipfile.ZipInfo(path.relative_to(SOURCES).as_posix(), OLDEST_ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = READABLE_FILE
            archive.writestr(entry, path.read_bytes())
    return unfinished.replace(target)


if __name__ == "__main__":
    print(build_archive(*map(Path, sys.argv[1:2])))
