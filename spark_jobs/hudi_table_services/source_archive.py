"""This package as a zip, as ``spark-submit --py-files`` takes it (it takes no wheels).

The same sources give the same bytes: entries are sorted and carry a fixed date and mode, so that deployments can be
compared by checksum.
"""

import os
import tempfile
import zipfile
from pathlib import Path

_PACKAGE = Path(__file__).parent
_OLDEST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16


def package_files() -> list[tuple[str, bytes]]:
    """Name in the archive and content of every file, in a fixed order."""
    paths = sorted(path for path in _PACKAGE.rglob("*") if path.is_file() and _belongs_in(path))
    return [(path.relative_to(_PACKAGE.parent).as_posix(), path.read_bytes()) for path in paths]


def write_archive(target: Path, files: list[tuple[str, bytes]] | None = None) -> Path:
    """Write the zip, replacing an older one in one step, so that nobody ever ships half of it.

    Args:
        files: what `package_files` gave; None: ask it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=target.parent, suffix=".unfinished")
    with os.fdopen(handle, "wb") as sink, zipfile.ZipFile(sink, "w") as archive:
        for name, content in package_files() if files is None else files:
            entry = zipfile.ZipInfo(name, _OLDEST_ZIP_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _READABLE_FILE
            archive.writestr(entry, content)
    os.chmod(unfinished, 0o644)
    return Path(unfinished).replace(target)


def _belongs_in(path: Path) -> bool:
    return "__pycache__" not in path.parts and not path.name.startswith(".")
