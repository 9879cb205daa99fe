"""Build a zip file of this package for ``spark-submit --py-files``, which does not accept wheels.

Equal sources produce equal bytes, because entries are sorted and have a fixed date and mode. Therefore checksums show
whether two deployments are equal.
"""

import os
import tempfile
import zipfile
from pathlib import Path

_PACKAGE = Path(__file__).parent
_OLDEST_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16


def package_files() -> list[tuple[str, bytes]]:
    """Return the archive name and the content of every file, in a fixed order."""
    paths = sorted(path for path in _PACKAGE.rglob("*") if path.is_file() and _belongs_in(path))
    return [(path.relative_to(_PACKAGE.parent).as_posix(), path.read_bytes()) for path in paths]


def write_archive(target: Path, files: list[tuple[str, bytes]] | None = None) -> Path:
    """Write the zip file, and replace an older zip file in one step, so that no deployment copies an incomplete file.

    Args:
        files: result of `package_files`; None means that this function calls `package_files`.
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
